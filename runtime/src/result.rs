//! What a tool answered.

use serde_json::{Map, Value};

/// The result of a call, as the server sent it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The content blocks, in order.
    pub content: Vec<Content>,
    /// `structuredContent`; `Some(Value::Null)` where the server sent `null`.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// `_meta`.
    pub meta: Option<Map<String, Value>>,
}
