//! Unions that a property tells apart: their types take an object with a tag that the schema does not list.

use mcp_samples::references::resolve;
use serde_json::{Map, Value, json};

use super::relaxed::Doubt;

const DEEPEST: usize = 16;

/// A property whose constants tell branches apart.
pub(super) struct Tag {
    key: String,
    values: Vec<Value>,
}

impl Tag {
    /// A schema for objects whose tag is none of the listed ones.
    pub(super) fn unknown(&self) -> Value {
        let kinds = if self.values.iter().all(Value::is_string) {
            json!({ "type": "string" })
        } else {
            json!({ "not": { "type": "string" } })
        };
        json!({
            "type": "object",
            "required": [self.key],
            "properties": { self.key.clone(): { "allOf": [kinds, { "not": { "enum": self.values } }] } },
        })
    }
}

/// An object that a branch allows: its properties, and what it requires.
#[derive(Clone, Default)]
struct Object<'a> {
    properties: Vec<(&'a str, &'a Value)>,
    required: Vec<&'a str>,
}

/// The tags of a union. Where it is in doubt which they are, all that may be one, or none.
pub(super) fn tags(root: &Value, schema: &Value, branches: &[&Value], doubt: Doubt) -> Vec<Tag> {
    let mut objects = Vec::new();
    for branch in branches {
        objects.extend(objects_of(root, branch, DEEPEST));
    }
    // The keywords beside the branches apply to each branch.
    if let Some(map) = schema.as_object() {
        let own = own(map);
        for object in &mut objects {
            object.properties.extend(own.properties.iter().copied());
            object.required.extend(own.required.iter().copied());
        }
    }
    let Some(first) = objects.first().filter(|_| objects.len() > 1) else { return Vec::new() };
    let strict = doubt == Doubt::Refuses;
    let keys: Vec<&str> =
        if strict { first.required.clone() } else { first.properties.iter().map(|(key, _)| *key).collect() };
    let mut found = keys.into_iter().filter_map(|key| tag(root, &objects, key, strict));
    if strict { found.next().into_iter().collect() } else { found.collect() }
}

fn tag(root: &Value, objects: &[Object<'_>], key: &str, strict: bool) -> Option<Tag> {
    let mut values = Vec::new();
    for object in objects {
        let (_, property) = object.properties.iter().find(|(name, _)| *name == key)?;
        let value = constant(root, property, DEEPEST)?;
        if strict && (!object.required.contains(&key) || values.contains(&value)) {
            return None;
        }
        values.push(value);
    }
    let texts = values.iter().filter(|value| value.is_string()).count();
    (!strict || texts == 0 || texts == values.len()).then(|| Tag { key: key.to_owned(), values })
}

fn constant(root: &Value, schema: &Value, depth: usize) -> Option<Value> {
    let map = schema.as_object().filter(|_| depth > 0)?;
    match (map.get("const"), map.get("enum").and_then(Value::as_array).map(Vec::as_slice), map.get("$ref")) {
        (Some(value), _, _) | (None, Some([value]), _) => Some(value.clone()),
        (None, None, Some(Value::String(reference))) => constant(root, resolve(root, reference)?.1, depth - 1),
        _ => {
            let parts = map.get("allOf").and_then(Value::as_array)?;
            parts.iter().find_map(|part| constant(root, part, depth - 1))
        }
    }
}

fn own(map: &Map<String, Value>) -> Object<'_> {
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    Object {
        properties: properties.map(|(key, schema)| (key.as_str(), schema)).collect(),
        required: required.filter_map(Value::as_str).collect(),
    }
}

/// The objects that a branch may be, through references, parts and branches of its own.
fn objects_of<'a>(root: &'a Value, schema: &'a Value, depth: usize) -> Vec<Object<'a>> {
    let Some(map) = schema.as_object().filter(|_| depth > 0) else { return Vec::new() };
    let named = |name: &Value| name == "object";
    let can_be_object = match map.get("type") {
        Some(Value::Array(names)) => names.iter().any(named),
        Some(name) => named(name),
        None => !map.contains_key("enum") && !map.contains_key("const"),
    };
    if !can_be_object {
        return Vec::new();
    }
    let mut all = vec![own(map)];
    let mut join = |others: Vec<Object<'a>>| {
        let pairs = |one: &Object<'a>| -> Vec<Object<'a>> {
            let joined = |other: &Object<'a>| {
                let mut one = one.clone();
                one.properties.extend(other.properties.iter().copied());
                one.required.extend(other.required.iter().copied());
                one
            };
            others.iter().map(joined).collect()
        };
        all = all.iter().flat_map(pairs).take(64).collect();
    };
    if let Some((_, target)) = map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference)) {
        join(objects_of(root, target, depth - 1));
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        join(objects_of(root, part, depth - 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
            join(branches.iter().flat_map(|branch| objects_of(root, branch, depth - 1)).collect());
        }
    }
    all
}
