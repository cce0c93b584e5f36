//! Warnings about a configuration: problems that do not prevent reading it.

use std::fmt;

use crate::FileError;

/// Something in a configuration that is worth mending though it can be read.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The server that it is about.
    pub server: Option<String>,
    /// The error, with its place and its help.
    pub error: FileError,
}

impl ConfigWarning {
    pub(super) fn about(server: &str, error: FileError) -> Self {
        Self { server: Some(server.to_owned()), error }
    }
}

/// The error alone: what stands for a name may be a secret in the wrong place.
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
