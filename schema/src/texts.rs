//! The texts for people in a schema.

use mcp_bindgen_model::visible;
use serde_json::Value;

use crate::bundle::NAMED_SCHEMAS;

/// Keywords that hold data, whatever it looks like.
pub(crate) const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// Removes invisible characters from the titles and descriptions of a schema. Names and values stay.
///
/// ```
/// let mut schema = serde_json::json!({ "description": "Reads.\u{200b}", "enum": ["a\u{200b}"] });
/// mcp_bindgen_schema::visible_texts(&mut schema);
/// assert_eq!(schema, serde_json::json!({ "description": "Reads.", "enum": ["a\u{200b}"] }));
/// ```
pub fn visible_texts(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("title" | "description", Value::String(text)) => *text = visible(text).trim().to_owned(),
                    (keyword, Value::Object(members)) if NAMED_SCHEMAS.contains(&keyword) => {
                        members.values_mut().for_each(visible_texts);
                    }
                    (keyword, value) if !DATA.contains(&keyword) => visible_texts(value),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(visible_texts),
        _ => {}
    }
}

/// Returns the descriptions in a schema, in its order.
///
/// ```
/// let schema = serde_json::json!({ "description": "a", "properties": { "n": { "description": "b" } } });
/// assert_eq!(mcp_bindgen_schema::descriptions(&schema), ["a", "b"]);
/// ```
#[must_use]
pub fn descriptions(schema: &Value) -> Vec<&str> {
    fn walk<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
        match schema {
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    match (keyword.as_str(), value) {
                        ("description", Value::String(text)) => found.push(text),
                        (keyword, Value::Object(members)) if NAMED_SCHEMAS.contains(&keyword) => {
                            members.values().for_each(|schema| walk(schema, found));
                        }
                        (keyword, value) if !DATA.contains(&keyword) => walk(value, found),
                        _ => {}
                    }
                }
            }
            Value::Array(schemas) => schemas.iter().for_each(|schema| walk(schema, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(schema, &mut found);
    found
}
