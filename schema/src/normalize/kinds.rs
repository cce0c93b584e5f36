//! The types of JSON values.

use std::ops::BitOr;

use serde_json::Value;

use crate::number::is_integral;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `true` and `false`.
    pub const BOOLEAN: Self = Self(2);
    /// Integral numbers.
    pub const INTEGER: Self = Self(4);
    /// Numbers that are not integral.
    pub(crate) const FRACTION: Self = Self(8);
    /// Every number, integers too.
    pub const NUMBER: Self = Self(4 | 8);
    /// Strings.
    pub const STRING: Self = Self(16);
    /// Arrays.
    pub const ARRAY: Self = Self(32);
    /// Objects.
    pub const OBJECT: Self = Self(64);

    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(127);

    /// Returns the type of a value: an integer for every number without a fraction.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if is_integral(number) => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the types of values.
    pub(crate) fn of_all(values: &[Value]) -> Self {
        let mut kinds = Self::NONE;
        values.iter().for_each(|value| kinds = kinds | Self::of(value));
        kinds
    }

    /// Returns each kind separately.
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        (0..7).map(|bit| Self(1 << bit)).filter(move |kind| self.has(*kind))
    }

    /// Returns `true` if both have a kind in common.
    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the kinds that are in both sets.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the kinds of this set that are not in the other.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns `true` if all of `kinds` are in the set.
    #[must_use]
    pub fn has(self, kinds: Self) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    /// Returns the names of the types, as in `type`.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let number = if self.0 & Self::FRACTION.0 == 0 { "integer" } else { "number" };
        let mut kinds = vec!["null", "boolean", number, "string", "array", "object"];
        kinds.retain(|name| Self::named(name).is_some_and(|kind| self.intersects(kind)));
        kinds
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
