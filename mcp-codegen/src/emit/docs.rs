//! Documentation out of strangers' text. It stays readable, and can become neither code, nor a test, nor a link, nor
//! markup, nor a trick with invisible characters.

use std::borrow::Cow;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream};
use quote::{ToTokens, TokenStreamExt};
use serde_json::{Map, Value};

use crate::bundle::lookup;
use crate::normalize::{SchemaId, Schemas};

/// Longer texts are cut.
const MOST_CHARS: usize = 4000;
const MOST_LINES: usize = 120;
const MOST_VALUE_CHARS: usize = 120;

/// Documentation, a line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Docs(Vec<String>);

impl ToTokens for Docs {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for line in &self.0 {
            let mut attribute = TokenStream::new();
            attribute.append(Ident::new("doc", Span::call_site()));
            attribute.append(Punct::new('=', Spacing::Alone));
            attribute.append(line_literal(line));
            tokens.append(Punct::new('#', Spacing::Alone));
            tokens.append(Group::new(Delimiter::Bracket, attribute));
        }
    }
}

/// A line as a literal, with the space that `///` has. Text without anything to escape need not be looked at twice.
fn line_literal(line: &str) -> Literal {
    let space = if line.is_empty() { "" } else { " " };
    let is_plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    let plain = is_plain.then(|| format!("\"{space}{line}\"").parse().ok()).flatten();
    plain.unwrap_or_else(|| Literal::string(&format!("{space}{line}")))
}

impl Docs {
    /// With paragraphs of ours after the rest.
    pub(super) fn and(mut self, paragraphs: &[String]) -> Self {
        for paragraph in paragraphs {
            if !self.0.is_empty() {
                self.0.push(String::new());
            }
            self.0.push(paragraph.clone());
        }
        self
    }
}

pub(super) fn lines(lines: Vec<String>) -> Docs {
    Docs(lines)
}

/// A line about a value of the server, as code.
pub(super) fn literal(text: &str) -> Docs {
    Docs(vec![code(text)])
}

/// Text as inline code.
pub(super) fn code(text: &str) -> String {
    let text: String = text.chars().map(|char| if char == '`' { '\'' } else { char }).collect();
    let text: String =
        text.chars().flat_map(char::escape_debug).filter(|char| *char != '`').take(MOST_VALUE_CHARS).collect();
    let text = text.replace("\\\"", "\"").replace("\\'", "'");
    if text.trim() == text && !text.is_empty() { format!("`{text}`") } else { format!("`\"{text}\"`") }
}

/// What the first of several schemas says of itself, or else `fallback`.
pub(super) fn of_schemas(schemas: &Schemas<'_>, ids: &[SchemaId], fallback: impl FnOnce() -> String) -> Docs {
    let sources: Vec<&Map<String, Value>> = ids.iter().flat_map(|id| with_references(schemas, *id)).collect();
    let text = |key: &str| {
        let texts = sources.iter().filter_map(|source| lookup(source, key)?.as_str());
        texts.map(sanitized).find(|lines| lines.iter().any(|line| !line.is_empty()))
    };
    let mut said = text("description").or_else(|| text("title")).unwrap_or_else(|| vec![sentence(&fallback())]);
    said.extend(listed(&sources));
    Docs(said)
}

/// What the root schema says that types do not, after the documentation of its tool.
pub(super) fn facts_of(schemas: &Schemas<'_>, ids: &[SchemaId]) -> Vec<String> {
    let sources: Vec<&Map<String, Value>> = ids.iter().flat_map(|id| with_references(schemas, *id)).collect();
    listed(&sources)
}

fn listed(sources: &[&Map<String, Value>]) -> Vec<String> {
    let mut lines: Vec<String> = facts(sources).into_iter().map(|(name, value)| format!("- {name}: {value}")).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// A schema and what its plain references lead to, nearest first.
fn with_references<'s>(schemas: &Schemas<'s>, id: SchemaId) -> Vec<&'s Map<String, Value>> {
    const MOST_STEPS: usize = 8;
    let mut sources = Vec::new();
    let mut next = Some(id);
    for _ in 0..MOST_STEPS {
        let Some(id) = next else { break };
        sources.extend(schemas.source(id));
        next = schemas.get(id).reference;
    }
    sources
}

fn sentence(text: &str) -> String {
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

/// What types do not say: defaults, bounds, patterns, formats, examples.
fn facts(sources: &[&Map<String, Value>]) -> Vec<(&'static str, String)> {
    const KEYWORDS: &[(&str, &str)] = &[
        ("default", "default"),
        ("format", "format"),
        ("pattern", "pattern"),
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
        ("minLength", "least length"),
        ("maxLength", "greatest length"),
        ("minItems", "fewest items"),
        ("maxItems", "most items"),
        ("minProperties", "fewest properties"),
        ("maxProperties", "most properties"),
        ("uniqueItems", "items are unique"),
        ("contentEncoding", "content encoding"),
        ("contentMediaType", "content media type"),
        ("contains", "contains"),
        ("minContains", "fewest that match"),
        ("maxContains", "most that match"),
        ("patternProperties", "properties by pattern"),
        ("propertyNames", "names of properties"),
        ("dependentRequired", "required together"),
        ("dependencies", "required together"),
        ("dependentSchemas", "depending on a property"),
        ("if", "if"),
        ("then", "then"),
        ("else", "else"),
        ("not", "not"),
        ("examples", "examples"),
        ("deprecated", "deprecated"),
        ("readOnly", "read-only"),
        ("writeOnly", "write-only"),
    ];
    let said = |key: &str| sources.iter().find_map(|source| lookup(source, key));
    KEYWORDS
        .iter()
        .filter_map(|(key, name)| {
            let value = said(key).filter(|value| !matches!(value, Value::Bool(false)) || *key == "default")?;
            let text = match value {
                Value::String(text) if *key != "default" => code(text),
                Value::Array(values) if *key == "examples" => {
                    values.iter().take(3).map(|value| code(&value.to_string())).collect::<Vec<_>>().join(", ")
                }
                other => code(&other.to_string()),
            };
            Some((*name, text)).filter(|(_, text)| !text.is_empty())
        })
        .collect()
}

/// A stranger's text as lines of harmless Markdown.
pub(crate) fn sanitized(text: &str) -> Vec<String> {
    const BREAKS: [char; 7] = ['\n', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}', '\r'];
    let end = text.char_indices().nth(MOST_CHARS).map(|(end, _)| end);
    let (cut, more) = end.and_then(|end| text.get(..end)).map_or((text, ""), |cut| (cut, "…"));
    let mut lines: Vec<String> = Vec::new();
    let mut in_list = false;
    for raw in cut.split(BREAKS).take(MOST_LINES) {
        let clean = visible(raw);
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

/// A line without what cannot be seen.
fn visible(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(line);
    }
    let spaced = line.chars().map(|char| if char == '\t' { ' ' } else { char });
    Cow::Owned(spaced.filter(|char| is_visible(*char)).collect())
}

/// What follows the mark of a list item.
fn list_item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+', '•']).filter(|rest| rest.starts_with(' '))?.trim();
    (!rest.is_empty()).then_some(rest)
}

/// Control characters, and those that reorder or hide text, say nothing that a reader should miss.
fn is_visible(char: char) -> bool {
    !char.is_control()
        && !matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// One line of text, with everything escaped that Markdown or rustdoc would make something of. Inline code stays.
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

/// The place of the dot in `12. text`, which would start a list.
fn numbered(line: &str) -> Option<usize> {
    let digits = line.find(|char: char| !char.is_ascii_digit())?;
    (digits > 0 && line.get(digits..)?.starts_with(['.', ')'])).then_some(digits)
}

/// A plain web address at the start of the text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_harmless_markdown() {
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
    fn code_cannot_be_left() {
        assert_eq!(code("a`b"), "`a'b`");
        assert_eq!(code(""), "`\"\"`");
        assert_eq!(code("a\nb"), "`a\\nb`");
    }
}
