//! Text: reading it from files, finding places in it, and making it safe to show.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use crate::FileError;

/// Reads a text file, without a byte order mark.
///
/// # Errors
/// Fails if the file cannot be read or is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, FileError> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|error| {
        let message = match file_above(path) {
            _ if error.kind() == ErrorKind::NotFound => "file not found".to_owned(),
            _ if path.is_dir() => "expected a file, found a directory".to_owned(),
            Some(above) => format!("failed to read the file: `{}` is a file, expected a directory", above.display()),
            None => format!("failed to read the file: {error}"),
        };
        FileError::new(message).in_file(path)
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
        let (line, column) = line_and_column(&before, valid);
        FileError::new("the file is not UTF-8 text").in_file(path).at(line, column)
    })?;
    Ok(without_byte_order_mark(&text).to_owned())
}

/// Returns a file that occupies the place of a parent folder.
pub(crate) fn file_above(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| above.is_file())
}

pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the 1-based line and column (in characters) of a byte offset.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (1 + before.matches('\n').count(), 1 + line.chars().count())
}

/// Returns the offset of a part of a text.
pub(crate) fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Returns the parts of a text between separators, each with its offset.
pub(crate) fn parts<'t>(text: &'t str, is_separator: &dyn Fn(char) -> bool) -> Vec<(usize, &'t str)> {
    text.split(is_separator).map(|part| (offset(text, part), part)).collect()
}

/// Makes untrusted text safe to print on a terminal and in an error: control characters, bidirectional marks and
/// invisible characters are escaped. Joiners and variation selectors stay where scripts and emoji need them.
///
/// ```
/// assert_eq!(mcp_bindgen_model::printable("red \u{1b}[31m\u{202e}txt"), r"red \u{1b}[31m\u{202e}txt");
/// assert_eq!(mcp_bindgen_model::printable("créer une 課題 \u{2764}\u{fe0f}"), "créer une 課題 \u{2764}\u{fe0f}");
/// ```
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (character, misleads) in in_context(text) {
        match character {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            _ if misleads => {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// Removes invisible parts of untrusted text: control characters except line feeds and tabs, bidirectional marks and
/// invisible characters. Joiners and variation selectors stay where scripts and emoji need them.
///
/// ```
/// assert_eq!(mcp_bindgen_model::visible("Reads.\u{e0049}\u{200b}\u{1b}[2J\n"), "Reads.[2J\n");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let is_seen =
        |(character, misleads): (char, bool)| (!misleads || matches!(character, '\n' | '\t')).then_some(character);
    in_context(text).filter_map(is_seen).collect()
}

/// Returns the characters of a text, each with `true` if it misleads in its context.
fn in_context(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut characters = text.chars().peekable();
    // The character before, if it can be seen, or belongs to one that can.
    let mut before: Option<char> = None;
    std::iter::from_fn(move || {
        let character = characters.next()?;
        let joins = |other: &char| !other.is_ascii() && !misleads(*other);
        let belongs = match character {
            // Text or emoji style.
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|before| !misleads(before)),
            // Joiners of Arabic and Indic scripts, and of emoji.
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(|before| joins(&before) || before == '\u{fe0f}')
                    && characters.peek().is_some_and(joins)
            }
            // Variants of Mongolian letters.
            '\u{180b}'..='\u{180d}' | '\u{180f}' => {
                before.is_some_and(|before| matches!(before, '\u{1820}'..='\u{18aa}'))
            }
            _ => false,
        };
        let misleads = misleads(character) && !belongs;
        before = Some(character).filter(|_| !misleads);
        Some((character, misleads))
    })
}

/// Returns `true` for characters that do something other than print: control characters including line breaks,
/// bidirectional marks, and Unicode's `Default_Ignorable_Code_Point`.
///
/// ```
/// assert!(['\n', '\u{1b}', '\u{202e}', '\u{200b}', '\u{fe01}', '\u{e0141}'].into_iter().all(mcp_bindgen_model::misleads));
/// assert!(!mcp_bindgen_model::misleads('課'));
/// ```
#[must_use]
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joiners_in_scripts_and_emoji_are_preserved() {
        let emoji = "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}\u{200d}\u{1f525} 1\u{fe0f}\u{20e3}";
        for text in
            [emoji, "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", "\u{915}\u{94d}\u{200d}\u{937}"]
        {
            assert_eq!(visible(text), text);
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        let bits = "\u{fe00}\u{fe01}\u{fe0f}\u{e0100}\u{e01ef}";
        let shown = format!("a{bits}b\u{200d}c\u{200b}d\u{fe0f}\u{fe0f}\u{fe0e}e\u{3164}\u{115f}f\u{202e}\u{e0041}g");
        assert_eq!(visible(&shown), "abcd\u{fe0f}efg");
        assert_eq!(visible("a\tb\nc\r\u{7}"), "a\tb\nc");
    }
}
