//! Reading and writing JSON exactly.
//!
//! `serde`'s derives cannot distinguish `null` from absent, and print `5.0` for a number that was `5`. For unions they
//! pick the first branch even if it drops keys. Generated types implement [`Wire`] instead, with tables, and derive
//! `Serialize` and `Deserialize` from it. The traits are for generated code only: use `serde`.

mod by_serde;
mod checked;
mod derive;
mod input;
mod literal;
mod mismatch;
mod number;
mod prefixed;
mod print;
mod reading;
mod stream;
mod tape;
mod types;
mod union;

use std::sync::LazyLock;

use serde_json::Value;

pub use by_serde::{form_by_serde, read_by_serde};
pub use checked::{CheckedBy, Checks, check, parse_text};
pub use input::{Extra, Fields, Fill, Input, Sink, Slot, Unknown};
pub use literal::{read_literal, read_text};
pub use mismatch::{Mismatch, nothing_read};
pub use prefixed::{Prefix, Prefixed};
pub use print::{Form, Member, Parts, Print, Printing, Stopped, serialize, to_value};
pub(crate) use stream::fill;
pub use stream::{deserialize, from_value};
pub use tape::Recorded;
pub use types::Nullable;
pub use union::{Index, ReadBranch, Rest, pick};

/// The keys of a type that is a struct.
pub type Keys = &'static [&'static str];

/// A type with an exact JSON form: it [prints](Print) the same JSON that it was [`read`](Wire::read) from.
pub trait Wire: Print + Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// Fails with a [`Mismatch`] that shows the position and the reason.
    fn read(input: Input<'_>) -> Result<Self, Mismatch>;

    /// Returns the sink that reads a value into this place.
    #[must_use]
    fn sink(place: &mut Option<Self>) -> Sink<'_> {
        Sink::Other(place)
    }

    /// Returns the keys that the type takes from an object, or `None` if it takes all.
    #[must_use]
    fn keys() -> Option<Keys> {
        None
    }
}

/// Returns the keys of a union: those of all its branches, if each has some.
#[must_use]
pub fn keys_of_branches(own: Keys, branches: &[Option<Keys>]) -> Option<Vec<&'static str>> {
    let mut keys = own.to_vec();
    for branch in branches {
        keys.extend_from_slice((*branch)?);
    }
    Some(keys)
}

/// The keys of a union, collected on first use.
pub type UnionKeys = LazyLock<Option<Vec<&'static str>>>;

/// Returns the keys of a union's branch.
#[must_use]
pub fn keys_of_branch<B: Wire, T>(_: fn(B) -> T) -> Option<Keys> {
    B::keys()
}

/// Implements [`Wire`] and `serde`'s traits for a type: how it is read, its keys if it has some, its form, and its parts
/// if it has some.
#[doc(hidden)]
#[macro_export]
macro_rules! __wire {
    (
        $type:ident: $input:ident => $read:expr, [$($keys:expr)?],
        $value:ident => $form:expr, $($to:ident => $parts:expr,)?
    ) => {
        impl $crate::__private::Wire for $type {
            fn read($input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $read
            }

            $(fn keys() -> ::core::option::Option<$crate::__private::Keys> {
                $keys
            })?
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                let $value = self;
                $form
            }

            $(fn parts(&self, $to: &mut $crate::__private::Parts<'_>) -> $crate::__private::Printing {
                let $value = self;
                $parts
            })?
        }

        impl $crate::__private::serde::Serialize for $type {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__private::serialize(self, serializer)
            }
        }

        impl<'de> $crate::__private::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::__private::deserialize(deserializer)
            }
        }
    };
}

#[doc(hidden)]
pub use serde;
#[doc(hidden)]
#[cfg(feature = "typify")]
pub use {regress, serde_json};

/// Estimates the length of JSON as text, without printing it.
pub(crate) fn size_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size_of_value(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => size_of_members(object) + 2,
        Value::Number(_) | Value::Bool(_) | Value::Null => 8,
    }
}

pub(crate) fn size_of_members(object: &serde_json::Map<String, Value>) -> usize {
    object.iter().map(|(key, value)| key.len() + 4 + size_of_value(value)).sum()
}
