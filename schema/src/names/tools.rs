//! The names of tools, prompts and resource templates.

use super::{Style, given_or_made, identifiers};

/// The methods that every client type has.
pub const METHODS: &[&str] = &["connect", "connect_with", "with", "within", "client", "clone"];

/// The names of a tool, without prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolNames {
    /// `create_issue`: its method, and the end of its handler's name.
    pub method: String,
    /// `CreateIssue`: its variant, and the stem of its types.
    pub variant: String,
}

/// Returns the names of all tools of a list, made unique by these keys; `given` has the methods that the
/// configuration sets.
#[must_use]
pub fn tools(keys: &[&str], given: &[Option<String>]) -> Vec<ToolNames> {
    let methods = given_or_made(Style::Snake, keys, given, METHODS, "tool");
    let read: Vec<&str> = methods.iter().map(String::as_str).collect();
    let variants = identifiers(Style::Pascal, &read, &[], "tool");
    methods.into_iter().zip(variants).map(|(method, variant)| ToolNames { method, variant }).collect()
}

/// Returns the names of prompts (`word` is `prompt`) or resource templates (`resource`), which begin with that word
/// and differ from these methods of tools.
#[must_use]
pub fn offers<'m>(word: &str, keys: &[&str], methods: impl IntoIterator<Item = &'m str>) -> Vec<String> {
    let lead = format!("{word}_");
    let reserved: Vec<&str> = methods.into_iter().filter_map(|method| method.strip_prefix(&lead)).collect();
    identifiers(Style::Snake, keys, &reserved, word)
}
