//! Keeps results as the server sent them.
//!
//! rmcp decodes every result into one untagged union without knowing which request it answers: one malformed tool
//! fails a whole list, unknown fields are lost, and a tool result with an unlucky key becomes something else.
//! Here a message is read as JSON first; rmcp gets the result wrapped so that it passes through untouched.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use serde_json::{Map, Value, json};

const WRAPPER: &str = "mcp-bindgen/result";
const INTERNAL_ERROR: i32 = -32603;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Initialize,
    Discover,
    Result,
}

/// Reads a message. In a list of tools, or in what a server says of itself, one bad place must not cost the rest; the
/// result of a call would lie if something in it stood for what could not be read, and becomes an error.
pub(crate) fn parse(text: &[u8]) -> Option<Value> {
    if let Ok(message) = serde_json::from_slice(text) {
        return Some(message);
    }
    let text = std::str::from_utf8(text).ok()?;
    let mended = mcp_model::parse_leniently(text).ok()?;
    if !mended.is_mended {
        return Some(mended.value);
    }
    match mended.value {
        Value::Array(batch) => Some(batch.into_iter().map(without_lies).collect()),
        message => Some(without_lies(message)),
    }
}

fn without_lies(mut message: Value) -> Value {
    const DESCRIPTIONS: [&str; 5] = ["tools", "prompts", "resourceTemplates", "protocolVersion", "supportedVersions"];
    let describes =
        |result: &Value| result.get("content").is_none() && DESCRIPTIONS.iter().any(|key| result.get(key).is_some());
    if let Some(fields) = message.as_object_mut()
        && fields.get("result").is_some_and(|result| !describes(result))
    {
        fields.remove("result");
        let reason = "the answer holds a number, a text or a nesting that cannot be read";
        fields.insert("error".to_owned(), json!({ "code": INTERNAL_ERROR, "message": reason }));
    }
    message
}

/// Which requests of one connection are under way, and what the server said of itself.
#[derive(Default)]
pub(crate) struct Exchange {
    awaited: Mutex<HashMap<RequestId, Awaited>>,
    handshake: Mutex<Option<Value>>,
}

impl Exchange {
    /// Notes a message that is about to be sent.
    pub(crate) fn sending(&self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let awaited = match &request.request {
                    ClientRequest::InitializeRequest(_) => Awaited::Initialize,
                    ClientRequest::DiscoverRequest(_) => Awaited::Discover,
                    _ => Awaited::Result,
                };
                self.awaited().insert(request.id.clone(), awaited);
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.awaited().remove(id);
                }
            }
            _ => {}
        }
    }

    /// What the server answered to `initialize` or `server/discover`, as sent.
    pub(crate) fn handshake(&self) -> Option<Value> {
        self.handshake.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes of a message that arrived what rmcp may see of it. `answers` is the request that it came in answer to,
    /// where the transport knows.
    pub(crate) fn received(&self, message: Value, answers: Option<&RequestId>) -> Option<ServerJsonRpcMessage> {
        let Value::Object(mut fields) = message else {
            tracing::debug!("ignoring a message that is not a JSON object");
            return None;
        };
        if fields.contains_key("method") {
            return serde_json::from_value(Value::Object(fields))
                .inspect_err(|error| tracing::debug!(%error, "ignoring a malformed request or notification"))
                .ok();
        }
        let id = fields.remove("id").and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        if let Some(result) = fields.remove("result") {
            let (id, awaited) = self.settle(id, answers)?;
            let result = match awaited {
                Awaited::Initialize => self.keep_handshake(result, plain_initialize),
                Awaited::Discover => self.keep_handshake(result, plain_discover),
                Awaited::Result => wrap(result),
            };
            return Some(ServerJsonRpcMessage::response(result, id));
        }
        let error = fields.remove("error")?;
        let (id, _) = self.settle(id, answers)?;
        Some(ServerJsonRpcMessage::error(error_data(&error), Some(id)))
    }

    /// The request that a response with this id answers. A server that could not read a request answers without its
    /// id; where only one request is under way, it is that one.
    fn settle(&self, id: Option<RequestId>, answers: Option<&RequestId>) -> Option<(RequestId, Awaited)> {
        let mut awaited = self.awaited();
        let numeric = match &id {
            Some(RequestId::String(text)) => text.parse().ok().map(RequestId::Number),
            _ => None,
        };
        for candidate in [id.as_ref(), numeric.as_ref(), answers].into_iter().flatten() {
            if let Some(found) = awaited.remove_entry(candidate) {
                return Some(found);
            }
        }
        if id.is_none() && awaited.len() == 1 {
            let only = awaited.keys().next().cloned()?;
            return awaited.remove_entry(&only);
        }
        tracing::debug!(?id, "ignoring a response to no request that is under way");
        None
    }

    fn keep_handshake(&self, result: Value, plain: fn(&Value) -> Option<ServerResult>) -> ServerResult {
        let plain = plain(&result).unwrap_or_else(|| wrap(result.clone()));
        *self.handshake.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        plain
    }

    fn awaited(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Awaited>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wrap(result: Value) -> ServerResult {
    let mut wrapper = Map::new();
    wrapper.insert(WRAPPER.to_owned(), result);
    ServerResult::CustomResult(CustomResult::new(Value::Object(wrapper)))
}

/// The result as the server sent it.
pub(crate) fn unwrap(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(CustomResult(Value::Object(mut wrapper))) => match wrapper.remove(WRAPPER) {
            Some(result) => result,
            None => Value::Object(wrapper),
        },
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// The little that rmcp needs of an `initialize` result, so that no malformed capability can fail the handshake.
fn plain_initialize(result: &Value) -> Option<ServerResult> {
    let plain = json!({
        "protocolVersion": result.get("protocolVersion")?.as_str()?,
        "capabilities": {},
        "serverInfo": { "name": "server", "version": "" },
    });
    serde_json::from_value(plain).ok().map(ServerResult::InitializeResult)
}

fn plain_discover(result: &Value) -> Option<ServerResult> {
    let plain = json!({
        "resultType": "complete",
        "supportedVersions": result.get("supportedVersions")?.as_array()?,
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "private",
    });
    serde_json::from_value(plain).ok().map(ServerResult::DiscoverResult)
}

fn error_data(error: &Value) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = match error.get("message").and_then(Value::as_str).or(error.as_str()) {
        Some(message) => message.to_owned(),
        None => "no message was given".to_owned(),
    };
    ErrorData::new(ErrorCode(code.unwrap_or(INTERNAL_ERROR)), message, error.get("data").cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolRequest, CallToolRequestParams};

    fn awaiting(id: i64) -> Exchange {
        let exchange = Exchange::default();
        let request = CallToolRequest::new(CallToolRequestParams::new("t"));
        exchange
            .sending(&ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), RequestId::Number(id)));
        exchange
    }

    fn result_of(message: Option<ServerJsonRpcMessage>) -> Value {
        let (result, _) = message.expect("a message").into_response().expect("a response");
        unwrap(result)
    }

    #[test]
    fn a_result_passes_through_untouched() {
        let raw = json!({"content": [], "tools": 5, "b": 1, "a": null});
        let message = awaiting(7).received(json!({"jsonrpc": "2.0", "id": 7, "result": raw}), None);
        assert_eq!(result_of(message), raw);
    }

    #[test]
    fn what_cannot_be_read_costs_its_place_in_a_list_and_the_whole_of_a_result() {
        let list = br#"{"id": 7, "result": {"tools": [{"name": "a", "maximum": 1e400}, {"name": "\ud800"}]}}"#;
        let message = awaiting(7).received(parse(list).expect("it is mended"), None);
        assert_eq!(result_of(message)["tools"][1]["name"], "\u{fffd}");
        for result in [r#"{"content": [], "structuredContent": {"n": 1e400}}"#, r#"{"content": [], "tools": [1e400]}"#]
        {
            let message = parse(format!(r#"{{"id": 7, "result": {result}}}"#).as_bytes()).expect("it is mended");
            assert!(message.get("result").is_none(), "{message}");
            let Some(ServerJsonRpcMessage::Error(found)) = awaiting(7).received(message, None) else {
                panic!("an error is expected");
            };
            assert!(found.error.message.contains("cannot be read"), "{found:?}");
        }
        assert_eq!(parse(b"Listening on 1e400"), None);
    }

    #[test]
    fn a_wrapped_result_survives_being_printed_and_parsed() {
        let raw = json!({"content": [], "structuredContent": {"n": 1}});
        let message = awaiting(7).received(json!({"id": "7", "result": raw}), None);
        let text = serde_json::to_string(&message.expect("a message")).expect("prints");
        let again: ServerJsonRpcMessage = serde_json::from_str(&text).expect("parses");
        assert_eq!(result_of(Some(again)), raw);
    }

    #[test]
    fn an_error_without_an_id_belongs_to_the_only_request() {
        let error = json!({"id": null, "error": {"code": -32700, "message": "parse"}});
        let exchange = awaiting(3);
        let Some(ServerJsonRpcMessage::Error(found)) = exchange.received(error.clone(), None) else {
            panic!("an error is expected");
        };
        assert_eq!(found.id, Some(RequestId::Number(3)));
        assert!(exchange.received(error, None).is_none());
    }

    #[test]
    fn a_response_to_nothing_is_ignored() {
        assert!(awaiting(1).received(json!({"id": 2, "result": {}}), None).is_none());
        assert!(awaiting(1).received(json!([1]), None).is_none());
        assert!(awaiting(1).received(json!({"id": 1}), None).is_none());
    }

    #[test]
    fn an_error_of_any_shape_is_an_error() {
        assert_eq!(error_data(&json!("broke")).message, "broke");
        assert_eq!(error_data(&json!({"code": 1e30})).code, ErrorCode(INTERNAL_ERROR));
    }
}
