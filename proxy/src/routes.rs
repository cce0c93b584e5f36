//! Which server has a resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::attached::identity;
use super::list_changes::Kind;

/// Merges lists and keeps the first of equal items, in the order of servers. Calls `on_twice` for each duplicate.
pub(super) fn merged<'a>(
    lists: impl Iterator<Item = (&'a str, &'a [Value])>,
    kind: Kind,
    on_twice: impl Fn(&str, &str, &str),
) -> Vec<Value> {
    let key = identity(kind);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut all = Vec::new();
    for (server, item) in lists.flat_map(|(server, list)| list.iter().map(move |item| (server, item))) {
        let Some(uri) = item.get(key).and_then(Value::as_str) else { continue };
        match seen.get(uri) {
            None => {
                seen.insert(uri, server);
                all.push(item.clone());
            }
            Some(first) if *first == server => {}
            Some(first) => on_twice(first, server, uri),
        }
    }
    all
}

/// Returns the first server that lists a resource, or else the one whose template says most of it.
pub(super) fn owner(resources: &[Arc<[Value]>], templates: &[Arc<[Value]>], uri: &str) -> Option<usize> {
    let lists_it = |list: &Arc<[Value]>| list.iter().any(|item| item.get("uri").and_then(Value::as_str) == Some(uri));
    if let Some(index) = resources.iter().position(lists_it) {
        return Some(index);
    }
    let fits = |list: &Arc<[Value]>| {
        let templates = list.iter().filter_map(|item| item.get("uriTemplate")?.as_str());
        templates.filter_map(|template| literals_of(template, uri)).max()
    };
    let fitting = templates.iter().enumerate().filter_map(|(index, list)| Some((fits(list)?, index)));
    // The first of equal matches wins.
    fitting.max_by(|(a, i), (b, j)| a.cmp(b).then(j.cmp(i))).map(|(_, index)| index)
}

/// Returns the first server with a skill that lists this file, or that lists no files and has it in its folder.
pub(super) fn skill_owner(skills: &[Arc<[Value]>], uri: &str) -> Option<usize> {
    let has = |skill: &Value| match skill.get("resources") {
        Some(Value::Array(files)) => files.iter().any(|file| file.get("uri").and_then(Value::as_str) == Some(uri)),
        _ => {
            let main = skill.get("uri").and_then(Value::as_str).and_then(|main| main.strip_suffix("SKILL.md"));
            main.is_some_and(|folder| uri.starts_with(folder))
        }
    };
    skills.iter().position(|list| list.iter().any(has))
}

/// Returns the number of literal bytes of a template (RFC 6570) in a URI, if the URI may be one of its expansions.
/// Any text may replace an expression: this only selects a server, which knows its resources.
fn literals_of(template: &str, uri: &str) -> Option<usize> {
    let (first, mut rest) = template.split_once('{')?;
    let mut left = uri.strip_prefix(first)?;
    let mut literal = first.len();
    loop {
        let (_, after) = rest.split_once('}')?;
        match after.split_once('{') {
            Some((between, next)) => {
                let at = left.find(between)?;
                left = left.get(at + between.len()..)?;
                literal += between.len();
                rest = next;
            }
            None => {
                return left.ends_with(after).then_some(literal + after.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literal_length_of_a_matching_template_is_returned() {
        assert_eq!(literals_of("note:///{id}", "note:///7"), Some(8));
        assert_eq!(
            literals_of("test://template/{id}/data", "test://template/9/data"),
            Some("test://template//data".len())
        );
        assert_eq!(literals_of("test://template/{id}/data", "test://template/9/other"), None);
        assert_eq!(literals_of("a://{x}/b/{y}.txt", "a://1/b/2.txt"), Some("a:///b/.txt".len()));
        assert_eq!(literals_of("a://{x}/b/{y}.txt", "a://1/c/2.txt"), None);
        assert_eq!(literals_of("no-expression", "no-expression"), None);
        assert_eq!(literals_of("broken://{", "broken://x"), None);
    }

    #[test]
    fn listed_resource_takes_precedence_over_the_most_specific_template() {
        let list = |key: &str, texts: &[&str]| -> Arc<[Value]> {
            texts.iter().map(|text| json!({ key: text })).collect::<Vec<_>>().into()
        };
        let resources = [list("uri", &[]), list("uri", &["a://x"])];
        let templates = [list("uriTemplate", &["a://{any}"]), list("uriTemplate", &["a://notes/{id}"])];
        assert_eq!(owner(&resources, &templates, "a://x"), Some(1));
        assert_eq!(owner(&resources, &templates, "a://y"), Some(0));
        assert_eq!(owner(&resources, &templates, "a://notes/y"), Some(1));
        assert_eq!(owner(&resources, &templates, "b://y"), None);
    }
}
