//! Stage 4: names of [`mcp_bindgen_schema::names`] as tokens.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::Parser;

pub(crate) use mcp_bindgen_schema::names::{
    Enumeration, Identity, METHODS, Style, ToolNames, Wanted, branch_labels, branches, extra, fields, fields_or,
    fingerprint, first_free, identifiers, offers, renamed_types, setters, tools, variants,
};

/// Returns the identifier of a module's name without `r#`, or `None` if a module cannot have that name.
pub(crate) fn module_name(written: &str) -> Option<&str> {
    let name = written.strip_prefix("r#").unwrap_or(written);
    let ident = Ident::parse_any.parse_str(name).ok()?;
    (ident == name && !UNUSABLE.contains(&name)).then_some(name)
}

/// Names of the standard library's prelude that generated code uses.
pub(crate) const STANDARD: &str = "Box Clone Copy Debug Default Eq Err From Hash Into None Ok Option Ord PartialEq \
                                   PartialOrd Result Self Some String ToOwned Vec";

/// Crates that a module at the root of a crate would hide, as `use std::fmt` is read there.
const CRATES: &[&str] = &["std", "core", "alloc", "mcp_bindgen"];

/// Returns the default name of a server's module.
pub(crate) fn server_module(server: &str) -> String {
    let name = Style::Snake.apply(server);
    if CRATES.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// Returns an identifier as a token: raw for a keyword, or with a trailing `_` if it cannot be raw.
pub(crate) fn ident(name: &str) -> Ident {
    match name {
        _ if UNUSABLE.contains(&name) => Ident::new(&format!("{name}_"), Span::call_site()),
        _ if KEYWORDS.contains(&name) => Ident::new_raw(name, Span::call_site()),
        _ => Ident::new(name, Span::call_site()),
    }
}

/// Words that cannot be identifiers, not even raw ones.
const UNUSABLE: &[&str] = &["self", "Self", "super", "crate", "_"];

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_used_as_module_names() {
        for (written, name) in
            [("gh", "gh"), ("GitHub", "GitHub"), ("r#async", "async"), ("async", "async"), ("größe", "größe")]
        {
            assert_eq!(module_name(written), Some(name));
        }
        for written in
            ["", "self", "Self", "super", "crate", "_", "r#self", "my-mod", "1a", " a", "a b", "a::b", "\"a\""]
        {
            assert_eq!(module_name(written), None, "{written}");
        }
    }

    #[test]
    fn server_module_does_not_shadow_a_crate() {
        for (server, module) in
            [("std", "std_"), ("alloc", "alloc_"), ("mcp-bindgen", "mcp_bindgen_"), ("std-x", "std_x"), ("git", "git")]
        {
            assert_eq!(server_module(server), module);
        }
    }

    #[test]
    fn keywords_become_raw_identifiers() {
        assert_eq!(ident("type").to_string(), "r#type");
        assert_eq!(ident("self").to_string(), "self_");
        assert_eq!(ident("Self").to_string(), "Self_");
    }
}
