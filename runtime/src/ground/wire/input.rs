//! Values that are read, and the places that they go to. Types and sources of values meet here, and neither is generic over the other, so that there
//! is one copy of the code of each.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::reading::{Counts, Reading, exceeds, worse};
use super::scalar::Scalar;
use super::tape::{Node, Tape};
use super::{Keys, Mismatch, Wire};

/// A JSON value being read: from a text, from another value, from any format that describes itself.
pub struct Input<'i> {
    pub(super) stream: &'i mut dyn Stream,
    pub(super) reading: &'i Reading,
}

/// A source of one value, which it gives once.
pub(super) trait Stream {
    /// Gives the value.
    fn give(&mut self, sink: Sink<'_>, reading: &Reading) -> Result<(), Mismatch>;

    /// Returns the recorded value, if it is already recorded.
    fn recorded(&self) -> Option<Recorded<'_>> {
        None
    }

    /// Lays the value open. The keys are those of a struct.
    fn record(&mut self, keys: Option<Keys>, reading: &Reading) -> Result<Tape<'_>, Mismatch>;
}

impl<'i> Input<'i> {
    /// Passes the value to a sink.
    ///
    /// # Errors
    /// Fails if it does not fit.
    #[inline]
    pub fn give(self, sink: Sink<'_>) -> Result<(), Mismatch> {
        self.stream.give(sink, self.reading)
    }

    /// Records the value, to read it more than once.
    ///
    /// # Errors
    /// Fails like `read`, or if the source fails.
    pub fn recorded<T>(
        self,
        keys: impl FnOnce() -> Option<Keys>,
        read: impl FnOnce(Recorded<'_>) -> Result<T, Mismatch>,
    ) -> Result<T, Mismatch> {
        if let Some(recorded) = self.stream.recorded() {
            return if self.reading.is_look() { Err(self.reading.looked_at()) } else { read(recorded) };
        }
        let keys = if self.reading.is_whole.get() { keys() } else { None };
        let recording = Recording::new(self.stream.record(keys, self.reading)?);
        read(recording.root(self.reading))
    }

    /// Returns the value, as it came.
    ///
    /// # Errors
    /// Fails if the source has none.
    pub fn value(self) -> Result<Value, Mismatch> {
        self.recorded(|| None, |value| Ok(value.value()))
    }
}

/// The outcomes for values of unions. The branches of a union around them read them again and again: without this, every
/// level of nesting would multiply the trials.
pub(super) type Picked = HashMap<(TypeId, usize), Known>;

#[derive(Clone, Debug)]
pub(super) enum Known {
    Branch(usize, Counts),
    Mismatch(Mismatch),
}

/// A recorded value, with the known facts about its parts.
#[derive(Debug)]
pub(super) struct Recording<'t> {
    tape: Tape<'t>,
    pub(super) picked: RefCell<Picked>,
}

impl<'t> Recording<'t> {
    pub(super) fn new(tape: Tape<'t>) -> Self {
        Self { tape, picked: RefCell::default() }
    }

    pub(super) fn root<'a>(&'a self, reading: &'a Reading) -> Recorded<'a> {
        Recorded { recording: self, reading, at: 0 }
    }
}

/// A value that lies open.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    pub(super) recording: &'a Recording<'a>,
    pub(super) reading: &'a Reading,
    pub(super) at: usize,
}

impl<'a> Recorded<'a> {
    /// Reads the value.
    ///
    /// # Errors
    /// Fails if it does not fit.
    pub fn read<T: Wire>(mut self) -> Result<T, Mismatch> {
        let reading = self.reading;
        T::read(Input { stream: &mut self, reading })
    }

    /// Returns the value, as it came.
    #[must_use]
    pub fn value(self) -> Value {
        self.recording.tape.value(self.at)
    }

    pub(super) fn node(self) -> Node<'a> {
        self.recording.tape.node(self.at)
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.node(), Node::Scalar(Scalar::Null))
    }

    /// Returns how many steps the value takes: one for every value and every key in it.
    pub(super) fn size(self) -> usize {
        self.recording.tape.end(self.at) - self.at
    }

    /// Returns the items of an array, and fails for other values.
    pub(super) fn items(self) -> Result<impl ExactSizeIterator<Item = Self>, Mismatch> {
        let Node::Array(items) = self.node() else { return Err(self.expected("an array")) };
        let mut places = self.recording.tape.items(self.at);
        Ok((0..items).map(move |_| self.at(places.next().unwrap_or_default())))
    }

    /// Returns the members of an object, and fails for other values.
    pub(super) fn members(self) -> Result<impl Iterator<Item = (&'a str, Self)>, Mismatch> {
        let Node::Object(_) = self.node() else { return Err(self.expected("an object")) };
        Ok(self.recording.tape.members(self.at).map(move |(key, at)| (key, self.at(at))))
    }

    /// Counts what becomes of the members of an object before anything is read: it may already be too much, or too little.
    fn foresee(self, places: &dyn Places) -> Result<(), Mismatch> {
        let reading = self.reading;
        let mut required = 0;
        for (key, value) in self.members()? {
            let (fate, is_required) = places.fate(key);
            required += usize::from(is_required);
            match fate {
                Fate::ReadUnlessNull if value.is_null() => reading.note_lost(value.size() + 1),
                Fate::Read | Fate::ReadUnlessNull => {}
                Fate::Extra => reading.note_undeclared(1),
                Fate::Lost => reading.note_lost(value.size() + 1),
            }
        }
        if required < places.required() {
            let keys: Vec<&str> = self.members()?.map(|(key, _)| key).collect();
            return Err(places.missing(&keys));
        }
        if exceeds(reading.counts.get(), reading.bound.get()) { Err(worse()) } else { Ok(()) }
    }

    fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Returns a mismatch with the kind of the value, never its content: arguments may hold secrets.
    #[cold]
    pub(super) fn expected(self, what: &'static str) -> Mismatch {
        let found = match self.node() {
            Node::Scalar(scalar) => scalar.kind(),
            Node::Array(_) => "an array",
            Node::Object(_) => "an object",
        };
        Mismatch::expected(what, found)
    }
}

impl Stream for Recorded<'_> {
    fn give(&mut self, sink: Sink<'_>, reading: &Reading) -> Result<(), Mismatch> {
        match sink {
            Sink::Other(place) => place.fill(Input { stream: self, reading }),
            Sink::Nullable(_) if self.is_null() => Ok(()),
            Sink::Nullable(place) => place.fill(Input { stream: self, reading }),
            Sink::Items(item) => {
                let items = self.items()?;
                if reading.is_look() {
                    return Err(reading.looked_at());
                }
                for (index, mut value) in items.enumerate() {
                    let read = item(Input { stream: &mut value, reading });
                    read.map_err(|mismatch| mismatch.within_item(index))?;
                }
                Ok(())
            }
            Sink::Members(members) => {
                let found = self.members()?;
                if reading.is_look() {
                    return Err(reading.looked_at());
                }
                for (key, mut value) in found {
                    reading.note_undeclared(1);
                    let read = members.member(key, Input { stream: &mut value, reading });
                    read.map_err(|mismatch| mismatch.within(key.to_owned()))?;
                }
                Ok(())
            }
            Sink::Object(places) => {
                let is_look = reading.is_look();
                if reading.trying.get() > 0 {
                    self.foresee(places)?;
                }
                for (key, mut value) in self.members()? {
                    let read = match (places.place(key), value.node()) {
                        (Ok(Place::Field(_, true)), Node::Scalar(Scalar::Null)) => Ok(()),
                        (Ok(Place::Field(Sink::Text(_), _)), Node::Scalar(Scalar::Text(_))) if is_look => Ok(()),
                        (Ok(Place::Field(sink, _)), node) if !is_look || matches!(node, Node::Scalar(_)) => {
                            value.give(sink, reading)
                        }
                        (Ok(Place::Extra(extra)), _) if !is_look => {
                            extra.member(key, Input { stream: &mut value, reading })
                        }
                        (place, _) => place.map(drop),
                    };
                    read.map_err(|mismatch| mismatch.within(key.to_owned()))?;
                }
                if is_look { Err(reading.looked_at()) } else { Ok(()) }
            }
            sink => match self.node() {
                Node::Scalar(scalar) => sink.scalar(scalar),
                _ => Err(self.expected(sink.expected())),
            },
        }
    }

    fn recorded(&self) -> Option<Recorded<'_>> {
        Some(*self)
    }

    fn record(&mut self, _: Option<Keys>, _: &Reading) -> Result<Tape<'_>, Mismatch> {
        Err(Mismatch::new("the value lies open already"))
    }
}

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
    /// An object with a place for each member.
    Object(&'s mut dyn Places),
    /// A type with its own reader.
    Other(&'s mut dyn Fill),
    /// The same, or `null`, which leaves it empty.
    Nullable(&'s mut dyn Fill),
}

/// The destinations of an object's members.
pub trait Places {
    /// Returns the destination of the member under a key.
    ///
    /// # Errors
    /// Fails if the object may not have this key.
    fn place<'p>(&'p mut self, key: &str) -> Result<Place<'p>, Mismatch>;

    /// Returns how the member under a key is handled, without reading it, and whether the object requires it.
    fn fate(&self, key: &str) -> (Fate, bool);

    /// Returns the number of required members.
    fn required(&self) -> usize;

    /// Returns the mismatch of an object with these keys, which lacks a required one.
    fn missing(&self, there: &[&str]) -> Mismatch;

    /// Returns the keys that have a place, or `None` if every key has one.
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

/// The destination of a member.
pub enum Place<'p> {
    /// A field. If it is optional, `null` leaves it empty.
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
    /// Fails if it does not fit.
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
    /// Fails if it does not fit.
    fn fill(&mut self, input: Input<'_>) -> Result<(), Mismatch>;
}

impl<T: Wire> Fill for Option<T> {
    fn fill(&mut self, input: Input<'_>) -> Result<(), Mismatch> {
        *self = Some(T::read(input)?);
        Ok(())
    }
}

impl Sink<'_> {
    /// Borrows the same place for a shorter time.
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

    /// Returns the name of the expected type.
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

    /// Takes a value that is not an array or an object.
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
