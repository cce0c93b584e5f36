//! The forms of keywords' values, and the names of keywords in other versions of JSON Schema.

use jsonschema::Draft;
use serde_json::{Map, Value};

/// The form of a keyword's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Form {
    /// One schema; for `items`, several as well.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// The name of a schema.
    Reference,
    /// The name of a version.
    Dialect,
    /// Something else that constrains or names.
    Value,
    /// A descriptive text.
    Annotation,
    /// Any value.
    Other,
}

pub(in super::super) fn form(keyword: &str) -> Form {
    match keyword {
        "additionalProperties"
        | "additionalItems"
        | "items"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "contentSchema" => Form::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
            Form::Named
        }
        "$ref" | "$dynamicRef" | "$recursiveRef" => Form::Reference,
        "$schema" => Form::Dialect,
        "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "type" | "enum" | "const" | "multipleOf"
        | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" | "maxLength" | "minLength" | "pattern"
        | "maxItems" | "minItems" | "uniqueItems" | "maxContains" | "minContains" | "maxProperties"
        | "minProperties" | "required" | "dependentRequired" => Form::Value,
        "$comment" | "$vocabulary" | "title" | "description" | "default" | "examples" | "deprecated" | "readOnly"
        | "writeOnly" | "format" | "contentEncoding" | "contentMediaType" => Form::Annotation,
        _ => Form::Other,
    }
}

/// Recognizes the boolean of draft 4 that makes the bound beside it exclusive.
pub(super) fn is_draft4_bound(map: &Map<String, Value>, keyword: &str) -> bool {
    let bound = match keyword {
        "exclusiveMinimum" => "minimum",
        "exclusiveMaximum" => "maximum",
        _ => return false,
    };
    map.get(keyword).is_some_and(Value::is_boolean) && map.get(bound).is_some_and(Value::is_number)
}

/// Returns the usable part of a list with entries that do not belong there.
pub(super) fn salvage(keyword: &str, value: &Value) -> Value {
    match value {
        Value::Array(entries) if matches!(keyword, "required" | "type" | "enum") => {
            let mut kept: Vec<Value> = Vec::with_capacity(entries.len());
            for entry in entries.iter().filter(|entry| keyword != "required" || entry.is_string()) {
                if !kept.contains(entry) {
                    kept.push(entry.clone());
                }
            }
            Value::Array(kept)
        }
        _ => value.clone(),
    }
}

/// Writes a schema as its own version would.
pub(super) fn translate(schema: &mut Map<String, Value>, draft: Draft) {
    nullable(schema);
    if draft != Draft::Draft4 {
        exclusive_bound(schema, "minimum", "exclusiveMinimum");
        exclusive_bound(schema, "maximum", "exclusiveMaximum");
    }
    if draft == Draft::Draft202012 {
        tuple(schema);
    }
    if draft == Draft::Draft4 && schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("required");
    }
}

/// Translates `nullable: true` of `OpenAPI`.
fn nullable(schema: &mut Map<String, Value>) {
    if schema.get("nullable") != Some(&Value::Bool(true)) {
        return;
    }
    let null = Value::from("null");
    match schema.get_mut("type") {
        Some(Value::Array(names)) if !names.is_empty() && !names.contains(&null) => names.push(null),
        Some(name @ Value::String(_)) if *name != null => *name = Value::Array(vec![name.take(), null]),
        _ => {}
    }
}

fn exclusive_bound(schema: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else { return };
    if *is_exclusive {
        if let Some(limit) = schema.remove(bound) {
            schema.insert(exclusive.to_owned(), limit);
        }
    } else {
        schema.remove(exclusive);
    }
}

/// Renames a list in `items` to `prefixItems`, as versions after 2019-09 require.
fn tuple(schema: &mut Map<String, Value>) {
    if !schema.get("items").is_some_and(Value::is_array) {
        return;
    }
    let items = schema.remove("items");
    let rest = schema.remove("additionalItems");
    if let (Some(items), false) = (items, schema.contains_key("prefixItems")) {
        if items.as_array().is_some_and(|items| !items.is_empty()) {
            schema.insert("prefixItems".to_owned(), items);
        }
        if let Some(rest) = rest {
            schema.insert("items".to_owned(), rest);
        }
    }
}
