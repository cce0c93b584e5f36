//! The wrapper that servers put around a result that is no object: structured content has to be one.

use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::{Document, Presence, Role, Shape};

/// The only field of the wrapper.
pub const WRAPPER_FIELD: &str = "result";
/// The key by which FastMCP says that it has wrapped a result.
const FLAG: &str = "x-fastmcp-wrap-result";
/// How the titles of the official Python SDK's wrappers end.
const TITLE: &str = "Output";

/// Whether an outputSchema is that of the wrapper that FastMCP, or the official Python SDK, puts around a result.
///
/// ```
/// let schema = serde_json::json!({
///     "type": "object", "properties": { "result": { "type": "integer" } }, "required": ["result"], "x-fastmcp-wrap-result": true,
/// });
/// assert!(mcp_schema::wraps_result(&schema));
/// assert!(!mcp_schema::wraps_result(&serde_json::json!({ "type": "object", "properties": { "result": {} } })));
/// ```
#[must_use]
pub fn wraps_result(output_schema: &Value) -> bool {
    says_so(output_schema) && {
        let document = Document::read(output_schema, Role::Output, &mut Reporter::new("", 0, ""));
        match document.shapes.get(document.root) {
            Shape::Struct(object) => match object.fields.as_slice() {
                [field] => field.wire == WRAPPER_FIELD && field.presence == Presence::Required,
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether an outputSchema says that it is of a wrapper.
fn says_so(schema: &Value) -> bool {
    // The SDK says only in the title that it has made a model for the result, `list_labelsOutput`, and lets nothing else in.
    let title = schema.get("title").and_then(Value::as_str);
    let is_closed = matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
    let is_titled = is_closed && title.is_some_and(|title| title.ends_with(TITLE));
    is_titled || schema.get(FLAG) == Some(&Value::Bool(true))
}
