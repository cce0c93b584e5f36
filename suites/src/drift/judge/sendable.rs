//! Judges whether bindings send a value. They have no field for an undeclared key, and omit a `null` that means the
//! same as absent.

use mcp_samples::Place;
use serde_json::{Map, Value};

/// Up to here every integer is a double as well.
const EXACT: u64 = 1 << 53;

/// The verdict on whether bindings send a value that is valid under their schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sendable {
    No,
    /// It depends on what this judge does not know: which branch a value belongs to.
    Perhaps,
    Yes,
}

pub(crate) fn sendable(schema: &Value, arguments: &Value) -> Sendable {
    if !arguments.is_object() {
        return Sendable::No;
    }
    match at(&Place::root(schema), arguments, true) {
        // Types that are in a union anywhere keep the keys of its other branches, wherever the type is used.
        Sendable::No if has_union(schema) => Sendable::Perhaps,
        found => found,
    }
}

fn has_union(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            ["anyOf", "oneOf"].iter().any(|keyword| members.contains_key(*keyword)) || members.values().any(has_union)
        }
        Value::Array(items) => items.iter().any(has_union),
        _ => false,
    }
}

fn at(place: &Place<'_>, value: &Value, is_root: bool) -> Sendable {
    match value {
        Value::Object(members) => {
            let below = members.iter().map(|(key, value)| member(place, members, key, value, is_root));
            below.min().unwrap_or(Sendable::Yes)
        }
        Value::Array(items) => {
            let below = items.iter().enumerate().map(|(index, item)| at(&place.item(index), item, false));
            below.min().unwrap_or(Sendable::Yes)
        }
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) if whole.unsigned_abs() <= EXACT => Sendable::Yes,
            (Some(_), _) if is_integer(place) => Sendable::Yes,
            (None, None) if number.as_f64().is_some_and(|value| value.fract() != 0.0) => Sendable::Yes,
            _ => Sendable::Perhaps,
        },
        _ => Sendable::Yes,
    }
}

fn is_integer(place: &Place<'_>) -> bool {
    let says =
        |name: &str| place.alternatives().iter().any(|schema| schema.get("type").is_some_and(|kind| kind == name));
    says("integer") && !says("number")
}

fn member(place: &Place<'_>, members: &Map<String, Value>, key: &str, value: &Value, is_root: bool) -> Sendable {
    let property = place.property(key);
    if value.is_null() && !is_required(place, key) && property.defaults_to_null() {
        // A property of any type may be null, like any other value.
        let is_open = property.alternatives().iter().all(|schema| !says_kinds(schema));
        return if is_open { Sendable::Perhaps } else { Sendable::No };
    }
    let below = match at(&property, value, false) {
        // Another branch may take it as it is.
        Sendable::No if place.is_union() => Sendable::Perhaps,
        below => below,
    };
    kept(place, members, key, is_root).min(below)
}

fn is_required(place: &Place<'_>, key: &str) -> bool {
    place.alternatives().iter().any(|schema| names(schema, "required", key))
}

fn names(schema: &Value, keyword: &str, key: &str) -> bool {
    schema.get(keyword).and_then(Value::as_array).is_some_and(|names| names.iter().any(|name| name == key))
}

fn says_kinds(schema: &Value) -> bool {
    ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|keyword| schema.get(keyword).is_some())
}

/// Returns whether a type has a field for the key.
fn kept(place: &Place<'_>, members: &Map<String, Value>, key: &str, is_root: bool) -> Sendable {
    let all = place.alternatives();
    let is_union = place.is_union();
    let says = |keyword: &str| all.iter().any(|schema| schema.get(keyword).is_some());
    if place.declared(key).is_some() {
        return if is_union && !fits_a_branch(&all, members) { Sendable::Perhaps } else { Sendable::Yes };
    }
    let extra = all.iter().filter_map(|schema| schema.get("additionalProperties"));
    let (open, closed): (Vec<_>, Vec<_>) = extra.partition(|said| **said != Value::Bool(false));
    let conditional = ["if", "then", "else", "dependentSchemas", "dependencies", "dependentRequired", "required"];
    if is_union || conditional.iter().any(|keyword| says(keyword)) || says("patternProperties") {
        // A key that is only required, or only declared on a condition, has a field.
        let required = all.iter().any(|schema| names(schema, "required", key));
        let always = required && !is_union;
        let open = !open.is_empty() && closed.is_empty() && !is_union;
        return if always || open { Sendable::Yes } else { Sendable::Perhaps };
    }
    if !open.is_empty() {
        return if closed.is_empty() { Sendable::Yes } else { Sendable::Perhaps };
    }
    // Arguments that declare no property are a struct without fields; any other such object is free-form.
    let has_properties = all.iter().enumerate().any(|(index, schema)| match schema.get("properties") {
        Some(Value::Object(properties)) => (is_root && index == 0) || !properties.is_empty(),
        _ => false,
    });
    if has_properties || says("unevaluatedProperties") { Sendable::No } else { Sendable::Yes }
}

/// Returns `true` if one schema declares all the keys by itself, so that the branch does not matter.
fn fits_a_branch(all: &[&Value], members: &Map<String, Value>) -> bool {
    all.iter()
        .filter_map(|schema| schema.get("properties")?.as_object())
        .any(|properties| members.keys().all(|key| properties.contains_key(key)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn undeclared_keys_are_sendable_only_if_the_type_stores_them() {
        let given = json!({ "a": { "b": 1 } });
        let of = |inner: Value| sendable(&json!({ "type": "object", "properties": { "a": inner } }), &given);
        assert_eq!(of(json!({ "type": "object" })), Sendable::Yes);
        assert_eq!(of(json!({ "type": "object", "properties": { "b": {} } })), Sendable::Yes);
        assert_eq!(of(json!({ "type": "object", "properties": { "c": {} } })), Sendable::No);
        assert_eq!(of(json!({ "properties": { "c": {} }, "additionalProperties": true })), Sendable::Yes);
        assert_eq!(
            of(json!({ "properties": { "c": {} }, "additionalProperties": { "type": "integer" } })),
            Sendable::Yes
        );
        assert_eq!(of(json!({ "properties": { "c": {} }, "required": ["b"] })), Sendable::Yes);
        assert_eq!(sendable(&json!({ "properties": {} }), &given), Sendable::No);
        assert_eq!(sendable(&json!({ "type": "object" }), &given), Sendable::Yes);
        assert_eq!(of(json!({ "anyOf": [{ "properties": { "c": {} } }, { "type": "null" }] })), Sendable::Perhaps);
    }

    #[test]
    fn nulls_and_numbers_that_no_type_prints_are_not_sent() {
        let schema = json!({ "properties": {
            "a": { "type": ["string", "null"], "default": null },
            "b": { "type": ["string", "null"] },
            "n": { "type": "number" },
            "i": { "type": "integer" },
        } });
        assert_eq!(sendable(&schema, &json!({ "a": null })), Sendable::No);
        assert_eq!(sendable(&schema, &json!({ "b": null })), Sendable::Yes);
        assert_eq!(sendable(&schema, &json!({ "i": i64::MAX })), Sendable::Yes);
        assert_eq!(sendable(&schema, &json!({ "n": i64::MAX })), Sendable::Perhaps);
        assert_eq!(sendable(&schema, &json!([])), Sendable::No);
    }
}
