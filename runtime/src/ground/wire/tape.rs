//! A JSON value in a flat form, in the order of its text, to be read more than once.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::Mismatch;
use super::number::integer;
use super::reading::{Counts, Reading};

/// A value, without the parts of an array or object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Number(&'a Number),
    Text(&'a str),
    /// An array of this many items.
    Array(usize),
    /// An object of this many members.
    Object(usize),
}

impl Node<'_> {
    /// Returns the kind of a value, never its content: arguments may hold secrets.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(number) if integer(number).is_some() => "an integer",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// A step of a tape.
#[derive(Debug)]
enum Token {
    Null,
    Bool(bool),
    Number(Number),
    /// A text, as a range of [`Tape::texts`].
    Text {
        start: usize,
        end: usize,
    },
    /// An array, followed by the items that it holds, or an object, followed by its keys, each with its value. The next
    /// token is at `end`.
    Open {
        end: usize,
        held: usize,
        is_object: bool,
    },
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
    /// Adds a value or the key of a member, or begins an array or object. Returns its index.
    pub(super) fn push(&mut self, node: Node<'_>) -> usize {
        let token = match node {
            Node::Null => Token::Null,
            Node::Bool(value) => Token::Bool(value),
            Node::Number(number) => Token::Number(number.clone()),
            Node::Text(text) => {
                let start = self.texts.len();
                self.texts.push_str(text);
                Token::Text { start, end: self.texts.len() }
            }
            Node::Array(held) => Token::Open { end: 0, held, is_object: false },
            Node::Object(held) => Token::Open { end: 0, held, is_object: true },
        };
        self.tokens.push(token);
        self.tokens.len() - 1
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
        match self.tape.tokens.get(self.at) {
            Some(Token::Null) | None => Node::Null,
            Some(Token::Bool(value)) => Node::Bool(*value),
            Some(Token::Number(number)) => Node::Number(number),
            Some(Token::Text { start, end }) => Node::Text(self.tape.texts.get(*start..*end).unwrap_or_default()),
            Some(Token::Open { held, is_object: false, .. }) => Node::Array(*held),
            Some(Token::Open { held, is_object: true, .. }) => Node::Object(*held),
        }
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.node(), Node::Null)
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
            (if let Node::Text(key) = key.node() { key } else { "" }, value)
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
            Node::Null => Value::Null,
            Node::Bool(value) => Value::Bool(value),
            Node::Number(number) => Value::Number(number.clone()),
            Node::Text(text) => Value::String(text.to_owned()),
            Node::Array(_) => Value::Array(self.items().map(Self::value).collect()),
            Node::Object(_) => Value::Object(self.map()),
        }
    }

    /// Returns the members of an object as a map.
    pub(super) fn map(self) -> Map<String, Value> {
        self.members().map(|(key, value)| (key.to_owned(), value.value())).collect()
    }

    /// Returns a mismatch with the kind of the value.
    #[cold]
    pub(super) fn expected(self, what: &'static str) -> Mismatch {
        Mismatch::expected(what, self.node().kind())
    }
}
