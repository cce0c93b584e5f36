//! Messages for a model about failed calls: the fact, whether the call may be repeated, the next step.

use std::time::Duration;

use mcp_bindgen_model::{nearest, printable};
use mcp_bindgen_runtime::{CallError, Dispatched};

use crate::text::head;

/// Longer names are shown in part, and are near to no other.
const LONGEST_NAME: usize = 128;
const UNKNOWN: &str = "the outcome is unknown: it may have taken effect, so check before you repeat it";

/// Returns a name that a model sent, or that a server gave, as it can be shown.
fn shown(name: &str) -> String {
    let begin = head(name, LONGEST_NAME);
    format!("{}{}", printable(begin), if begin == name { "" } else { "…" })
}

/// Suggests similar names in a sentence; empty if there are none.
pub(super) fn suggestions<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    if head(name, LONGEST_NAME) != name {
        return String::new();
    }
    let near: Vec<String> = nearest(name, names).into_iter().map(|near| format!("`{}`", shown(near))).collect();
    if near.is_empty() { String::new() } else { format!("; the nearest names are {}", near.join(", ")) }
}

/// Describes an unknown tool, or one that this model must not call.
pub(super) fn unknown_tool<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    format!("unknown tool `{}`{}. Nothing was called", shown(name), suggestions(name, names))
}

/// Describes a failed call for a model: whether it may have had an effect, and what to do next. It names the tool as
/// the toolset does. Like the error, the text contains no secrets.
///
/// ```
/// use mcp_bindgen_agents::message_for_model;
/// use mcp_bindgen_runtime::CallError;
///
/// let denied = CallError::denied("github", "merge", "a person merges");
/// assert!(message_for_model("github_merge", &denied).starts_with("`github_merge` was denied: a person merges."));
/// ```
#[must_use]
pub fn message_for_model(public: &str, error: &CallError) -> String {
    match error {
        CallError::NotConnected { message, .. } => {
            format!("`{public}` was not called: its server is unreachable: {message}")
        }
        CallError::ToolNotFound { .. } => format!("`{public}` was not called: its server no longer has this tool"),
        CallError::InvalidArguments { pointer, message, .. } => invalid(public, &format!("{message}{}", at(pointer))),
        CallError::Denied { reason, retry_after: Some(after), .. } => {
            let seconds = after.as_secs_f64().ceil();
            format!("`{public}` was denied: {reason}. It did not run; it may be called again in {seconds} s")
        }
        CallError::Denied { reason, .. } => {
            format!("`{public}` was denied: {reason}. It did not run, and calling it again will not help")
        }
        CallError::Timeout { after, dispatched, .. } => {
            format!("`{public}` did not answer within {after:?}; {}", outcome(*dispatched))
        }
        CallError::Cancelled { dispatched, .. } => format!("`{public}` was cancelled; {}", outcome(*dispatched)),
        CallError::Transport { message, .. } => {
            format!("`{public}` did not run: {message}; it may be called again{}", later(error.retry_after()))
        }
        CallError::OutcomeUnknown { message, .. } => {
            format!("the connection was lost during `{public}`: {message}; {UNKNOWN}{}", later(error.retry_after()))
        }
        CallError::InvalidResponse { message, .. } => {
            format!("`{public}` was called, but its response cannot be read: {message}; do not just repeat it")
        }
        CallError::Rpc { code, message, .. } => format!("`{public}` failed with server error {code}: {message}"),
        CallError::Decode { pointer, message, .. } => {
            format!("`{public}` ran, but its result does not match its schema{}: {message}", at(pointer))
        }
        CallError::Incompatible { message, .. } => format!(
            "`{public}` was not called: it has changed since this program was built: {message}. It cannot be used until \
             the program is updated"
        ),
        other => format!("`{public}` failed: {other}"),
    }
}

/// Describes invalid arguments, which were not sent.
pub(super) fn invalid(public: &str, what: &str) -> String {
    format!("invalid arguments for `{public}`: {what}. Nothing was sent; fix the arguments and call it again")
}

/// Describes a panic in the tool or in its layers.
pub(super) fn broken(public: &str) -> String {
    format!("`{public}` was interrupted by an internal error; {UNKNOWN}")
}

/// Describes a call that the reply did not complete.
pub(super) fn unfinished(name: &str) -> String {
    format!(
        "the reply was truncated or withheld before this call of `{}` was complete, so it did not run; call again, \
         with shorter arguments if they were long",
        shown(name)
    )
}

/// Returns the position in a value, unless it is the whole.
pub(super) fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{}`", printable(pointer)) }
}

fn outcome(dispatched: Dispatched) -> &'static str {
    match dispatched {
        Dispatched::No => "it was not sent, and may be called again",
        Dispatched::Unknown | Dispatched::Yes => UNKNOWN,
    }
}

fn later(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |after| format!(" (its server asks to wait {after:?})"))
}
