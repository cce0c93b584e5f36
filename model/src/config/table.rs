//! Values of keys, and tables that are structs: one row declares a key, its default, its help and the field with its
//! value.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Number, Value};

use super::key::{Form, Key};
use super::read::{Kind, Node, Reader, TextForm};
use crate::json_text::object;
use crate::secrets::{ConfigField, quoted, without_secrets};
use crate::{ByName, FileError, duration};

/// A function that replaces the text of a field.
pub(crate) type Change<'c> = dyn FnMut(ConfigField<'_>, &str) -> String + 'c;

/// The value of a key.
pub(crate) trait ConfigValue: Sized {
    /// Its form in files.
    const FORM: Form;

    /// Reads it from a file; `what` names it in errors.
    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError>;

    /// Returns it in the form that [`read`](Self::read) reads.
    fn to_json(&self) -> Value;

    /// Replaces the texts in it that may contain placeholders or secrets.
    fn change_texts(&mut self, _: ConfigField<'static>, _: &mut Change<'_>) {}
}

/// A field of a table, whatever the type of its value.
pub(crate) trait Field: fmt::Debug {
    /// Reads its value from a file.
    fn fill(&mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError>;

    /// Returns its value as JSON, or `None` for the default.
    fn member(&self) -> Option<Value>;

    /// Replaces the texts in its value that may contain placeholders or secrets.
    fn change(&mut self, field: ConfigField<'static>, change: &mut Change<'_>);
}

impl<T: ConfigValue + Default + PartialEq + fmt::Debug> Field for T {
    fn fill(&mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError> {
        *self = T::read(reader, node, what)?;
        Ok(())
    }

    fn member(&self) -> Option<Value> {
        if *self == T::default() { None } else { Some(self.to_json()) }
    }

    fn change(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.change_texts(field, change);
    }
}

/// The fields of a table by key, in its order.
pub(crate) type Fields<'t> = Vec<(&'static str, &'t mut dyn Field)>;

/// A struct with a field for each key of a table.
pub(crate) trait Table: Clone {
    /// The keys, in the order of the reference.
    const KEYS: &'static [Key];

    /// Creates a table that sets no key.
    fn empty() -> Self;

    fn fields_mut(&mut self) -> Fields<'_>;

    /// Returns the values of the fields by key, without defaults.
    fn members(&self) -> Map<String, Value> {
        members(self.clone().fields_mut())
    }

    /// Fills in the fields from a table of the file; an unknown key is an error.
    fn filled(mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        fill(self.fields_mut(), Self::KEYS, reader, node, what)?;
        Ok(self)
    }
}

fn members(fields: Fields<'_>) -> Map<String, Value> {
    object(fields.into_iter().map(|(key, field)| (key, field.member())).collect())
}

fn fill(mut fields: Fields<'_>, keys: &[Key], reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError> {
    for member in reader.known(node, what, keys)? {
        if let Some((_, field)) = fields.iter_mut().find(|(key, _)| *key == member.key) {
            field.fill(reader, member, &format!("`{}` in {what}", member.key))?;
        }
    }
    Ok(())
}

/// Declares a struct and its table. A row is `FIELD: TYPE => KEY, DEFAULT, HELP;`, with methods of `Key` after the
/// key; a row without a field has a key that is read otherwise. Fields after `with` have no key of their own.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $( $(#[$doc:meta])* pub $field:ident: $type:ty )?
                => $key:literal $(.$method:ident($($argument:expr)?))*, $default:literal, $help:literal;
            )*
        }
        $(with { $( $(#[$more_doc:meta])* $visibility:vis $more:ident: $more_type:ty = $value:expr; )* })?
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($( $(#[$more_doc])* $visibility $more: $more_type, )*)?
            $($( $(#[$doc])* pub $field: $type, )?)*
        }

        const _: () = {
            use $crate::config::key::{Form, Key, key};
            use $crate::config::table::{ConfigValue, Field, Fields, Table};

            impl Table for $name {
                const KEYS: &'static [Key] = &[$(
                    key($key, Form::TEXT, $default, $help)
                        $(.form(<$type as ConfigValue>::FORM))?
                        $(.$method($($argument)?))*
                ),*];

                fn empty() -> Self {
                    Self { $($($more: $value,)*)? $($($field: <$type>::default(),)?)* }
                }

                fn fields_mut(&mut self) -> Fields<'_> {
                    vec![$($(($key, &mut self.$field as &mut dyn Field),)?)*]
                }
            }
        };
    };
}
pub(crate) use table;

impl<T: ConfigValue> ConfigValue for Option<T> {
    const FORM: Form = T::FORM;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        T::read(reader, node, what).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.iter_mut().for_each(|value| value.change_texts(field, change));
    }
}

impl<T: ConfigValue> ConfigValue for Vec<T> {
    const FORM: Form = Form::List(&T::FORM);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let (expected, each) = match T::FORM {
            Form::Table(_) => ("an array of tables", "an"),
            _ => ("an array of strings", "every"),
        };
        let mut elements = Self::new();
        for node in reader.list(node, what, expected)? {
            elements.push(T::read(reader, node, &format!("{each} element of {what}"))?);
        }
        Ok(elements)
    }

    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.iter_mut().for_each(|value| value.change_texts(field, change));
    }
}

impl<T: ConfigValue> ConfigValue for ByName<T> {
    const FORM: Form = Form::Map(&T::FORM);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut values = Self::default();
        for member in reader.table(node, what)? {
            values.insert(member.key.clone(), T::read(reader, member, &member_of(member, what))?);
        }
        Ok(values)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(name, value)| (name.as_str(), value.to_json())).collect()
    }
}

impl ConfigValue for BTreeMap<String, String> {
    const FORM: Form = Form::Map(&Form::TEXT);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        if !matches!(node.kind, Kind::Table(_)) {
            return Err(reader.wrong_type(node, what, "a table of strings"));
        }
        let mut texts = Self::new();
        for member in reader.table(node, what)? {
            texts.insert(member.key.clone(), reader.text(member, &member_of(member, what))?.to_owned());
        }
        Ok(texts)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
    }
}

/// Returns the name of a member for errors.
fn member_of(member: &Node, what: &str) -> String {
    format!("`{}` in {what}", quoted(&member.key))
}

impl ConfigValue for bool {
    const FORM: Form = Form::BOOLEAN;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        if let Kind::Bool(value) = node.kind {
            Ok(value)
        } else {
            Err(reader.wrong_type(node, what, "`true` or `false`"))
        }
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl ConfigValue for String {
    const FORM: Form = Form::TEXT;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.text(node, what).map(str::to_owned)
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        *self = change(field, self);
    }
}

impl ConfigValue for PathBuf {
    const FORM: Form = Form::TEXT;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.text(node, what).map(Self::from)
    }

    fn to_json(&self) -> Value {
        self.to_string_lossy().into()
    }
}

/// The port of a service.
impl ConfigValue for u16 {
    const FORM: Form = Form::Plain(r#"{"type":"integer","minimum":1,"maximum":65535}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let number = if let Kind::Number(Some(number)) = &node.kind { number.as_u64() } else { None };
        number.and_then(|port| Self::try_from(port).ok()).filter(|port| *port > 0).ok_or_else(|| {
            reader.error(node.at, format!("{what} is not a port")).with_help("write a number from 1 to 65535")
        })
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl ConfigValue for Number {
    const FORM: Form = Form::Plain(r#"{"type":"number"}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        match &node.kind {
            Kind::Number(Some(number)) => Ok(number.clone()),
            _ => Err(reader.wrong_type(node, what, "a number")),
        }
    }

    fn to_json(&self) -> Value {
        self.clone().into()
    }
}

impl ConfigValue for Duration {
    const FORM: Form = Form::Plain(r#"{"type":"string","pattern":"^[0-9]+(ms|s|m|h)$"}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let help = "write a whole number above zero with a unit: \"500ms\", \"30s\", \"2m\" or \"1h\"";
        let form = TextForm { name: "a duration", example: "30s", help };
        reader.parsed(node, what, form, duration::parse_duration)
    }

    fn to_json(&self) -> Value {
        duration::to_text(*self).into()
    }
}

/// The value of an argument, which generated code contains.
impl ConfigValue for Value {
    const FORM: Form = Form::Plain("{}");

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        argument(reader, node, what, &node.key)
    }

    fn to_json(&self) -> Value {
        self.clone()
    }
}

/// The values of arguments by name.
impl ConfigValue for Map<String, Value> {
    const FORM: Form = Form::Plain(r#"{"type":"object"}"#);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let value = |member: &Node| Ok((member.key.clone(), Value::read(reader, member, &member_of(member, what))?));
        reader.table(node, what)?.iter().map(value).collect()
    }

    fn to_json(&self) -> Value {
        self.clone().into()
    }
}

/// Reads the value of an argument. `key` may say that it is a secret.
pub(crate) fn argument(reader: &Reader<'_>, node: &Node, what: &str, key: &str) -> Result<Value, FileError> {
    let (problem, help) = match &node.kind {
        Kind::Null => return Ok(Value::Null),
        Kind::Bool(value) => return Ok((*value).into()),
        Kind::Number(Some(number)) => return Ok(number.clone().into()),
        Kind::List(items) => return items.iter().map(|item| argument(reader, item, what, key)).collect(),
        Kind::Table(members) => {
            let member = |member: &Node| Ok((member.key.clone(), argument(reader, member, what, &member.key)?));
            return members.iter().map(member).collect();
        }
        Kind::Number(None) => return Err(reader.error(node.at, format!("{what} is not a number that JSON has"))),
        Kind::Date => ("is a date, which JSON does not have", "write it as a string, as the tool expects it"),
        Kind::Text(text) if text.contains("${") => (
            "has a placeholder, which is not replaced in arguments",
            "write the value, or let callers pass the argument",
        ),
        Kind::Text(text) if without_secrets(key, text, "") != *text => {
            ("looks like a secret, which generated code would contain", "let callers pass the argument")
        }
        Kind::Text(text) => return Ok(text.as_str().into()),
    };
    Err(reader.error(node.at, format!("{what} {problem}")).with_help(help))
}
