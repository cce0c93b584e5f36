//! The kinds of messages that clients post.

use rmcp::model::RequestId;
use serde_json::Value;

/// The maximum length of an id or method.
const LONGEST_NAME: usize = 512;

/// The kind of a JSON-RPC message of a client.
#[derive(Clone, Debug)]
pub(super) enum Posted {
    Request(RequestId),
    Notification,
    /// The response to a request of a server.
    Response,
}

impl Posted {
    /// Classifies a message, or returns `None` for other values.
    pub(super) fn of(message: &Value) -> Option<Self> {
        let fields = message.as_object()?;
        if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return None;
        }
        let id = fields.get("id");
        let known = id.and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let Some(method) = fields.get("method") else {
            let is_response = ["result", "error"].iter().filter(|key| fields.contains_key(**key)).count() == 1;
            return (is_response && (known.is_some() || fields.contains_key("error"))).then_some(Self::Response);
        };
        let has_params = fields.get("params").is_none_or(Value::is_object);
        let is_short = |text: &str| text.len() <= LONGEST_NAME;
        if !has_params || !method.as_str().is_some_and(is_short) {
            return None;
        }
        match (id, known) {
            (None, _) => Some(Self::Notification),
            (Some(_), Some(RequestId::String(id))) if !is_short(&id) => None,
            (Some(_), known) => known.map(Self::Request),
        }
    }

    /// Returns the id of a request.
    pub(super) fn id(&self) -> Option<RequestId> {
        match self {
            Self::Request(id) => Some(id.clone()),
            Self::Notification | Self::Response => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn message_has_exactly_one_kind() {
        let long = "x".repeat(LONGEST_NAME + 1);
        for (message, is_request) in [
            (json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }), Some(true)),
            (json!({ "jsonrpc": "2.0", "id": "a", "method": "ping", "params": {} }), Some(true)),
            (json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }), Some(false)),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": {} }), Some(false)),
            (json!({ "jsonrpc": "2.0", "id": null, "error": {} }), Some(false)),
            (json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": {} }), None),
            (json!({ "jsonrpc": "2.0", "id": 1 }), None),
            (json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }), None),
            (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }), None),
            (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), None),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": 1 }), None),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }), None),
            (json!({ "jsonrpc": "2.0", "id": long, "method": "ping" }), None),
            (json!({ "jsonrpc": "2.0", "id": 1, "method": long }), None),
            (json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]), None),
            (json!(1), None),
        ] {
            let kind = Posted::of(&message).map(|posted| matches!(posted, Posted::Request(_)));
            assert_eq!(kind, is_request, "{message}");
        }
    }
}
