//! URI templates (RFC 6570): read once, filled in so that no value can leave its place.

use std::fmt::{self, Write};
use std::ops::Range;

use crate::text::parts;

/// A URI template (RFC 6570) of levels 1 to 3, with the parts of level 4 that apply to strings and lists of strings:
/// `{/path*}`, `{name:3}`.
///
/// ```
/// use mcp_bindgen_model::{TemplateValue, UriTemplate};
///
/// let template = UriTemplate::parse("repo://{owner}/{repo}/contents{/path*}{?ref}")?;
/// let path = ["src".to_owned(), "a file.rs".to_owned()];
/// let uri = template.expand(|name| match name {
///     "owner" => Some(TemplateValue::Text("rust-lang")),
///     "repo" => Some(TemplateValue::Text("a/../b?")),
///     "path" => Some(TemplateValue::List(&path)),
///     _ => None,
/// })?;
/// assert_eq!(uri, "repo://rust-lang/a%2F..%2Fb%3F/contents/src/a%20file.rs");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
    /// The literal text behind the last expression.
    end: String,
}

/// A variable of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateVariable {
    /// Its name in the template.
    pub name: String,
    /// `true` if the template uses the variable as a list (`{/path*}`).
    pub is_list: bool,
    /// `true` if the URI needs the variable. Variables that only occur in a query (`{?page}`, `{&page}`) or in
    /// parameters (`{;page}`) are optional.
    pub is_required: bool,
}

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateValue<'v> {
    /// A text.
    Text(&'v str),
    /// Several strings; an empty list counts as no value.
    List(&'v [String]),
}

/// The reason why a text is not a valid template, or why a variable cannot have a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The variable; empty if the template is not valid.
    pub variable: String,
    /// The problem with the template, or with the value.
    pub message: String,
}

impl TemplateError {
    fn new(message: String) -> Self {
        Self { variable: String::new(), message }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.variable.is_empty() {
            write!(f, "`{}`: ", self.variable)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

/// An expression, with the literal text before it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    literal: String,
    operator: Operator,
    specs: Vec<Spec>,
}

/// A variable in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spec {
    name: String,
    prefix: Option<usize>,
    explode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operator {
    first: &'static str,
    separator: &'static str,
    /// `true` if values follow their names.
    named: bool,
    /// The text between a name and an empty value.
    if_empty: &'static str,
    /// `true` if reserved characters are not encoded.
    reserved: bool,
}

const SIMPLE: Operator = Operator { first: "", separator: ",", named: false, if_empty: "", reserved: false };

impl Operator {
    /// Splits an expression into its operator and the rest.
    fn of(expression: &str) -> Result<(Self, &str), TemplateError> {
        let plain = |first, separator| Self { first, separator, ..SIMPLE };
        let named = |first, separator, if_empty| Self { named: true, if_empty, ..plain(first, separator) };
        let operator = match expression.chars().next() {
            Some('+') => Self { reserved: true, ..SIMPLE },
            Some('#') => Self { reserved: true, ..plain("#", ",") },
            Some('.') => plain(".", "."),
            Some('/') => plain("/", "/"),
            Some(';') => named(";", ";", ""),
            Some('?') => named("?", "&", "="),
            Some('&') => named("&", "&", "="),
            Some(kept @ ('=' | ',' | '!' | '@' | '|')) => {
                return Err(TemplateError::new(format!(
                    "`{{{expression}}}` begins with the reserved operator `{kept}`"
                )));
            }
            _ => return Ok((SIMPLE, expression)),
        };
        Ok((operator, expression.get(1..).unwrap_or_default()))
    }
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// Fails if the text is not a URI template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let literal = literal(before)?;
            let Some((expression, after)) = after.split_once('}') else {
                return Err(TemplateError::new("a `{` is not closed".to_owned()));
            };
            let (operator, variables) = Operator::of(expression)?;
            let specs = variables.split(',').map(|spec| Spec::parse(spec, expression)).collect::<Result<_, _>>()?;
            parts.push(Part { literal, operator, specs });
            rest = after;
        }
        let template = Self { parts, end: literal(rest)? };
        for Part { specs, .. } in &template.parts {
            let cut = specs.iter().find(|spec| spec.prefix.is_some() && template.is_list(&spec.name));
            if let Some(Spec { name, .. }) = cut {
                return Err(TemplateError::new(format!("`{name}` is a list, and cannot have a prefix length")));
            }
        }
        Ok(template)
    }

    /// Returns the variables, in the order of their first use.
    #[must_use]
    pub fn variables(&self) -> Vec<TemplateVariable> {
        let mut variables: Vec<TemplateVariable> = Vec::new();
        for Part { operator, specs, .. } in &self.parts {
            for Spec { name, explode, .. } in specs {
                match variables.iter_mut().find(|known| known.name == *name) {
                    Some(known) => {
                        known.is_list |= explode;
                        known.is_required |= !operator.named;
                    }
                    None => variables.push(TemplateVariable {
                        name: name.clone(),
                        is_list: *explode,
                        is_required: !operator.named,
                    }),
                }
            }
        }
        variables
    }

    /// Expands the template. All characters but letters, digits and `-._~` are percent-encoded; in `{+name}` and
    /// `{#name}` reserved characters stay, as RFC 6570 specifies, so such a value may contain `/`, `?` and `#`.
    ///
    /// # Errors
    /// Fails if a value would make a path segment `.` or `..`, plain or as `%2e`: a resolver would then leave the
    /// folder, which RFC 6570 permits. Also fails if a prefix modifier applies to a list.
    pub fn expand<'v>(&self, value: impl Fn(&str) -> Option<TemplateValue<'v>>) -> Result<String, TemplateError> {
        let mut uri = String::new();
        let mut filled: Vec<(Range<usize>, &str)> = Vec::new();
        for Part { literal, operator, specs } in &self.parts {
            uri.push_str(literal);
            let start = uri.len();
            fill(*operator, specs, &value, &mut uri)?;
            filled.push((start..uri.len(), specs.first().map_or("", |spec| &spec.name)));
        }
        uri.push_str(&self.end);
        match leading_elsewhere(&uri, &filled) {
            Some((variable, segment)) => Err(TemplateError {
                variable: variable.to_owned(),
                message: format!("the value would add the path segment `{segment}`"),
            }),
            None => Ok(uri),
        }
    }

    fn is_list(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.specs.iter().any(|spec| spec.explode && spec.name == name))
    }
}

impl Spec {
    fn parse(text: &str, expression: &str) -> Result<Self, TemplateError> {
        let fault = |what: &str| TemplateError::new(format!("`{{{expression}}}`: {what}"));
        let (name, prefix, explode) = match (text.strip_suffix('*'), text.split_once(':')) {
            (Some(name), _) => (name, None, true),
            (None, Some((name, length))) => {
                let is_length = length.len() < 5
                    && length.bytes().all(|byte| byte.is_ascii_digit())
                    && length.starts_with(|first| first != '0');
                let length = length.parse().ok().filter(|_| is_length);
                (name, Some(length.ok_or_else(|| fault("expected a number from 1 to 9999 after `:`"))?), false)
            }
            (None, None) => (text, None, false),
        };
        if name.is_empty() {
            return Err(fault("a variable has no name"));
        }
        // No regular expression: a template may have very many variables, and compiling one for each takes seconds.
        let begins_with_digits = |text: &str| text.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
        let is_word = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_%".contains(&byte))
                && word.split('%').skip(1).all(begins_with_digits)
        };
        if !name.split('.').all(is_word) {
            return Err(fault(&format!("invalid variable name `{name}`: use letters, digits, `_` and `.`")));
        }
        Ok(Self { name: name.to_owned(), prefix, explode })
    }
}

/// Parses literal text, as the URI contains it.
fn literal(text: &str) -> Result<String, TemplateError> {
    let odd = |char: char| char.is_control() || " \"<>\\^`|}".contains(char);
    if let Some(char) = text.chars().find(|char| odd(*char)) {
        return Err(TemplateError::new(format!("{char:?} is not allowed in a URI")));
    }
    let mut uri = String::new();
    encode(text, true, &mut uri);
    // Anything but a triplet was encoded.
    if uri.len() > text.len() && uri.matches("%25").count() > text.matches("%25").count() {
        return Err(TemplateError::new("expected two hexadecimal digits after `%`".to_owned()));
    }
    Ok(uri)
}

fn fill<'v>(
    operator: Operator,
    specs: &[Spec],
    value: &impl Fn(&str) -> Option<TemplateValue<'v>>,
    uri: &mut String,
) -> Result<(), TemplateError> {
    let mut lead = operator.first;
    for Spec { name, prefix, explode } in specs {
        let texts: Vec<&str> = match (value(name), prefix) {
            (None, _) => continue,
            (Some(TemplateValue::List([])), _) => continue,
            (Some(TemplateValue::List(_)), Some(_)) => {
                let message = "a list cannot have a prefix length".to_owned();
                return Err(TemplateError { variable: name.clone(), message });
            }
            (Some(TemplateValue::List(texts)), None) => texts.iter().map(String::as_str).collect(),
            (Some(TemplateValue::Text(text)), Some(length)) => {
                let end = text.char_indices().nth(*length).map_or(text.len(), |(end, _)| end);
                vec![text.get(..end).unwrap_or(text)]
            }
            (Some(TemplateValue::Text(text)), None) => vec![text],
        };
        for (place, text) in texts.into_iter().enumerate() {
            let begins = place == 0 || *explode;
            uri.push_str(if begins { lead } else { "," });
            if begins && operator.named {
                uri.push_str(name);
                uri.push_str(if text.is_empty() { operator.if_empty } else { "=" });
            }
            encode(text, operator.reserved, uri);
            lead = operator.separator;
        }
    }
    Ok(())
}

/// Percent-encodes a text, except for unreserved characters, and for reserved ones and triplets if they may stay.
fn encode(text: &str, keeps_reserved: bool, uri: &mut String) {
    let bytes = text.as_bytes();
    for (place, byte) in bytes.iter().enumerate() {
        let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        let is_triplet = || {
            *byte == b'%' && bytes.get(place + 1..place + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
        };
        if is_unreserved || (keeps_reserved && (b":/?#[]@!$&'()*+,;=".contains(byte) || is_triplet())) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

/// Returns the first segment of the path that values made `.` or `..`, and one of its variables.
fn leading_elsewhere<'t>(uri: &str, filled: &[(Range<usize>, &'t str)]) -> Option<(&'t str, String)> {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    for (start, segment) in parts(path, &|c| c == '/') {
        let end = start + segment.len();
        let plain = segment.replace("%2e", ".").replace("%2E", ".");
        if plain == "." || plain == ".." {
            // A missing value may join separate parts.
            let touches = |(range, _): &&(Range<usize>, &str)| range.start <= end && start <= range.end;
            if let Some((_, variable)) = filled.iter().find(touches) {
                return Some((variable, segment.to_owned()));
            }
        }
    }
    None
}
