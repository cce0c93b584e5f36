//! A JSON value in a flat form, in the order of its text, to be read more than once.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Mismatch;
use super::reading::{Counts, Reading};
use super::scalar::Scalar;

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
enum Token {
    /// Null, a boolean, or a number.
    Scalar(Scalar<'static>),
    /// A text, as a range of [`Tape::texts`]. With `arbitrary_precision` also a number with more digits than a double has.
    Text { start: usize, end: usize, is_number: bool },
    /// An array, followed by the items that it holds, or an object, followed by its keys, each with its value. The next
    /// token is at `end`.
    Open { end: usize, held: usize, is_object: bool },
}

/// The outcomes for values of unions: the losses and the branch. The branches of a union around them read them again and
/// again: without this, every level of nesting would multiply the trials.
type Picked = HashMap<(TypeId, usize), Result<(Counts, usize), Mismatch>>;

/// A JSON value laid out flat.
#[derive(Debug, Default)]
pub struct Tape {
    tokens: Vec<Token>,
    /// The texts, one after the other.
    texts: String,
    pub(super) picked: RefCell<Picked>,
}

impl Tape {
    /// Adds a value that is neither array nor object, or the key of a member.
    pub(super) fn push(&mut self, scalar: Scalar<'_>) {
        let start = self.texts.len();
        let token = match scalar {
            Scalar::Null => Token::Scalar(Scalar::Null),
            Scalar::Bool(value) => Token::Scalar(Scalar::Bool(value)),
            Scalar::Signed(number) => Token::Scalar(Scalar::Signed(number)),
            Scalar::Unsigned(number) => Token::Scalar(Scalar::Unsigned(number)),
            Scalar::Float(number) => Token::Scalar(Scalar::Float(number)),
            Scalar::Digits(text) | Scalar::Text(text) => {
                self.texts.push_str(text);
                Token::Text { start, end: self.texts.len(), is_number: scalar.is_number() }
            }
        };
        self.tokens.push(token);
    }

    /// Begins an array or object, and returns its index.
    pub(super) fn begin(&mut self, is_object: bool) -> usize {
        self.tokens.push(Token::Open { end: 0, held: 0, is_object });
        self.tokens.len() - 1
    }

    /// Removes the tokens from an index on.
    pub(super) fn truncate(&mut self, start: usize) {
        self.tokens.truncate(start);
    }

    /// Ends the array or object at an index, which holds this many items or members.
    pub(super) fn close(&mut self, start: usize, held: usize) {
        let here = self.tokens.len();
        if let Some(Token::Open { end, held: count, .. }) = self.tokens.get_mut(start) {
            (*end, *count) = (here, held);
        }
    }
}

/// A value on a tape.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    pub(super) tape: &'a Tape,
    pub(super) reading: &'a Reading,
    pub(super) at: usize,
}

impl<'a> Recorded<'a> {
    pub(super) fn node(self) -> Node<'a> {
        match self.tape.tokens.get(self.at).copied() {
            Some(Token::Scalar(scalar)) => Node::Scalar(scalar),
            Some(Token::Text { start, end, is_number }) => {
                let text = self.tape.texts.get(start..end).unwrap_or_default();
                Node::Scalar(if is_number { Scalar::Digits(text) } else { Scalar::Text(text) })
            }
            Some(Token::Open { held, is_object: false, .. }) => Node::Array(held),
            Some(Token::Open { held, is_object: true, .. }) => Node::Object(held),
            None => Node::Scalar(Scalar::Null),
        }
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.node(), Node::Scalar(Scalar::Null))
    }

    /// Returns the index after the value.
    #[inline]
    fn end(self) -> usize {
        if let Some(Token::Open { end, .. }) = self.tape.tokens.get(self.at) { *end } else { self.at + 1 }
    }

    /// Returns how many steps the value takes: one for every value and every key in it.
    pub(super) fn size(self) -> usize {
        self.end() - self.at
    }

    fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Returns the items of an array; other values have none.
    pub(super) fn items(self) -> impl ExactSizeIterator<Item = Self> {
        let length = if let Node::Array(length) = self.node() { length } else { 0 };
        let mut next = self.at + 1;
        (0..length).map(move |_| {
            let item = self.at(next);
            next = item.end();
            item
        })
    }

    /// Returns the members of an object; other values have none.
    pub(super) fn members(self) -> impl ExactSizeIterator<Item = (&'a str, Self)> {
        let length = if let Node::Object(length) = self.node() { length } else { 0 };
        let mut next = self.at + 1;
        (0..length).map(move |_| {
            let (key, value) = (self.at(next), self.at(next + 1));
            next = value.end();
            (if let Node::Scalar(Scalar::Text(key)) = key.node() { key } else { "" }, value)
        })
    }

    /// Returns the members of an object, and fails for other values.
    pub(super) fn object(self) -> Result<impl ExactSizeIterator<Item = (&'a str, Self)>, Mismatch> {
        if let Node::Object(_) = self.node() { Ok(self.members()) } else { Err(self.expected("an object")) }
    }

    /// Returns the value, as it came.
    #[must_use]
    pub fn value(self) -> Value {
        match self.node() {
            Node::Scalar(scalar) => scalar.value(),
            Node::Array(length) => {
                let mut items = Vec::with_capacity(length);
                for item in self.items() {
                    items.push(item.value());
                }
                Value::Array(items)
            }
            Node::Object(_) => Value::Object(self.map()),
        }
    }

    /// Returns the members of an object as a map.
    pub(super) fn map(self) -> Map<String, Value> {
        let mut map = Map::new();
        for (key, value) in self.members() {
            map.insert(key.to_owned(), value.value());
        }
        map
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
