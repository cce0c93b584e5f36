//! The outcome of a call for an agent loop.

use serde::Serialize;
use serde_json::Value;

use super::{CallError, ToolResult};

/// The outcome of a call, for a model: never an error that would stop a loop.
///
/// ```
/// use mcp_bindgen_runtime::{CallError, ToolReply, ToolResult};
///
/// let found = ToolResult::from_json("files", "count", serde_json::json!({ "structuredContent": { "files": 3 } }));
/// let reply = ToolReply::from(Ok::<_, CallError>(found));
/// assert!(reply.success);
/// assert_eq!(reply.value["structuredContent"]["files"], 3);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolReply {
    /// `true` if the tool succeeded.
    pub success: bool,
    /// The text for the model: the result's text, else its structured content as JSON, or the error.
    pub message: String,
    /// The result as the server sent it; `null` if it is missing.
    pub value: Value,
}

impl ToolReply {
    /// Creates the reply to a call without a response, with a message for the model.
    pub fn failure(message: impl Into<String>) -> Self {
        Self { success: false, message: message.into(), value: Value::Null }
    }
}

impl From<ToolResult> for ToolReply {
    fn from(result: ToolResult) -> Self {
        let text = result.text();
        let message = match &result.structured {
            Some(structured) if text.is_empty() => structured.to_string(),
            _ => text,
        };
        Self { success: !result.is_error, message, value: result.to_json() }
    }
}

impl From<CallError> for ToolReply {
    #[inline]
    fn from(error: CallError) -> Self {
        match error {
            CallError::Tool(result) => Self::from(*result),
            CallError::Decode { ref result, .. } => {
                Self { value: result.to_json(), ..Self::failure(error.to_string()) }
            }
            other => Self::failure(other.to_string()),
        }
    }
}

impl From<Result<ToolResult, CallError>> for ToolReply {
    #[inline]
    fn from(outcome: Result<ToolResult, CallError>) -> Self {
        outcome.map_or_else(Self::from, Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(value: Value) -> ToolResult {
        ToolResult::from_json("s", "t", value)
    }

    #[test]
    fn reply_message_is_the_text_or_else_the_structured_content() {
        let reply = ToolReply::from(result(json!({ "content": [{ "type": "text", "text": "done" }] })));
        assert_eq!((reply.success, reply.message.as_str()), (true, "done"));
        let structured = ToolReply::from(result(json!({ "content": [], "structuredContent": { "n": 1 } })));
        assert_eq!(structured.message, r#"{"n":1}"#);
    }

    #[test]
    fn failed_call_becomes_an_unsuccessful_reply() {
        let failed = json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true });
        let direct = ToolReply::from(result(failed.clone()));
        let through_error = ToolReply::from(result(failed.clone()).success());
        assert_eq!(direct, through_error);
        assert_eq!((direct.success, direct.value), (false, failed));
        let missing = CallError::ToolNotFound { server: "s".to_owned(), tool: "t".to_owned() };
        let reply = ToolReply::from(missing);
        assert_eq!((reply.success, reply.value), (false, Value::Null));
        assert!(reply.message.contains("no tool `t`"), "{}", reply.message);
    }
}
