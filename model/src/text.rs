//! Text: reading it from files, finding places in it, and making it safe to show.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use crate::FileError;

/// Reads a text file; a byte order mark is dropped.
///
/// # Errors
/// Where the file cannot be read or is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, FileError> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => FileError::new("file not found").in_file(path),
        _ if path.is_dir() => FileError::new("this is a folder, and has to be a file").in_file(path),
        _ => match file_above(path) {
            Some(above) => {
                let message = format!("cannot read the file: `{}` is a file, and has to be a folder", above.display());
                FileError::new(message).in_file(path)
            }
            None => FileError::new(format!("cannot read the file: {error}")).in_file(path),
        },
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(without_byte_order_mark(&text).to_owned()),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes().get(..valid).unwrap_or_default();
            let (line, column) = line_and_column(&String::from_utf8_lossy(bytes), valid);
            Err(FileError::new("the file is not UTF-8 text").in_file(path).at(line, column))
        }
    }
}

/// The file that stands where a path has a folder.
pub(crate) fn file_above(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| above.is_file())
}

pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The 1-based line and column (in characters) of a byte offset.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut line = 1;
    let mut column = 1;
    for (index, character) in text.char_indices() {
        if index >= offset {
            break;
        }
        if character == '\n' {
            line += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    (line, column)
}

/// Makes text of a stranger safe to show on a terminal and in an error: control characters, bidirectional marks and
/// invisible characters come out as escapes.
///
/// ```
/// assert_eq!(mcp_bindgen_model::printable("red \u{1b}[31m\u{202e}txt"), r"red \u{1b}[31m\u{202e}txt");
/// assert_eq!(mcp_bindgen_model::printable("créer une 課題"), "créer une 課題");
/// ```
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ if misleads(character) => {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// Returns `true` if a character of a stranger's text does something else than it shows: controls, line breaks among
/// them, bidirectional marks, and what is invisible.
///
/// ```
/// assert!(['\n', '\u{1b}', '\u{202e}', '\u{200b}', '\u{e0041}'].into_iter().all(mcp_bindgen_model::misleads));
/// assert!(!mcp_bindgen_model::misleads('課'));
/// ```
#[must_use]
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}
