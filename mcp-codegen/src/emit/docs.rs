//! Documentation from untrusted text. It stays readable, and cannot become code, a test, a link, markup, or a trick
//! with invisible characters.

use mcp_bindgen_schema::{SchemaId, Schemas, lookup};
use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream};
use quote::{ToTokens, TokenStreamExt};
use serde_json::{Map, Value};

use crate::markdown::{is_in_name, sanitized};

const MOST_VALUE_CHARS: usize = 120;

/// Documentation, a line each, and whether the server says not to use the thing any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Docs {
    lines: Vec<String>,
    pub(super) is_deprecated: bool,
}

impl ToTokens for Docs {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for line in &self.lines {
            let mut attribute = TokenStream::new();
            attribute.append(Ident::new("doc", Span::call_site()));
            attribute.append(Punct::new('=', Spacing::Alone));
            attribute.append(line_literal(line));
            append_attribute(attribute, tokens);
        }
        if self.is_deprecated {
            append_attribute(Ident::new("deprecated", Span::call_site()).into_token_stream(), tokens);
        }
    }
}

fn append_attribute(attribute: TokenStream, tokens: &mut TokenStream) {
    tokens.append(Punct::new('#', Spacing::Alone));
    tokens.append(Group::new(Delimiter::Bracket, attribute));
}

/// Returns a line as a literal, with the space that `///` has. Text without anything to escape need not be looked at
/// twice.
fn line_literal(line: &str) -> Literal {
    let space = if line.is_empty() { "" } else { " " };
    let is_plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    let plain = is_plain.then(|| format!("\"{space}{line}\"").parse().ok()).flatten();
    plain.unwrap_or_else(|| Literal::string(&format!("{space}{line}")))
}

impl Docs {
    /// Appends a paragraph, if it has lines.
    pub(super) fn and(mut self, paragraph: &[String]) -> Self {
        if !self.lines.is_empty() && !paragraph.is_empty() {
            self.lines.push(String::new());
        }
        self.lines.extend_from_slice(paragraph);
        self
    }

    /// Marks an item as deprecated by the server.
    pub(super) fn deprecated(self, is_deprecated: bool) -> Self {
        Self { is_deprecated, ..self }
    }
}

/// Returns documentation of one paragraph.
pub(crate) fn lines(paragraph: &[String]) -> Docs {
    Docs::default().and(paragraph)
}

/// Formats text as inline code.
pub(crate) fn code(text: &str) -> String {
    let plain = text.chars().map(|char| if char == '`' { '\'' } else { char });
    let shown: String = plain.flat_map(char::escape_debug).take(MOST_VALUE_CHARS).collect();
    let text = shown.replace("\\\"", "\"").replace("\\'", "'");
    if text.trim() == text && !text.is_empty() { format!("`{text}`") } else { format!("`\"{text}\"`") }
}

/// Returns the text of the first of several schemas that has one, or else `fallback`. Titles that only repeat one of the names
/// say nothing.
pub(super) fn of_schemas(
    schemas: &Schemas<'_>,
    ids: &[SchemaId],
    names: &[&str],
    fallback: &dyn Fn() -> String,
) -> Docs {
    let sources = sources(schemas, ids);
    let first = |key: &str| {
        sources.iter().find_map(|source| {
            let text = lookup(source, key)?.as_str()?;
            let repeats = key == "title" && names.iter().any(|name| is_in_name(text, name));
            let said = if repeats { Vec::new() } else { sanitized(text) };
            said.iter().any(|line| !line.is_empty()).then_some(said)
        })
    };
    let said = first("description").or_else(|| first("title")).unwrap_or_else(|| vec![format!("{}.", fallback())]);
    lines(&said).and(&facts(&sources)).deprecated(schemas.is_deprecated(ids))
}

/// Returns the facts of the root schema that types do not express, after the documentation of its tool.
pub(super) fn facts_of(schemas: &Schemas<'_>, ids: &[SchemaId]) -> Vec<String> {
    facts(&sources(schemas, ids))
}

fn sources<'s>(schemas: &Schemas<'s>, ids: &[SchemaId]) -> Vec<&'s Map<String, Value>> {
    ids.iter().flat_map(|id| schemas.described_by(*id)).collect()
}

/// Returns a list of the facts that types do not express: defaults, bounds, patterns, formats, examples.
fn facts(sources: &[&Map<String, Value>]) -> Vec<String> {
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
    let mut facts = Vec::new();
    for (key, name) in KEYWORDS {
        let text = match sources.iter().find_map(|source| lookup(source, key)) {
            None => continue,
            // Deprecated items have an attribute instead.
            Some(Value::Bool(true)) if *key == "deprecated" => continue,
            Some(Value::Bool(false)) if *key != "default" => continue,
            Some(Value::String(text)) if *key != "default" => code(text),
            Some(Value::Array(values)) if *key == "examples" => {
                values.iter().take(3).map(|value| code(&value.to_string())).collect::<Vec<_>>().join(", ")
            }
            Some(other) => code(&other.to_string()),
        };
        if !text.is_empty() {
            facts.push(format!("- {name}: {text}"));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_code_cannot_be_closed_by_its_content() {
        assert_eq!(code("a`b"), "`a'b`");
        assert_eq!(code(""), "`\"\"`");
        assert_eq!(code("a\nb"), "`a\\nb`");
    }
}
