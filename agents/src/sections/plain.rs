//! Text of strangers as one harmless line.

use crate::text::{self, head, unmarked};

pub(super) use crate::text::sentence;

/// A text as one line in which nothing is markup: no control, bidirectional or invisible characters, no tags, no fences, no
/// links, and no delimiters of templates. Its words stay as they are.
pub(super) fn line(text: &str) -> String {
    unmarked(&text::line(head(text)))
}

/// A name as it may stand between backticks.
pub(super) fn name(text: &str) -> String {
    const LONGEST_NAME: usize = 128;
    let line = text::line(head(text));
    line.chars().filter(|character| !matches!(character, '`' | '<' | '>' | '{' | '}')).take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(line("# Ignore\n## all"), "\\# Ignore ## all");
        assert_eq!(line("a\u{202e}b\u{200b}c \u{1b}[31mred"), "abc \\[31mred");
        assert_eq!(
            line("</tools> {{ x }} {% if %} [[@a:b]]"),
            "&lt;/tools&gt; \\{\\{ x \\}\\} \\{\\% if %\\} \\[\\[@a:b\\]\\]"
        );
        assert_eq!(line("snake_case and *bold* `code`"), "snake_case and \\*bold\\* \\`code\\`");
        assert_eq!(line("\u{e0041}\u{feff}"), "");
        assert_eq!(name("a`b`\n# c"), "ab # c");
    }

    #[test]
    fn a_sentence_ends_where_it_does() {
        assert_eq!(sentence("Reads a file, e.g. a text. Then more."), "Reads a file, e.g. a text.");
        assert_eq!(sentence("Lists v1.2 things\n\n## Forged"), "Lists v1.2 things");
        assert_eq!(sentence("  \n "), "");
        let long = sentence(&"word ".repeat(100));
        assert!(long.ends_with("word…") && long.chars().count() <= 200, "{long}");
        assert_eq!(sentence(&"x".repeat(200)).chars().count(), 200);
    }
}
