//! Prints values into a serializer or a [`Value`]. Types describe themselves step by step and do not depend on the
//! serializer, so that there is one copy of their code.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Number, Value};

use super::Mismatch;
use super::scalar::{NOT_FINITE, faithful, whole_of};

/// A type with a JSON form.
pub trait Print {
    /// Returns the JSON form of the value.
    fn form(&self) -> Form<'_>;

    /// Prints the items of an array.
    ///
    /// # Errors
    /// Fails if an item cannot be printed.
    fn items(&self, _to: &mut Items<'_>) -> Result<(), Stopped> {
        Ok(())
    }

    /// Prints the members of an object.
    ///
    /// # Errors
    /// Fails if a member cannot be printed.
    fn members(&self, _to: &mut Members<'_>) -> Result<(), Stopped> {
        Ok(())
    }
}

/// The JSON form of a value.
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
    /// An array of this many items: [`Print::items`] of this value prints them.
    Array(&'a dyn Print, usize),
    /// An object: [`Print::members`] of this value prints its members. The count is set if it is known.
    Object(&'a dyn Print, Option<u32>),
    /// A value that was made to be printed.
    Value(Box<Value>),
    /// A value without a JSON form, and the reason.
    Invalid(Mismatch),
}

impl<'a> Form<'a> {
    /// Creates an object of this many members.
    pub(super) fn object(members: &'a dyn Print, length: usize) -> Self {
        Self::Object(members, u32::try_from(length).ok())
    }

    /// Creates a value that was made to be printed.
    #[must_use]
    pub fn value(value: Value) -> Self {
        Self::Value(Box::new(value))
    }

    /// Creates a value given as JSON text.
    #[must_use]
    pub fn literal(json: &str) -> Self {
        write_literal(json).map_or_else(Self::Invalid, Self::value)
    }
}

/// Printing failed; the printer has the reason.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

/// The value of a field, if it has one, and its key.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    key: &'static str,
    value: Option<&'a dyn Print>,
}

impl<'a> Member<'a> {
    /// Creates a field that always has a value.
    #[inline]
    pub fn required<T: Print>(key: &'static str, value: &'a T) -> Self {
        Self { key, value: Some(value) }
    }

    /// Creates a field that may have no value.
    #[inline]
    pub fn optional<T: Print>(key: &'static str, value: &'a Option<T>) -> Self {
        #[expect(clippy::manual_map, reason = "one function less for each type")]
        let value = match value {
            Some(value) => Some(value as &dyn Print),
            None => None,
        };
        Self { key, value }
    }

    /// Creates a field that may be missing or `null`.
    #[inline]
    pub fn present<T: Print>(key: &'static str, value: &'a Option<T>) -> Self {
        Self::optional(key, value)
    }
}

/// Takes the items of an array.
pub struct Items<'p>(&'p mut dyn FnMut(Form<'_>) -> Result<(), Stopped>);

/// Takes the members of an object.
pub struct Members<'p>(&'p mut dyn FnMut(&str, Form<'_>) -> Result<(), Stopped>);

impl Items<'_> {
    /// Prints the next item.
    ///
    /// # Errors
    /// Fails if it cannot be printed.
    pub fn item(&mut self, item: Form<'_>) -> Result<(), Stopped> {
        (self.0)(item)
    }
}

impl Members<'_> {
    /// Prints a member.
    ///
    /// # Errors
    /// Fails if it cannot be printed.
    #[inline]
    pub fn member(&mut self, key: &str, value: Form<'_>) -> Result<(), Stopped> {
        (self.0)(key, value)
    }

    /// Prints the fields that have a value.
    ///
    /// # Errors
    /// Fails if one cannot be printed.
    pub fn fields(&mut self, fields: &[Member<'_>]) -> Result<(), Stopped> {
        let mut printed = fields.iter().filter_map(|field| Some((field.key, field.value?)));
        printed.try_for_each(|(key, value)| (self.0)(key, value.form()))
    }

    /// Prints the fields that have a value, then the members without a field or with an empty one.
    ///
    /// # Errors
    /// Fails if one cannot be printed.
    pub fn fields_and<T: Print>(&mut self, fields: &[Member<'_>], extra: &BTreeMap<String, T>) -> Result<(), Stopped> {
        self.fields(fields)?;
        let is_printed = |key: &str| fields.iter().any(|field| field.value.is_some() && field.key == key);
        let mut left = extra.iter().filter(|(key, _)| !is_printed(key));
        left.try_for_each(|(key, value)| (self.0)(key, value.form()))
    }

    /// Prints the tag of a union's branch, then the branch.
    ///
    /// # Errors
    /// Fails if the branch cannot be printed.
    pub fn tagged(&mut self, key: &str, tag: Form<'_>, branch: &dyn Print) -> Result<(), Stopped> {
        (self.0)(key, tag)?;
        let Form::Object(object, _) = branch.form() else { return Ok(()) };
        let print = &mut *self.0;
        object.members(&mut Members(&mut |known, value| if known == key { Ok(()) } else { print(known, value) }))
    }
}

/// Returns a JSON value given as JSON text, which in generated code it always is.
pub(super) fn write_literal(json: &str) -> Result<Value, Mismatch> {
    serde_json::from_str(json).map_err(|error| Mismatch::new(error.to_string()))
}

/// Returns a value printed as JSON.
///
/// # Errors
/// Fails with a [`Mismatch`] at a number that JSON cannot hold (NaN, infinity).
pub(super) fn to_value(form: Form<'_>) -> Result<Value, Mismatch> {
    if let Form::Value(value) = form {
        return Ok(*value);
    }
    let fault = Fault { is_json: true, ..Fault::default() };
    let printed = serde_json::to_value(Printed { form: &form, fault: &fault });
    printed.map_err(|error| fault.mismatch.take().unwrap_or_else(|| Mismatch::new(error.to_string())))
}

/// Returns the outcome of printing, with the error of the printer that stopped.
#[inline]
fn finished<E: Error>(printed: Result<(), Stopped>, failed: Option<E>) -> Result<(), E> {
    match (printed, failed) {
        (Ok(()), None) => Ok(()),
        (_, failed) => Err(failed.unwrap_or_else(|| E::custom("it stopped printing"))),
    }
}

/// Returns the integer to print for an integral value, because servers that declare `number` for a count expect no
/// fraction.
fn printed_whole(number: f64) -> Option<i128> {
    whole_of(number).filter(|_| !(number == 0.0 && number.is_sign_negative()))
}

/// An error with the places around it: the errors of serializers cannot be added to.
#[derive(Default)]
pub(super) struct Fault {
    mismatch: RefCell<Option<Mismatch>>,
    /// Set for the serializer of `serde_json`, which takes a [`Number`] as it is.
    is_json: bool,
}

impl Fault {
    fn raise<E: Error>(&self, mismatch: Mismatch) -> E {
        self.mismatch.replace(Some(mismatch));
        E::custom("")
    }

    #[cold]
    fn within(&self, within: impl FnOnce(Mismatch) -> Mismatch) {
        let mismatch = self.mismatch.take();
        self.mismatch.replace(mismatch.map(within));
    }
}

/// A value on its way into a serializer.
struct Printed<'a> {
    form: &'a Form<'a>,
    fault: &'a Fault,
}

/// Prints a value.
pub(super) fn serialize<S: Serializer>(form: &Form<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    let fault = Fault::default();
    let printed = Printed { form, fault: &fault }.serialize(serializer);
    printed.map_err(|error| fault.mismatch.take().map_or(error, S::Error::custom))
}

impl Serialize for Printed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fault = self.fault;
        match self.form {
            Form::Text(text) => serializer.serialize_str(text),
            Form::Null => serializer.serialize_unit(),
            Form::Bool(value) => serializer.serialize_bool(*value),
            Form::Signed(number) => serializer.serialize_i64(*number),
            Form::Unsigned(number) => serializer.serialize_u64(*number),
            Form::Float(number) => match printed_whole(*number) {
                Some(whole) => match (u64::try_from(whole), i64::try_from(whole)) {
                    (Ok(whole), _) => serializer.serialize_u64(whole),
                    (_, Ok(whole)) => serializer.serialize_i64(whole),
                    _ => serializer.serialize_f64(*number),
                },
                None if number.is_finite() => serializer.serialize_f64(*number),
                None => Err(fault.raise(Mismatch::new(NOT_FINITE))),
            },
            Form::Number(number) if fault.is_json => number.serialize(serializer),
            Form::Number(number) => serialize_number(number, serializer),
            Form::Array(array, length) => {
                let mut items = serializer.serialize_seq(Some(*length))?;
                let mut failed = None;
                let mut index = 0;
                let item = &mut |form: Form<'_>| {
                    let printed = items.serialize_element(&Printed { form: &form, fault });
                    printed.map_err(|error| {
                        fault.within(|mismatch| mismatch.within_item(index));
                        failed = Some(error);
                        Stopped
                    })?;
                    index += 1;
                    Ok(())
                };
                let printed = array.items(&mut Items(item));
                finished(printed, failed)?;
                items.end()
            }
            Form::Object(object, length) => {
                let mut members = serializer.serialize_map(length.map(|length| length as usize))?;
                let mut failed = None;
                let member = &mut |key: &str, form: Form<'_>| {
                    let printed = match &form {
                        // Most are, and need no look at what else they could be.
                        Form::Text(text) => members.serialize_entry(key, text),
                        form => members.serialize_entry(key, &Printed { form, fault }),
                    };
                    printed.map_err(|error| {
                        fault.within(|mismatch| mismatch.within(key.to_owned()));
                        failed = Some(error);
                        Stopped
                    })
                };
                let printed = object.members(&mut Members(member));
                finished(printed, failed)?;
                members.end()
            }
            Form::Value(value) => Printed { form: &value.form(), fault }.serialize(serializer),
            Form::Invalid(mismatch) => Err(fault.raise(mismatch.clone())),
        }
    }
}

/// Serializes a number. With `arbitrary_precision`, a [`Number`] prints in a form that only `serde_json` reads, so it
/// is the last resort.
fn serialize_number<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    match (number.as_u64(), number.as_i64(), faithful(number)) {
        (Some(number), ..) => serializer.serialize_u64(number),
        (_, Some(number), _) => serializer.serialize_i64(number),
        (.., Some(number)) => serializer.serialize_f64(number),
        _ => number.serialize(serializer),
    }
}
