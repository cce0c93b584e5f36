//! A JSON value in a flat form, in the order of its text, to be read more than once.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::key::Key;
use super::mismatch::Mismatch;
use super::reading::Reading;
use super::scalar::{Scalar, scalar_visits};

/// A value of a tape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Scalar(Scalar<'a>),
    /// An array of this many items.
    Array(usize),
    /// An object of this many members.
    Object(usize),
}

/// A step of a tape.
#[derive(Clone, Copy, Debug)]
enum Token<'t> {
    /// Null, or a boolean, number or text without a separate entry.
    Scalar(Scalar<'t>),
    /// A number that no other form holds: with `arbitrary_precision`, more digits than a double has. As text, like `Copied`.
    Digits { start: usize, end: usize },
    /// A text that the source does not lend: a range of [`Tape::texts`].
    Copied { start: usize, end: usize },
    /// An array, followed by its items. The next token is at `end`.
    Array { end: usize, items: usize },
    /// An object, followed by its keys, each with its value. The next token is at `end`.
    Object { end: usize, members: usize },
}

/// A JSON value laid out flat.
#[derive(Debug)]
pub(super) struct Tape<'t> {
    tokens: Vec<Token<'t>>,
    /// The texts that the source does not lend, one after the other.
    texts: String,
}

impl<'t> Tape<'t> {
    pub(super) fn new() -> Self {
        Self { tokens: Vec::with_capacity(32), texts: String::new() }
    }

    /// Returns the value at an index.
    pub(super) fn node(&self, at: usize) -> Node<'_> {
        let text = |start, end| self.texts.get(start..end).unwrap_or_default();
        match self.tokens.get(at).copied() {
            Some(Token::Scalar(scalar)) => Node::Scalar(scalar),
            Some(Token::Digits { start, end }) => Node::Scalar(Scalar::Digits(text(start, end))),
            Some(Token::Copied { start, end }) => Node::Scalar(Scalar::Text(text(start, end))),
            Some(Token::Array { items, .. }) => Node::Array(items),
            Some(Token::Object { members, .. }) => Node::Object(members),
            None => Node::Scalar(Scalar::Null),
        }
    }

    /// Returns the index after the value at an index.
    #[inline]
    pub(super) fn end(&self, at: usize) -> usize {
        match self.tokens.get(at) {
            Some(Token::Array { end, .. } | Token::Object { end, .. }) => *end,
            _ => at + 1,
        }
    }

    /// Returns the value at an index as JSON.
    pub(super) fn value(&self, at: usize) -> Value {
        match self.node(at) {
            Node::Scalar(scalar) => scalar.value(),
            Node::Array(_) => Value::Array(self.items(at).map(|at| self.value(at)).collect()),
            Node::Object(_) => {
                Value::Object(self.members(at).map(|(key, at)| (key.to_owned(), self.value(at))).collect())
            }
        }
    }

    /// Returns the indices of the items of the array at an index.
    pub(super) fn items(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.end(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let at = next;
            next = self.end(at);
            (at < end).then_some(at)
        })
    }

    /// Returns the keys of the object at an index, with the indices of their values.
    pub(super) fn members(&self, at: usize) -> impl Iterator<Item = (&str, usize)> {
        let end = self.end(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let at = next;
            next = self.end(at + 1);
            let Node::Scalar(Scalar::Text(key)) = self.node(at) else { return None };
            (at < end).then_some((key, at + 1))
        })
    }

    #[inline]
    fn push(&mut self, token: Token<'t>) -> usize {
        self.tokens.push(token);
        self.tokens.len() - 1
    }

    /// Keeps a text, and gives its range.
    fn keep(&mut self, text: &str) -> (usize, usize) {
        let start = self.texts.len();
        self.texts.push_str(text);
        (start, self.texts.len())
    }

    fn copy(&mut self, text: &str) {
        let (start, end) = self.keep(text);
        self.push(Token::Copied { start, end });
    }

    fn number(&mut self, digits: &str) -> Result<(), serde_json::Error> {
        let number: Number = digits.parse()?;
        let token = match Scalar::of(&number, "") {
            Scalar::Digits(_) => {
                let (start, end) = self.keep(digits);
                Token::Digits { start, end }
            }
            scalar => Token::Scalar(scalar),
        };
        self.push(token);
        Ok(())
    }

    /// Ends the array or object at an index, which holds this many items or members.
    fn close(&mut self, start: usize, held: usize) {
        let here = self.tokens.len();
        if let Some(Token::Array { end, items: count } | Token::Object { end, members: count }) =
            self.tokens.get_mut(start)
        {
            (*end, *count) = (here, held);
        }
    }
}

/// A visitor that writes the values of a deserializer to a tape.
pub(super) struct Recorder<'r, 't> {
    pub(super) tape: &'r mut Tape<'t>,
    pub(super) reading: &'r Reading,
}

impl<'t> Recorder<'_, 't> {
    fn scalar<E>(self, scalar: Scalar<'t>) -> Result<(), E> {
        self.tape.push(Token::Scalar(scalar));
        Ok(())
    }

    fn inside<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn too_long<E: Error>(self) -> E {
        self.reading.raise(Mismatch::new("an integer of more than 64 bits"))
    }
}

impl<'t> DeserializeSeed<'t> for Recorder<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Recorder<'_, 't> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    scalar_visits!('t);

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.tape.copy(text);
        Ok(())
    }

    fn visit_borrowed_str<E: Error>(self, text: &'t str) -> Result<(), E> {
        self.scalar(Scalar::Text(text))
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<(), E> {
        Err(self.reading.raise(Mismatch::new("JSON has no bytes")))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { tape, reading } = self;
        reading.enter()?;
        let start = tape.push(Token::Array { end: 0, items: 0 });
        let mut held = 0;
        while items.next_element_seed(Recorder { tape: &mut *tape, reading })?.is_some() {
            held += 1;
        }
        reading.leave();
        tape.close(start, held);
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { tape, reading } = self;
        reading.enter()?;
        let start = tape.push(Token::Object { end: 0, members: 0 });
        let mut held = 0;
        while let Some(key) = members.next_key::<Key<'t>>()? {
            if held == 0 && key.is_number() {
                let digits = members.next_value::<String>()?;
                tape.tokens.truncate(start);
                reading.leave();
                return tape.number(&digits).map_err(A::Error::custom);
            }
            match key.0 {
                Cow::Borrowed(key) => drop(tape.push(Token::Scalar(Scalar::Text(key)))),
                Cow::Owned(key) => tape.copy(&key),
            }
            members.next_value_seed(Recorder { tape: &mut *tape, reading })?;
            held += 1;
        }
        reading.leave();
        tape.close(start, held);
        Ok(())
    }
}
