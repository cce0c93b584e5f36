//! The parts that readers of JSON files share: errors that know their place in the text.

use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::{FileError, locate};

/// Returns an object of the members that have a value.
pub(crate) fn object(members: Vec<(&str, Option<Value>)>) -> Map<String, Value> {
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Returns the error of something at a JSON pointer of the text.
pub(crate) fn fault(text: &str, pointer: &str, message: impl Into<String>) -> FileError {
    placed(FileError::new(message), text, pointer)
}

/// Returns an error with its place in the text.
pub(crate) fn placed(error: FileError, text: &str, pointer: &str) -> FileError {
    FileError { position: locate(text, pointer), ..error }
}

/// Fails if the text is empty. `file` describes the expected content: `the snapshot`.
pub(crate) fn check_not_empty(file: &str, text: &str) -> Result<(), FileError> {
    if text.trim().is_empty() { Err(FileError::new(format!("{file} is empty")).at(1, 1)) } else { Ok(()) }
}

/// Returns the error of a text that is not JSON.
pub(crate) fn not_json(file: &str, text: &str, error: &serde_json::Error) -> FileError {
    let message = match error.classify() {
        Category::Eof => "cut off",
        _ => "not valid JSON",
    };
    let reason = error.to_string();
    let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
    FileError::new(format!("{file} is {message}: {reason}")).at(error.line().max(1), characters(text, error))
}

/// Returns the column in characters: `serde_json` counts bytes.
fn characters(text: &str, error: &serde_json::Error) -> usize {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    line.char_indices().filter(|(index, _)| index + 1 < error.column()).count() + 1
}

/// Fails if the `format` of a file is unknown to this version.
pub(crate) fn check_format(file: &str, found: Option<u64>, known: u32) -> Result<(), FileError> {
    match found {
        Some(format) if format == u64::from(known) => Ok(()),
        // Format N came with version 0.N.
        Some(newer) if newer > u64::from(known) => {
            let version = env!("CARGO_PKG_VERSION");
            let message = format!("{file} has format {newer}; mcp-bindgen {version} reads format {known}");
            let help = format!("install mcp-bindgen 0.{newer} or later, in Cargo.toml and on the command line");
            Err(FileError::new(message).with_help(help))
        }
        _ => Err(FileError::new(format!("`format` is not {known}"))),
    }
}
