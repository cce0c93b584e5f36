//! Prints values into a serializer or a [`Value`]. Types describe themselves step by step and do not depend on the
//! serializer, so that there is one copy of their code.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Number, Value};

use super::Mismatch;
use super::mismatch::add_step;
use super::number::{NOT_FINITE, faithful, printed};

/// A type with a JSON form.
pub trait Print {
    /// Returns the JSON form of the value.
    fn form(&self) -> Form<'_>;

    /// Prints the items of an array or the members of an object.
    ///
    /// # Errors
    /// Fails if one of them cannot be printed.
    fn parts(&self, _to: &mut Parts<'_>) -> Printing {
        Ok(())
    }
}

/// The JSON form of a value.
pub enum Form<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(&'a str),
    /// An array of this many items: [`Print::parts`] of this value prints them.
    Array(&'a dyn Print, usize),
    /// An object: [`Print::parts`] of this value prints its members.
    Object(&'a dyn Print),
    /// A JSON value that was created to be printed.
    Value(Box<Value>),
    /// A value without a JSON form, and the reason.
    Invalid(Mismatch),
}

impl Form<'_> {
    /// Creates the form of a double; an integral one prints without a fraction.
    pub(super) fn double(double: f64) -> Self {
        printed(double).map_or_else(|| Self::Invalid(Mismatch::new(NOT_FINITE)), Self::Number)
    }

    /// Creates the form of a JSON value that was created to be printed.
    #[must_use]
    pub fn value(value: Value) -> Self {
        Self::Value(Box::new(value))
    }

    /// Creates the form of a value in JSON text.
    #[must_use]
    pub fn literal(json: &str) -> Self {
        write_literal(json).map_or_else(Self::Invalid, Self::value)
    }
}

/// Printing failed; the printer has the reason.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

/// The result of printing the parts of a value.
pub type Printing = Result<(), Stopped>;

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

/// Takes the items of an array, whose keys are empty, or the members of an object.
pub struct Parts<'p>(&'p mut dyn FnMut(&str, Form<'_>) -> Printing);

impl Parts<'_> {
    /// Prints the next item.
    ///
    /// # Errors
    /// Fails if it cannot be printed.
    #[inline]
    pub fn item(&mut self, item: Form<'_>) -> Printing {
        (self.0)("", item)
    }

    /// Prints a member.
    ///
    /// # Errors
    /// Fails if it cannot be printed.
    #[inline]
    pub fn member(&mut self, key: &str, value: Form<'_>) -> Printing {
        (self.0)(key, value)
    }

    /// Prints the fields that have a value.
    ///
    /// # Errors
    /// Fails if one cannot be printed.
    pub fn fields(&mut self, fields: &[Member<'_>]) -> Printing {
        let mut printed = fields.iter().filter_map(|field| Some((field.key, field.value?)));
        printed.try_for_each(|(key, value)| (self.0)(key, value.form()))
    }

    /// Prints the members without a field, or with an empty one.
    ///
    /// # Errors
    /// Fails if one cannot be printed.
    pub fn extra<T: Print>(&mut self, fields: &[Member<'_>], extra: &BTreeMap<String, T>) -> Printing {
        let is_printed = |key: &str| fields.iter().any(|field| field.value.is_some() && field.key == key);
        let mut left = extra.iter().filter(|(key, _)| !is_printed(key));
        left.try_for_each(|(key, value)| (self.0)(key, value.form()))
    }

    /// Prints the tag of a union's branch, then the branch.
    ///
    /// # Errors
    /// Fails if the branch cannot be printed.
    pub fn tagged(&mut self, key: &str, tag: Form<'_>, branch: &dyn Print) -> Printing {
        (self.0)(key, tag)?;
        let Form::Object(object) = branch.form() else { return Ok(()) };
        let print = &mut *self.0;
        object.parts(&mut Parts(&mut |known, value| if known == key { Ok(()) } else { print(known, value) }))
    }
}

/// Parses JSON text, which is always valid in generated code.
pub(super) fn write_literal(json: &str) -> Result<Value, Mismatch> {
    serde_json::from_str(json).map_err(|error| Mismatch::new(error.to_string()))
}

/// Prints a typed value as JSON.
///
/// # Errors
/// Fails with a [`Mismatch`] at a number that JSON cannot hold (NaN, infinity).
pub fn to_value(value: &dyn Print) -> Result<Value, Mismatch> {
    let form = value.form();
    if let Form::Value(value) = form {
        return Ok(*value);
    }
    let printer = Printer { is_json: true, ..Printer::default() };
    let printed = serde_json::to_value(Printed { form: &form, printer: &printer });
    printed.map_err(|error| printer.fault.take().unwrap_or_else(|| Mismatch::new(error.to_string())))
}

/// Implements `Serialize::serialize` for a [`Wire`](super::Wire) type.
///
/// # Errors
/// Fails like the serializer, or for a number without a JSON form.
pub fn serialize<S: Serializer>(value: &dyn Print, serializer: S) -> Result<S::Ok, S::Error> {
    let printer = Printer::default();
    let printed = Printed { form: &value.form(), printer: &printer }.serialize(serializer);
    printed.map_err(|error| printer.fault.take().map_or(error, S::Error::custom))
}

#[derive(Default)]
struct Printer {
    /// The mismatch behind an error. It passes beside that of the serializer, which cannot be extended.
    fault: RefCell<Option<Mismatch>>,
    /// Set for the serializer of `serde_json`, which takes a [`Number`] as it is.
    is_json: bool,
}

impl Printer {
    fn raise<E: Error>(&self, mismatch: Mismatch) -> E {
        self.fault.replace(Some(mismatch));
        E::custom("")
    }
}

/// A value on its way into a serializer.
struct Printed<'a> {
    form: &'a Form<'a>,
    printer: &'a Printer,
}

impl Serialize for Printed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let printer = self.printer;
        match self.form {
            Form::Text(text) => serializer.serialize_str(text),
            Form::Null => serializer.serialize_unit(),
            Form::Bool(value) => serializer.serialize_bool(*value),
            Form::Number(number) if printer.is_json => number.serialize(serializer),
            // With `arbitrary_precision`, a `Number` prints in a form that only `serde_json` reads, so it is the last resort.
            Form::Number(number) => match (number.as_u64(), number.as_i64(), faithful(number)) {
                (Some(number), ..) => serializer.serialize_u64(number),
                (_, Some(number), _) => serializer.serialize_i64(number),
                (_, _, Some(number)) => serializer.serialize_f64(number),
                _ => number.serialize(serializer),
            },
            Form::Array(array, length) => {
                let (mut items, mut index) = (serializer.serialize_seq(Some(*length))?, 0);
                print_parts(*array, |_, form| {
                    let printed = items.serialize_element(&Printed { form, printer });
                    printed.inspect_err(|_| add_step(&printer.fault, &index))?;
                    index += 1;
                    Ok(())
                })?;
                items.end()
            }
            Form::Object(object) => {
                let mut members = serializer.serialize_map(None)?;
                print_parts(*object, |key, form| {
                    let printed = match form {
                        // Most are, and need no look at what else they could be.
                        Form::Text(text) => members.serialize_entry(key, text),
                        form => members.serialize_entry(key, &Printed { form, printer }),
                    };
                    printed.inspect_err(|_| add_step(&printer.fault, &key))
                })?;
                members.end()
            }
            Form::Value(value) => Printed { form: &value.form(), printer }.serialize(serializer),
            Form::Invalid(mismatch) => Err(printer.raise(mismatch.clone())),
        }
    }
}

/// Prints the parts of a value, up to the first error.
fn print_parts<E: Error>(value: &dyn Print, mut print: impl FnMut(&str, &Form<'_>) -> Result<(), E>) -> Result<(), E> {
    let mut failed = None;
    let printed = value.parts(&mut Parts(&mut |key, form| {
        print(key, &form).map_err(|error| {
            failed = Some(error);
            Stopped
        })
    }));
    printed.map_err(|Stopped| failed.unwrap_or_else(|| E::custom("it stopped printing")))
}
