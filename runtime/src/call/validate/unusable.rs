//! Schemas that cannot be used, as a whole or in part.

use std::fmt;

use super::violation::brief;

const LONGEST_REASON: usize = 240;

/// A part of a schema that is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The position in the schema, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The value at the place as JSON, shortened.
    pub value: String,
    /// Why it is not checked.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}: {}", self.value, crate::call::place(&self.pointer), self.reason)
    }
}

/// A schema that cannot be used, because a part of it is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(.pointer))]
#[non_exhaustive]
pub struct UnusableSchema {
    /// The position in the schema, as a JSON pointer (RFC 6901); empty if unknown.
    pub pointer: String,
    /// The fault.
    pub message: String,
}

impl UnusableSchema {
    pub(super) fn new(pointer: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self { pointer: pointer.into(), message: brief(message.as_ref(), LONGEST_REASON) }
    }
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" (at `{}`)", mcp_bindgen_model::printable(pointer)) }
}
