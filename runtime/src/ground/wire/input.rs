//! Values that are read, and the places that they go to. Types and sources of values meet here, and neither is generic
//! over the other, so that there is one copy of the code of each.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::mismatch::{MOST_STRANGERS, missing_among, unknown};
use super::number::{double, whole};
use super::reading::Reading;
use super::tape::{Node, Recorded, Tape};
use super::{Keys, Mismatch, Wire};

/// The number of comparisons of unknown keys after which the known keys are indexed.
const MANY: usize = 4096;

/// A JSON value being read: from a text, from another value, from any format that describes itself.
pub struct Input<'i> {
    pub(super) stream: &'i mut dyn Stream,
    pub(super) reading: &'i Reading,
}

/// A source of one value, which can be read once.
pub(super) trait Stream {
    /// Reads the value into a sink; `null` leaves an optional sink empty.
    fn give(&mut self, sink: Sink<'_>, is_optional: bool, reading: &Reading) -> Result<(), Mismatch>;

    /// Returns the value on its tape, or else records it on this one.
    fn record<'o>(&'o mut self, tape: &'o mut Tape, reading: &'o Reading) -> Result<Recorded<'o>, Mismatch>;
}

impl Input<'_> {
    /// Passes the value to a sink.
    ///
    /// # Errors
    /// Fails if it does not fit.
    #[inline]
    pub fn give(self, sink: Sink<'_>) -> Result<(), Mismatch> {
        self.stream.give(sink, false, self.reading)
    }

    /// Records the value, to read it more than once.
    ///
    /// # Errors
    /// Fails like `read`, or if the source fails.
    pub fn recorded<T>(self, read: impl FnOnce(Recorded<'_>) -> Result<T, Mismatch>) -> Result<T, Mismatch> {
        let mut tape = Tape::default();
        read(self.stream.record(&mut tape, self.reading)?)
    }

    /// Returns the value, as it came.
    ///
    /// # Errors
    /// Fails if the source has none.
    pub fn value(self) -> Result<Value, Mismatch> {
        self.recorded(|value| Ok(value.value()))
    }
}

impl Recorded<'_> {
    /// Reads the value.
    ///
    /// # Errors
    /// Fails if it does not fit.
    pub fn read<T: Wire>(mut self) -> Result<T, Mismatch> {
        let reading = self.reading;
        T::read(Input { stream: &mut self, reading })
    }

    fn give_members(self, fields: &mut Fields<'_>, reading: &Reading) -> Result<(), Mismatch> {
        let (is_look, is_shown) = (reading.is_look(), reading.trying.get() == 0);
        if !is_shown {
            fields.foresee(self)?;
        }
        for (key, mut value) in self.members() {
            let read = match (fields.place(key, is_shown), value.node()) {
                (Ok(Place::Field(Sink::Text(_), _)), Node::Text(_)) if is_look => Ok(()),
                (Ok(Place::Field(sink, is_optional)), node)
                    if !is_look || !matches!(node, Node::Array(_) | Node::Object(_)) =>
                {
                    value.give(sink, is_optional, reading)
                }
                (Ok(Place::Extra(extra)), _) if !is_look => extra.member(key, Input { stream: &mut value, reading }),
                (place, _) => place.map(drop),
            };
            read.map_err(|mismatch| mismatch.within(key.to_owned()))?;
        }
        if is_look { Err(Mismatch::skipped()) } else { fields.finish() }
    }
}

impl Stream for Recorded<'_> {
    fn give(&mut self, sink: Sink<'_>, is_optional: bool, reading: &Reading) -> Result<(), Mismatch> {
        match (sink, self.node()) {
            (_, Node::Null) if is_optional => Ok(()),
            (Sink::Other(place), _) => place.fill(Input { stream: self, reading }),
            (Sink::Items(_), Node::Array(_)) if reading.is_look() => Err(Mismatch::skipped()),
            (Sink::Items(place), Node::Array(_)) => {
                for (index, mut item) in self.items().enumerate() {
                    let read = place.fill(Input { stream: &mut item, reading });
                    read.map_err(|mismatch| mismatch.within_item(index))?;
                }
                Ok(())
            }
            (Sink::Object(fields), Node::Object(_)) => self.give_members(fields, reading),
            (sink, node) => sink.take(node),
        }
    }

    fn record<'o>(&'o mut self, _: &'o mut Tape, reading: &'o Reading) -> Result<Recorded<'o>, Mismatch> {
        if reading.is_look() { Err(Mismatch::skipped()) } else { Ok(*self) }
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
    Items(&'s mut dyn Fill),
    /// An object.
    Object(&'s mut Fields<'s>),
    /// A type with its own reader.
    Other(&'s mut dyn Fill),
    /// A recorder, for a value that is read more than once.
    Tape(&'s mut Tape),
}

impl Sink<'_> {
    /// Returns the name of the expected type.
    pub(super) fn expected(&self) -> &'static str {
        match self {
            Self::Null(_) => "null",
            Self::Bool(_) => "a boolean",
            Self::Signed(_) | Self::Unsigned(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) | Self::Look(_) => "a string",
            Self::Items(_) => "an array",
            Self::Object(_) => "an object",
            Self::Other(_) | Self::Tape(_) => "a JSON value",
        }
    }

    /// Takes a value that is not an array or an object.
    #[inline]
    pub(super) fn take(self, node: Node<'_>) -> Result<(), Mismatch> {
        match (self, node) {
            (Self::Text(place), Node::Text(text)) => *place = Some(text.to_owned()),
            (Self::Look(look), Node::Text(text)) => look(text)?,
            (Self::Tape(tape), node) => _ = tape.push(node),
            (Self::Bool(place), Node::Bool(value)) => *place = Some(value),
            (Self::Null(place), Node::Null) => *place = Some(()),
            (Self::Signed(place), Node::Number(number)) => *place = Some(whole(number, "a 64-bit signed integer")?),
            (Self::Unsigned(place), Node::Number(number)) => *place = Some(whole(number, "a 64-bit unsigned integer")?),
            (Self::Float(place), Node::Number(number)) => *place = Some(double(number)?),
            (sink, node) => return Err(Mismatch::expected(sink.expected(), node.kind())),
        }
        Ok(())
    }
}

/// A place that takes a value: of a field, or of an array's items, one after the other.
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

impl<F: FnMut(Input<'_>) -> Result<(), Mismatch>> Fill for F {
    fn fill(&mut self, input: Input<'_>) -> Result<(), Mismatch> {
        self(input)
    }
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

/// The handling of members that have no field.
pub enum Unknown<'f> {
    /// They are ignored.
    Ignore,
    /// They are refused.
    Deny,
    /// They are kept.
    Keep(&'f mut dyn Extra),
}

/// The place of a field.
pub struct Slot<'s> {
    /// `None` once the field was read.
    sink: Option<Sink<'s>>,
    /// `true` if `null` leaves the field empty, because models in strict mode send it.
    is_optional: bool,
    is_required: bool,
}

impl<'s> Slot<'s> {
    /// Creates the slot of a required property.
    #[inline]
    pub fn required<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { sink: Some(T::sink(place)), is_optional: false, is_required: true }
    }

    /// Creates the slot of an optional property; `null` reads as missing.
    #[inline]
    pub fn optional<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { is_optional: true, is_required: false, ..Self::required(place) }
    }

    /// Creates the slot of an optional nullable property; `null` differs from missing.
    #[inline]
    pub fn present<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { is_required: false, ..Self::required(place) }
    }
}

/// The destination of a member.
pub(super) enum Place<'p, 'f> {
    /// A field. If it is optional, `null` leaves it empty.
    Field(Sink<'f>, bool),
    /// The members that have no field.
    Extra(&'p mut dyn Extra),
    /// None: the member is not kept, or the union around the object has read it.
    Nowhere,
}

/// The fields of an object.
pub struct Fields<'f> {
    /// The keys of the fields, then those that have no slot, because the union around the object reads them.
    keys: Keys,
    slots: &'f mut [Slot<'f>],
    unknown: Unknown<'f>,
    /// Of each list, one set of keys must be there.
    demands: &'f [&'f [&'f [&'f str]]],
    /// The index of the key that comes next, if they come in order.
    expected: usize,
    /// The number of comparisons of unknown keys so far.
    missed: usize,
    /// The indices of the keys, built after many of them.
    index: Option<HashMap<&'static str, usize>>,
    /// Unknown keys, one of which may be a misspelled one.
    strangers: Vec<String>,
}

impl<'f> Fields<'f> {
    /// Creates the fields under these keys.
    #[inline]
    pub fn new(
        keys: Keys,
        slots: &'f mut [Slot<'f>],
        unknown: Unknown<'f>,
        demands: &'f [&'f [&'f [&'f str]]],
    ) -> Self {
        Self { keys, slots, unknown, demands, expected: 0, missed: 0, index: None, strangers: Vec::new() }
    }

    /// Returns the place of the next member.
    pub(super) fn place(&mut self, key: &str, is_shown: bool) -> Result<Place<'_, 'f>, Mismatch> {
        let Some(found) = self.position(key) else { return self.stranger(key, is_shown) };
        self.expected = found + 1;
        let Some(slot) = self.slots.get_mut(found) else { return Ok(Place::Nowhere) };
        slot.sink.take().map(|sink| Place::Field(sink, slot.is_optional)).ok_or_else(Mismatch::twice)
    }

    fn position(&mut self, key: &str) -> Option<usize> {
        let keys = self.keys;
        if self.missed > MANY {
            let index = self.index.get_or_insert_with(|| keys.iter().copied().zip(0..).collect());
            return index.get(key).copied();
        }
        // Servers and models send properties in the order of the schema, or nearly, and leave out optional ones.
        let is_key = |at: &usize| keys.get(*at).is_some_and(|known| *known == key);
        let found = (self.expected..keys.len()).chain(0..self.expected).find(is_key);
        self.missed += if found.is_none() { keys.len() } else { 0 };
        found
    }

    #[cold]
    fn stranger(&mut self, key: &str, is_shown: bool) -> Result<Place<'_, 'f>, Mismatch> {
        match &mut self.unknown {
            Unknown::Keep(extra) => return Ok(Place::Extra(&mut **extra)),
            Unknown::Ignore if is_shown && self.strangers.len() < MOST_STRANGERS => self.strangers.push(key.to_owned()),
            Unknown::Ignore => {}
            Unknown::Deny => {
                let absent = self.keys.iter().zip(&*self.slots).filter(|(_, slot)| is_shown && slot.sink.is_some());
                return Err(unknown(key, &absent.map(|(key, _)| (*key).to_owned()).collect::<Vec<_>>()));
            }
        }
        Ok(Place::Nowhere)
    }

    /// Counts the losses of an object before anything in it is read: they may already be too much. Fails too if a
    /// required member is missing.
    fn foresee(&mut self, object: Recorded<'_>) -> Result<(), Mismatch> {
        let reading = object.reading;
        let is_there = |key: &str| object.members().any(|(found, _)| found == key);
        let mut slots = self.keys.iter().zip(&*self.slots);
        if let Some((key, _)) = slots.find(|(key, slot)| slot.is_required && !is_there(key)) {
            return Err(Mismatch::missing(key));
        }
        for (key, value) in object.members() {
            let known = self.position(key);
            let is_kept = match (known.map(|at| self.slots.get(at)), &self.unknown) {
                (Some(Some(slot)), _) => !(slot.is_optional && value.is_null()),
                (Some(None), _) | (None, Unknown::Deny) => true,
                (None, Unknown::Keep(_)) => {
                    reading.note_undeclared(1);
                    true
                }
                (None, Unknown::Ignore) => false,
            };
            if !is_kept {
                reading.note_lost(value.size() + 1);
            }
        }
        if reading.counts.get().exceed(reading.bound.get()) { Err(Mismatch::skipped()) } else { Ok(()) }
    }

    /// Checks that all required members were there.
    pub(super) fn finish(&self) -> Result<(), Mismatch> {
        let mut slots = self.keys.iter().zip(&*self.slots);
        if let Some((key, _)) = slots.find(|(_, slot)| slot.is_required && slot.sink.is_some()) {
            return Err(missing_among(key, &self.strangers));
        }
        self.demands.iter().try_for_each(|sets| self.require_any(sets))
    }

    /// Checks that at least one of several sets of members is complete.
    fn require_any(&self, sets: &[&[&str]]) -> Result<(), Mismatch> {
        let is_there = |key: &&str| {
            let known = self.keys.iter().position(|known| known == key);
            known.is_some_and(|known| self.slots.get(known).is_none_or(|slot| slot.sink.is_none()))
        };
        if sets.iter().any(|set| set.iter().all(is_there)) {
            return Ok(());
        }
        let sets: Vec<_> = sets.iter().map(|set| format!("`{}`", set.join("`, `"))).collect();
        Err(Mismatch::new(format!("missing one of: {}", sets.join(" or "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_unknown_keys_are_bounded() {
        let keys: Vec<&str> = (0..300).map(|number| &*format!("key_{number}").leak()).collect();
        let keys: Keys = keys.leak();
        let mut fields = Fields::new(keys, &mut [], Unknown::Ignore, &[]);
        for number in 0..10_000 {
            assert_eq!(fields.position(&format!("other_{number}")), None);
        }
        assert!(fields.missed <= MANY + keys.len(), "{}", fields.missed);
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(fields.position(key), Some(at));
        }
    }
}
