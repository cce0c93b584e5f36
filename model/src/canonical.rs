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

/// Returns the SHA-256, in hexadecimal, of the canonical JSON of a value.
pub fn digest(value: &Value) -> String {
    hex_digest(canonical_json(value).as_bytes())
}

/// Returns the SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn hex_digest(bytes: &[u8]) -> String {
    sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
