//! Reading from any deserializer. Only this is generic over it: types know streams and sinks.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::input::{Input, Place, Sink, Stream};
use super::key::Key;
use super::mismatch::nothing_read;
use super::reading::Reading;
use super::scalar::{Scalar, scalar_visits};
use super::tape::{Recorder, Tape};
use super::{Keys, Mismatch, Wire};

/// Reads a value from a deserializer.
pub(super) fn read<'de, T: Wire, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let reading = Reading::new(true);
    let mut stream = Erased::new(deserializer);
    T::read(Input { stream: &mut stream, reading: &reading }).map_err(|mismatch| match stream.error {
        Some(error) if !stream.is_refused => error,
        refused => {
            let position = refused.and_then(|error| position(&error.to_string())).unwrap_or_default();
            D::Error::custom(format_args!("{mismatch}{position}"))
        }
    })
}

/// Returns the position of a refused value, which `serde_json` writes at the end of its errors and reads back from
/// there.
#[cold]
fn position(error: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (line, column) = error.rsplit_once(" at line ")?.1.split_once(" column ")?;
    (is_number(line) && is_number(column)).then(|| format!(" at line {line} column {column}"))
}

/// Describes a value that is not an object. Deserializers that expect a struct print the value in their own error, and
/// it may be a secret.
#[cold]
fn unasked(error: &impl fmt::Display, reading: &Reading) -> Option<Mismatch> {
    if !reading.is_whole.get() {
        return None;
    }
    let error = error.to_string();
    let found = error.strip_prefix("invalid type: ")?;
    let kinds = [
        ("string", "a string"),
        ("boolean", "a boolean"),
        ("integer", "an integer"),
        ("floating point", "a number"),
        ("number", "a number"),
        ("sequence", "an array"),
        ("null", "null"),
        ("unit value", "null"),
    ];
    let kind = kinds.iter().find(|(kind, _)| found.starts_with(kind)).map_or("something else", |(_, kind)| kind);
    Some(Mismatch::expected("an object", kind))
}

/// Reads a value from another one.
pub(super) fn read_value<T: Wire>(value: &Value) -> Result<T, Mismatch> {
    let reading = Reading::new(false);
    let mut stream = Erased::new(value);
    T::read(Input { stream: &mut stream, reading: &reading }).map_err(|mismatch| match stream.error {
        Some(error) if !stream.is_refused => Mismatch::new(error.to_string()),
        _ => mismatch,
    })
}

/// A deserializer with an erased type.
struct Erased<'de, D: Deserializer<'de>> {
    deserializer: Option<D>,
    /// Why the deserializer could not go on.
    error: Option<D::Error>,
    /// `true` if a sink refused a value. The deserializer then adds only the position.
    is_refused: bool,
}

impl<'de, D: Deserializer<'de>> Erased<'de, D> {
    #[inline]
    fn new(deserializer: D) -> Self {
        Self { deserializer: Some(deserializer), error: None, is_refused: false }
    }

    #[cold]
    fn failed(&mut self, error: D::Error, reading: &Reading) -> Mismatch {
        let fault = reading.fault().or_else(|| unasked(&error, reading));
        self.error = Some(error);
        self.is_refused = fault.is_some();
        fault.unwrap_or_else(nothing_read)
    }

    /// Returns the error on its way out.
    #[cold]
    fn error(self, mismatch: Mismatch, reading: &Reading) -> D::Error {
        match self.error {
            Some(error) => {
                if self.is_refused {
                    reading.refuse(mismatch);
                }
                error
            }
            None => reading.raise(mismatch),
        }
    }
}

impl<'de, D: Deserializer<'de>> Stream for Erased<'de, D> {
    fn give(&mut self, sink: Sink<'_>, reading: &Reading) -> Result<(), Mismatch> {
        let deserializer = self.deserializer.take().ok_or_else(nothing_read)?;
        let given = match sink {
            // These are the keys that `#[serde(flatten)]` takes from its source.
            Sink::Object(places) if reading.is_whole.get() => match places.keys() {
                Some(keys) => deserializer.deserialize_struct("", keys, Giver { sink: Sink::Object(places), reading }),
                None => deserializer.deserialize_map(Giver { sink: Sink::Object(places), reading }),
            },
            sink => give(deserializer, sink, false, reading),
        };
        given.map_err(|error| self.failed(error, reading))
    }

    fn record(&mut self, keys: Option<Keys>, reading: &Reading) -> Result<Tape<'_>, Mismatch> {
        let deserializer = self.deserializer.take().ok_or_else(nothing_read)?;
        let mut tape = Tape::new();
        let recorder = Recorder { tape: &mut tape, reading };
        let recorded = match keys {
            Some(keys) => deserializer.deserialize_struct("", keys, recorder),
            None => deserializer.deserialize_any(recorder),
        };
        match recorded {
            Ok(()) => Ok(tape),
            Err(error) => Err(self.failed(error, reading)),
        }
    }
}

/// Gives the value of a deserializer to a sink.
#[inline]
fn give<'de, D: Deserializer<'de>>(
    deserializer: D,
    sink: Sink<'_>,
    is_optional: bool,
    reading: &Reading,
) -> Result<(), D::Error> {
    match sink {
        Sink::Nullable(_) => deserializer.deserialize_option(Optional { sink, reading }),
        sink if is_optional => deserializer.deserialize_option(Optional { sink, reading }),
        Sink::Other(place) => Seed { read: |input: Input<'_>| place.fill(input), reading }.deserialize(deserializer),
        sink => deserializer.deserialize_any(Giver { sink, reading }),
    }
}

/// Gives a value that may be `null`, which leaves the place empty.
struct Optional<'g, 's> {
    sink: Sink<'s>,
    reading: &'g Reading,
}

impl<'de> Visitor<'de> for Optional<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sink.expected())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let sink = match self.sink {
            Sink::Nullable(place) => Sink::Other(place),
            sink => sink,
        };
        give(deserializer, sink, false, self.reading)
    }
}

/// A visitor that passes the values of a deserializer to a sink.
struct Giver<'g, 's> {
    sink: Sink<'s>,
    reading: &'g Reading,
}

impl Giver<'_, '_> {
    #[inline]
    fn scalar<E: Error>(self, scalar: Scalar<'_>) -> Result<(), E> {
        self.sink.scalar(scalar).map_err(|mismatch| self.reading.raise(mismatch))
    }

    #[inline]
    fn inside<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        give(deserializer, self.sink, false, self.reading)
    }

    #[cold]
    fn too_long<E: Error>(self) -> E {
        self.refuse("a larger integer")
    }

    #[cold]
    fn refuse<E: Error>(self, found: &'static str) -> E {
        self.reading.raise(Mismatch::expected(self.sink.expected(), found))
    }
}

impl<'de> Visitor<'de> for Giver<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.sink.expected())
    }

    scalar_visits!('de);

    #[inline]
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.scalar(Scalar::Text(text))
    }

    #[inline]
    fn visit_string<E: Error>(self, text: String) -> Result<(), E> {
        match self.sink {
            Sink::Text(place) => {
                *place = Some(text);
                Ok(())
            }
            sink => Giver { sink, ..self }.scalar(Scalar::Text(&text)),
        }
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<(), E> {
        Err(self.refuse("bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { sink: Sink::Items(item), reading } = self else { return Err(self.refuse("an array")) };
        reading.enter()?;
        let mut index = 0;
        let read = loop {
            match items.next_element_seed(Seed { read: &mut *item, reading }) {
                Ok(Some(())) => index += 1,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if read.is_err() {
            reading.within(|mismatch| mismatch.within_item(index));
        }
        reading.leave();
        read
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let reading = self.reading;
        reading.enter()?;
        let mut is_first = true;
        while let Some(key) = members.next_key::<Key<'de>>()? {
            if is_first && key.is_number() {
                let digits = members.next_value::<String>()?;
                reading.leave();
                return self.number(&digits);
            }
            is_first = false;
            let read = match &mut self.sink {
                Sink::Object(places) => match places.place(&key.0) {
                    Ok(Place::Field(sink, is_optional)) => {
                        members.next_value_seed(FieldSeed { sink, is_optional, reading })
                    }
                    Ok(Place::Extra(extra)) => {
                        let read = |input: Input<'_>| extra.member(&key.0, input);
                        members.next_value_seed(Seed { read, reading })
                    }
                    Ok(Place::Lost | Place::Known) => members.next_value::<IgnoredAny>().map(drop),
                    Err(mismatch) => Err(reading.raise(mismatch)),
                },
                Sink::Members(extra) => {
                    let read = |input: Input<'_>| extra.member(&key.0, input);
                    members.next_value_seed(Seed { read, reading })
                }
                _ => return Err(self.refuse("an object")),
            };
            if let Err(error) = read {
                reading.within(|mismatch| mismatch.within(key.0.into_owned()));
                return Err(error);
            }
        }
        reading.leave();
        match self.sink {
            Sink::Object(_) | Sink::Members(_) => Ok(()),
            _ => Err(self.refuse("an object")),
        }
    }
}

impl Giver<'_, '_> {
    #[cold]
    fn number<E: Error>(self, digits: &str) -> Result<(), E> {
        let number: serde_json::Number = digits.parse().map_err(E::custom)?;
        self.scalar(Scalar::of(&number, digits))
    }
}

struct FieldSeed<'g, 's> {
    sink: Sink<'s>,
    is_optional: bool,
    reading: &'g Reading,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_, '_> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        give(deserializer, self.sink, self.is_optional, self.reading)
    }
}

/// Reads a value with a closure that does not know the deserializer.
struct Seed<'g, R> {
    read: R,
    reading: &'g Reading,
}

impl<'de, R: FnOnce(Input<'_>) -> Result<(), Mismatch>> DeserializeSeed<'de> for Seed<'_, R> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let mut stream = Erased::new(deserializer);
        let read = (self.read)(Input { stream: &mut stream, reading: self.reading });
        read.map_err(|mismatch| stream.error(mismatch, self.reading))
    }
}
