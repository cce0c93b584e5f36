//! Printing: straight into a serializer, or into a [`Value`]. Types say what they are one step at a time, and know of no
//! serializer, so that there is one copy of their code for all of them.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value};

use super::Mismatch;
use super::literal::write_literal;
use super::scalars::{NOT_FINITE, faithful, whole_of};

/// A type that says what it prints as.
pub trait Print {
    /// What the value prints as.
    fn form(&self) -> Form<'_>;

    /// The items, where the form is an array.
    ///
    /// # Errors
    /// Where one of them cannot be printed.
    fn items(&self, _to: &mut Items<'_>) -> Result<(), Stopped> {
        Ok(())
    }

    /// The members, where the form is an object.
    ///
    /// # Errors
    /// Where one of them cannot be printed.
    fn members(&self, _to: &mut Members<'_>) -> Result<(), Stopped> {
        Ok(())
    }
}

/// What a value prints as.
#[derive(Clone)]
pub enum Form<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer.
    Signed(i64),
    /// An integer.
    Unsigned(u64),
    /// A number; an integral one prints without a fraction.
    Float(f64),
    /// A number as it came.
    Number(&'a Number),
    /// A string.
    Text(&'a str),
    /// An array of so many items: [`Print::items`] of this value prints them.
    Array(&'a dyn Print, usize),
    /// An object: [`Print::members`] of this value prints what is in it.
    Object(&'a dyn Print),
    /// A value that was made to be printed.
    Value(Value),
    /// What has no JSON form, and why.
    Invalid(Mismatch),
}

impl Form<'_> {
    /// A value given as JSON text.
    #[must_use]
    pub fn literal(json: &str) -> Self {
        write_literal(json).map_or_else(Self::Invalid, Self::Value)
    }
}

impl Print for Form<'_> {
    fn form(&self) -> Form<'_> {
        self.clone()
    }
}

/// Printing has failed, and whoever prints knows why.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

/// Takes the items of an array.
pub struct Items<'p>(&'p mut dyn FnMut(&dyn Print) -> Result<(), Stopped>);

/// Takes the members of an object.
pub struct Members<'p> {
    print: &'p mut dyn FnMut(&str, &dyn Print) -> Result<(), Stopped>,
    /// How many properties there were, and which of them were printed: a bit each.
    asked: u32,
    printed: u64,
}

impl fmt::Debug for Form<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Form")
    }
}

impl fmt::Debug for Items<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Items")
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Members")
    }
}

impl Items<'_> {
    /// The next item.
    ///
    /// # Errors
    /// Where it cannot be printed.
    pub fn item(&mut self, item: &dyn Print) -> Result<(), Stopped> {
        (self.0)(item)
    }
}

impl<'p> Members<'p> {
    fn new(print: &'p mut dyn FnMut(&str, &dyn Print) -> Result<(), Stopped>) -> Self {
        Self { print, asked: 0, printed: 0 }
    }

    /// A member under any key.
    ///
    /// # Errors
    /// Where it cannot be printed.
    pub fn member(&mut self, key: &str, value: &dyn Print) -> Result<(), Stopped> {
        (self.print)(key, value)
    }

    /// The next property, which is always printed.
    ///
    /// # Errors
    /// Where it cannot be printed.
    pub fn required(&mut self, key: &str, value: &dyn Print) -> Result<(), Stopped> {
        self.printed |= 1_u64.checked_shl(self.asked).unwrap_or_default();
        self.asked += 1;
        (self.print)(key, value)
    }

    /// The next property, which is printed if there is a value.
    ///
    /// # Errors
    /// Where it cannot be printed.
    pub fn optional<T: Print>(&mut self, key: &str, value: &Option<T>) -> Result<(), Stopped> {
        match value {
            Some(value) => self.required(key, value),
            None => {
                self.asked += 1;
                Ok(())
            }
        }
    }

    /// The properties that have no field; those of a field that was printed are left out.
    ///
    /// # Errors
    /// Where one cannot be printed.
    pub fn extra<T: Print>(&mut self, keys: &[&str], extra: &BTreeMap<String, T>) -> Result<(), Stopped> {
        for (key, value) in extra {
            let field = keys.iter().position(|known| known == key);
            let is_printed = |place: usize| place >= 64 || self.printed & (1 << place) != 0;
            if !field.is_some_and(is_printed) {
                (self.print)(key, value)?;
            }
        }
        Ok(())
    }

    /// The tag of a union's branch, then the branch.
    ///
    /// # Errors
    /// Where the branch cannot be printed.
    pub fn tagged(&mut self, key: &str, tag: Form<'_>, branch: &dyn Print) -> Result<(), Stopped> {
        (self.print)(key, &tag)?;
        let Form::Object(object) = branch.form() else { return Ok(()) };
        let print = &mut *self.print;
        object.members(&mut Members::new(&mut |known, value| if known == key { Ok(()) } else { print(known, value) }))
    }
}

/// A value printed as JSON.
///
/// # Errors
/// A [`Mismatch`] at a number that JSON cannot hold (NaN, infinity).
pub(super) fn to_value(value: &dyn Print) -> Result<Value, Mismatch> {
    Ok(match value.form() {
        Form::Null => Value::Null,
        Form::Bool(value) => Value::Bool(value),
        Form::Signed(number) => Value::Number(number.into()),
        Form::Unsigned(number) => Value::Number(number.into()),
        Form::Float(number) => match whole_of(number).and_then(Number::from_i128) {
            Some(whole) if is_printed_whole(number) => Value::Number(whole),
            _ => Number::from_f64(number).map(Value::Number).ok_or_else(|| Mismatch::new(NOT_FINITE))?,
        },
        Form::Number(number) => Value::Number(number.clone()),
        Form::Text(text) => Value::String(text.to_owned()),
        Form::Array(array, length) => {
            let mut items = Vec::with_capacity(length);
            let mut fault = None;
            let item = &mut |item: &dyn Print| {
                let value = to_value(item).map_err(|error| {
                    fault = Some(error.within_item(items.len()));
                    Stopped
                })?;
                items.push(value);
                Ok(())
            };
            let printed = array.items(&mut Items(item));
            finished(printed, fault)?;
            Value::Array(items)
        }
        Form::Object(object) => {
            let mut members = Map::new();
            let mut fault = None;
            let member = &mut |key: &str, value: &dyn Print| {
                let value = to_value(value).map_err(|error| {
                    fault = Some(error.within(key.to_owned()));
                    Stopped
                })?;
                members.insert(key.to_owned(), value);
                Ok(())
            };
            let printed = object.members(&mut Members::new(member));
            finished(printed, fault)?;
            Value::Object(members)
        }
        Form::Value(value) => value,
        Form::Invalid(error) => return Err(error),
    })
}

fn finished(printed: Result<(), Stopped>, fault: Option<Mismatch>) -> Result<(), Mismatch> {
    match (printed, fault) {
        (Ok(()), None) => Ok(()),
        (_, fault) => Err(fault.unwrap_or_else(|| Mismatch::new("it stopped printing"))),
    }
}

/// An integral value prints without a fraction, as servers that declare `number` expect of a count.
fn is_printed_whole(number: f64) -> bool {
    !(number == 0.0 && number.is_sign_negative())
}

/// Where a value stands in the one that is printed.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn of(self, error: Mismatch) -> Mismatch {
        match self {
            Self::Root => error,
            Self::Key(holder, key) => holder.of(error.within(key.to_owned())),
            Self::Index(holder, index) => holder.of(error.within_item(index)),
        }
    }
}

/// A value on its way into a serializer.
pub(super) struct Printed<'a> {
    value: &'a dyn Print,
    place: Place<'a>,
}

impl<'a> Printed<'a> {
    pub(super) fn root(value: &'a dyn Print) -> Self {
        Self { value, place: Place::Root }
    }

    fn fault<E: Error>(&self, error: Mismatch) -> E {
        E::custom(self.place.of(error))
    }
}

impl Serialize for Printed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value.form() {
            Form::Null => serializer.serialize_unit(),
            Form::Bool(value) => serializer.serialize_bool(value),
            Form::Signed(number) => serializer.serialize_i64(number),
            Form::Unsigned(number) => serializer.serialize_u64(number),
            Form::Float(number) => match whole_of(number).filter(|_| is_printed_whole(number)) {
                Some(whole) => match (u64::try_from(whole), i64::try_from(whole)) {
                    (Ok(whole), _) => serializer.serialize_u64(whole),
                    (_, Ok(whole)) => serializer.serialize_i64(whole),
                    _ => serializer.serialize_f64(number),
                },
                None if number.is_finite() => serializer.serialize_f64(number),
                None => Err(self.fault(Mismatch::new(NOT_FINITE))),
            },
            Form::Number(number) => serialize_number(number, serializer),
            Form::Text(text) => serializer.serialize_str(text),
            Form::Array(array, length) => {
                let mut items = serializer.serialize_seq(Some(length))?;
                let mut fault = None;
                let mut index = 0;
                let item = &mut |value: &dyn Print| {
                    let place = Place::Index(&self.place, index);
                    index += 1;
                    items.serialize_element(&Printed { value, place }).map_err(|error| {
                        fault = Some(error);
                        Stopped
                    })
                };
                let printed = array.items(&mut Items(item));
                match (printed, fault) {
                    (Ok(()), None) => items.end(),
                    (_, fault) => Err(fault.unwrap_or_else(|| S::Error::custom("it stopped printing"))),
                }
            }
            Form::Object(object) => {
                let mut members = serializer.serialize_map(None)?;
                let mut fault = None;
                let member = &mut |key: &str, value: &dyn Print| {
                    let place = Place::Key(&self.place, key);
                    members.serialize_entry(key, &Printed { value, place }).map_err(|error| {
                        fault = Some(error);
                        Stopped
                    })
                };
                let printed = object.members(&mut Members::new(member));
                match (printed, fault) {
                    (Ok(()), None) => members.end(),
                    (_, fault) => Err(fault.unwrap_or_else(|| S::Error::custom("it stopped printing"))),
                }
            }
            Form::Value(value) => Printed { value: &value, place: self.place }.serialize(serializer),
            Form::Invalid(error) => Err(self.fault(error)),
        }
    }
}

/// With `arbitrary_precision` a [`Number`] prints in a form that only `serde_json` knows: it is for numbers that nothing
/// else holds.
fn serialize_number<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    match (number.as_u64(), number.as_i64(), faithful(number)) {
        (Some(number), ..) => serializer.serialize_u64(number),
        (_, Some(number), _) => serializer.serialize_i64(number),
        (.., Some(number)) => serializer.serialize_f64(number),
        _ => number.serialize(serializer),
    }
}
