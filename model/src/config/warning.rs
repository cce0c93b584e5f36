//! Warnings about a configuration: problems that do not prevent reading it.

use std::fmt;

use crate::FileError;

/// A problem in a valid configuration.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The server concerned.
    pub server: Option<String>,
    /// The problem, with its position and the next step.
    pub error: FileError,
}

impl ConfigWarning {
    pub(super) fn about(server: &str, error: FileError) -> Self {
        Self { server: Some(server.to_owned()), error }
    }
}

/// Prints only the error, because a misplaced secret may be used as a name.
impl fmt::Debug for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
