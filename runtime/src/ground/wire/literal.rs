//! Enumerations: types whose values are a fixed list of JSON values.

use super::input::Sink;
use super::mismatch::{nothing_read, one_of};
use super::print::write_literal;
use super::{Input, Mismatch};

/// Reads one of a list of strings, or another if there is a variant for it.
///
/// # Errors
/// Fails if the value is not a string, or not one of them.
pub fn read_text<T: Clone>(
    input: Input<'_>,
    variants: &[T],
    texts: &[&str],
    other: Option<fn(String) -> T>,
) -> Result<T, Mismatch> {
    let found = match find_text(input, texts, other.is_some())? {
        Found::Listed(at) => variants.get(at).cloned(),
        Found::Unlisted(text) => other.map(|other| other(text)),
    };
    found.ok_or_else(nothing_read)
}

enum Found {
    /// The index of the text in the list.
    Listed(usize),
    /// The text itself, if the list is open.
    Unlisted(String),
}

fn find_text(input: Input<'_>, texts: &[&str], is_open: bool) -> Result<Found, Mismatch> {
    let (mut found, reading) = (None, input.reading);
    input.give(Sink::Look(&mut |given| {
        found = match texts.iter().position(|text| *text == given) {
            Some(at) => Some(Found::Listed(at)),
            None if is_open => {
                reading.note_undeclared(1);
                Some(Found::Unlisted(given.to_owned()))
            }
            None => return Err(one_of(texts)),
        };
        Ok(())
    }))?;
    found.ok_or_else(nothing_read)
}

/// Reads one of a fixed list of JSON values, each given as JSON text.
///
/// # Errors
/// Fails if the value is not one of them.
pub fn read_literal<T: Copy>(input: Input<'_>, variants: &[T], literals: &[&str]) -> Result<T, Mismatch> {
    variants.get(find_literal(input, literals)?).copied().ok_or_else(nothing_read)
}

fn find_literal(input: Input<'_>, literals: &[&str]) -> Result<usize, Mismatch> {
    let value = input.value()?;
    let is_value = |json: &&str| write_literal(json).is_ok_and(|literal| mcp_bindgen_schema::same(&literal, &value));
    literals.iter().position(is_value).ok_or_else(|| one_of(literals))
}

/// Everything that an enumeration of strings can do, beside its definition. `open Other` names the variant that
/// holds any other string.
#[doc(hidden)]
#[macro_export]
macro_rules! __string_enum {
    ($type:ident { $($variant:ident = $text:literal,)* }) => {
        $crate::__string_enum!(@impl $type (&'static str) [$($variant = $text)*]);
    };
    ($type:ident { $($variant:ident = $text:literal,)* } open $other:ident) => {
        $crate::__string_enum!(@impl $type (&str) [$($variant = $text)*] $other);
    };
    (@impl $type:ident ($str:ty) [$($variant:ident = $text:literal)*] $($other:ident)?) => {
        impl $type {
            /// Every declared value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the value as it is on the wire.
            #[must_use]
            pub const fn as_str(&self) -> $str {
                match self {
                    $(Self::$variant => $text,)*
                    $(Self::$other(text) => text.as_str(),)?
                }
            }
        }

        $crate::__wire! {
            $type:
            input => $crate::__private::read_text(
                input, Self::ALL, &[$($text),*], $crate::__optional!($(Self::$other)?)
            ), [],
            value => $crate::__private::Form::Text(value.as_str()),
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl ::core::str::FromStr for $type {
            type Err = $crate::Mismatch;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::from_value(&$crate::__private::prelude::Value::from(text))
            }
        }
    };
}

/// Everything that an enumeration of JSON values can do, beside its definition.
#[doc(hidden)]
#[macro_export]
macro_rules! __literal_enum {
    ($type:ident { $($variant:ident = $json:literal,)* }) => {
        impl $type {
            /// Every value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the value as JSON text.
            #[must_use]
            pub const fn as_json(&self) -> &'static str {
                match self { $(Self::$variant => $json),* }
            }
        }

        $crate::__wire! {
            $type: input => $crate::__private::read_literal(input, Self::ALL, &[$($json),*]), [],
            value => $crate::__private::Form::literal(value.as_json()),
        }
    };
}
