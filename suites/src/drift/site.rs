//! The places of a document where a schema stands.

use mcp_samples::references::{resolve, step};
use serde_json::{Map, Value};

/// A schema that can be changed.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) pointer: String,
    pub(crate) holder: Holder,
}

/// The role of a schema in the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Root,
    Property,
    Item,
    Additional,
    Branch,
    Part,
    Definition,
}

/// Every schema of a document that values can meet, the root first.
pub(crate) fn sites(document: &Value) -> Vec<Site> {
    let mut found = Vec::new();
    walk(document, String::new(), Holder::Root, &mut found);
    found
}

fn walk(schema: &Value, pointer: String, holder: Holder, found: &mut Vec<Site>) {
    let Value::Object(map) = schema else { return };
    for (keyword, value) in map {
        let holder = match keyword.as_str() {
            "properties" => Holder::Property,
            "$defs" | "definitions" => Holder::Definition,
            "items" | "prefixItems" => Holder::Item,
            "additionalProperties" => Holder::Additional,
            "anyOf" | "oneOf" => Holder::Branch,
            "allOf" => Holder::Part,
            _ => continue,
        };
        let named = matches!(holder, Holder::Property | Holder::Definition);
        match value {
            Value::Object(schemas) if named => {
                for (name, schema) in schemas {
                    walk(schema, format!("{pointer}/{keyword}/{}", step(name)), holder, found);
                }
            }
            Value::Object(_) if !named => walk(value, format!("{pointer}/{keyword}"), holder, found),
            Value::Array(schemas) if !named => {
                for (index, schema) in schemas.iter().enumerate() {
                    walk(schema, format!("{pointer}/{keyword}/{index}"), holder, found);
                }
            }
            _ => {}
        }
    }
    let at = if holder == Holder::Root { 0 } else { found.len() };
    found.insert(at, Site { pointer, holder });
}

/// Returns `true` if a reference leads inside the schema at this pointer. Moving the schema would break the reference.
pub(crate) fn is_referred_into(document: &Value, pointer: &str) -> bool {
    let inside = format!("{pointer}/");
    let mut references = Vec::new();
    collect_references(document, &mut references);
    // The definitions stay where they are when the root moves.
    let stays =
        |target: &str| pointer.is_empty() && (target.starts_with("/$defs/") || target.starts_with("/definitions/"));
    references
        .into_iter()
        .filter_map(|reference| resolve(document, reference))
        .any(|(target, _)| target.starts_with(&inside) && !stays(&target))
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

/// Returns `true` if one of the keywords occurs anywhere, also as the name of a property.
pub(crate) fn mentions(value: &Value, keywords: &[&str]) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, value)| keywords.contains(&key.as_str()) || mentions(value, keywords))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, keywords)),
        _ => false,
    }
}

/// Returns `true` if loosening any schema in the document loosens the whole.
pub(crate) fn is_monotone(document: &Value) -> bool {
    const TURN_AROUND: [&str; 11] = [
        "not",
        "if",
        "oneOf",
        "contains",
        "maxContains",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "uniqueItems",
    ];
    !mentions(document, &TURN_AROUND)
}

/// Puts a definition where the document keeps them, under a name that is free; gives the pointer.
pub(crate) fn define(document: &mut Value, wanted: &str, schema: Value) -> Option<String> {
    let root = document.as_object_mut()?;
    let keyword = if root.contains_key("definitions") { "definitions" } else { "$defs" };
    let definitions = root.entry(keyword).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    let mut name = wanted.to_owned();
    while definitions.contains_key(&name) {
        name.push('x');
    }
    definitions.insert(name.clone(), schema);
    Some(format!("/{keyword}/{}", step(&name)))
}
