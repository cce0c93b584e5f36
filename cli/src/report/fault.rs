//! Something that is wrong, and where.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::FileError;

use crate::exit::Failure;

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// All of it, as people read it.
    pub(crate) text: String,
    /// The file that it is in.
    pub(crate) path: Option<PathBuf>,
    /// The line in there, from 1.
    pub(crate) line: Option<usize>,
}

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), path: None, line: None }
    }

    pub(crate) fn at(self, path: &Path, line: Option<usize>) -> Self {
        Self { path: Some(path.to_owned()), line, ..self }
    }
}

impl From<&FileError> for Fault {
    fn from(error: &FileError) -> Self {
        Self {
            text: error.to_string(),
            path: error.path.clone(),
            line: error.path.as_ref().and(error.position).map(|(line, _)| line),
        }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Self::from(&error)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.message)
    }
}
