//! Answers of a caller to the questions of a server.

use std::fmt;

use serde_json::{Map, Value};

/// The answers of a caller that passes on a server's requests, for
/// [`CallOptions::pass_input`](super::CallOptions::pass_input): empty for the first call, later the answers to the
/// requests in the last result.
///
/// ```
/// use mcp_bindgen_runtime::PassedInput;
/// use serde_json::json;
///
/// let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
/// let input = PassedInput::new().responses(answers.as_object().cloned()).state("opaque".to_owned());
/// # let _ = input;
/// ```
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct PassedInput {
    /// `inputResponses` of the protocol: the answers, by the keys of `inputRequests`.
    pub responses: Option<Map<String, Value>>,
    /// `requestState`, as the server sent it.
    pub state: Option<String>,
}

impl PassedInput {
    /// Creates an input without responses.
    pub const fn new() -> Self {
        Self { responses: None, state: None }
    }

    /// Sets the answers, by the keys of `inputRequests`.
    pub fn responses(self, responses: impl Into<Option<Map<String, Value>>>) -> Self {
        Self { responses: responses.into(), ..self }
    }

    /// Sets the `requestState` that came with the questions.
    pub fn state(self, state: impl Into<Option<String>>) -> Self {
        Self { state: state.into(), ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.responses.is_none() && self.state.is_none()
    }
}

/// Omits the responses, which may be secret.
impl fmt::Debug for PassedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answered = self.responses.as_ref().map(|answers| answers.keys().collect::<Vec<_>>());
        f.debug_struct("PassedInput").field("responses", &answered).field("state", &self.state.is_some()).finish()
    }
}
