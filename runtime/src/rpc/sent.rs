//! Messages that are sent, by either side of a session.

use std::borrow::Cow;

use rmcp::model::{ErrorData, RequestId};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::ground::wire::size_of_members;

pub(super) const META: &str = "_meta";
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";
/// The prefix of the keys of `_meta` that the protocol reserves.
pub(crate) const RESERVED: &str = "io.modelcontextprotocol/";
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A method with its parameters: of a request or a notification.
#[derive(Clone, Debug)]
pub struct MethodCall {
    /// The method: `tools/call`.
    pub method: Cow<'static, str>,
    /// The parameters; empty ones are not sent.
    pub params: Map<String, Value>,
    /// The request of the other side that it belongs to. A transport with a stream for each request sends it there.
    pub about: Option<RequestId>,
}

impl MethodCall {
    /// Creates a method with its parameters.
    pub fn new(method: impl Into<Cow<'static, str>>, params: Map<String, Value>) -> Self {
        Self { method: method.into(), params, about: None }
    }

    /// Creates a method with the fields of an object as its parameters.
    pub fn with(method: impl Into<Cow<'static, str>>, params: Value) -> Self {
        Self::new(method, if let Value::Object(fields) = params { fields } else { Map::new() })
    }

    /// Assigns the message to a request of the other side.
    #[must_use]
    pub fn about(mut self, request: Option<RequestId>) -> Self {
        self.about = request;
        self
    }

    /// Adds to `_meta`.
    pub(crate) fn stamp(&mut self, stamp: Map<String, Value>) {
        match self.params.get_mut(META) {
            Some(Value::Object(meta)) => meta.extend(stamp),
            _ if stamp.is_empty() => {}
            _ => drop(self.params.insert(META.to_owned(), stamp.into())),
        }
    }

    /// Returns the protocol version in the request itself, if there was no handshake.
    pub(crate) fn version(&self) -> Option<&str> {
        self.params.get(META)?.get(VERSION)?.as_str()
    }

    /// Estimates the length of the request as text.
    pub(super) fn size(&self) -> usize {
        const ENVELOPE: usize = 256;
        size_of_members(&self.params).saturating_add(ENVELOPE)
    }
}

/// A message that is sent.
#[derive(Clone, Debug)]
pub enum Message {
    /// A request.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method and parameters.
        call: MethodCall,
    },
    /// A notification.
    Notification(MethodCall),
    /// The response to a request of the other side.
    Response {
        /// The id of the request.
        id: RequestId,
        /// The result or the error.
        outcome: Result<Value, ErrorData>,
    },
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("jsonrpc", "2.0")?;
        match self {
            Self::Request { id, .. } | Self::Response { id, .. } => fields.serialize_entry("id", id)?,
            Self::Notification(_) => {}
        }
        match self {
            Self::Request { call, .. } | Self::Notification(call) => {
                fields.serialize_entry("method", &call.method)?;
                if !call.params.is_empty() {
                    fields.serialize_entry("params", &call.params)?;
                }
            }
            Self::Response { outcome: Ok(result), .. } => fields.serialize_entry("result", result)?,
            Self::Response { outcome: Err(error), .. } => fields.serialize_entry("error", error)?,
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_message_kind_has_exactly_its_own_fields() {
        let call = |params: Value| MethodCall::new("m", params.as_object().cloned().unwrap_or_default());
        let (number, text) = (RequestId::Number(7), RequestId::String("7".into()));
        let error = ErrorData::new(ErrorCode(-1), "no", None);
        for (message, expected) in [
            (
                Message::Request { id: number.clone(), call: call(json!({ "k": 1 })) },
                json!({ "jsonrpc": "2.0", "id": 7, "method": "m", "params": { "k": 1 } }),
            ),
            (
                Message::Notification(call(json!({})).about(Some(number.clone()))),
                json!({ "jsonrpc": "2.0", "method": "m" }),
            ),
            (
                Message::Response { id: text, outcome: Ok(Value::Null) },
                json!({ "jsonrpc": "2.0", "id": "7", "result": null }),
            ),
            (
                Message::Response { id: number, outcome: Err(error) },
                json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -1, "message": "no" } }),
            ),
        ] {
            assert_eq!(serde_json::to_value(&message).expect("JSON"), expected);
        }
    }

    #[test]
    fn stamp_merges_into_meta_and_replaces_malformed_meta() {
        let mut stamp = Map::new();
        stamp.insert(VERSION.to_owned(), "2026-07-28".into());
        for own in [json!({}), json!({ "_meta": { "own": 1 } }), json!({ "_meta": 3 })] {
            let has_own = own.pointer("/_meta/own").is_some();
            let mut call = MethodCall::new("m", own.as_object().cloned().expect("an object"));
            call.stamp(stamp.clone());
            let mut expected = json!({ VERSION: "2026-07-28" });
            if has_own {
                expected["own"] = 1.into();
            }
            assert_eq!(call.params.get("_meta"), Some(&expected));
        }
        let mut call = MethodCall::new("m", Map::new());
        call.stamp(Map::new());
        assert!(call.params.is_empty(), "nothing is added");
    }

    #[test]
    fn size_is_about_the_length_of_the_text() {
        for length in [0, 1000, 100_000] {
            let call = MethodCall::with("tools/call", json!({ "name": "t", "text": "x".repeat(length) }));
            let size = call.size();
            let text = serde_json::to_string(&Message::Notification(call)).expect("JSON").len();
            assert!((text..text + 512).contains(&size), "{size} bytes for {text}");
        }
    }
}
