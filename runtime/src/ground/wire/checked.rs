//! Newtypes that only hold valid values.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::LazyLock;

pub use mcp_bindgen_schema::Checks;

use super::{Form, Mismatch, Print};

/// The checks of a newtype: those of a schema, which is read at its first use.
pub type CheckedBy = LazyLock<Checks>;

/// Checks a string, a number or a list.
///
/// # Errors
/// Fails with a message that names the expected value and describes the actual one, but never repeats a string.
pub fn check(checks: &CheckedBy, value: &dyn Print) -> Result<(), Mismatch> {
    let checked = match value.form() {
        Form::Text(text) => checks.text(text),
        Form::Array(_, length) => checks.length(length),
        Form::Number(number) => checks.number(&number),
        Form::Invalid(mismatch) => return Err(mismatch),
        _ => Ok(()),
    };
    checked.map_err(Mismatch::new)
}

/// Parses the value of a newtype.
///
/// # Errors
/// Fails with the reason, which does not repeat the text.
pub fn parse_text<T: FromStr<Err: Display>>(text: &str) -> Result<T, Mismatch> {
    text.parse().map_err(|error: T::Err| Mismatch::new(error.to_string()))
}

/// Declares a newtype of a string, a number or a list, which is checked by its schema.
#[doc(hidden)]
#[macro_export]
macro_rules! __checked {
    ($type:ident(String) $schema:literal) => {
        $crate::__checked!(@borrow
            /// Returns the string.
            $type as_str str
        );

        impl ::core::convert::TryFrom<&str> for $type {
            type Error = $crate::Mismatch;

            fn try_from(value: &str) -> ::core::result::Result<Self, $crate::Mismatch> {
                value.parse()
            }
        }

        $crate::__checked!(@text $type String $schema);
    };
    ($type:ident[$item:ty] $schema:literal) => {
        $crate::__checked!(@borrow
            /// Returns the items.
            $type as_slice [$item]
        );
        $crate::__checked!(@impl $type (::std::vec::Vec<$item>) $schema);
    };
    ($type:ident($inner:ident) $schema:literal) => {
        impl $type {
            /// Returns the number.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        $crate::__checked!(@text $type $inner $schema);
    };
    (@borrow $(#[$doc:meta])* $type:ident $method:ident $target:ty) => {
        impl $type {
            $(#[$doc])*
            #[must_use]
            pub fn $method(&self) -> &$target {
                &self.0
            }
        }

        impl ::core::convert::AsRef<$target> for $type {
            fn as_ref(&self) -> &$target {
                &self.0
            }
        }
    };
    (@text $type:ident $inner:ident $schema:literal) => {
        impl ::core::str::FromStr for $type {
            type Err = $crate::Mismatch;

            fn from_str(text: &str) -> ::core::result::Result<Self, $crate::Mismatch> {
                let value: $inner = $crate::__private::parse_text(text)?;
                ::core::convert::TryFrom::try_from(value)
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, formatter)
            }
        }

        $crate::__checked!(@impl $type ($inner) $schema);
    };
    (@impl $type:ident ($inner:ty) $schema:literal) => {
        impl $type {
            /// Returns the value without its type.
            #[must_use]
            pub fn into_inner(self) -> $inner {
                self.0
            }
        }

        impl ::core::convert::TryFrom<$inner> for $type {
            type Error = $crate::Mismatch;

            fn try_from(value: $inner) -> ::core::result::Result<Self, $crate::Mismatch> {
                static CHECKS: $crate::__private::CheckedBy =
                    $crate::__private::CheckedBy::new(|| $crate::__private::Checks::parse($schema));
                $crate::__private::check(&CHECKS, &value)?;
                ::core::result::Result::Ok(Self(value))
            }
        }

        impl ::core::convert::From<$type> for $inner {
            fn from(value: $type) -> Self {
                value.0
            }
        }

        $crate::__wire! {
            $type: input => {
                let value: $inner = $crate::__private::Wire::read(input)?;
                ::core::convert::TryFrom::try_from(value)
            }, [],
            value => $crate::__private::Print::form(&value.0),
        }
    };
}
