//! The result of a tool.

use std::mem;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::Content;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor, debug_redacted};

/// The `resultType` of an incomplete result.
pub(crate) const INPUT_REQUIRED: &str = "input_required";

/// Takes a field of a result if it has the form of the protocol; otherwise it stays.
pub(crate) fn take<T>(fields: &mut Map<String, Value>, key: &str, read: fn(&mut Value) -> Option<T>) -> Option<T> {
    let taken = fields.get_mut(key).and_then(read)?;
    fields.remove(key);
    Some(taken)
}

/// Takes a list out of a result; any other value becomes its only item.
pub(crate) fn take_list<T>(fields: &mut Map<String, Value>, key: &str, read: fn(Value) -> T) -> Vec<T> {
    match fields.remove(key) {
        Some(Value::Array(items)) => items.into_iter().map(read).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(odd) => vec![read(odd)],
    }
}

/// Joins texts by newlines.
pub(crate) fn joined(texts: &mut dyn Iterator<Item = &str>) -> String {
    let texts: Vec<&str> = texts.collect();
    texts.join("\n")
}

pub(crate) fn object(value: &mut Value) -> Option<Map<String, Value>> {
    value.as_object_mut().map(mem::take)
}

pub(crate) fn string(value: &mut Value) -> Option<String> {
    if let Value::String(text) = value { Some(mem::take(text)) } else { None }
}

/// The result of a call, exactly as the server sent it. `Debug` and error messages leave out the secrets of the
/// server's configuration.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The content blocks, in order.
    pub content: Vec<Content>,
    /// `structuredContent`; `Some(Value::Null)` if the server sent `null`.
    pub structured: Option<Value>,
    /// `true` if the tool failed.
    pub is_error: bool,
    /// `_meta`.
    pub meta: Option<Map<String, Value>>,
    /// The other members that the server sent, and those that do not have the form of the protocol.
    pub extra: Map<String, Value>,
    /// The redactor of errors and `Debug`.
    pub(crate) redactor: Redactor,
}

impl ToolResult {
    /// Creates a result with neither content nor structured content, for fakes in tests.
    pub fn new(server: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { server: server.into(), tool: tool.into(), ..Self::default() }
    }

    /// Creates the result of a failed tool (`isError`) with a message. The responder adds server and tool.
    ///
    /// ```
    /// use mcp_bindgen_runtime::{CallError, ToolResult};
    ///
    /// let failed = ToolResult::error("there is no such issue");
    /// assert!(matches!(failed.success(), Err(CallError::Tool(result)) if result.text() == "there is no such issue"));
    /// ```
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], is_error: true, ..Self::default() }
    }

    /// Reads the `result` of a `tools/call` response. This never fails: a block of an unknown type or form becomes
    /// [`Content::Other`].
    pub fn from_json(server: impl Into<String>, tool: impl Into<String>, result: Value) -> Self {
        let Value::Object(mut fields) = result else {
            return Self { content: vec![Content::Other(result)], ..Self::new(server, tool) };
        };
        Self {
            content: take_list(&mut fields, "content", Content::from_json),
            structured: fields.remove("structuredContent"),
            is_error: take(&mut fields, "isError", |value| value.as_bool()).unwrap_or_default(),
            meta: take(&mut fields, "_meta", object),
            extra: fields,
            ..Self::new(server, tool)
        }
    }

    /// Returns the result as an error message shows it.
    pub(crate) fn error_text(&self) -> String {
        self.redactor.shown(&self.text(), LONGEST_MESSAGE)
    }

    /// Returns `true` if this is not the tool's result, but a request for input (2026-07-28, `resultType`:
    /// `input_required`); [`extra`](Self::extra) has `inputRequests` and `requestState` as sent. Only calls with
    /// [`CallOptions::pass_input`](crate::CallOptions::pass_input) receive it.
    #[must_use]
    pub fn needs_input(&self) -> bool {
        self.extra.get("resultType").and_then(Value::as_str) == Some(INPUT_REQUIRED)
    }

    /// Returns `true` if the tool succeeded and needs no input.
    pub(crate) fn is_success(&self) -> bool {
        !self.is_error && !self.needs_input()
    }

    /// Returns the text blocks, joined by newlines.
    pub fn text(&self) -> String {
        joined(&mut self.content.iter().filter_map(Content::as_text))
    }

    /// Returns `structuredContent`, if the server sent it.
    pub fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// Returns the `result` of a `tools/call` response, with everything that the server sent.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

debug_redacted!(ToolResult { server, tool, content, structured, is_error, meta, extra });

/// Serializes the `result` of a `tools/call` response, without `server` and `tool`.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        // A request for input has no text.
        if !(self.content.is_empty() && self.needs_input()) {
            fields.serialize_entry("content", &self.content)?;
        }
        if let Some(structured) = &self.structured {
            fields.serialize_entry("structuredContent", structured)?;
        }
        if self.is_error {
            fields.serialize_entry("isError", &true)?;
        }
        if let Some(meta) = &self.meta {
            fields.serialize_entry("_meta", meta)?;
        }
        for (key, value) in &self.extra {
            fields.serialize_entry(key, value)?;
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_content_blocks_are_parsed_and_unknown_ones_are_preserved() {
        let odd = json!({"type": "hologram", "data": [1]});
        let broken = json!({"type": "text", "text": 5});
        let result = ToolResult::from_json(
            "s",
            "t",
            json!({
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image", "data": "AA==", "mimeType": "image/png"},
                    {"type": "resource_link", "uri": "file:///x", "name": "x"},
                    {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}},
                    odd, broken,
                    {"type": "text", "text": "b"}
                ],
                "structuredContent": null, "isError": true, "_meta": {"k": 1}, "tools": []
            }),
        );
        assert_eq!(result.text(), "a\nb");
        assert_eq!(result.structured(), Some(&Value::Null));
        assert!(result.is_error);
        assert_eq!(result.meta.as_ref().and_then(|meta| meta.get("k")), Some(&json!(1)));
        assert_eq!(result.content[4..6], [Content::Other(odd), Content::Other(broken)]);
        assert_eq!(result.extra.get("tools"), Some(&json!([])));
    }

    #[test]
    fn result_json_round_trips() {
        let sent = json!({
            "content": [
                {"type": "text", "text": "a", "annotations": {"audience": ["user"]}, "_meta": {"k": 1}, "x": null},
                {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": {"priority": 0.5}},
                {"type": "resource", "resource": {"uri": "file:///x", "text": "x", "_meta": {}}, "_meta": {"k": 2}},
                {"type": "resource_link", "uri": "file:///x", "name": "x", "size": 3},
                {"type": "hologram", "depth": 3},
            ],
            "structuredContent": {"n": 1}, "isError": true, "_meta": {"k": 3}, "resultType": "complete", "stray": [1]
        });
        let result = ToolResult::from_json("s", "t", sent.clone());
        assert_eq!(result.to_json(), sent);
        assert_eq!(result.content[0].annotations(), Some(&json!({"audience": ["user"]})));
        assert_eq!(result.content[2].meta(), Some(&json!({"k": 2})));
        for odd in [json!({"content": [], "isError": "yes", "_meta": 5}), json!({"content": [], "isError": null})] {
            assert_eq!(ToolResult::from_json("s", "t", odd.clone()).to_json(), odd);
        }
    }

    #[test]
    fn input_required_result_is_not_a_success_and_round_trips() {
        let sent = json!({
            "resultType": "input_required", "requestState": "opaque",
            "inputRequests": { "who": { "method": "elicitation/create", "params": { "message": "?" } } },
        });
        let result = ToolResult::from_json("s", "t", sent.clone());
        assert!(result.needs_input() && !result.is_success());
        assert_eq!(result.to_json(), sent);
        let done = ToolResult::from_json("s", "t", json!({ "content": [], "resultType": "complete" }));
        assert!(!done.needs_input() && done.is_success());
    }

    #[test]
    fn malformed_result_is_parsed_leniently() {
        assert_eq!(ToolResult::from_json("s", "t", json!({})), ToolResult::new("s", "t"));
        assert_eq!(ToolResult::from_json("s", "t", json!(5)).content, vec![Content::Other(json!(5))]);
        assert!(!ToolResult::from_json("s", "t", json!({"isError": null})).is_error);
    }
}
