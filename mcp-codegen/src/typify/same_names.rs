//! Finds schemas that would get the same name from typify, which would treat them as one type.

use std::collections::HashMap;

use serde_json::Value;

use super::prepare::{Definitions, reduced};

/// Fails if two different schemas of a prepared document would have the same name.
pub(super) fn check(definitions: &Definitions) -> Result<(), String> {
    let mut names = Names(HashMap::new());
    for (name, definition) in definitions {
        names.take(definition, &reduced(name))?;
    }
    Ok(())
}

struct Names<'d>(HashMap<String, &'d Value>);

impl<'d> Names<'d> {
    fn take(&mut self, schema: &'d Value, name: &str) -> Result<(), String> {
        let Value::Object(map) = schema else { return Ok(()) };
        if map.contains_key("$ref") {
            return Ok(());
        }
        if is_named(schema) && self.0.insert(name.to_owned(), schema).is_some_and(|other| other != schema) {
            return Err(format!("it would take two types for one, `{name}`"));
        }
        for (property, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.take(schema, &format!("{name}{}", reduced(property)))?;
        }
        for (key, step) in [("items", "item"), ("additionalProperties", "value")] {
            if let Some(schema) = map.get(key) {
                self.take(schema, &format!("{name}{step}"))?;
            }
        }
        for key in ["anyOf", "oneOf"] {
            let others = branches(schema, key).iter().filter(|branch| !is_null(branch)).count();
            for (number, branch) in branches(schema, key).iter().enumerate() {
                let name = if others == 1 { name.to_owned() } else { format!("{name}variant{number}") };
                self.take(branch, &name)?;
            }
        }
        Ok(())
    }
}

fn branches<'d>(schema: &'d Value, key: &str) -> &'d [Value] {
    schema.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Returns `true` if typify may give the schema a type with a name.
fn is_named(schema: &Value) -> bool {
    ["properties", "enum", "pattern", "minLength", "maxLength"].iter().any(|key| schema.get(key).is_some())
        || schema.get("type").is_some_and(Value::is_array)
        || ["anyOf", "oneOf"]
            .iter()
            .any(|key| branches(schema, key).iter().filter(|branch| !is_null(branch)).count() > 1)
}
