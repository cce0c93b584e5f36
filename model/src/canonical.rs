//! JSON in one form only, so that equal values have equal texts and equal digests.

use serde_json::Value;

use crate::sha256::sha256;

/// Formats a value as JSON with sorted keys and without spaces.
///
/// ```
/// let value = serde_json::json!({ "b": [1, 2], "a": null });
/// assert_eq!(mcp_bindgen_model::canonical_json(&value), r#"{"a":null,"b":[1,2]}"#);
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Returns the digest of the parts of a tool that its bindings depend on: SHA-256, in hexadecimal, of the canonical
/// JSON of its name, `inputSchema` and, if there is one, `outputSchema`.
pub fn tool_digest(name: &str, input: &Value, output: Option<&Value>) -> String {
    let mut members = serde_json::Map::new();
    members.insert("name".to_owned(), name.into());
    members.insert("inputSchema".to_owned(), input.clone());
    if let Some(output) = output {
        members.insert("outputSchema".to_owned(), output.clone());
    }
    digest(&Value::Object(members))
}

/// Returns the SHA-256, in hexadecimal, of the canonical JSON of a value.
pub fn digest(value: &Value) -> String {
    hex_digest(canonical_json(value).as_bytes())
}

/// Returns the SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn hex_digest(bytes: &[u8]) -> String {
    use std::fmt::Write;

    sha256(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
