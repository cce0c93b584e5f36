//! Errors of authorization, as messages for a person.

use crate::ground::redact::Redactor;

const LONGEST_QUOTE: usize = 200;

/// A message with the fact and the next step; never a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub(super) struct AuthError(String);

impl AuthError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Returns untrusted text for a message, without secrets.
pub(super) fn quoted(text: &str, redactor: &Redactor) -> String {
    redactor.shown_line(text, LONGEST_QUOTE)
}
