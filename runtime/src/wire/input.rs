use std::cell::{Cell, RefCell};

use serde_json::{Map, Value};

use super::object::ObjectReader;
use super::tape::{Tape, Token};
use super::union::{Counts, Picked, too_many_trials};
use super::{Mismatch, Wire};

/// How much work reading may be, for each step of the value. The value may come from a hostile server, and the branches
/// of unions read it again and again: without an end, for hours.
const MOST_WORK: u64 = 64;
const LEAST_WORK: u64 = 1 << 19;

/// A JSON value being read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub(super) tape: &'a Tape<'a>,
    pub(super) at: usize,
    pub(super) reading: &'a Reading,
}

/// What is known of a whole value while its parts are read.
#[derive(Debug)]
pub(super) struct Reading {
    work_left: Cell<u64>,
    pub(super) trials: Cell<u64>,
    /// How many branches of unions are being tried, one inside the other.
    pub(super) trying: Cell<u32>,
    /// What became of the value so far, inside the innermost branch that is tried.
    pub(super) counts: Cell<Counts>,
    pub(super) picked: RefCell<Picked>,
}

/// Reads the value on a tape.
pub(super) fn read<T: Wire>(tape: &Tape<'_>) -> Result<T, Mismatch> {
    let work = LEAST_WORK + MOST_WORK * tape.len() as u64;
    let reading = Reading {
        work_left: Cell::new(work),
        trials: Cell::new(0),
        trying: Cell::new(0),
        counts: Cell::default(),
        picked: RefCell::default(),
    };
    T::read(Input { tape, at: 0, reading: &reading })
}

impl<'a> Input<'a> {
    /// The value, as it came.
    #[must_use]
    pub fn value(self) -> Value {
        self.tape.value(self.at)
    }

    /// The value as a text.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn text(self) -> Result<&'a str, Mismatch> {
        self.tape.text(self.at).ok_or_else(|| self.expected("a string"))
    }

    /// The value as a text that no schema lists.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn unlisted_text(self) -> Result<String, Mismatch> {
        self.note_undeclared(1);
        self.text().map(str::to_owned)
    }

    /// The value as an object with these properties, in the order in which they are asked for.
    ///
    /// # Errors
    /// Where it is something else, or holds one of them twice.
    pub fn object(self, keys: &'static [&'static str]) -> Result<ObjectReader<'a>, Mismatch> {
        ObjectReader::new(self, keys)
    }

    /// The value as an object, whatever it holds.
    pub(super) fn map(self) -> Result<Map<String, Value>, Mismatch> {
        let members = self.members()?;
        self.note_undeclared(self.size() - 1);
        Ok(members.map(|(key, value)| (key.to_owned(), value.value())).collect())
    }

    /// The items of the value, an array.
    pub(super) fn items(self) -> Result<impl ExactSizeIterator<Item = Self>, Mismatch> {
        let Token::Array { items, .. } = *self.token() else { return Err(self.expected("an array")) };
        self.work(items)?;
        let mut places = self.tape.items(self.at);
        Ok((0..items as usize).map(move |_| self.at(places.next().unwrap_or_default())))
    }

    /// The keys of the value, an object, and their values.
    pub(super) fn members(self) -> Result<impl Iterator<Item = (&'a str, Self)>, Mismatch> {
        let Token::Object { members, .. } = *self.token() else { return Err(self.expected("an object")) };
        self.work(members)?;
        Ok(self.tape.members(self.at).map(move |(key, at)| (key, self.at(at))))
    }

    pub(super) fn token(self) -> &'a Token<'a> {
        self.tape.token(self.at)
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.token(), Token::Null)
    }

    pub(super) fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// How many steps the value takes: one for every value and every key in it.
    pub(super) fn size(self) -> usize {
        self.tape.end(self.at) - self.at
    }

    pub(super) fn expected(self, what: &'static str) -> Mismatch {
        Mismatch::expected(what, describe(self.token()))
    }

    /// Says that this much of the value is kept without a type.
    pub(super) fn note_undeclared(self, steps: usize) {
        let Counts { lost, undeclared } = self.reading.counts.get();
        self.reading.counts.set(Counts { lost, undeclared: undeclared + steps });
    }

    /// Says that this much of the value is not kept.
    pub(super) fn note_lost(self, steps: usize) {
        let Counts { lost, undeclared } = self.reading.counts.get();
        self.reading.counts.set(Counts { lost: lost + steps, undeclared });
    }

    pub(super) fn work(self, steps: u32) -> Result<(), Mismatch> {
        let left = &self.reading.work_left;
        left.set(left.get().saturating_sub(1 + u64::from(steps)));
        if left.get() == 0 { Err(too_many_trials()) } else { Ok(()) }
    }

    pub(super) fn is_exhausted(self) -> bool {
        self.reading.work_left.get() == 0
    }
}

/// The kind of a value, never its content: arguments may hold secrets.
fn describe(token: &Token<'_>) -> &'static str {
    match token {
        Token::Null => "null",
        Token::Bool(_) => "a boolean",
        Token::Signed(_) | Token::Unsigned(_) => "an integer",
        Token::Float(_) | Token::Number(_) => "a number",
        Token::Text(_) | Token::Copied { .. } => "a string",
        Token::Array { .. } => "an array",
        Token::Object { .. } => "an object",
    }
}
