//! The lines of a log of calls.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{canonical_json, hex_digest};
use serde_json::{Map, Value};

/// The error of a log of calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct CallLogError {
    pub(super) path: PathBuf,
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

impl CallLogError {
    pub(super) fn new(path: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// The hash of a line, of which its canonical JSON without the hash is the text.
pub(super) fn hash_of(line: &Map<String, Value>) -> String {
    hex_digest(canonical_json(&Value::Object(line.clone())).as_bytes())
}
