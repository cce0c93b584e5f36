//! A JSON value laid out flat, in the order of its text: what reading goes through, whatever the value came from.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::mismatch::Mismatch;
use super::scalars::faithful;

/// Text is at most 128 levels deep, but not every value comes from text.
const DEEPEST: u32 = 160;
/// The key under which `serde_json` with `arbitrary_precision` gives the digits of a number.
const DIGITS: &str = "$serde_json::private::Number";

/// A step of a tape.
#[derive(Debug)]
pub(super) enum Token<'t> {
    Null,
    Bool(bool),
    /// An integer below zero.
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    /// What no other number holds: with `arbitrary_precision`, more digits than a double has.
    Number(Box<Number>),
    Text(&'t str),
    /// A text that the source does not lend: a range of [`Tape::texts`].
    Copied {
        start: usize,
        end: usize,
    },
    /// An array; its items follow. What is behind it begins at `end`.
    Array {
        end: u32,
        items: u32,
    },
    /// An object; its keys follow, each with its value. What is behind it begins at `end`.
    Object {
        end: u32,
        members: u32,
    },
}

/// A JSON value laid out flat.
#[derive(Debug)]
pub(super) struct Tape<'t> {
    tokens: Vec<Token<'t>>,
    /// The texts that the source does not lend, one after the other.
    texts: String,
}

impl<'t> Tape<'t> {
    fn new() -> Self {
        Self { tokens: Vec::with_capacity(32), texts: String::new() }
    }

    pub(super) fn of_value(value: &'t Value) -> Result<Self, Mismatch> {
        let mut tape = Self::new();
        tape.push_value(value, 0)?;
        Ok(tape)
    }

    /// Of whatever describes itself. The keys are those of a struct: what `#[serde(flatten)]` lends it, it consumes.
    pub(super) fn deserialize<D: Deserializer<'t>>(
        deserializer: D,
        keys: Option<&'static [&'static str]>,
    ) -> Result<Self, D::Error> {
        let mut tape = Self::new();
        let recorder = Recorder { tape: &mut tape, depth: 0 };
        match keys {
            Some(keys) => deserializer.deserialize_struct("", keys, recorder)?,
            None => deserializer.deserialize_any(recorder)?,
        }
        Ok(tape)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn token(&self, at: usize) -> &Token<'t> {
        self.tokens.get(at).unwrap_or(&Token::Null)
    }

    /// The text at a place, which a key always is.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        match *self.token(at) {
            Token::Text(text) => Some(text),
            Token::Copied { start, end } => self.texts.get(start..end),
            _ => None,
        }
    }

    /// Where the value that begins at a place ends.
    pub(super) fn end(&self, at: usize) -> usize {
        match *self.token(at) {
            Token::Array { end, .. } | Token::Object { end, .. } => end as usize,
            _ => at + 1,
        }
    }

    /// The value at a place.
    pub(super) fn value(&self, at: usize) -> Value {
        match self.token(at) {
            Token::Null => Value::Null,
            Token::Bool(value) => Value::Bool(*value),
            Token::Signed(number) => Value::Number((*number).into()),
            Token::Unsigned(number) => Value::Number((*number).into()),
            Token::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Token::Number(number) => Value::Number((**number).clone()),
            Token::Text(_) | Token::Copied { .. } => Value::String(self.text(at).unwrap_or_default().to_owned()),
            Token::Array { .. } => Value::Array(self.items(at).map(|at| self.value(at)).collect()),
            Token::Object { .. } => {
                Value::Object(self.members(at).map(|(key, at)| (key.to_owned(), self.value(at))).collect())
            }
        }
    }

    /// Where the items of the array at a place are.
    pub(super) fn items(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.end(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let at = next;
            next = self.end(at);
            (at < end).then_some(at)
        })
    }

    /// The keys of the object at a place, and where their values are.
    pub(super) fn members(&self, at: usize) -> impl Iterator<Item = (&str, usize)> {
        let end = self.end(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let at = next;
            next = self.end(at + 1);
            (at < end).then(|| (self.text(at).unwrap_or_default(), at + 1))
        })
    }

    fn push(&mut self, token: Token<'t>) -> usize {
        self.tokens.push(token);
        self.tokens.len() - 1
    }

    fn copy(&mut self, text: &str) {
        let start = self.texts.len();
        self.texts.push_str(text);
        self.push(Token::Copied { start, end: self.texts.len() });
    }

    fn push_number(&mut self, number: &Number) {
        let token = match (number.as_u64(), number.as_i64(), faithful(number)) {
            (Some(number), ..) => Token::Unsigned(number),
            (_, Some(number), _) => Token::Signed(number),
            (.., Some(number)) => Token::Float(number),
            _ => Token::Number(Box::new(number.clone())),
        };
        self.push(token);
    }

    fn push_value(&mut self, value: &'t Value, depth: u32) -> Result<(), Mismatch> {
        match value {
            Value::Null => drop(self.push(Token::Null)),
            Value::Bool(value) => drop(self.push(Token::Bool(*value))),
            Value::Number(number) => self.push_number(number),
            Value::String(text) => drop(self.push(Token::Text(text))),
            Value::Array(items) => {
                let depth = deeper(depth).map_err(Mismatch::new)?;
                let start = self.push(Token::Array { end: 0, items: 0 });
                for item in items {
                    self.push_value(item, depth)?;
                }
                self.close(start, items.len()).map_err(Mismatch::new)?;
            }
            Value::Object(map) => {
                let depth = deeper(depth).map_err(Mismatch::new)?;
                let start = self.push(Token::Object { end: 0, members: 0 });
                for (key, value) in map {
                    self.push(Token::Text(key));
                    self.push_value(value, depth)?;
                }
                self.close(start, map.len()).map_err(Mismatch::new)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, start: usize, held: usize) -> Result<(), &'static str> {
        let here = u32::try_from(self.tokens.len()).map_err(|_| "the value is too large")?;
        // Fewer than the tokens.
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        match self.tokens.get_mut(start) {
            Some(Token::Array { end, items }) => (*end, *items) = (here, held),
            Some(Token::Object { end, members }) => (*end, *members) = (here, held),
            _ => {}
        }
        Ok(())
    }
}

fn deeper(depth: u32) -> Result<u32, String> {
    if depth < DEEPEST { Ok(depth + 1) } else { Err(format!("more than {DEEPEST} levels deep")) }
}

/// Writes what a deserializer gives onto a tape.
struct Recorder<'r, 't> {
    tape: &'r mut Tape<'t>,
    depth: u32,
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

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.tape.push(Token::Null);
        Ok(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.tape.push(Token::Bool(value));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.tape.push(u64::try_from(number).map_or(Token::Signed(number), Token::Unsigned));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.tape.push(Token::Unsigned(number));
        Ok(())
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<(), E> {
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => self.visit_i64(number),
            (_, Ok(number)) => self.visit_u64(number),
            _ => Err(E::custom("an integer of more than 64 bits")),
        }
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<(), E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom("an integer of more than 64 bits")),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if !number.is_finite() {
            return Err(E::custom(super::scalars::NOT_FINITE));
        }
        self.tape.push(Token::Float(number));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.tape.copy(text);
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<(), E> {
        self.tape.push(Token::Text(text));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth).map_err(A::Error::custom)?;
        let start = self.tape.push(Token::Array { end: 0, items: 0 });
        let mut held = 0;
        while items.next_element_seed(Recorder { tape: &mut *self.tape, depth })?.is_some() {
            held += 1;
        }
        self.tape.close(start, held).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        let depth = deeper(self.depth).map_err(A::Error::custom)?;
        let start = self.tape.push(Token::Object { end: 0, members: 0 });
        let mut held = 0;
        while members.next_key_seed(KeyRecorder(&mut *self.tape))?.is_some() {
            if held == 0 && self.tape.text(start + 1) == Some(DIGITS) {
                let number: Number = members.next_value::<String>()?.parse().map_err(A::Error::custom)?;
                self.tape.tokens.truncate(start);
                self.tape.push_number(&number);
                return Ok(());
            }
            members.next_value_seed(Recorder { tape: &mut *self.tape, depth })?;
            held += 1;
        }
        self.tape.close(start, held).map_err(A::Error::custom)
    }
}

/// Writes the key of an object, which is a text in JSON.
struct KeyRecorder<'r, 't>(&'r mut Tape<'t>);

impl<'t> DeserializeSeed<'t> for KeyRecorder<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for KeyRecorder<'_, 't> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text as the key of an object")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.copy(text);
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<(), E> {
        self.0.push(Token::Text(text));
        Ok(())
    }
}
