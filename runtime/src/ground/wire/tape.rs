//! A JSON value in a flat form, in the order of its text, to be read more than once.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

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
pub(super) enum Token<'t> {
    /// Null, or a boolean, number or text without a separate entry.
    Scalar(Scalar<'t>),
    /// A text that the source does not lend: a range of [`Tape::texts`]. With `arbitrary_precision` also a number with
    /// more digits than a double has.
    Kept { start: usize, end: usize, is_number: bool },
    /// An array, followed by the items that it holds, or an object, followed by its keys, each with its value. The next
    /// token is at `end`.
    Open { end: usize, held: usize, is_object: bool },
}

/// The outcomes for values of unions: the losses and the branch. The branches of a union around them read them again and
/// again: without this, every level of nesting would multiply the trials.
type Picked = HashMap<(TypeId, usize), Result<(Counts, usize), Mismatch>>;

/// A JSON value laid out flat.
#[derive(Debug)]
pub(super) struct Tape<'t> {
    tokens: Vec<Token<'t>>,
    /// The texts that the source does not lend, one after the other.
    texts: String,
    pub(super) picked: RefCell<Picked>,
}

impl<'t> Tape<'t> {
    pub(super) fn new() -> Self {
        Self { tokens: Vec::with_capacity(32), texts: String::new(), picked: RefCell::default() }
    }

    /// Adds a token.
    #[inline]
    pub(super) fn push(&mut self, token: Token<'t>) {
        self.tokens.push(token);
    }

    /// Begins an array or object, and returns its index.
    pub(super) fn begin(&mut self, is_object: bool) -> usize {
        self.push(Token::Open { end: 0, held: 0, is_object });
        self.tokens.len() - 1
    }

    /// Adds a copy of a text.
    pub(super) fn keep(&mut self, text: &str, is_number: bool) {
        let start = self.texts.len();
        self.texts.push_str(text);
        self.push(Token::Kept { start, end: self.texts.len(), is_number });
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
    pub(super) tape: &'a Tape<'a>,
    pub(super) reading: &'a Reading,
    pub(super) at: usize,
}

impl<'a> Recorded<'a> {
    pub(super) fn node(self) -> Node<'a> {
        match self.tape.tokens.get(self.at).copied() {
            Some(Token::Scalar(scalar)) => Node::Scalar(scalar),
            Some(Token::Kept { start, end, is_number }) => {
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
            Node::Array(_) => Value::Array(self.items().map(Self::value).collect()),
            Node::Object(_) => {
                Value::Object(self.members().map(|(key, value)| (key.to_owned(), value.value())).collect())
            }
        }
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
