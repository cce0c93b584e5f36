//! How much room there is on a terminal.

use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 20;

/// How many columns help has: what `COLUMNS` says, or the terminal that it is printed on.
pub(crate) fn help_width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| width_of(&std::io::stdout())).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// How many columns the terminal has that remarks are printed on.
pub(crate) fn terminal_width() -> usize {
    width_of(&std::io::stderr()).unwrap_or(WIDEST).max(NARROWEST)
}

#[cfg(unix)]
fn width_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    terminal_size_of(stream).map(|(Width(columns), _)| columns.into())
}

#[cfg(windows)]
fn width_of(stream: &impl std::os::windows::io::AsHandle) -> Option<usize> {
    terminal_size_of(stream).map(|(Width(columns), _)| columns.into())
}

/// As much of a text as so many columns hold.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if kept.width() + 1 > columns {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Words in lines of so many columns. A word that is longer than a line is broken.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() <= columns {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            line.push(character);
            if line.width() > columns {
                line.pop();
                lines.push(std::mem::replace(&mut line, character.to_string()));
            }
        }
    }
    lines.extend((!line.is_empty()).then_some(line));
    lines
}

#[cfg(test)]
mod tests {
    use super::{cut, wrapped};

    #[test]
    fn lines_fit() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("課題を 作る", 5), ["課題", "を", "作る"]);
        assert_eq!(wrapped("  ", 5), Vec::<String>::new());
        assert_eq!((cut("abcdef", 6), cut("abcdef", 4)), ("abcdef".to_owned(), "abc…".to_owned()));
        assert_eq!(cut("課題を作る", 5), "課題…");
    }
}
