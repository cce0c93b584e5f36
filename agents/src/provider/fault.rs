//! Replies that cannot be used: errors of an API, and bodies without a message.

use serde_json::Value;

use super::Provider;
use super::format::Format;
use crate::json;
use crate::text::{head, line, shortened};

/// The longest text of an API in a message, in characters.
const LONGEST_SAID: usize = 500;
/// The number of characters that are searched for it.
const LOOKED_AT: usize = 4_000;

impl Provider {
    /// Returns the reason why a reply cannot be used: it is an error of the API, or no body of a response with a message.
    /// A message may be empty.
    pub(crate) fn fault(self, reply: &Value) -> Option<String> {
        let lack = self.format().check(reply).err();
        // Some servers put the message of an error at the root. It is no message of a model, which has a role.
        let is_error = |message: &&Value| says_something(message) && message.get("role").is_none();
        let at_root = || lack.as_ref().and(reply.get("message")).filter(is_error);
        let error = error_of(reply).or_else(at_root);
        error.map(|error| format!("the API reports an error: {}", shown(error))).or(lack)
    }

    /// Returns the error of the API that an event of a stream reports.
    pub(crate) fn error_in(event: &Value) -> Option<&Value> {
        error_of(event).or_else(|| (json::text(event, "type") == Some("error")).then_some(event))
    }
}

/// Returns the error in a body; Gemini has it in a list when it should have streamed.
fn error_of(body: &Value) -> Option<&Value> {
    body.get("error").or_else(|| body.pointer("/0/error")).filter(|error| says_something(error))
}

/// Returns `false` for `null` and the like, which say that there is no error.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    }
}

/// Returns the message of an error, or other text of an API, in one line of limited length.
pub(super) fn shown(error: &Value) -> String {
    let message = json::text(error, "message").or(error.as_str()).filter(|message| !message.is_empty());
    let message = message.map_or_else(|| error.to_string(), str::to_owned);
    shortened(&line(head(&message, LOOKED_AT)), LONGEST_SAID)
}

/// Returns the list under a key of a reply.
///
/// # Errors
/// Fails with the reason if there is none.
pub(super) fn list<'r>(reply: &'r Value, key: &str) -> Result<&'r [Value], String> {
    reply.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| no_body(&format!("no list `{key}`")))
}

/// Returns the first item of the list under a key of a reply.
///
/// # Errors
/// Fails with the reason if there is none.
pub(super) fn first<'r>(reply: &'r Value, key: &str) -> Result<&'r Value, String> {
    list(reply, key)?.first().ok_or_else(|| no_body(&format!("nothing in `{key}`")))
}

/// Checks a reply whose end did not arrive.
///
/// # Errors
/// Fails with the reason if nothing of use arrived either.
pub(super) fn begun(format: &dyn Format, reply: &Value) -> Result<(), String> {
    let has_begun = !format.text(reply).is_empty() || !format.calls(reply).is_empty();
    has_begun.then_some(()).ok_or_else(|| "it broke off before any text or call; send the messages again".to_owned())
}

/// Returns the reason for a value that is no body of a response.
pub(super) fn no_body(lack: &str) -> String {
    format!("it has {lack}; `Model::reply` has to return the whole body of a response, or all events of its stream")
}
