//! Messages as they are on the wire.

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum length of a message.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024 * 1024;
/// Says in a response why its result cannot be read.
pub(super) const UNREADABLE: &str = "mcp-bindgen/unreadable";

/// Parses a message. In a list of tools, or in a server's description of itself, one invalid part must not invalidate
/// the rest. In any other result, a replacement would be wrong: `UNREADABLE` then replaces the whole result. Invalid
/// Unicode becomes U+FFFD.
pub(crate) fn parse(text: &[u8]) -> Option<Value> {
    if let Some(message) = std::str::from_utf8(text).ok().and_then(|text| serde_json::from_str(text).ok()) {
        return Some(message);
    }
    let text = String::from_utf8_lossy(text);
    let mended = mcp_bindgen_model::parse_leniently(&text).ok()?;
    if !mended.is_lossy {
        return Some(mended.value);
    }
    match mended.value {
        Value::Array(batch) => Some(batch.into_iter().map(without_lies).collect()),
        message => Some(without_lies(message)),
    }
}

/// Returns the messages of a text; a batch is several.
pub(crate) fn parse_all(text: &[u8]) -> Vec<Value> {
    match parse(text) {
        Some(Value::Array(batch)) => batch,
        Some(message) => vec![message],
        None => Vec::new(),
    }
}

fn without_lies(mut message: Value) -> Value {
    const DESCRIPTIONS: [&str; 6] =
        ["tools", "prompts", "resources", "resourceTemplates", "protocolVersion", "supportedVersions"];
    let describes =
        |result: &Value| result.get("content").is_none() && DESCRIPTIONS.iter().any(|key| result.get(key).is_some());
    if let Some(fields) = message.as_object_mut()
        && fields.get("result").is_some_and(|result| !describes(result))
    {
        fields.remove("result");
        fields.insert(UNREADABLE.to_owned(), "the response has a number or nesting that cannot be read".into());
    }
    message
}

/// Returns `true` if an object is a message of the protocol, and not a line of a log.
pub(crate) fn is_message(message: &Value) -> bool {
    let has = |key| message.get(key).is_some();
    ["method", "result", "error", UNREADABLE].into_iter().any(has) || (has("jsonrpc") && has("id"))
}

/// Returns the error for a message of the server that is longer than a limit.
pub(crate) fn too_large(limit: usize) -> String {
    format!("the server sent a message of more than {} MiB", limit / (1024 * 1024))
}

/// Reads an id: a text or an integer of 64 bits. A whole number that is written as a float, such as `1.0` or `1e2`, is
/// that integer if it is nearer to zero than 2^53.
pub(super) fn id_of(id: &Value) -> Option<RequestId> {
    RequestId::deserialize(id).ok()
}

/// Returns the number of an id, which some servers write as a string.
pub(super) fn number_of(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => text.parse().ok(),
    }
}

/// Creates a placeholder for an unreadable response.
pub(crate) fn unreadable(id: &Value, why: &str) -> Value {
    json!({ "id": id, UNREADABLE: why })
}

/// Returns `true` if a method belongs to the protocol, by its first part, so that later versions are covered too. Others are
/// for extensions.
pub(crate) fn is_of_protocol(method: &str) -> bool {
    const FAMILIES: &str = "\
        completion,elicitation,initialize,logging,ping,prompts,resources,roots,sampling,server,skills,subscriptions,\
        tasks,tools,rpc";
    const NOTIFICATIONS: [&str; 4] = ["cancelled", "initialized", "message", "progress"];
    let notification = method.strip_prefix("notifications/");
    let family = notification.unwrap_or(method).split(['/', '.']).next().unwrap_or_default();
    FAMILIES.split(',').any(|known| known == family) || (notification.is_some() && NOTIFICATIONS.contains(&family))
}

pub(crate) fn error_data(error: &Value, otherwise: &str) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or(otherwise).to_owned();
    ErrorData::new(code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode), message, error.get("data").cloned())
}

/// A request of the other side, as sent.
#[derive(Debug)]
pub struct Question {
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: String,
    /// The parameters; `null` if there are none.
    pub params: Value,
}

/// A message of the other side that needs an action.
#[derive(Debug)]
pub enum Incoming {
    /// A request to answer.
    Question(Question),
    /// The other side cancelled its request.
    Cancelled(RequestId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_ids_also_as_floats() {
        let read = |text: &str| id_of(&serde_json::from_str(text).expect("it is JSON"));
        for (text, number) in [("1", 1), ("1.0", 1), ("1e2", 100), ("-2.0", -2), ("9223372036854775807", i64::MAX)] {
            assert_eq!(read(text), Some(RequestId::Number(number)), "{text}");
        }
        assert_eq!(read(r#""a""#), Some(RequestId::String("a".into())));
        for text in ["1.5", "18446744073709551615", "9007199254740992.0", "1e300", "null", "true", "[1]", "{}"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn objects_of_logs_are_no_messages() {
        for message in [
            json!({ "method": "m" }),
            json!({ "id": 1, "result": null }),
            json!({ "error": {} }),
            json!({ "jsonrpc": "2.0", "id": 1 }),
            unreadable(&json!(1), "why"),
        ] {
            assert!(is_message(&message), "{message}");
        }
        for line in [json!({ "level": "info" }), json!({ "jsonrpc": "2.0" }), json!({ "id": 1 }), json!("error")] {
            assert!(!is_message(&line), "{line}");
        }
    }
}
