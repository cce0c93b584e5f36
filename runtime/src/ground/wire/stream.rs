//! Reads from any deserializer. Only this file is generic over it: types know streams and sinks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use super::input::{Fill, Input, Place, Sink, Stream};
use super::mismatch::{add_step, nothing_read};
use super::number::NOT_FINITE;
use super::reading::Reading;
use super::tape::{Node, Recorded, Tape};
use super::{Keys, Mismatch, Wire};

/// Implements `Deserialize::deserialize` for a [`Wire`] type.
///
/// # Errors
/// Fails like the deserializer, or for a value that does not match.
pub fn deserialize<'de, T: Wire, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let reading = Reading::default();
    let mut stream = Erased::new(deserializer, T::keys());
    T::read(Input { stream: &mut stream, reading: &reading }).map_err(|mismatch| stream.outermost_error(&mismatch))
}

/// Reads a typed value from JSON.
///
/// # Errors
/// Fails with a [`Mismatch`] that shows the position and the reason.
pub fn from_value<T: Wire>(value: &Value) -> Result<T, Mismatch> {
    let mut place = None;
    fill(&mut place, value)?;
    place.ok_or_else(nothing_read)
}

/// Reads JSON into a place.
pub(crate) fn fill(place: &mut dyn Fill, value: &Value) -> Result<(), Mismatch> {
    place.fill(Input { stream: &mut Erased::new(value, None), reading: &Reading::default() })
}

/// A deserializer with an erased type.
struct Erased<'de, D: Deserializer<'de>> {
    deserializer: Option<D>,
    /// The keys that the whole value takes; `None` if it takes all, or if this is a part of it.
    keys: Option<Keys>,
    /// The error of the deserializer.
    error: Option<D::Error>,
    /// `true` if a sink refused a value. The deserializer then adds only the position.
    is_refused: bool,
}

impl<'de, D: Deserializer<'de>> Erased<'de, D> {
    #[inline]
    fn new(deserializer: D, keys: Option<Keys>) -> Self {
        Self { deserializer: Some(deserializer), keys, error: None, is_refused: false }
    }

    #[cold]
    fn failed(&mut self, error: D::Error, is_object: bool, reading: &Reading) -> Mismatch {
        let mut fault = reading.fault.take();
        let message = error.to_string();
        // A deserializer that is asked for an object prints another value in its own error, and it may be a secret.
        let is_unasked = is_object && fault.is_none() && reading.depth.get() == 0;
        if is_unasked {
            let found = message.strip_prefix("invalid type: ");
            fault = found.map(|found| Mismatch::expected("an object", kind_of(found)));
        }
        self.error = Some(error);
        self.is_refused = fault.is_some();
        fault.unwrap_or_else(|| Mismatch::new(message))
    }

    /// Returns the error of a part of the value for the deserializer around it.
    #[cold]
    fn error(self, mismatch: Mismatch, reading: &Reading) -> D::Error {
        match self.error {
            Some(error) => {
                if self.is_refused {
                    reading.fault.replace(Some(mismatch));
                }
                error
            }
            None => reading.raise(mismatch),
        }
    }

    /// Returns the error of reading the whole value.
    #[cold]
    fn outermost_error(self, mismatch: &Mismatch) -> D::Error {
        let position = match self.error {
            Some(error) if !self.is_refused => return error,
            refused => refused.and_then(|error| position(&error.to_string())).unwrap_or_default(),
        };
        D::Error::custom(format_args!("{mismatch}{position}"))
    }
}

/// Returns the kind of a value from the text of an error, which goes on with the value or with what was expected.
#[cold]
pub(super) fn kind_of(found: &str) -> &'static str {
    match found.split([',', '`', '"']).next().unwrap_or_default().trim_end() {
        "string" | "character" => "a string",
        "boolean" => "a boolean",
        "integer" => "an integer",
        "floating point" | "number" => "a number",
        "sequence" => "an array",
        "map" => "an object",
        "null" | "unit value" | "Option value" => "null",
        _ => "something else",
    }
}

/// Returns the position of a refused value, which `serde_json` writes at the end of its errors and reads back from
/// there.
fn position(error: &str) -> Option<String> {
    let (line, column) = error.rsplit_once(" at line ")?.1.split_once(" column ")?;
    let (line, column): (u64, u64) = (line.parse().ok()?, column.parse().ok()?);
    Some(format!(" at line {line} column {column}"))
}

impl<'de, D: Deserializer<'de>> Stream for Erased<'de, D> {
    fn give(&mut self, sink: Sink<'_>, is_optional: bool, reading: &Reading) -> Result<(), Mismatch> {
        let deserializer = self.deserializer.take().ok_or_else(nothing_read)?;
        let is_object = self.keys.is_some() || (reading.depth.get() == 0 && matches!(sink, Sink::Object(_)));
        let visit = Visit { sink, is_optional, reading };
        let visited = match self.keys {
            // These are the keys that `#[serde(flatten)]` takes from its source.
            Some(keys) => deserializer.deserialize_struct("", keys, visit),
            // Some formats take a record or nothing for an object if they are asked for one.
            None if is_object => deserializer.deserialize_map(visit),
            None => visit.deserialize(deserializer),
        };
        visited.map_err(|error| self.failed(error, is_object, reading))
    }

    fn record<'o>(&'o mut self, tape: &'o mut Tape, reading: &'o Reading) -> Result<Recorded<'o>, Mismatch> {
        self.give(Sink::Tape(tape), false, reading)?;
        Ok(Recorded { tape, reading, at: 0 })
    }
}

/// Passes a value of a deserializer to a sink.
struct Visit<'g, 's> {
    sink: Sink<'s>,
    /// `true` if `null` leaves the sink empty.
    is_optional: bool,
    reading: &'g Reading,
}

impl Visit<'_, '_> {
    #[cold]
    fn refuse<E: Error>(&self, found: &'static str) -> E {
        self.reading.raise(Mismatch::expected(self.sink.expected(), found))
    }

    #[inline]
    fn scalar<E: Error>(self, scalar: Node<'_>) -> Result<(), E> {
        self.sink.take(scalar).map_err(|mismatch| self.reading.raise(mismatch))
    }

    /// Begins an array or object on the tape, if the value is recorded, and returns its index there.
    fn begin(&mut self, node: Node<'_>) -> usize {
        if let Sink::Tape(tape) = &mut self.sink { tape.push(node) } else { 0 }
    }

    #[inline]
    fn number<E: Error>(self, number: impl Into<Number>) -> Result<(), E> {
        self.scalar(Node::Number(&number.into()))
    }
}

impl<'de> DeserializeSeed<'de> for Visit<'_, '_> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.sink {
            _ if self.is_optional => deserializer.deserialize_option(self),
            Sink::Other(place) => {
                let mut stream = Erased::new(deserializer, None);
                let read = place.fill(Input { stream: &mut stream, reading: self.reading });
                read.map_err(|mismatch| stream.error(mismatch, self.reading))
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Visit<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sink.expected())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.is_optional { Ok(()) } else { self.scalar(Node::Null) }
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Visit { is_optional: false, ..self }.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(number)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<(), E> {
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => self.number(number),
            (_, Ok(number)) => self.number(number),
            _ => Err(self.refuse("a larger integer")),
        }
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<(), E> {
        self.visit_i128(i128::try_from(number).unwrap_or(i128::MAX))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        match Number::from_f64(number) {
            Some(number) => self.number(number),
            None => Err(self.reading.raise(Mismatch::new(NOT_FINITE))),
        }
    }

    #[inline]
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.scalar(Node::Text(text))
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<(), E> {
        Err(self.refuse("bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let reading = self.reading;
        reading.enter()?;
        let start = self.begin(Node::Array(0));
        let mut index = 0;
        loop {
            let sink = match &mut self.sink {
                Sink::Items(place) => Sink::Other(&mut **place),
                Sink::Tape(tape) => Sink::Tape(tape),
                _ => return Err(self.refuse("an array")),
            };
            match items.next_element_seed(Visit { sink, is_optional: false, reading }) {
                Ok(Some(())) => index += 1,
                Ok(None) => break,
                Err(error) => {
                    add_step(&reading.fault, &index);
                    return Err(error);
                }
            }
        }
        if let Sink::Tape(tape) = self.sink {
            tape.close(start, index);
        }
        reading.leave();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let reading = self.reading;
        reading.enter()?;
        let mut next = members.next_key::<Key<'de>>()?;
        if next.as_ref().is_some_and(Key::is_number) {
            let number: Number = members.next_value::<String>()?.parse().map_err(A::Error::custom)?;
            reading.leave();
            return self.number(number);
        }
        let start = self.begin(Node::Object(0));
        let mut held = 0;
        while let Some(key) = next {
            held += 1;
            let read = match &mut self.sink {
                Sink::Tape(tape) => {
                    tape.push(Node::Text(&key.0));
                    members.next_value_seed(Visit { sink: Sink::Tape(tape), is_optional: false, reading })
                }
                Sink::Object(fields) => match fields.place(&key.0, true) {
                    Ok(Place::Field(sink, is_optional)) => {
                        members.next_value_seed(Visit { sink, is_optional, reading })
                    }
                    Ok(Place::Extra(extra)) => {
                        let mut read = |input: Input<'_>| extra.member(&key.0, input);
                        members.next_value_seed(Visit { sink: Sink::Other(&mut read), is_optional: false, reading })
                    }
                    Ok(Place::Nowhere) => members.next_value::<IgnoredAny>().map(drop),
                    Err(mismatch) => Err(reading.raise(mismatch)),
                },
                _ => return Err(self.refuse("an object")),
            };
            if let Err(error) = read {
                add_step(&reading.fault, &key.0);
                return Err(error);
            }
            next = members.next_key()?;
        }
        match self.sink {
            Sink::Tape(tape) => tape.close(start, held),
            Sink::Object(fields) => fields.finish().map_err(|mismatch| reading.raise(mismatch))?,
            _ => return Err(self.refuse("an object")),
        }
        reading.leave();
        Ok(())
    }
}

/// The key of an object, which is a text in JSON.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

impl Key<'_> {
    /// Returns `true` if an object with this key is a number: `serde_json` with `arbitrary_precision` gives its digits
    /// under the key. Without that feature it is a key like others.
    #[inline]
    fn is_number(&self) -> bool {
        self.0 == "$serde_json::private::Number" && keeps_digits()
    }
}

#[cold]
fn keeps_digits() -> bool {
    "1.00".parse::<Number>().is_ok_and(|number| number.to_string() == "1.00")
}
