//! The kinds of messages that clients post, and the headers that describe a message for intermediaries: streamable HTTP
//! of 2026-07-28, sections "Protocol Version Header" and "Request Metadata Headers".

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::HeaderMap;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::{Map, Value};

use super::body::{Answer, refused};
use crate::context::{VERSION as SAID, complete, has_capabilities, is_known, is_modern};

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const LAST_EVENT: &str = "last-event-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const ARGUMENT: &str = "mcp-param-";

/// The id of a session, which is a secret of its client.
pub(super) type SessionId = Arc<str>;

/// How a client speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// In a session that `initialize` began: up to 2025-11-25.
    Sessions,
    /// Requests that carry their own context: 2026-07-28 and later.
    Requests,
}

impl Era {
    /// Returns the era of a message.
    ///
    /// # Errors
    /// Fails with the response to a message whose header and body disagree, or that lacks a required header.
    pub(super) fn of(message: &Value, id: Option<RequestId>, headers: &HeaderMap) -> Result<Self, Answer> {
        let method = message.get("method").and_then(Value::as_str);
        let none = Map::new();
        let meta = message.pointer("/params/_meta").and_then(Value::as_object).unwrap_or(&none);
        let said = meta.get(SAID).and_then(Value::as_str);
        let header = one(headers, VERSION).map_err(|problem| mismatch(id.clone(), problem))?;
        let asked = message.pointer("/params/protocolVersion").and_then(Value::as_str);
        // A version in the form of 2026-07-28 makes this an unknown method of that version.
        if method == Some("initialize") && (asked.is_some() || !said.is_some_and(is_modern)) {
            return match header {
                Some(header) if asked.is_some_and(|asked| asked != header) => Err(refused(
                    id,
                    ErrorCode::INVALID_REQUEST,
                    "MCP-Protocol-Version differs from `protocolVersion` in the body",
                )),
                _ => Ok(Self::Sessions),
            };
        }
        if id.is_none() {
            // Notifications and responses do not carry a version.
            return match header {
                Some(version) if is_modern(version) => Ok(Self::Requests),
                header => known(header, None),
            };
        }
        let is_alone = match (said, header) {
            (Some(_), None) => {
                return Err(mismatch(id, "the version is in `_meta`, but MCP-Protocol-Version is missing"));
            }
            (Some(said), Some(header)) if said != header => {
                return Err(mismatch(id, "MCP-Protocol-Version differs from the version in `_meta`"));
            }
            // The answer to an unknown version in the form of 2026-07-28 has the known ones.
            (Some(said), Some(_)) => is_modern(said) || has_capabilities(meta),
            (None, header) => method == Some("server/discover") || header.is_some_and(is_modern),
        };
        if !is_alone {
            return known(header, id);
        }
        complete(meta).map_err(|error| refused(id, error.code, error.message))?;
        Ok(Self::Requests)
    }
}

/// Accepts the header of a session. An unknown version is an error, because no session has one.
fn known(header: Option<&str>, id: Option<RequestId>) -> Result<Era, Answer> {
    match header {
        Some(version) if !is_known(version) => {
            Err(refused(id, ErrorCode::INVALID_REQUEST, "unsupported MCP-Protocol-Version"))
        }
        _ => Ok(Era::Sessions),
    }
}

/// Returns the name of the tool that is called.
pub(super) fn called_tool(message: &Value) -> Option<&str> {
    (message.get("method")?.as_str()? == "tools/call").then(|| message.get("params")?.get("name")?.as_str())?
}

/// Compares the headers of a request of 2026-07-28 with its body; `input_schema` is that of the tool called.
///
/// # Errors
/// Says what disagrees.
pub(super) fn agree(
    headers: &HeaderMap,
    message: &Value,
    input_schema: Option<&Map<String, Value>>,
) -> Result<(), String> {
    let Some(method) = message.get("method").and_then(Value::as_str) else { return Ok(()) };
    let same = |header: &str, said: Option<String>, own: &str| match said {
        None => Err(format!("header {header} is missing")),
        Some(said) if said != own => Err(format!("{header} differs from the body")),
        Some(_) => Ok(()),
    };
    same("Mcp-Method", one(headers, METHOD)?.map(str::to_owned), method)?;
    let params = message.get("params");
    let name = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    };
    if let Some(name) = name.and_then(|key| params?.get(key)?.as_str()) {
        same("Mcp-Name", decoded(headers, NAME)?, name)?;
    }
    let arguments = params.and_then(|params| params.get("arguments"));
    let properties = input_schema.and_then(|schema| schema.get("properties"));
    arguments_agree(headers, properties, arguments)
}

/// Arguments whose schema names a header (`x-mcp-header`), along properties alone.
fn arguments_agree(headers: &HeaderMap, properties: Option<&Value>, values: Option<&Value>) -> Result<(), String> {
    let Some(properties) = properties.and_then(Value::as_object) else { return Ok(()) };
    for (property, schema) in properties {
        let value = values.and_then(|values| values.get(property));
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str).filter(|header| !header.is_empty()) {
            let expected = match value {
                Some(Value::String(text)) => Some(text.clone()),
                Some(value @ (Value::Bool(_) | Value::Number(_))) => Some(value.to_string()),
                _ => None,
            };
            let said = decoded(headers, &format!("{ARGUMENT}{header}"))?;
            if said != expected {
                return Err(format!("Mcp-Param-{header} differs from the argument in the body"));
            }
        }
        arguments_agree(headers, schema.get("properties"), value)?;
    }
    Ok(())
}

/// Returns a header's value, if it occurs once and is text.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| format!("header {name} is not text")),
        _ => Err(format!("duplicate header {name}")),
    }
}

/// Returns a header's value, and decodes the form for other characters: `=?base64?..?=`.
fn decoded(headers: &HeaderMap, name: &str) -> Result<Option<String>, String> {
    let Some(value) = one(headers, name)? else { return Ok(None) };
    let Some(wrapped) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Some(value.to_owned()));
    };
    let bytes = BASE64_STANDARD.decode(wrapped).map_err(|_| format!("header {name} is not base64"))?;
    String::from_utf8(bytes).map(Some).map_err(|_| format!("header {name} is not text"))
}

pub(super) fn mismatch(id: Option<RequestId>, problem: impl Into<String>) -> Answer {
    refused(id, ErrorCode::HEADER_MISMATCH, problem)
}

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
    use hyper::StatusCode;
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;
    use crate::context::CAPABILITIES;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            headers.append(name, HeaderValue::from_str(value).unwrap_or_else(|error| panic!("{error}")));
        }
        headers
    }

    const NEW: &str = "2026-07-28";

    fn request(method: &str, version: Option<&str>) -> Value {
        let mut request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        if let (Some(version), Some(params)) = (version, request.get_mut("params")) {
            *params = json!({ "_meta": { (SAID): version, (CAPABILITIES): {} } });
        }
        request
    }

    #[test]
    fn era_follows_from_the_request_meta_and_version_header() {
        let modern = Some(Era::Requests);
        let old = Some(Era::Sessions);
        for (message, header, expected) in [
            (request("tools/list", None), None, old.clone()),
            (request("tools/list", None), Some("2025-11-25"), old.clone()),
            (request("tools/list", None), Some("2020-01-01"), None),
            (request("tools/list", None), Some(NEW), None),
            (request("server/discover", None), None, None),
            (request("tools/list", Some(NEW)), Some(NEW), modern.clone()),
            (request("tools/list", Some(NEW)), None, None),
            (request("tools/list", Some(NEW)), Some("2025-11-25"), None),
            (request("tools/list", Some("2099-01-01")), Some("2099-01-01"), modern.clone()),
            (json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": NEW } }), None, old.clone()),
            (
                json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": NEW } }),
                Some("2025-11-25"),
                None,
            ),
            (request("initialize", None), None, old.clone()),
            (request("initialize", Some(NEW)), Some(NEW), modern.clone()),
            (json!({ "method": "notifications/initialized" }), None, old.clone()),
            (json!({ "method": "notifications/cancelled" }), Some(NEW), modern.clone()),
        ] {
            let headers = headers(&header.map(|header| (VERSION, header)).into_iter().collect::<Vec<_>>());
            let id = message.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            match (Era::of(&message, id, &headers), expected) {
                (Ok(era), Some(expected)) if era == expected => {}
                (Err(answer), None) if answer.status() == StatusCode::BAD_REQUEST => {}
                (found, expected) => panic!("{message}, {header:?}: {:?} is not {expected:?}", found.map_err(|_| ())),
            }
        }
    }

    #[test]
    fn headers_must_match_the_call_and_its_arguments() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "Depth" } } },
        } });
        let call = |arguments: Value| json!({ "id": 1, "method": "tools/call", "params": { "name": "café", "arguments": arguments } });
        let name = "=?base64?Y2Fmw6k=?=";
        let base = [(METHOD, "tools/call"), (NAME, name)];
        for (arguments, more, is_right) in [
            (json!({}), vec![], true),
            (
                json!({ "region": "eu", "deep": { "n": 3 } }),
                vec![("Mcp-Param-Region", "eu"), ("mcp-param-depth", "3")],
                true,
            ),
            (json!({ "region": "eu" }), vec![], false),
            (json!({ "region": "eu" }), vec![("Mcp-Param-Region", "us")], false),
            (json!({ "region": null }), vec![], true),
            (json!({ "region": null }), vec![("Mcp-Param-Region", "eu")], false),
            (json!({}), vec![("Mcp-Param-Region", "eu")], false),
            (json!({ "region": "eu" }), vec![("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "eu")], false),
        ] {
            let headers = headers(&[base.to_vec(), more].concat());
            assert_eq!(agree(&headers, &call(arguments.clone()), schema.as_object()).is_ok(), is_right, "{arguments}");
        }
        for wrong in [
            &[][..],
            &[(METHOD, "tools/call")],
            &[(METHOD, "tools/list"), (NAME, name)],
            &[(METHOD, "tools/call"), (NAME, "cafe")],
            &[(METHOD, "tools/call"), (NAME, "=?base64?Y2?=")],
        ] {
            assert!(agree(&headers(wrong), &call(json!({})), None).is_err(), "{wrong:?}");
        }
    }

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
