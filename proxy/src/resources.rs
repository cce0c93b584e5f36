//! The server of a resource: which lists have it, and which results and tools name it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use mcp_bindgen_runtime::{Caller, Content, ToolResult};
use serde_json::Value;

use super::lock::lock;

/// The number of remembered URIs for each server, each with the caller whose result named it.
const MOST: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The URIs in the results of a server, the latest ones, whether or not the server lists them.
pub(super) struct Linked(Mutex<LruCache<(String, String), ()>>);

impl Default for Linked {
    fn default() -> Self {
        // `LruCache::new` takes the memory of all of them at once.
        let mut latest = LruCache::unbounded();
        latest.resize(MOST);
        Self(Mutex::new(latest))
    }
}

impl Linked {
    /// Remembers the URIs of a caller's result.
    pub(super) fn note(&self, caller: &Caller, result: &ToolResult) {
        let uris = result.content.iter().filter_map(|content| match content {
            Content::ResourceLink { uri, .. } => Some(uri.as_str()),
            Content::Resource { resource, .. } => resource.get("uri")?.as_str(),
            _ => None,
        });
        let mut linked = lock(&self.0);
        for uri in uris {
            linked.put((caller.key(), uri.to_owned()), ());
        }
    }

    pub(super) fn has(&self, caller: &Caller, uri: &str) -> bool {
        lock(&self.0).get(&(caller.key(), uri.to_owned())).is_some()
    }
}

/// Returns `true` if one of the tools has this resource as its user interface (MCP Apps).
pub(super) fn is_shown_by(tools: &[Value], uri: &str) -> bool {
    tools.iter().filter_map(|tool| tool.get("_meta")).any(|meta| {
        let shown = meta.pointer("/ui/resourceUri").or_else(|| meta.get("ui/resourceUri"));
        shown.and_then(Value::as_str) == Some(uri)
    })
}

/// Merges lists, and keeps the first of items with the same `key`, in the order of servers. Calls `on_twice` for each item
/// of another server.
pub(super) fn merged<'a>(
    lists: impl Iterator<Item = (&'a str, &'a [Value])>,
    key: &str,
    on_twice: impl Fn(&str, &str, &str),
) -> Vec<Value> {
    let mut seen = HashMap::new();
    let mut all = Vec::new();
    for (server, item) in lists.flat_map(|(server, list)| list.iter().map(move |item| (server, item))) {
        let Some(uri) = item.get(key).and_then(Value::as_str) else { continue };
        let first = *seen.entry(uri).or_insert_with(|| {
            all.push(item.clone());
            server
        });
        if first != server {
            on_twice(first, server, uri);
        }
    }
    all
}

/// Returns `true` if a list of resources has one.
pub(super) fn has_resource(resources: &[Value], uri: &str) -> bool {
    resources.iter().any(|resource| resource.get("uri").and_then(Value::as_str) == Some(uri))
}

/// Returns the specificity of the template that matches a resource best; `None` if none matches.
pub(super) fn fits(templates: &[Value], uri: &str) -> Option<usize> {
    let templates = templates.iter().filter_map(|template| template.get("uriTemplate")?.as_str());
    templates.filter_map(|template| literals_of(template, uri)).max()
}

/// Returns `true` if a skill lists this file, or lists no files and has it in its folder.
pub(super) fn has_skill(skills: &[Value], uri: &str) -> bool {
    skills.iter().any(|skill| match skill.get("resources") {
        Some(Value::Array(files)) => has_resource(files, uri),
        _ => {
            let main = skill.get("uri").and_then(Value::as_str).and_then(|main| main.strip_suffix("SKILL.md"));
            main.is_some_and(|folder| uri.starts_with(folder))
        }
    })
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
            None => return left.ends_with(after).then_some(literal + after.len()),
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
    fn most_specific_template_of_a_list_counts() {
        let templates = |texts: &[&str]| texts.iter().map(|text| json!({ "uriTemplate": text })).collect::<Vec<_>>();
        let all = templates(&["a://{any}", "a://notes/{id}"]);
        assert_eq!(fits(&all, "a://y"), Some("a://".len()));
        assert_eq!(fits(&all, "a://notes/y"), Some("a://notes/".len()));
        assert_eq!(fits(&all, "b://y"), None);
    }
}
