//! Resolves references inside a document. It is deliberately simple and independent of the generator, because it
//! judges the generator.

use serde_json::{Map, Value};

/// The pointer of the schema that a reference leads to, and the schema. Nothing is fetched.
#[must_use]
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let (mut pointer, base) = match document {
        "" => (String::new(), root),
        uri => {
            find(root, String::new(), &|map| map.get("$id").and_then(Value::as_str).is_some_and(|id| names(id, uri)))?
        }
    };
    let fragment = decoded(fragment)?;
    if fragment.is_empty() {
        return Some((pointer, base));
    }
    if fragment.starts_with('/') {
        let target = base.pointer(&fragment)?;
        pointer.push_str(&fragment);
        return Some((pointer, target));
    }
    let hash = format!("#{fragment}");
    let is_here = |map: &Map<String, Value>| {
        let says = |key: &str, text: &str| map.get(key).and_then(Value::as_str) == Some(text);
        says("$anchor", &fragment) || says("$dynamicAnchor", &fragment) || says("$id", &hash)
    };
    find(base, pointer, &is_here)
}

/// Returns `true` if a URI without a fragment names the schema with this `id`.
fn names(id: &str, uri: &str) -> bool {
    let id = id.trim_end_matches('#');
    id == uri || id.strip_suffix(uri).is_some_and(|before| before.ends_with('/'))
}

fn find<'a>(
    schema: &'a Value,
    pointer: String,
    is_it: &dyn Fn(&Map<String, Value>) -> bool,
) -> Option<(String, &'a Value)> {
    match schema {
        Value::Object(map) if is_it(map) => Some((pointer, schema)),
        Value::Object(map) => {
            let mut below =
                map.iter().filter(|(key, _)| !["enum", "const", "default", "examples"].contains(&key.as_str()));
            below.find_map(|(key, value)| find(value, format!("{pointer}/{}", step(key)), is_it))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| find(item, format!("{pointer}/{index}"), is_it))
        }
        _ => None,
    }
}

/// A key as a step of a JSON pointer.
#[must_use]
pub fn step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns `true` if the document's dialect ignores keywords beside `$ref`, as drafts up to 7 do.
#[must_use]
pub fn ref_stands_alone(root: &Value) -> bool {
    let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|draft| dialect.contains(draft))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_resolve_to_pointers_anchors_and_ids() {
        let root = json!({
            "$id": "https://example.com/root",
            "$defs": {
                "a b/é": { "$anchor": "here" },
                "nested": { "$id": "nested", "properties": { "x": { "$anchor": "deep" } } },
            },
        });
        let pointer = |reference: &str| resolve(&root, reference).map(|(pointer, _)| pointer);
        assert_eq!(pointer("#").as_deref(), Some(""));
        assert_eq!(pointer("#/$defs/a%20b~1%C3%A9").as_deref(), Some("/$defs/a b~1é"));
        assert_eq!(pointer("#here").as_deref(), Some("/$defs/a b~1é"));
        assert_eq!(pointer("nested#/properties/x").as_deref(), Some("/$defs/nested/properties/x"));
        assert_eq!(pointer("nested#deep").as_deref(), Some("/$defs/nested/properties/x"));
        assert_eq!(pointer("https://example.com/root#here").as_deref(), Some("/$defs/a b~1é"));
        assert_eq!(pointer("https://elsewhere.example/root"), None);
        assert_eq!(pointer("#nowhere"), None);
        assert_eq!(pointer("#/%zz"), None);
    }
}
