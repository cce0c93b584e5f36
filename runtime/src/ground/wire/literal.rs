//! Enumerations: types whose values are a fixed list of JSON values.

use std::borrow::Cow;

use super::input::Sink;
use super::mismatch::{MOST_STRANGERS, missing_among, nothing_read};
use super::print::write_literal;
use super::scalar::Scalar;
use super::tape::Node;
use super::{Input, Mismatch, Recorded, to_value};

const MOST_LISTED: usize = 12;

/// Reads one of a fixed list of strings.
///
/// # Errors
/// Fails if the value is not a string, or not one of them.
pub fn read_text<T>(
    input: Input<'_>,
    variants: &[T],
    text: fn(&T) -> &'static str,
    variant: fn(&str) -> Option<T>,
) -> Result<T, Mismatch> {
    let mut found = None;
    input.give(Sink::Look(&mut |given| {
        found = variant(given);
        if found.is_some() { Ok(()) } else { Err(one_of(variants.iter().map(text))) }
    }))?;
    found.ok_or_else(nothing_read)
}

/// Reads one of a list of strings, or another.
///
/// # Errors
/// Fails if the value is not a string.
pub fn read_open_text<T>(
    input: Input<'_>,
    variant: fn(&str) -> Option<T>,
    other: fn(String) -> T,
) -> Result<T, Mismatch> {
    let (mut found, reading) = (None, input.reading);
    input.give(Sink::Look(&mut |given| {
        found = Some(variant(given).unwrap_or_else(|| {
            reading.note_undeclared(1);
            other(given.to_owned())
        }));
        Ok(())
    }))?;
    found.ok_or_else(nothing_read)
}

/// Reads one of a fixed list of JSON values, each given as JSON text.
///
/// # Errors
/// Fails if the value is not one of them.
pub fn read_literal<T: Copy>(input: Input<'_>, variants: &[(T, &'static str)]) -> Result<T, Mismatch> {
    let value = input.value()?;
    for (variant, json) in variants {
        if mcp_bindgen_schema::same(&write_literal(json)?, &value) {
            return Ok(*variant);
        }
    }
    Err(one_of(variants.iter().map(|(_, json)| *json)))
}

impl<'a> Recorded<'a> {
    /// Returns the tag of a union's branch: its text, or its JSON if tags are not strings.
    ///
    /// # Errors
    /// Fails if it is missing, or of the other kind.
    pub fn tag(self, key: &'static str, is_text: bool) -> Result<Cow<'a, str>, Mismatch> {
        let mut found = self.members()?.filter(|(found, _)| *found == key);
        let Some((_, tag)) = found.next() else { return Err(self.without_tag(key)) };
        // Other readers may take the other one.
        if found.next().is_some() {
            return Err(Mismatch::twice().within(key));
        }
        match (tag.node(), is_text) {
            (Node::Scalar(Scalar::Text(text)), true) => Ok(Cow::Borrowed(text)),
            (_, true) => Err(tag.expected("a string").within(key)),
            (Node::Scalar(Scalar::Text(_)), false) => Err(tag.expected("a number or a boolean").within(key)),
            // `1.0` is the tag `1`.
            (Node::Scalar(Scalar::Float(number)), false) => Ok(Cow::Owned(to_value(&number)?.to_string())),
            _ => Ok(Cow::Owned(tag.value().to_string())),
        }
    }

    /// Returns the error for a missing tag. Inside a union it occurs often and is rarely shown, so similar keys are not
    /// searched there.
    #[cold]
    fn without_tag(self, key: &'static str) -> Mismatch {
        match self.members() {
            Ok(members) if self.reading.trying.get() == 0 => {
                missing_among(key, members.map(|(key, _)| key).take(MOST_STRANGERS))
            }
            _ => Mismatch::missing(key),
        }
    }
}

/// Returns the mismatch of a tag that names no branch.
#[must_use]
pub fn unknown_tag(key: &'static str, known: &[&str]) -> Mismatch {
    one_of(known.iter().copied()).within(key)
}

fn one_of<'v>(values: impl ExactSizeIterator<Item = &'v str>) -> Mismatch {
    let more = values.len().saturating_sub(MOST_LISTED);
    let listed: Vec<_> = values.take(MOST_LISTED).map(mcp_bindgen_model::printable).collect();
    let rest = if more == 0 { String::new() } else { format!(" or {more} more") };
    Mismatch::new(format!("expected one of `{}`{rest}", listed.join("`, `")))
}

/// Everything that an enumeration of strings can do, beside its definition. `open Other` names the variant that
/// holds any other string.
#[doc(hidden)]
#[macro_export]
macro_rules! __string_enum {
    ($type:ident { $($variant:ident = $text:literal,)* }) => {
        impl $type {
            /// Every value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the value as it goes on the wire.
            #[must_use]
            pub const fn as_str(&self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl $crate::__private::Wire for $type {
            fn read(input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::read_text(input, Self::ALL, Self::as_str, |text| match text {
                    $($text => ::core::option::Option::Some(Self::$variant),)*
                    _ => ::core::option::Option::None,
                })
            }
        }

        $crate::__string_enum_text!($type);
    };
    ($type:ident { $($variant:ident = $text:literal,)* } open $other:ident) => {
        impl $type {
            /// Every declared value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the value as it came on the wire.
            #[must_use]
            pub const fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::$other(text) => text.as_str(),
                }
            }
        }

        impl $crate::__private::Wire for $type {
            fn read(input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::read_open_text(
                    input,
                    |text| match text {
                        $($text => ::core::option::Option::Some(Self::$variant),)*
                        _ => ::core::option::Option::None,
                    },
                    Self::$other,
                )
            }
        }

        $crate::__string_enum_text!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __string_enum_text {
    ($type:ident) => {
        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                $crate::__private::Form::Text(self.as_str())
            }
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

        $crate::__serde_through_wire!($type);
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

        impl $crate::__private::Wire for $type {
            fn read(input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::read_literal(input, &[$((Self::$variant, $json)),*])
            }
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                $crate::__private::Form::literal(self.as_json())
            }
        }

        $crate::__serde_through_wire!($type);
    };
}
