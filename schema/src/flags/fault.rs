//! Errors in the words of a call.

use std::fmt;

use mcp_bindgen_model::printable;

/// An error in the arguments of a call. All texts are safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlagFault {
    /// The kind of error.
    pub kind: FlagFaultKind,
    /// The error.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
}

/// The kinds of [`FlagFault`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlagFaultKind {
    /// The tool has no such property.
    Unknown,
    /// The name could be that of several properties.
    Ambiguous,
    /// A word that belongs to no flag.
    Stray,
    /// A flag without its value.
    NoValue,
    /// The value is invalid for the property.
    Value,
    /// A value that must be JSON is not, or a number in it cannot be sent exactly as written.
    Json,
    /// A property that takes one value was given several.
    Twice,
    /// A file, or the standard input, cannot be read.
    Unreadable,
    /// An option of the program, in place of a property.
    Own,
    /// A required property was not given.
    Missing,
}

impl FlagFault {
    pub(super) fn new(kind: FlagFaultKind, message: &str, help: Option<String>) -> Self {
        Self { kind, message: printable(message), help: help.map(|help| printable(&help)) }
    }
}

impl fmt::Display for FlagFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(formatter, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FlagFault {}
