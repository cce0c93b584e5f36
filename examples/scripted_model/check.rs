//! The rules of providers for declarations of tools.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Declared;

/// Keywords with schemas by name, and those with a list of schemas or a single one.
const BY_NAME: [&str; 3] = ["properties", "$defs", "definitions"];
const BELOW: [&str; 3] = ["items", "anyOf", "prefixItems"];
const NOT_STRICT: [&str; 7] = ["oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas"];

/// Checks that names are unique, and valid for every provider.
pub(super) fn names(tools: &[Declared]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for Declared { name, .. } in tools {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !is_name {
            return Err(format!("`{name}` cannot be the name of a tool"));
        }
        if !seen.insert(name) {
            return Err(format!("the tool `{name}` is declared twice"));
        }
    }
    Ok(())
}

pub(super) fn root(name: &str, schema: &Value) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(format!("{name}: the schema is not of type `object`"));
    }
    match ["oneOf", "anyOf", "allOf"].into_iter().find(|keyword| schema.get(keyword).is_some()) {
        Some(keyword) => Err(format!("{name}: `{keyword}` at the root of the schema")),
        None => Ok(()),
    }
}

/// OpenAI's rules for `strict: true`: objects are closed, and all properties are required.
pub(super) fn strict_of_openai(name: &str, schema: &Value) -> Result<(), String> {
    root(name, schema)?;
    every_schema(schema, &mut |schema| {
        if let Some(keyword) = NOT_STRICT.into_iter().find(|keyword| schema.get(keyword).is_some()) {
            return Err(format!("{name}: strict schemas have no `{keyword}`"));
        }
        if schema.get("$ref").is_some() && schema.as_object().is_some_and(|schema| schema.len() > 1) {
            return Err(format!("{name}: strict schemas have nothing beside `$ref`"));
        }
        closed(name, schema)?;
        let required: BTreeSet<&str> = texts(schema.get("required")).collect();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        match properties.map(|(property, _)| property.as_str()).find(|property| !required.contains(property)) {
            Some(property) => Err(format!("{name}: strict schemas require every property, and not `{property}`")),
            None => Ok(()),
        }
    })
}

/// Anthropic's rules for `strict: true`; properties may be optional.
pub(super) fn strict_of_anthropic(name: &str, schema: &Value) -> Result<(), String> {
    every_schema(schema, &mut |schema| closed(name, schema))
}

fn closed(name: &str, schema: &Value) -> Result<(), String> {
    let is_object = texts(schema.get("type")).any(|kind| kind == "object") || schema.get("properties").is_some();
    if is_object && schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(format!("{name}: strict schemas say `additionalProperties: false` of every object"));
    }
    Ok(())
}

/// A string, or the strings of a list.
fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    value.into_iter().chain(list).filter_map(Value::as_str)
}

/// Visits schemas, but not similar values in `enum` or names of properties.
fn every_schema(schema: &Value, look: &mut dyn FnMut(&Value) -> Result<(), String>) -> Result<(), String> {
    look(schema)?;
    for keyword in BY_NAME {
        for (_, inner) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            every_schema(inner, look)?;
        }
    }
    for keyword in BELOW {
        match schema.get(keyword) {
            Some(Value::Array(schemas)) => schemas.iter().try_for_each(|inner| every_schema(inner, look))?,
            Some(inner @ Value::Object(_)) => every_schema(inner, look)?,
            _ => {}
        }
    }
    Ok(())
}
