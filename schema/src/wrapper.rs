//! The wrapper that servers add to results that are not objects, because structured content must be one.

use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::{Document, Field, Presence, Role, Shape};

/// The only field of the wrapper.
pub const WRAPPER_FIELD: &str = "result";
/// The key by which FastMCP says that it has wrapped a result.
const FLAG: &str = "x-fastmcp-wrap-result";
/// How the titles of the official Python SDK's wrappers end.
const TITLE: &str = "Output";

/// Returns `true` for the outputSchema of the wrapper that FastMCP, or the official Python SDK, adds to results.
///
/// ```
/// let schema = serde_json::json!({
///     "type": "object", "properties": { "result": { "type": "integer" } }, "required": ["result"], "x-fastmcp-wrap-result": true,
/// });
/// assert!(mcp_bindgen_schema::wraps_result(&schema));
/// assert!(!mcp_bindgen_schema::wraps_result(&serde_json::json!({ "type": "object", "properties": { "result": {} } })));
/// ```
#[must_use]
pub fn wraps_result(output_schema: &Value) -> bool {
    says_so(output_schema) && {
        let document = Document::read(output_schema, Role::Output, &mut Reporter::new("", 0, ""));
        wrapped_field(output_schema, &document).is_some()
    }
}

/// Returns the field of the wrapper, if an outputSchema is one; `document` is that schema or its replacement. A
/// recursive wrapper is an ordinary structure.
#[must_use]
pub fn wrapped_field<'d>(output_schema: &Value, document: &'d Document) -> Option<&'d Field> {
    let Shape::Struct(object) = document.shapes.get(document.root) else { return None };
    let [field] = object.fields.as_slice() else { return None };
    let is_wrapper = field.wire == WRAPPER_FIELD && field.presence == Presence::Required && says_so(output_schema);
    let is_root = &mut |id| id == document.root;
    (is_wrapper && !document.shapes.any_reached(&[field.slot.shape], Shape::inline, is_root)).then_some(field)
}

/// Returns `true` if an outputSchema says that it is of a wrapper.
fn says_so(schema: &Value) -> bool {
    // The SDK says only in the title that it has made a model for the result, `list_labelsOutput`, and lets nothing else in.
    let title = schema.get("title").and_then(Value::as_str);
    let is_closed = matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
    let is_titled = is_closed && title.is_some_and(|title| title.ends_with(TITLE));
    is_titled || schema.get(FLAG) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn recursive_result_is_not_a_wrapper() {
        let wrapper =
            |of: Value| json!({ "type": "object", "properties": { "result": of }, "required": ["result"], FLAG: true });
        assert!(wraps_result(&wrapper(json!({ "type": "integer" }))));
        assert!(wraps_result(&wrapper(json!({ "type": "object", "properties": { "result": { "type": "integer" } } }))));
        assert!(!wraps_result(&wrapper(json!({ "anyOf": [{ "$ref": "#" }, { "type": "null" }] }))));
        // A list needs no box for its recursive items.
        assert!(wraps_result(&wrapper(json!({ "type": "array", "items": { "$ref": "#" } }))));
    }
}
