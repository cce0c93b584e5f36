//! Where what is read goes. Types and sources of values meet here, and neither is generic over the other, so that there
//! is one copy of the code of each.

use std::collections::BTreeMap;

use super::scalar::Scalar;
use super::{Input, Keys, Mismatch, Wire};

/// The target of reading a value.
pub enum Sink<'s> {
    /// `null` alone.
    Null(&'s mut Option<()>),
    /// `true` or `false`.
    Bool(&'s mut Option<bool>),
    /// An integer of 64 bits.
    Signed(&'s mut Option<i64>),
    /// An integer of 64 bits that is not negative.
    Unsigned(&'s mut Option<u64>),
    /// A number that a double holds.
    Float(&'s mut Option<f64>),
    /// A string.
    Text(&'s mut Option<String>),
    /// A string that is only looked at.
    Look(&'s mut dyn FnMut(&str) -> Result<(), Mismatch>),
    /// An array, item by item.
    Items(&'s mut dyn FnMut(Input<'_>) -> Result<(), Mismatch>),
    /// An object, member by member.
    Members(&'s mut dyn Extra),
    /// An object of which each member has a place of its own.
    Object(&'s mut dyn Places),
    /// A type of which only itself knows how it is read.
    Other(&'s mut dyn Fill),
    /// The same, or `null`, which leaves it empty.
    Nullable(&'s mut dyn Fill),
}

/// Where the members of an object go.
pub trait Places {
    /// Where the member under a key goes.
    ///
    /// # Errors
    /// Where there must not be one.
    fn place<'p>(&'p mut self, key: &str) -> Result<Place<'p>, Mismatch>;

    /// Tells the fate of the member under a key without reading it, and whether the object must have it.
    fn fate(&self, key: &str) -> (Fate, bool);

    /// How many members have to be there.
    fn required(&self) -> usize;

    /// The mismatch of an object with these keys, which lacks one that has to be there.
    fn missing(&self, there: &[&str]) -> Mismatch;

    /// The keys that have a place, where not all have one.
    fn keys(&self) -> Option<Keys>;
}

/// The handling of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is read, and all of it counts.
    Read,
    /// It is read, but `null` is not kept.
    ReadUnlessNull,
    /// It is kept without a field.
    Extra,
    /// It is not kept.
    Lost,
}

/// Where a member goes.
pub enum Place<'p> {
    /// Into a field. Where it is optional, `null` leaves it empty.
    Field(Sink<'p>, bool),
    /// To the others that have no field.
    Extra(&'p mut dyn Extra),
    /// Nowhere, though a part of the value is lost then.
    Lost,
    /// Nowhere: it has been read.
    Known,
}

/// A place for members that have no field.
pub trait Extra {
    /// Reads a member.
    ///
    /// # Errors
    /// Where it does not fit.
    fn member(&mut self, key: &str, input: Input<'_>) -> Result<(), Mismatch>;
}

impl<T: Wire> Extra for BTreeMap<String, T> {
    fn member(&mut self, key: &str, input: Input<'_>) -> Result<(), Mismatch> {
        self.insert(key.to_owned(), T::read(input)?);
        Ok(())
    }
}

/// A place that takes a value.
pub trait Fill {
    /// Reads the value.
    ///
    /// # Errors
    /// Where it does not fit.
    fn fill(&mut self, input: Input<'_>) -> Result<(), Mismatch>;
}

impl<T: Wire> Fill for Option<T> {
    fn fill(&mut self, input: Input<'_>) -> Result<(), Mismatch> {
        *self = Some(T::read(input)?);
        Ok(())
    }
}

impl Sink<'_> {
    /// The same place, for a shorter time.
    #[inline]
    pub(super) fn reborrow(&mut self) -> Sink<'_> {
        match self {
            Self::Null(place) => Sink::Null(place),
            Self::Bool(place) => Sink::Bool(place),
            Self::Signed(place) => Sink::Signed(place),
            Self::Unsigned(place) => Sink::Unsigned(place),
            Self::Float(place) => Sink::Float(place),
            Self::Text(place) => Sink::Text(place),
            Self::Look(look) => Sink::Look(look),
            Self::Items(item) => Sink::Items(item),
            Self::Members(members) => Sink::Members(*members),
            Self::Object(places) => Sink::Object(*places),
            Self::Other(place) => Sink::Other(*place),
            Self::Nullable(place) => Sink::Nullable(*place),
        }
    }

    /// Names the expected type.
    pub(super) fn expected(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Bool(_) => "a boolean",
            Self::Signed(_) | Self::Unsigned(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) | Self::Look(_) => "a string",
            Self::Items(_) => "an array",
            Self::Members(_) | Self::Object(_) => "an object",
            Self::Other(_) | Self::Nullable(_) => "a value",
        }
    }

    /// Takes what is neither array nor object.
    #[inline]
    pub(super) fn scalar(self, scalar: Scalar<'_>) -> Result<(), Mismatch> {
        match (self, scalar) {
            (Self::Text(place), Scalar::Text(text)) => *place = Some(text.to_owned()),
            (Self::Look(look), Scalar::Text(text)) => look(text)?,
            (Self::Bool(place), Scalar::Bool(value)) => *place = Some(value),
            (Self::Null(place), Scalar::Null) => *place = Some(()),
            (Self::Nullable(_), Scalar::Null) => {}
            (sink, scalar) => sink.number(scalar)?,
        }
        Ok(())
    }

    fn number(self, scalar: Scalar<'_>) -> Result<(), Mismatch> {
        match (self, scalar) {
            (Self::Signed(place), Scalar::Signed(number)) => *place = Some(number),
            (Self::Unsigned(place), Scalar::Unsigned(number)) => *place = Some(number),
            (Self::Signed(place), Scalar::Unsigned(_) | Scalar::Float(_) | Scalar::Digits(_)) => {
                *place = Some(scalar.whole("a 64-bit signed integer")?);
            }
            (Self::Unsigned(place), Scalar::Signed(_) | Scalar::Float(_) | Scalar::Digits(_)) => {
                *place = Some(scalar.whole("a 64-bit unsigned integer")?);
            }
            (Self::Float(place), Scalar::Signed(_) | Scalar::Unsigned(_) | Scalar::Float(_) | Scalar::Digits(_)) => {
                *place = Some(scalar.double()?)
            }
            (sink, scalar) => return Err(Mismatch::expected(sink.expected(), scalar.kind())),
        }
        Ok(())
    }
}
