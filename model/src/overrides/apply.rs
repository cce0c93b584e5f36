//! Overrides over the tools of a snapshot.

use serde_json::{Map, Value};

use super::{Overrides, ToolOverride, inside, tool_pointer};
use crate::json_text::fault;
use crate::{FileError, Overridden, Snapshot, nearest, pointer_segment, printable};

/// Applies overrides to a snapshot, and collects those that do not fit.
pub(super) fn apply(overrides: &Overrides, snapshot: &Snapshot) -> (Snapshot, Vec<FileError>) {
    let mut mended = snapshot.clone();
    let mut misfits = Vec::new();
    for (name, said) in overrides.tools.iter() {
        let target = Target { overrides, name };
        match target.find(&snapshot.tools) {
            Ok(place) => {
                let Some(Value::Object(tool)) = mended.tools.get_mut(place) else { continue };
                let declared = tool.clone();
                misfits.extend(target.mend(tool, &declared, said));
                let overridden = Overridden { declared: declared.into(), learned_from: said.learned_from };
                mended.overridden.insert(name.clone(), overridden);
            }
            Err(error) => misfits.push(error),
        }
    }
    (mended, misfits)
}

/// The tool that an override is for.
struct Target<'a> {
    overrides: &'a Overrides,
    name: &'a str,
}

impl Target<'_> {
    fn error(&self, below: &str, message: String) -> FileError {
        let error = fault(&self.overrides.text, &format!("{}{below}", tool_pointer(self.name)), message);
        let error = error.inside(inside(self.name, below.strip_prefix("/patch").unwrap_or(below)));
        FileError { path: self.overrides.path.clone(), ..error }
    }

    /// Returns the place of the tool among those of the snapshot.
    fn find<'t>(&self, tools: &'t [Value]) -> Result<usize, FileError> {
        let name = |tool: &'t Value| tool.get("name").and_then(Value::as_str);
        let mut found = tools.iter().enumerate().filter(|(_, tool)| name(tool) == Some(self.name));
        let shown = printable(self.name);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                let message = format!("the server has several tools named `{shown}`, so an override is ambiguous");
                Err(self.error("", message).with_help("remove it"))
            }
            (None, _) => {
                let near = nearest(self.name, tools.iter().filter_map(name));
                // Each by itself: a character may be escaped at the beginning of a name alone.
                let near: Vec<String> = near.into_iter().map(printable).collect();
                let help = match near.as_slice() {
                    [] => "remove it; `mcp-bindgen list` shows the tools of a snapshot".to_owned(),
                    near => format!("did you mean `{}`?", near.join("`, `")),
                };
                Err(self.error("", format!("unknown tool `{shown}` in the overrides")).with_help(help))
            }
        }
    }

    fn mend(
        &self,
        tool: &mut Map<String, Value>,
        declared: &Map<String, Value>,
        said: &ToolOverride,
    ) -> Vec<FileError> {
        let mut misfits = Vec::new();
        for (key, patch) in &said.patch {
            misfits.extend(self.patch(tool, key, patch));
        }
        if let Some(schema) = &said.output_schema {
            tool.insert("outputSchema".to_owned(), schema.clone());
        }
        if misfits.is_empty() && tool == declared {
            let message =
                format!("the override of tool `{}` has no effect: the server declares the same", printable(self.name));
            misfits.push(self.error("", message).with_help("remove it"));
        }
        misfits
    }

    /// Patches one of the two schemas.
    fn patch(&self, tool: &mut Map<String, Value>, key: &str, patch: &Value) -> Vec<FileError> {
        let below = format!("/patch/{key}");
        let Value::Object(patch) = patch else {
            return match tool.shift_remove(key) {
                Some(_) => Vec::new(),
                None => vec![self.misfit(key, "", Misfit::NothingToRemove)],
            };
        };
        if key == "outputSchema" && !tool.contains_key(key) {
            let message = format!("tool `{}` has no `outputSchema` to patch", printable(self.name));
            return vec![self.error(&below, message).with_help("add a whole `outputSchema` beside `patch`")];
        }
        let schema = tool.entry(key).or_insert(Value::Null);
        merge(schema, patch).into_iter().map(|(pointer, misfit)| self.misfit(key, &pointer, misfit)).collect()
    }

    fn misfit(&self, key: &str, pointer: &str, misfit: Misfit) -> FileError {
        let tool = printable(self.name);
        let below = format!("/patch/{key}{pointer}");
        match misfit {
            Misfit::Gone { name, near } => {
                let message =
                    format!("the patch of tool `{tool}` changes `{}`, which does not exist", printable(&name));
                let mut help = "a patch changes declared parts; add new constraints in `allOf`".to_owned();
                if let Some(near) = near {
                    help = format!("did you mean `{}`? {help}", printable(&near));
                }
                self.error(&below, message).with_help(help)
            }
            Misfit::NothingToRemove => {
                let message = format!("the patch of tool `{tool}` removes a key that does not exist");
                self.error(&below, message).with_help("`null` removes a key; delete this line")
            }
        }
    }
}

/// Why a patch does not fit.
#[derive(Debug, PartialEq)]
enum Misfit {
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

/// Applies a JSON merge patch (RFC 7396) to a schema, or returns what does not fit, with its JSON pointers below the
/// schema; the schema is of no use then. Stricter than the RFC in one respect: a patch was written for a known schema, so
/// the positions that it names must exist.
fn merge(schema: &mut Value, patch: &Map<String, Value>) -> Vec<(String, Misfit)> {
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
