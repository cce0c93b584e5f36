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
    FileError { position: locate(text, pointer), ..FileError::new(message) }
}

/// Returns the error of a text that is not JSON. `file` describes the expected content: `the snapshot`.
pub(crate) fn not_json(file: &str, text: &str, error: &serde_json::Error) -> FileError {
    let message = match error.classify() {
        _ if text.trim().is_empty() => return FileError::new(format!("{file} is empty")).at(1, 1),
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

/// Fails if the `format` of a file, at this pointer, is unknown to this version.
pub(crate) fn check_format(file: &str, text: &str, pointer: &str, format: &Value, known: u32) -> Result<(), FileError> {
    match format.as_u64() {
        Some(format) if format == u64::from(known) => Ok(()),
        // Format N came with version 0.N.
        Some(newer) if newer > u64::from(known) => {
            let version = env!("CARGO_PKG_VERSION");
            let message = format!("{file} has format {newer}; mcp-bindgen {version} reads format {known}");
            let help = format!("install mcp-bindgen 0.{newer} or later, in Cargo.toml and on the command line");
            Err(fault(text, pointer, message).with_help(help))
        }
        _ => Err(fault(text, pointer, format!("`format` is not {known}"))),
    }
}
