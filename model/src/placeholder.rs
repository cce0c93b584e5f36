//! `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${keyring:NAME}` in the values of a configuration.

use std::fmt;
use std::ops::Range;

use crate::printable;

/// The source that a placeholder names. `Display` prints the placeholder.
///
/// ```
/// use mcp_bindgen_model::{SecretRef, ServerConfig};
///
/// let server = ServerConfig::http("a", "https://h").header("Authorization", "Bearer ${keyring:a token}");
/// assert_eq!(server.placeholders(), [SecretRef::Keyring("a token".to_owned())]);
/// assert_eq!(server.placeholders()[0].to_string(), "${keyring:a token}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SecretRef {
    /// `${NAME}` or `${env:NAME}`: a variable of the environment.
    Variable(String),
    /// `${keyring:NAME}`: an entry of the operating system's keyring.
    Keyring(String),
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "${{{}}}", printable(name)),
            Self::Keyring(name) => write!(f, "${{{KEYRING}{}}}", printable(name)),
        }
    }
}

const ENVIRONMENT: &str = "env:";
const KEYRING: &str = "keyring:";

/// A placeholder with its position in the value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placeholder<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) source: SecretRef,
    pub(crate) default: Option<&'a str>,
}

/// Replaces placeholders by values. If there is a default, an empty value counts as missing, as in a shell.
///
/// # Errors
/// Returns the first source that is not set.
pub(crate) fn expand(value: &str, lookup: &dyn Fn(&SecretRef) -> Option<String>) -> Result<String, SecretRef> {
    let mut expanded = String::with_capacity(value.len());
    let mut text_from = 0;
    for Placeholder { range, source, default } in find(value) {
        expanded.push_str(value.get(text_from..range.start).unwrap_or_default());
        text_from = range.end;
        match (lookup(&source), default) {
            (Some(found), None) => expanded.push_str(&found),
            (Some(found), Some(_)) if !found.is_empty() => expanded.push_str(&found),
            (_, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(source),
        }
    }
    expanded.push_str(value.get(text_from..).unwrap_or_default());
    Ok(expanded)
}

/// Returns the placeholders of a value, in order. Malformed placeholders are text.
pub(crate) fn find(value: &str) -> Vec<Placeholder<'_>> {
    let mut found: Vec<Placeholder<'_>> = Vec::new();
    for (start, _) in value.match_indices("${") {
        let is_inside = found.last().is_some_and(|last| start < last.range.end);
        let Some((inside, _)) = value.get(start + 2..).and_then(|rest| rest.split_once('}')) else { break };
        if !is_inside && let Some((source, default)) = parse(inside) {
            found.push(Placeholder { range: start..start + "${}".len() + inside.len(), source, default });
        }
    }
    found
}

/// Parses the part of a placeholder between the braces.
fn parse(inside: &str) -> Option<(SecretRef, Option<&str>)> {
    let (inside, is_in_keyring) = match inside.strip_prefix(KEYRING) {
        Some(inside) => (inside, true),
        None => (inside.strip_prefix(ENVIRONMENT).unwrap_or(inside), false),
    };
    let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
    let source = match is_in_keyring {
        true => is_entry(name).then(|| SecretRef::Keyring(name.to_owned())),
        false => is_variable(name).then(|| SecretRef::Variable(name.to_owned())),
    };
    Some((source?, default))
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns `true` for a valid name of a keyring entry, which has few restrictions.
fn is_entry(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.contains(['$', '{']) && !name.contains(char::is_control)
}

/// Returns a name as environment variables are written.
pub(crate) fn variable_name(name: &str) -> String {
    let mut variable = if name.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" }.to_owned();
    variable.extend(name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }));
    variable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(secret: &SecretRef) -> Option<String> {
        match secret.to_string().as_str() {
            "${SET}" => Some("value".to_owned()),
            "${EMPTY}" => Some(String::new()),
            "${HOSTILE}" | "${keyring:HOSTILE}" => Some("${SET}${keyring:a b}".to_owned()),
            "${keyring:a b}" | "${keyring:github.com/me}" => Some("kept".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn every_placeholder_form_is_expanded_and_other_text_is_unchanged() {
        for (written, expanded) in [
            ("${SET}", "value"),
            ("${env:SET}", "value"),
            ("${UNSET:-fallback}", "fallback"),
            ("${env:UNSET:-fallback}", "fallback"),
            ("${EMPTY:-fallback}", "fallback"),
            ("${EMPTY}", ""),
            ("${UNSET:-}", ""),
            ("a ${SET} b ${SET}c", "a value b valuec"),
            ("$SET {SET} ${} ${a b} ${1} $", "$SET {SET} ${} ${a b} ${1} $"),
            ("${unclosed", "${unclosed"),
            ("${x.${SET}}", "${x.value}"),
            ("é${SET}é", "évalueé"),
            ("", ""),
            ("Bearer ${keyring:a b}", "Bearer kept"),
            ("${keyring:github.com/me}", "kept"),
            ("${keyring:SET:-fallback}", "fallback"),
            ("${keyring:}${keyring: a}${keyring:${SET}}", "${keyring:}${keyring: a}${keyring:value}"),
        ] {
            assert_eq!(expand(written, &lookup).unwrap(), expanded, "{written}");
        }
    }

    #[test]
    fn expanded_value_is_never_expanded_again() {
        for hostile in ["${HOSTILE}", "${keyring:HOSTILE}"] {
            assert_eq!(expand(hostile, &lookup).unwrap(), "${SET}${keyring:a b}");
        }
    }

    #[test]
    fn missing_placeholder_value_is_named() {
        assert_eq!(expand("x${UNSET}", &lookup), Err(SecretRef::Variable("UNSET".to_owned())));
        assert_eq!(expand("${keyring:UNSET}", &lookup), Err(SecretRef::Keyring("UNSET".to_owned())));
    }
}
