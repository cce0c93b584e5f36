//! Additional derives from the options.

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::rules::Rule;
use crate::rust_path::RustPath;

/// The traits of every generated type, derived or implemented.
pub(super) const USUAL: [&str; 5] = ["Clone", "Debug", "PartialEq", "Serialize", "Deserialize"];

/// The derives for every type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derives {
    pub(super) standard: BTreeSet<Standard>,
    /// Unknown derives, and the positions at which errors about them are reported.
    pub(super) others: Vec<(RustPath, Span)>,
}

/// A derive of the standard library that not every type can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standard {
    Copy,
    Default,
    Eq,
    Hash,
    PartialOrd,
    Ord,
}

impl Standard {
    pub(super) fn of(path: &RustPath) -> Option<Self> {
        const ALL: [(&str, Standard); 6] = [
            ("Copy", Standard::Copy),
            ("Default", Standard::Default),
            ("Eq", Standard::Eq),
            ("Hash", Standard::Hash),
            ("PartialOrd", Standard::PartialOrd),
            ("Ord", Standard::Ord),
        ];
        let named = ALL.into_iter().find(|(name, _)| path.is_standard() && *name == path.last());
        named.map(|(_, standard)| standard)
    }

    /// Returns the full path, which is independent of the user's names.
    pub(super) fn tokens(self) -> TokenStream {
        match self {
            Self::Copy => quote!(::core::marker::Copy),
            Self::Default => quote!(::core::default::Default),
            Self::Eq => quote!(::core::cmp::Eq),
            Self::Hash => quote!(::core::hash::Hash),
            Self::PartialOrd => quote!(::core::cmp::PartialOrd),
            Self::Ord => quote!(::core::cmp::Ord),
        }
    }

    /// Describes the types that can have the derive.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Self::Copy => "types with strings, lists, maps or untyped values cannot have it",
            Self::Default => "enums and what requires them cannot have it",
            Self::Eq | Self::Hash => "types with a `number`, which is an `f64`, cannot have it",
            Self::PartialOrd => "types with untyped values cannot have it",
            Self::Ord => "types with untyped values or a `number`, which is an `f64`, cannot have it",
        }
    }
}

impl Derives {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut derives = Self::default();
        for rule in rules {
            let Some(path) = RustPath::parse(&rule.value) else { continue };
            match Standard::of(&path) {
                Some(Standard::Ord) => derives.standard.extend([Standard::PartialOrd, Standard::Ord]),
                Some(standard) => drop(derives.standard.insert(standard)),
                None if USUAL.contains(&path.last()) => {}
                None if derives.others.iter().any(|(known, _)| *known == path) => {}
                None => derives.others.push((path, rule.span())),
            }
        }
        derives
    }
}
