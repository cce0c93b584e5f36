//! Enumerations: types whose values are a fixed list of JSON values.

use std::borrow::Cow;

use serde_json::Value;

use super::{Input, Mismatch, Wire, object, same_json, to_value};

const MOST_LISTED: usize = 12;

/// Reads one of a fixed list of strings.
///
/// # Errors
/// Where the value is not a string, or not one of them.
pub fn read_text<T>(
    input: Input<'_>,
    variants: &[T],
    text: fn(&T) -> &'static str,
    variant: fn(&str) -> Option<T>,
) -> Result<T, Mismatch> {
    variant(input.text()?).ok_or_else(|| one_of(variants.iter().map(text)))
}

/// Reads one of a fixed list of JSON values, each given as JSON text.
///
/// # Errors
/// Where the value is not one of them.
pub fn read_literal<T: Copy>(input: Input<'_>, variants: &[(T, &'static str)]) -> Result<T, Mismatch> {
    let value = input.value();
    for (variant, json) in variants {
        if same_json(&write_literal(json)?, &value) {
            return Ok(*variant);
        }
    }
    Err(one_of(variants.iter().map(|(_, json)| *json)))
}

/// Prints a JSON value given as JSON text.
///
/// # Errors
/// Where the text is not JSON, which generated code never contains.
pub fn write_literal(json: &str) -> Result<Value, Mismatch> {
    serde_json::from_str(json).map_err(|error| Mismatch::new(error.to_string()))
}

/// The tag of a union's branch, as a text or as JSON text where tags are no strings.
///
/// # Errors
/// Where it is missing, or of the other kind.
pub fn read_tag<'a>(input: Input<'a>, key: &'static str, is_text: bool) -> Result<Cow<'a, str>, Mismatch> {
    let tag = object::tag(input, key)?;
    match (tag.text(), is_text) {
        (Ok(text), true) => Ok(Cow::Borrowed(text)),
        (Err(error), true) => Err(error.within(key)),
        (Ok(_), false) => Err(tag.expected("a number or a boolean").within(key)),
        // `1.0` is the tag `1`.
        (Err(_), false) => match f64::read(tag) {
            Ok(number) => Ok(Cow::Owned(to_value(&number)?.to_string())),
            Err(_) => Ok(Cow::Owned(tag.value().to_string())),
        },
    }
}

/// The mismatch of a tag that names no branch.
#[must_use]
pub fn unknown_tag(key: &'static str, known: &[&str]) -> Mismatch {
    one_of(known.iter().copied()).within(key)
}

fn one_of<'v>(values: impl ExactSizeIterator<Item = &'v str>) -> Mismatch {
    let more = values.len().saturating_sub(MOST_LISTED);
    let listed: Vec<_> = values.take(MOST_LISTED).map(|value| value.escape_debug().to_string()).collect();
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

            /// The value as it goes on the wire.
            #[must_use]
            pub const fn as_str(&self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl $crate::wire::Wire for $type {
            fn read(input: $crate::wire::Input<'_>) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                $crate::wire::read_text(input, Self::ALL, Self::as_str, |text| match text {
                    $($text => ::core::option::Option::Some(Self::$variant),)*
                    _ => ::core::option::Option::None,
                })
            }
        }

        impl $crate::wire::Print for $type {
            fn form(&self) -> $crate::wire::Form<'_> {
                $crate::wire::Form::Text(self.as_str())
            }
        }

        $crate::__string_enum_text!($type);
        $crate::__serde_through_wire!($type);
    };
    ($type:ident { $($variant:ident = $text:literal,)* } open $other:ident) => {
        impl $type {
            /// Every declared value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The value as it came on the wire.
            #[must_use]
            pub const fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::$other(text) => text.as_str(),
                }
            }
        }

        impl $crate::wire::Wire for $type {
            fn read(input: $crate::wire::Input<'_>) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                ::core::result::Result::Ok(match input.text()? {
                    $($text => Self::$variant,)*
                    _ => Self::$other(input.unlisted_text()?),
                })
            }
        }

        impl $crate::wire::Print for $type {
            fn form(&self) -> $crate::wire::Form<'_> {
                $crate::wire::Form::Text(self.as_str())
            }
        }

        $crate::__string_enum_text!($type);
        $crate::__serde_through_wire!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __string_enum_text {
    ($type:ident) => {
        impl ::core::fmt::Display for $type {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl ::core::str::FromStr for $type {
            type Err = $crate::wire::Mismatch;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                $crate::wire::from_value(&$crate::wire::prelude::Value::from(text))
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

            /// The value as JSON text.
            #[must_use]
            pub const fn as_json(&self) -> &'static str {
                match self { $(Self::$variant => $json),* }
            }
        }

        impl $crate::wire::Wire for $type {
            fn read(input: $crate::wire::Input<'_>) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                $crate::wire::read_literal(input, &[$((Self::$variant, $json)),*])
            }
        }

        impl $crate::wire::Print for $type {
            fn form(&self) -> $crate::wire::Form<'_> {
                $crate::wire::Form::literal(self.as_json())
            }
        }

        $crate::__serde_through_wire!($type);
    };
}
