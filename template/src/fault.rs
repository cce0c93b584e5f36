//! Errors in a template, each with its position.

use std::fmt;

/// The maximum number of characters of a line to show, and of those before the fault.
const WIDTH: usize = 100;
const BEFORE: usize = 40;
/// The maximum number of errors that are reported for a template; each is printed with its line.
pub const MOST_FAULTS: usize = 20;

/// A position in the text of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// An error in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The position of the error.
    pub place: Place,
    /// The error and the next step: a lower-case fragment.
    pub message: String,
}

/// `3:5`
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// `3:5: the message`, safe to show.
impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, mcp_bindgen_model::printable(&self.message))
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Creates an error at a position.
    #[must_use]
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }

    /// Formats the error like a compiler: the file, the position, and the line with carets below.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let text = "Open issues:\n[[@github_list_issues|state=\"open\"]\n";
    /// let faults = Template::parse(text).unwrap_err();
    /// assert_eq!(faults[0].rendered("prompts/triage.md", text), "\
    /// prompts/triage.md:2:35: expected `]]` or `,` and the next argument, found `]`
    ///   |
    /// 2 | [[@github_list_issues|state=\"open\"]
    ///   |                                   ^");
    /// ```
    #[must_use]
    pub fn rendered(&self, file: &str, text: &str) -> String {
        let line = self.place.line;
        let head = format!("{}:{self}", mcp_bindgen_model::printable(file));
        let margin = " ".repeat(line.to_string().len());
        match excerpt(text, self.place) {
            Some((excerpt, caret)) => format!("{head}\n{margin} |\n{line} | {excerpt}\n{margin} | {caret}"),
            None => head,
        }
    }
}

/// Returns the line, or the part of it around the place, and carets under what begins there.
fn excerpt(text: &str, place: Place) -> Option<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.split('\n').nth(place.line.checked_sub(1)?)?;
    let at = place.column.checked_sub(1)?;
    let from = if line.chars().nth(WIDTH).is_some() { at.saturating_sub(BEFORE) } else { 0 };
    // A line can be as long as the text.
    let shown: Vec<char> = line.chars().skip(from).take(WIDTH).collect();
    let printed = |part: &[char]| mcp_bindgen_model::printable(&part.iter().collect::<String>());
    let columns = |part: &[char]| printed(part).chars().count();
    let (before, rest) = shown.split_at_checked(at - from)?;
    let opener = rest.iter().take_while(|c| matches!(c, '[' | '{' | '%' | '@')).count();
    let word = rest.iter().skip(opener).take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).count();
    let marked = rest.get(..opener + word).unwrap_or_default();
    let caret = format!("{}{}", " ".repeat(columns(before)), "^".repeat(columns(marked).max(1)));
    let whole: String = shown.iter().collect();
    Some((mcp_bindgen_model::printable(whole.trim_end_matches('\r')), caret))
}

/// Suggests similar names for the end of a message; empty if there are none.
pub(crate) fn meant<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let nearest = mcp_bindgen_model::nearest(name, candidates);
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    format!("; did you mean {}?", names.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, line: usize, column: usize) -> String {
        Fault::new(Place { line, column }, "it is wrong").rendered("a.md", text)
    }

    #[test]
    fn fault_message_contains_its_line() {
        let shown = "a.md:2:4: it is wrong\n  |\n2 | é [[@x|y]]\n  |   ^^^^";
        assert_eq!(rendered("a\né [[@x|y]]\r\nb", 2, 3), shown.replace("2:4", "2:3"));
        assert_eq!(rendered("a", 7, 1), "a.md:7:1: it is wrong");
        assert_eq!(
            rendered("a\u{1b}b\u{202e}", 1, 3),
            "a.md:1:3: it is wrong\n  |\n1 | a\\u{1b}b\\u{202e}\n  |        ^"
        );
    }

    #[test]
    fn long_lines_are_truncated_around_the_fault() {
        let text = format!("{}[[@key|{}", "x".repeat(500), "y".repeat(500));
        let shown = rendered(&text, 1, 501);
        assert!(shown.contains(&format!("| {}[[@key|", "x".repeat(BEFORE))), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < WIDTH + 10), "{shown}");
    }
}
