//! Text for people: suggested, quoted, cut and wrapped.

use std::io;

use mcp_bindgen_codegen::opening_sentence;
use mcp_bindgen_model::{nearest, printable};
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 20;
/// Longer sentences are cut.
const LONGEST_SENTENCE: usize = 200;

/// Suggests the known name that is most similar: ``did you mean `github`?``.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(name, known).first().map(|near| format!("did you mean `{}`?", printable(near)))
}

/// Lists names: `` `a`, `b` ``, or `none`.
pub(crate) fn in_ticks(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Writes a command line for POSIX shells.
pub(crate) fn command_line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    // `=` at the start is a path in zsh.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Joins the words of a text with one space between them.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a text, on one line.
pub(crate) fn sentence(text: &str) -> String {
    shortened(&printable(opening_sentence(text)), LONGEST_SENTENCE, "…")
}

/// Cuts a text to `longest` characters, and replaces the rest with a mark.
pub(crate) fn shortened(text: &str, longest: usize, mark: &str) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}{mark}", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Cuts a text to a number of columns.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars().take(columns) {
        kept.push(character);
        if kept.width() + 1 > columns {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Wraps a text into lines of at most `columns` columns. The first begins after `first` blanks, others after `rest`. A
/// word that is too long for a line is broken.
pub(crate) fn wrapped(text: &str, columns: usize, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = " ".repeat(first);
    let mut used = first;
    let mut is_empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && used + 1 + word.width() > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
            (used, is_empty) = (rest, true);
        }
        if !is_empty {
            line.push(' ');
            used += 1;
        }
        is_empty = false;
        // A word that fits is measured as a whole: the parts of an emoji are wider one by one.
        let fits = used + word.width() <= columns;
        let parts = if fits { vec![word] } else { word.split("").filter(|part| !part.is_empty()).collect() };
        for part in parts {
            if used + part.width() > columns && used > rest {
                lines.push(std::mem::replace(&mut line, " ".repeat(rest)));
                used = rest;
            }
            line.push_str(part);
            used += part.width();
        }
    }
    if !is_empty {
        lines.push(line);
    }
    lines
}

/// Returns the columns of results: what `COLUMNS` says, or the terminal that they are printed on.
pub(crate) fn columns() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into()))
}

/// Returns the columns of help.
pub(crate) fn help_width() -> usize {
    columns().unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// Returns the columns of the terminal that remarks are printed on.
pub(crate) fn terminal_width() -> usize {
    terminal_size_of(io::stderr()).map_or(WIDEST, |(Width(columns), _)| columns.into()).max(NARROWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let words = ["call", "--labels", "a b", "", "it's", "$HOME", "--x:=[1]", "--x:=null", "a=b"];
        let line = r"call --labels 'a b' '' 'it'\''s' '$HOME' '--x:=[1]' --x:=null a=b";
        assert_eq!(command_line(words), line);
    }

    #[test]
    fn lines_are_wrapped_and_truncated_to_the_width() {
        assert_eq!(wrapped("one two three", 7, 0, 0), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3, 0, 0), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("課題を 作る", 5, 0, 0), ["課題", "を", "作る"]);
        assert_eq!(wrapped("  ", 5, 0, 0), Vec::<String>::new());
        assert_eq!((cut("abcdef", 6), cut("abcdef", 4)), ("abcdef".to_owned(), "abc…".to_owned()));
        assert_eq!(cut("課題を作る", 5), "課題…");
    }

    #[test]
    fn indented_lines_are_as_wide_as_they_look() {
        assert_eq!(wrapped("one two three", 9, 2, 4), ["  one two", "    three"]);
        assert_eq!(wrapped("課題を取得する", 8, 0, 2), ["課題を取", "  得する"]);
        assert_eq!(wrapped("abcdefghij", 6, 2, 2), ["  abcd", "  efgh", "  ij"]);
        assert!(wrapped("", 10, 0, 0).is_empty());
    }

    #[test]
    fn sentences_are_truncated_and_escaped() {
        assert_eq!(sentence("Does it.\nMore."), "Does it.");
        assert_eq!(sentence("red \u{1b}[31m\u{202e}x"), r"red \u{1b}[31m\u{202e}x");
        assert_eq!(sentence(&"x".repeat(500)).chars().count(), LONGEST_SENTENCE + 1);
    }
}
