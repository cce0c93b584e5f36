//! Text of strangers as one harmless line.

use crate::text;

/// How much of a text is looked at; what is shown is shorter by far.
const LOOKED_AT: usize = 4_000;
/// How many characters of a tool's description an inventory shows.
pub(super) const SENTENCE_AT_MOST: usize = 200;
/// A text as one line in which nothing is markup: no control, bidirectional or invisible characters, no tags, no fences, no
/// links, and no delimiters of templates. Its words stay as they are.
pub(super) fn line(text: &str) -> String {
    without_markup(&text::line(head(text)))
}

/// The first sentence of a text as such a line, at most 200 characters of it; what was cut off shows as `…`.
pub(super) fn first_sentence(text: &str) -> String {
    without_markup(&text::first_sentence(head(text), SENTENCE_AT_MOST))
}

/// A name as it may stand between backticks.
pub(super) fn name(text: &str) -> String {
    const LONGEST_NAME: usize = 128;
    let line = text::line(head(text));
    line.chars().filter(|character| !matches!(character, '`' | '<' | '>' | '{' | '}')).take(LONGEST_NAME).collect()
}

fn head(text: &str) -> &str {
    let end = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// A line in which nothing is markup.
fn without_markup(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut before = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let inside_a_word = before.is_some_and(char::is_alphanumeric)
            && characters.peek().is_some_and(|next: &char| next.is_alphanumeric());
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '_' if inside_a_word => safe.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '{' | '}' | '|' | '~' => safe.extend(['\\', character]),
            '#' | '-' | '+' | '=' | '!' if before.is_none() => safe.extend(['\\', character]),
            '#' | '%' if before == Some('{') => safe.extend(['\\', character]),
            _ => safe.push(character),
        }
        before = Some(character);
    }
    safe
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
        assert_eq!(first_sentence("Reads a file, e.g. a text. Then more."), "Reads a file, e.g. a text.");
        assert_eq!(first_sentence("Lists v1.2 things\n\n## Forged"), "Lists v1.2 things");
        assert_eq!(first_sentence("  \n "), "");
        let long = first_sentence(&"word ".repeat(100));
        assert!(long.ends_with("word…") && long.chars().count() <= 200, "{long}");
        assert_eq!(first_sentence(&"x".repeat(200)).chars().count(), 200);
    }
}
