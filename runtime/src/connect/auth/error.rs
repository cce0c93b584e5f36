//! Errors of authorization, as messages for a person.

use crate::ground::redact::Redactor;

const LONGEST_QUOTE: usize = 200;

/// A message that says what happened and what to do; never a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct AuthError(String);

impl AuthError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Returns a stranger's text as a message shows it, without secrets.
pub(super) fn quoted(text: &str, redactor: &Redactor) -> String {
    redactor.shown_line(text, LONGEST_QUOTE)
}
