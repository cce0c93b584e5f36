//! Paths that the user writes: of a derive, of a type, of this library. They become code only as identifiers and `::`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};

/// The words that only the beginning of a path can have.
const LEADS: [&str; 3] = ["crate", "self", "super"];

/// A path: `Eq`, `crate::Money`, `::strum::Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RustPath {
    is_absolute: bool,
    segments: Vec<Ident>,
}

/// Parses a path of any words. `syn::Path` would need the parser of types.
pub(crate) fn module_path(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let RustPath { is_absolute, segments } = words(input)?;
    let lead = is_absolute.then(|| quote!(::));
    Ok(quote!(#lead #(#segments)::*))
}

fn words(input: ParseStream<'_>) -> syn::Result<RustPath> {
    let is_absolute = input.parse::<Option<Token![::]>>()?.is_some();
    let mut segments = vec![input.call(Ident::parse_any)?];
    while input.parse::<Option<Token![::]>>()?.is_some() {
        segments.push(input.call(Ident::parse_any)?);
    }
    Ok(RustPath { is_absolute, segments })
}

impl RustPath {
    /// Parses a path; returns `None` for other text, or for a path with arguments.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let path = words.parse_str(text).ok()?;
        let mut may_lead = !path.is_absolute;
        let mut leads = false;
        for segment in &path.segments {
            leads = LEADS.iter().any(|lead| segment == lead);
            let fits = if leads { may_lead } else { syn::parse2::<Ident>(quote!(#segment)).is_ok() };
            if !fits {
                return None;
            }
            // `super` may follow `super` and `self`, and nothing else leads from there.
            may_lead &= segment == "self" || segment == "super";
        }
        (!leads).then_some(path)
    }

    /// Returns the name that it begins with; of an absolute path none.
    pub(crate) fn first(&self) -> Option<String> {
        self.segments.first().filter(|_| !self.is_absolute).map(Ident::to_string)
    }

    pub(crate) fn last(&self) -> String {
        self.segments.last().map(Ident::to_string).unwrap_or_default()
    }

    /// Returns `true` for a single name, or a path into the standard library.
    pub(crate) fn is_standard(&self) -> bool {
        match self.segments.as_slice() {
            [_] => !self.is_absolute,
            [first, ..] => first == "std" || first == "core",
            [] => false,
        }
    }

    /// Returns the path as tokens with `span`.
    pub(crate) fn tokens(&self, span: Span) -> TokenStream {
        let lead = self.is_absolute.then(|| quote_spanned!(span=> ::));
        let mut segments = self.segments.clone();
        segments.iter_mut().for_each(|segment| segment.set_span(span));
        quote_spanned!(span=> #lead #(#segments)::*)
    }
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
