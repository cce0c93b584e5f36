//! The texts for people in a schema.

use serde_json::{Map, Value};

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

/// Changes the keywords of a schema, and of the schemas inside it.
fn change(schema: &mut Value, each: &mut dyn FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(keywords) => {
            each(keywords);
            for (keyword, value) in keywords {
                match value {
                    Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                        named.values_mut().for_each(|schema| change(schema, each));
                    }
                    value if !DATA.contains(&keyword.as_str()) => change(value, each),
                    _ => {}
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| change(schema, each)),
        _ => {}
    }
}

/// Returns the schema without descriptive keywords.
pub(crate) fn without_wording(schema: &Value) -> Value {
    let mut schema = schema.clone();
    change(&mut schema, &mut |keywords| keywords.retain(|keyword, _| !WORDING.contains(&keyword.as_str())));
    schema
}

/// Removes invisible characters from the titles and descriptions of a schema. Names and values stay.
///
/// ```
/// let mut schema = serde_json::json!({ "description": "Reads.\u{200b}", "enum": ["a\u{200b}"] });
/// mcp_bindgen_schema::visible_texts(&mut schema);
/// assert_eq!(schema, serde_json::json!({ "description": "Reads.", "enum": ["a\u{200b}"] }));
/// ```
#[cfg(feature = "provider")]
pub fn visible_texts(schema: &mut Value) {
    change(schema, &mut |keywords| {
        for keyword in ["title", "description"] {
            if let Some(Value::String(text)) = keywords.get_mut(keyword) {
                *text = mcp_bindgen_model::visible(text).trim().to_owned();
            }
        }
    });
}

/// Returns the descriptions in a schema, outermost first.
///
/// ```
/// let schema = serde_json::json!({ "description": "a", "properties": { "n": { "description": "b" } } });
/// assert_eq!(mcp_bindgen_schema::descriptions(&schema), ["a", "b"]);
/// ```
#[cfg(feature = "provider")]
#[must_use]
pub fn descriptions(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    change(&mut schema.clone(), &mut |keywords| {
        found.extend(keywords.get("description").and_then(Value::as_str).map(str::to_owned));
    });
    found
}
