//! Truncates and wraps untrusted text by display width, after escaping control characters.

use mcp_bindgen_codegen::opening_sentence;
use mcp_bindgen_model::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Longer sentences are cut.
const LONGEST_SENTENCE: usize = 200;

/// The first sentence of a text, on one line.
pub(super) fn sentence(text: &str) -> String {
    let sentence = printable(opening_sentence(text));
    match sentence.char_indices().nth(LONGEST_SENTENCE) {
        Some((end, _)) => format!("{}…", sentence.get(..end).unwrap_or_default().trim_end()),
        None => sentence,
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// A text in lines of at most so many columns: the first begins after `first` blanks, others after `rest`. A word that is
/// too long for a line is broken.
pub(super) fn wrapped(text: &str, columns: usize, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = " ".repeat(first);
    let mut used = first;
    let mut is_empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && used + 1 + width(word) > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
            (used, is_empty) = (rest, true);
        }
        if !is_empty {
            line.push(' ');
            used += 1;
        }
        for char in word.chars() {
            let wide = char.width().unwrap_or_default();
            if used + wide > columns && used > rest {
                lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
                used = rest;
            }
            line.push(char);
            used += wide;
        }
        is_empty = false;
    }
    if !is_empty {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_they_look() {
        assert_eq!(wrapped("one two three", 9, 2, 4), ["  one two", "    three"]);
        assert_eq!(wrapped("課題を取得する", 8, 0, 2), ["課題を取", "  得する"]);
        assert_eq!(wrapped("abcdefghij", 6, 2, 2), ["  abcd", "  efgh", "  ij"]);
        assert!(wrapped("", 10, 0, 0).is_empty());
    }

    #[test]
    fn sentences_are_short_and_harmless() {
        assert_eq!(sentence("Does it.\nMore."), "Does it.");
        assert_eq!(sentence("red \u{1b}[31m\u{202e}x"), r"red \u{1b}[31m\u{202e}x");
        assert_eq!(sentence(&"x".repeat(500)).chars().count(), LONGEST_SENTENCE + 1);
    }
}
