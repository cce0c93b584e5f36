//! Text of strangers as one harmless line.

/// How much of a text is looked at; what is shown is shorter by far.
const LOOKED_AT: usize = 4_000;
/// How many characters of a tool's description an inventory shows.
pub(super) const SENTENCE_AT_MOST: usize = 200;
/// Abbreviations whose dot ends no sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "no"];

/// A text as one line in which nothing is markup: no control, bidirectional or invisible characters, no tags, no fences, no
/// links, and no delimiters of templates. Its words stay as they are.
pub(super) fn line(text: &str) -> String {
    let text = words(text);
    let mut safe = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
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

/// The first sentence of a text as such a line, at most 200 characters of it; what was cut off shows as `…`.
pub(super) fn first_sentence(text: &str) -> String {
    // A first paragraph, so that a title without a full stop does not run on into what stands below it.
    let paragraph = text.trim_start().split("\n\n").next().unwrap_or_default();
    let all = words(paragraph);
    let sentence = sentence(&all);
    if sentence.chars().count() <= SENTENCE_AT_MOST {
        return line(sentence);
    }
    let cut: String = sentence.chars().take(SENTENCE_AT_MOST - 1).collect();
    line(cut.trim_end()) + "…"
}

/// A name as it may stand between backticks.
pub(super) fn name(text: &str) -> String {
    const LONGEST_NAME: usize = 128;
    words(text)
        .chars()
        .filter(|character| !matches!(character, '`' | '<' | '>' | '{' | '}'))
        .take(LONGEST_NAME)
        .collect()
}

/// The words of a text with single spaces between them, without what cannot be seen.
fn words(text: &str) -> String {
    let mut seen = String::new();
    let mut gap = false;
    for character in text.chars().take(LOOKED_AT) {
        if character.is_whitespace() || character.is_control() {
            gap = true;
        } else if is_seen(character) {
            if std::mem::take(&mut gap) && !seen.is_empty() {
                seen.push(' ');
            }
            seen.push(character);
        }
    }
    seen
}

fn is_seen(character: char) -> bool {
    character.is_ascii_graphic() || mcp_model::printable(character.encode_utf8(&mut [0; 4])).starts_with(character)
}

fn sentence(text: &str) -> &str {
    for (place, character) in text.char_indices() {
        let end = place + character.len_utf8();
        let (before, after) = (text.get(..place).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let ends = match character {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let word = before.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
                after.starts_with(' ') && !ABBREVIATIONS.contains(&word.as_str())
            }
            _ => false,
        };
        if ends {
            return text.get(..end).unwrap_or(text);
        }
    }
    text
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
        assert_eq!(long.chars().count(), 200);
        assert!(long.ends_with('…'), "{long}");
        assert_eq!(first_sentence(&"x".repeat(200)).chars().count(), 200);
    }
}
