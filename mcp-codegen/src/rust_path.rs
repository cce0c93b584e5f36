//! Paths that the user writes as text: of a derive, of a type. They become code only as identifiers and `::`.

use proc_macro2::{Ident, Punct, Spacing, Span, TokenStream};
use quote::TokenStreamExt;

/// A path: `Eq`, `crate::Money`, `::strum::Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RustPath {
    is_absolute: bool,
    segments: Vec<String>,
}

impl RustPath {
    /// Parses a path; returns `None` for other text, or for a path with arguments.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let relative = text.strip_prefix("::");
        let segments: Vec<String> = relative.unwrap_or(text).split("::").map(|part| part.trim().to_owned()).collect();
        let mut may_lead = relative.is_none();
        for segment in &segments {
            let leads = matches!(segment.as_str(), "crate" | "self" | "super");
            if !is_identifier(segment) || (leads && !may_lead) {
                return None;
            }
            // `super` may follow `super` and `self`, and nothing else leads from there.
            may_lead &= matches!(segment.as_str(), "self" | "super");
        }
        let leads_on = segments.last().is_some_and(|last| !matches!(last.as_str(), "crate" | "self" | "super"));
        leads_on.then_some(Self { is_absolute: relative.is_some(), segments })
    }

    /// Returns the name that it begins with; of an absolute path none.
    pub(crate) fn first(&self) -> &str {
        self.segments.first().filter(|_| !self.is_absolute).map_or("", String::as_str)
    }

    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Returns `true` for a single name, or a path into the standard library.
    pub(crate) fn is_standard(&self) -> bool {
        match self.segments.as_slice() {
            [_] => !self.is_absolute,
            [first, ..] => matches!(first.as_str(), "std" | "core"),
            [] => false,
        }
    }

    /// Returns the path as tokens with `span`.
    pub(crate) fn tokens(&self, span: Span) -> TokenStream {
        let mut tokens = TokenStream::new();
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 || self.is_absolute {
                for spacing in [Spacing::Joint, Spacing::Alone] {
                    let mut colon = Punct::new(':', spacing);
                    colon.set_span(span);
                    tokens.append(colon);
                }
            }
            tokens.append(match segment.strip_prefix("r#") {
                Some(raw) => Ident::new_raw(raw, span),
                None => Ident::new(segment, span),
            });
        }
        tokens
    }
}

fn is_identifier(text: &str) -> bool {
    let keyword = ["crate", "self", "super"].contains(&text);
    keyword || syn::parse_str::<Ident>(text).is_ok_and(|ident| ident == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_rust_paths_are_parsed() {
        for text in ["Eq", "crate::Traced", "::strum::Display", "super::super::X", "self::x::Y", "a :: b", "r#type::X"]
        {
            let path = RustPath::parse(text).unwrap();
            assert_eq!(path.tokens(Span::call_site()).to_string().replace(' ', ""), text.replace(' ', ""));
        }
        for text in [
            "",
            "::",
            "a::",
            "a b",
            "a::<T>",
            "Eq, Hash",
            "crate",
            "a::crate::b",
            "self",
            "type",
            "Self",
            "a()",
            "//",
            "1a",
        ] {
            assert_eq!(RustPath::parse(text), None, "{text}");
        }
    }

    #[test]
    fn standard_library_paths_are_detected() {
        let is_standard = |text: &str| RustPath::parse(text).unwrap().is_standard();
        assert!(is_standard("Eq") && is_standard("std::cmp::Ord") && is_standard("::core::hash::Hash"));
        assert!(!is_standard("crate::Eq") && !is_standard("derive_more::Eq"));
    }
}
