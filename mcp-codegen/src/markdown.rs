//! Untrusted texts as documentation: they stay readable, and cannot become code, a test, a link, markup, or a trick
//! with invisible characters. Joiners stay where scripts and emoji need them.

use mcp_bindgen_model::visible;

/// Longer texts are cut.
const MOST_CHARS: usize = 4000;
const MOST_LINES: usize = 120;

/// Returns untrusted text as lines of harmless Markdown.
pub(crate) fn sanitized(text: &str) -> Vec<String> {
    const BREAKS: [char; 7] = ['\n', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}', '\r'];
    let end = text.char_indices().nth(MOST_CHARS).map(|(end, _)| end);
    let (cut, more) = end.and_then(|end| text.get(..end)).map_or((text, ""), |cut| (cut, "…"));
    let mut lines: Vec<String> = Vec::new();
    let mut in_list = false;
    for raw in cut.split(BREAKS).take(MOST_LINES) {
        let clean = visible(&raw.replace('\t', " "));
        let words = clean.trim();
        if words.is_empty() {
            if lines.last().is_some_and(|line| !line.is_empty()) {
                lines.push(String::new());
            }
            in_list = false;
            continue;
        }
        let item = list_item(words);
        if item.is_some() != in_list && lines.last().is_some_and(|line| !line.is_empty()) {
            lines.push(String::new());
        }
        in_list = item.is_some();
        lines.push(match item {
            Some(rest) => format!("- {}", inline(rest)),
            None => inline(words),
        });
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if let Some(last) = lines.last_mut() {
        last.push_str(more);
    }
    lines
}

/// Returns the text behind the mark of a list item.
fn list_item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+', '•']).filter(|rest| rest.starts_with(' '))?.trim();
    (!rest.is_empty()).then_some(rest)
}

/// Escapes a line of text for Markdown and rustdoc. Inline code stays.
fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let codes = line.matches('`').count().is_multiple_of(2) && !line.contains("``");
    let mut in_code = false;
    let mut rest = line;
    if let Some(first) = rest.chars().next().filter(|first| "#>=~|-+".contains(*first)) {
        out.push('\\');
        out.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    } else if let Some(place) = numbered(rest) {
        out.push_str(rest.get(..place).unwrap_or_default());
        out.push('\\');
        rest = rest.get(place..).unwrap_or_default();
    }
    while let Some(place) = rest.find(is_special) {
        let (plain, marked) = rest.split_at(place);
        out.push_str(plain);
        let Some(char) = marked.chars().next() else { break };
        rest = marked.get(char.len_utf8()..).unwrap_or_default();
        match char {
            '`' if codes => {
                in_code = !in_code;
                out.push('`');
            }
            _ if in_code => out.push(char),
            'h' => match url(marked) {
                Some(url) => {
                    out.push('<');
                    out.push_str(url);
                    out.push('>');
                    rest = marked.get(url.len()..).unwrap_or_default();
                }
                None => out.push('h'),
            },
            _ => {
                out.push('\\');
                out.push(char);
            }
        }
    }
    out.push_str(rest);
    out
}

/// Characters that Markdown or rustdoc may make something of; `h` may begin a web address.
fn is_special(char: char) -> bool {
    matches!(char, 'h' | '`' | '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|' | '$')
}

/// Returns the place of the dot in `12. text`, which would start a list.
fn numbered(line: &str) -> Option<usize> {
    let digits = line.find(|char: char| !char.is_ascii_digit())?;
    (digits > 0 && line.get(digits..)?.starts_with(['.', ')'])).then_some(digits)
}

/// Returns a plain web address at the start of the text.
fn url(text: &str) -> Option<&str> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return None;
    }
    let end = text
        .find(|char: char| !(char.is_ascii_alphanumeric() || "-._~:/?#@!$&'()*+,;=%".contains(char)))
        .unwrap_or(text.len());
    let url = text.get(..end)?.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'', '*', '_']);
    (url.len() > "https://".len()).then_some(url)
}

/// Returns the first sentence of a text's first line that is not a list item, as a line of harmless Markdown.
pub(crate) fn first_sentence(text: &str) -> Option<String> {
    // The text is cut before it is escaped: a part is as harmless as the whole.
    let first = |line: &str| sanitized(sentence(line.trim())).into_iter().find(|line| !line.is_empty());
    text.lines().find_map(|line| first(line).filter(|line| !line.starts_with("- ")))
}

/// Returns the first sentence of a text, unchanged and unescaped.
///
/// ```
/// assert_eq!(mcp_bindgen_codegen::opening_sentence("\n Lists issues, e.g. Closed ones. Slow."), "Lists issues, e.g. Closed ones.");
/// ```
#[must_use]
pub fn opening_sentence(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map_or("", sentence)
}

/// Abbreviations whose dot ends no sentence.
const ABBREVIATIONS: &[&str] = &["e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "max", "min", "no", "dr", "mr"];

/// Returns the first sentence of a line, or all of it.
fn sentence(line: &str) -> &str {
    let mut in_code = false;
    for (place, char) in line.char_indices() {
        let end = place + char.len_utf8();
        let (before, after) = (line.get(..place).unwrap_or_default(), line.get(end..).unwrap_or_default());
        in_code ^= char == '`';
        let ends = match char {
            _ if in_code => false,
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let word = before.rsplit([' ', '(', '"']).next().unwrap_or_default().to_lowercase();
                let is_whole = word.chars().count() > 1 && !word.bytes().all(|byte| byte.is_ascii_digit());
                after.starts_with(' ')
                    && !after.trim_start().starts_with(char::is_lowercase)
                    && is_whole
                    && !ABBREVIATIONS.contains(&word.as_str())
            }
            _ => false,
        };
        if ends {
            return line.get(..end).unwrap_or(line);
        }
    }
    line
}

/// Returns `true` if a name ends in a title, regardless of case and symbols: the title then adds nothing.
pub(crate) fn is_in_name(title: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let title = letters(title);
    !title.is_empty() && letters(name).ends_with(&title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_markdown() {
        assert_eq!(inline("see [this](x) <b>"), "see \\[this\\](x) \\<b\\>");
        assert_eq!(inline("use `a[0]` here"), "use `a[0]` here");
        assert_eq!(inline("a ` b"), "a \\` b");
        assert_eq!(inline("# Title"), "\\# Title");
        assert_eq!(inline("1. first"), "1\\. first");
        assert_eq!(inline("at https://example.com/a_b."), "at <https://example.com/a_b>.");
        assert_eq!(
            sanitized("a\n```rust\npanic!()\n```\n    indented"),
            ["a", "\\`\\`\\`rust", "panic!()", "\\`\\`\\`", "indented"]
        );
        assert_eq!(sanitized("x\u{202e}y\u{7}"), ["xy"]);
        assert_eq!(sanitized("text\n- one\n- two\nmore"), ["text", "", "- one", "- two", "", "more"]);
    }

    #[test]
    fn sentence_ends_at_its_period() {
        for (text, first) in [
            ("Draws a shape. It may be round.", "Draws a shape."),
            ("\n\n- one\n  Lists things! All.", "Lists things!"),
            ("Takes a name, e.g. Octocat. Fails otherwise.", "Takes a name, e.g. Octocat."),
            ("Reads example.com, v. 2 too. Yes.", "Reads example.com, v. 2 too."),
            ("Runs `a. B` as it is. Then", "Runs `a. B` as it is."),
            ("取得する。返す。", "取得する。"),
            ("1. First. Second", "1\\. First."),
            ("Without an end", "Without an end"),
            ("Cut `here. <b> `x` y", "Cut \\`here. \\<b\\> \\`x\\` y"),
        ] {
            assert_eq!(first_sentence(text).as_deref(), Some(first), "{text}");
        }
        assert_eq!(first_sentence(" \n- only\n- items"), None);
        assert_eq!(first_sentence(""), None);
    }

    #[test]
    fn title_that_repeats_the_name_is_detected() {
        assert!(
            is_in_name("Owner", "owner") && is_in_name("Issue Number", "issue_number") && is_in_name("ID", "userId")
        );
        assert!(!is_in_name("The owner", "owner") && !is_in_name("€", "price") && !is_in_name("", "x"));
    }
}
