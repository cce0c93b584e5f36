//! The texts for people in a schema.

use mcp_bindgen_model::visible;
use serde_json::Value;

use crate::bundle::NAMED_SCHEMAS;
use crate::normalize::WORDING;

/// Keywords that hold data, whatever it looks like.
pub(crate) const DATA: [&str; 5] = ["enum", "const", "default", "examples", "required"];

/// Returns the text of a string, or the JSON of another value.
pub(crate) fn text_or_json(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Formats a text for a message, shortened to a number of characters.
#[doc(hidden)]
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Formats names for a message: up to `most`, and the number of the others.
#[doc(hidden)]
#[must_use]
pub fn listed(names: impl IntoIterator<Item = String>, most: usize) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    let more = names.len().saturating_sub(most);
    names.truncate(most);
    let names = names.join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

/// Returns the schema without descriptive keywords.
pub(crate) fn without_wording(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let kept = keywords.iter().filter(|(keyword, _)| !WORDING.contains(&keyword.as_str()));
            let kept = kept.map(|(keyword, value)| {
                let value = match value {
                    Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                        named.iter().map(|(name, schema)| (name.clone(), without_wording(schema))).collect()
                    }
                    value if DATA.contains(&keyword.as_str()) => value.clone(),
                    value => without_wording(value),
                };
                (keyword.clone(), value)
            });
            Value::Object(kept.collect())
        }
        Value::Array(schemas) => schemas.iter().map(without_wording).collect(),
        other => other.clone(),
    }
}

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
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .flat_map(|(keyword, value)| match (keyword.as_str(), value) {
                ("description", Value::String(text)) => vec![text.as_str()],
                (keyword, Value::Object(members)) if NAMED_SCHEMAS.contains(&keyword) => {
                    members.values().flat_map(descriptions).collect()
                }
                (keyword, value) if !DATA.contains(&keyword) => descriptions(value),
                _ => Vec::new(),
            })
            .collect(),
        Value::Array(schemas) => schemas.iter().flat_map(descriptions).collect(),
        _ => Vec::new(),
    }
}
