//! What the keywords of JSON Schema mean for a comparison.

use serde_json::{Map, Value};

/// They say something to people and decide nothing.
pub(super) const WORDING: [&str; 11] = [
    "title",
    "description",
    "examples",
    "example",
    "default",
    "$comment",
    "$schema",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];

/// A number that bounds the value from below, or from above.
pub(super) const LOWER_BOUNDS: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
pub(super) const UPPER_BOUNDS: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/// They restrict values in ways that are not weighed against each other: any other text is another restriction.
pub(super) const RESTRICTIONS: [&str; 19] = [
    "pattern",
    "multipleOf",
    "uniqueItems",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
];

/// Their members are schemas under names of the author's, not keywords.
const NAMED_SCHEMAS: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// They hold plain values.
const VALUES: [&str; 3] = ["enum", "const", "required"];

/// The schema without what is there for people alone.
pub(super) fn without_wording(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(key, _)| !WORDING.contains(&key.as_str()))
                .map(|(key, value)| {
                    let value = match (key.as_str(), value) {
                        (key, Value::Object(schemas)) if NAMED_SCHEMAS.contains(&key) => Value::Object(
                            schemas.iter().map(|(name, schema)| (name.clone(), without_wording(schema))).collect(),
                        ),
                        (key, value) if VALUES.contains(&key) => value.clone(),
                        (_, value) => without_wording(value),
                    };
                    (key.clone(), value)
                })
                .collect(),
        ),
        Value::Array(elements) => Value::Array(elements.iter().map(without_wording).collect()),
        scalar => scalar.clone(),
    }
}

/// The types that a schema names; `None` where it names none.
pub(super) fn types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// Whether every value of the types `narrow` is one of the types `wide`; `None` stands for all types.
pub(super) fn covers(wide: Option<&[&str]>, narrow: Option<&[&str]>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => {
            narrow.iter().all(|name| wide.contains(name) || (*name == "integer" && wide.contains(&"number")))
        }
    }
}

/// The values of `enum` or `const`.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}
