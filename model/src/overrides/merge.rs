//! Applies a JSON merge patch (RFC 7396) to a schema. Stricter than the RFC in one respect: a patch was written for a
//! known schema, so the positions that it names must exist.

use serde_json::{Map, Value};

use crate::{nearest, pointer_segment};

/// Why a patch does not fit.
#[derive(Debug, PartialEq)]
pub(super) enum Misfit {
    /// It speaks of a name, as of a property, that is not there; this one is the nearest.
    Gone { name: String, near: Option<String> },
    /// It removes a value that does not exist.
    NothingToRemove,
}

/// The type of an object's members.
#[derive(Clone, Copy)]
enum Members {
    /// Keywords: a schema that is there may be given one that it does not have.
    Keywords,
    /// Schemas by name. A patch of a name that is not there was written for another schema.
    Names,
    /// They are new with the object that they are in.
    New,
}

/// The keywords whose members are schemas by name.
const OF_NAMES: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Patches a schema, or gives what does not fit, with its JSON pointers below the schema. The schema is of no use then.
pub(super) fn merge(schema: &mut Value, patch: &Map<String, Value>) -> Vec<(String, Misfit)> {
    let mut misfits = Vec::new();
    let members = if schema.is_object() { Members::Keywords } else { Members::New };
    merge_object(schema, patch, members, "", &mut misfits);
    misfits
}

fn merge_object(
    target: &mut Value,
    patch: &Map<String, Value>,
    members: Members,
    pointer: &str,
    misfits: &mut Vec<(String, Misfit)>,
) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        let pointer = format!("{pointer}/{}", pointer_segment(key));
        let is_there = target.contains_key(key);
        match value {
            _ if !is_there && matches!(members, Members::Names) => {
                let near = nearest(key, target.keys().map(String::as_str)).first().map(ToString::to_string);
                misfits.push((pointer, Misfit::Gone { name: key.clone(), near }));
            }
            // The order of the others stays.
            Value::Null if is_there => drop(target.shift_remove(key)),
            Value::Null => misfits.push((pointer, Misfit::NothingToRemove)),
            Value::Object(patch) => {
                let target = target.entry(key).or_insert(Value::Null);
                let members = match members {
                    _ if !target.is_object() => Members::New,
                    Members::Keywords if OF_NAMES.contains(&key.as_str()) => Members::Names,
                    _ => Members::Keywords,
                };
                merge_object(target, patch, members, &pointer, misfits);
            }
            other => drop(target.insert(key.clone(), other.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(mut schema: Value, patch: &Value) -> Result<Value, Vec<(String, Misfit)>> {
        let misfits = merge(&mut schema, patch.as_object().unwrap_or(&Map::new()));
        if misfits.is_empty() { Ok(schema) } else { Err(misfits) }
    }

    #[test]
    fn merge_patch_examples_of_rfc_7396_pass() {
        for (schema, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c", "d": "e"}}), json!({"a": {"b": "d", "d": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b"}), json!({"a": "b"})),
        ] {
            assert_eq!(merged(schema, &patch), Ok(expected), "{patch}");
        }
    }

    #[test]
    fn merge_preserves_key_order() {
        let schema = json!({"properties": {"a": {"type": "string", "title": "A", "minLength": 1}, "b": {}}});
        let patch = json!({"properties": {"a": {"type": null, "maxLength": 2}}});
        let expected = r#"{"properties":{"a":{"title":"A","minLength":1,"maxLength":2},"b":{}}}"#;
        assert_eq!(merged(schema, &patch).map(|schema| schema.to_string()), Ok(expected.to_owned()));
    }

    #[test]
    fn patch_adds_keywords_but_cannot_add_property_names() {
        let schema = json!({"properties": {"list": {"type": "array"}, "any": {}, "yes": true}});
        let mended = json!({"properties": {
            "list": {"items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "any": {"properties": {"b": {}}},
            "yes": {"type": "string"},
        }});
        assert!(merged(schema.clone(), &mended).is_ok());
        let gone =
            |name: &str, near: Option<&str>| Misfit::Gone { name: name.to_owned(), near: near.map(str::to_owned) };
        for (patch, pointer, misfit) in [
            (json!({"properties": {"lst": {"items": {}}}}), "/properties/lst", gone("lst", Some("list"))),
            (json!({"properties": {"lst": true}}), "/properties/lst", gone("lst", Some("list"))),
            (json!({"properties": {"a/b": null}}), "/properties/a~1b", gone("a/b", None)),
            (json!({"properties": {"list": {"title": null}}}), "/properties/list/title", Misfit::NothingToRemove),
            (
                json!({"properties": {"list": {"items": {"title": null}}}}),
                "/properties/list/items/title",
                Misfit::NothingToRemove,
            ),
        ] {
            assert_eq!(merged(schema.clone(), &patch), Err(vec![(pointer.to_owned(), misfit)]), "{patch}");
        }
    }
}
