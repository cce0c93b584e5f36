//! Reading and writing JSON exactly.
//!
//! `serde`'s derives cannot tell `null` from absent, print `5.0` for a number that came as `5`, and pick the first
//! branch of a union even where it drops keys. Generated types implement [`Wire`] instead, a plain pair of functions
//! on [`Value`], and get `Serialize` and `Deserialize` from it. The trait is generated code's business: use `serde`.

#[cfg(feature = "typify")]
mod by_serde;
mod containers;
mod derive;
mod literal;
mod mismatch;
mod nullable;
mod object;
mod scalars;
mod union;

pub mod prelude;

use std::cell::Cell;

use serde::ser::Error as _;
use serde::{Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

#[cfg(feature = "typify")]
pub use by_serde::{read_by_serde, write_by_serde};
pub use literal::{read_literal, read_text, write_literal};
pub use mismatch::Mismatch;
pub use nullable::Nullable;
pub use object::{ObjectReader, ObjectWriter};
use union::Picked;
pub use union::{Pick, same_json};

/// A type with an exact JSON form: what [`write`](Wire::write) prints is what [`read`](Wire::read) was given.
pub trait Wire: Sized {
    /// Reads a value.
    ///
    /// # Errors
    /// A [`Mismatch`] that says where and why the value does not fit.
    fn read(input: Input<'_>) -> Result<Self, Mismatch>;

    /// Prints the value.
    ///
    /// # Errors
    /// A [`Mismatch`] at a number that JSON cannot hold (NaN, infinity).
    fn write(&self) -> Result<Value, Mismatch>;

    /// How many values are kept that no type describes, such as properties without a field and what is held as a
    /// [`Value`]: of several branches of a union, the one with the fewest is meant.
    fn undeclared(&self) -> usize {
        0
    }
}

/// How many branches of unions one reading may try. The value may come from a hostile server; real results stay under
/// a few thousand.
const MOST_TRIALS: u32 = 1 << 22;
/// Text is at most 128 levels deep, but not every value comes from text.
const DEEPEST: u32 = 160;

/// A JSON value being read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    value: &'a Value,
    depth: u32,
    reading: &'a Reading,
}

/// What is known of a whole value while its parts are read.
#[derive(Debug)]
struct Reading {
    trials_left: Cell<u32>,
    picked: Picked,
}

impl<'a> Input<'a> {
    /// The value.
    #[must_use]
    pub fn value(self) -> &'a Value {
        self.value
    }

    /// The value as an object.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn object(self) -> Result<ObjectReader<'a>, Mismatch> {
        ObjectReader::new(self)
    }

    /// The value as an array.
    fn items(self) -> Result<&'a [Value], Mismatch> {
        self.check_depth()?;
        match self.value {
            Value::Array(items) => Ok(items),
            other => Err(Mismatch::expected("an array", other)),
        }
    }

    /// The value as an object.
    fn members(self) -> Result<&'a Map<String, Value>, Mismatch> {
        self.check_depth()?;
        match self.value {
            Value::Object(map) => Ok(map),
            other => Err(Mismatch::expected("an object", other)),
        }
    }

    fn check_depth(self) -> Result<(), Mismatch> {
        if self.depth <= DEEPEST { Ok(()) } else { Err(Mismatch::new(format!("more than {DEEPEST} levels deep"))) }
    }

    fn at(self, value: &'a Value) -> Self {
        Self { value, depth: self.depth + 1, ..self }
    }

    fn count_trial(self) -> Result<(), Mismatch> {
        let left = &self.reading.trials_left;
        left.set(left.get().saturating_sub(1));
        if left.get() == 0 { Err(union::too_many_trials()) } else { Ok(()) }
    }
}

/// Reads a typed value from JSON.
///
/// # Errors
/// A [`Mismatch`] that says where and why the value does not fit.
pub fn from_value<T: Wire>(value: &Value) -> Result<T, Mismatch> {
    let reading = Reading { trials_left: Cell::new(MOST_TRIALS), picked: Picked::default() };
    T::read(Input { value, depth: 0, reading: &reading })
}

/// Prints a typed value as JSON.
///
/// # Errors
/// A [`Mismatch`] at a number that JSON cannot hold (NaN, infinity).
pub fn to_value<T: Wire>(value: &T) -> Result<Value, Mismatch> {
    value.write()
}

/// `Serialize::serialize` for a [`Wire`] type.
///
/// # Errors
/// The serializer's own, and a number that JSON cannot hold.
pub fn serialize<T: Wire, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write().map_err(S::Error::custom)?.serialize(serializer)
}

/// `Deserialize::deserialize` for a [`Wire`] type.
///
/// # Errors
/// The deserializer's own, and a value that does not fit.
pub fn deserialize<'de, T: Wire, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    use serde::Deserialize as _;
    use serde::de::Error as _;
    from_value(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Gives types `Serialize` and `Deserialize` by way of their [`Wire`] form.
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_through_wire {
    ($($type:ident)*) => {$(
        impl $crate::wire::serde::Serialize for $type {
            fn serialize<S: $crate::wire::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::wire::serialize(self, serializer)
            }
        }

        impl<'de> $crate::wire::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::wire::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::wire::deserialize(deserializer)
            }
        }
    )*};
}

#[doc(hidden)]
pub use serde;
#[cfg(feature = "typify")]
#[doc(hidden)]
pub use {regress, serde_json};

#[cfg(not(feature = "typify"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_through_serde {
    ($type:ident) => {
        ::core::compile_error!("bindings with `types = \"typify\"` need feature `typify` of mcp-bindgen");
    };
}
