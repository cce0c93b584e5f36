//! Values of keys, and tables that are structs: one row declares a key, its default, its help and the field with its
//! value.

use std::collections::BTreeMap;
use std::fmt::DebugStruct;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Number, Value};

use super::key::{Form, Key};
use super::read::{Kind, Node, Reader, TextForm};
use crate::secrets::{ConfigField, quoted, without_secrets};
use crate::{FileError, duration};

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

/// A struct with a field for each key of a table.
pub(crate) trait Table: Sized {
    /// The keys, in the order of the reference.
    const KEYS: &'static [Key];

    /// Creates a table that sets no key.
    fn empty() -> Self;

    /// Reads the value of a key, if a field has it.
    fn set(&mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError>;

    /// Returns the values of the fields by key, without defaults.
    fn members(&self) -> Map<String, Value>;

    /// Copies the fields of `other` that restrict calls, if they have their default here.
    fn inherit_demands(&mut self, other: &Self);

    /// Replaces the texts of the fields; `field` returns the place of a key.
    fn change_each_text(&mut self, field: fn(&'static Key) -> ConfigField<'static>, change: &mut Change<'_>);

    /// Formats the fields.
    fn show(&self, shown: &mut DebugStruct<'_, '_>);

    /// Fills in the fields from a table of the file; an unknown key is an error.
    fn filled(mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        for member in reader.known(node, what, Self::KEYS)? {
            self.set(reader, member, &format!("`{}` in {what}", member.key))?;
        }
        Ok(self)
    }
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
            use serde_json::{Map, Value};
            use $crate::FileError;
            use $crate::config::key::{Form, Key, key};
            use $crate::config::read::{Node, Reader};
            use $crate::config::table::{Change, ConfigValue, Table};
            use $crate::secrets::ConfigField;

            impl Table for $name {
                const KEYS: &'static [Key] = &[$(
                    key($key, Form::TEXT, $default, $help)
                        $(.form(<$type as ConfigValue>::FORM))?
                        $(.$method($($argument)?))*
                ),*];

                fn empty() -> Self {
                    Self { $($($more: $value,)*)? $($($field: <$type>::default(),)?)* }
                }

                #[allow(unused_variables)]
                fn set(&mut self, reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError> {
                    match node.key.as_str() {
                        $($($key => self.$field = ConfigValue::read(reader, node, what)?,)?)*
                        _ => {}
                    }
                    Ok(())
                }

                fn members(&self) -> Map<String, Value> {
                    let mut members = Map::new();
                    $($(
                        if self.$field != <$type>::default() {
                            members.insert($key.to_owned(), self.$field.to_json());
                        }
                    )?)*
                    members
                }

                fn inherit_demands(&mut self, other: &Self) {
                    for key in Self::KEYS.iter().filter(|key| key.is_demand) {
                        match key.name {
                            $($($key if self.$field == <$type>::default() => self.$field.clone_from(&other.$field),)?)*
                            _ => {}
                        }
                    }
                }

                fn change_each_text(&mut self, field: fn(&'static Key) -> ConfigField<'static>, change: &mut Change<'_>) {
                    for key in Self::KEYS {
                        match key.name {
                            $($($key => self.$field.change_texts(field(key), change),)?)*
                            _ => {}
                        }
                    }
                }

                fn show(&self, shown: &mut std::fmt::DebugStruct<'_, '_>) {
                    $($(shown.field(stringify!($field), &self.$field);)?)*
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
        let element = |node| T::read(reader, node, &format!("{each} element of {what}"));
        reader.list(node, what, expected)?.iter().map(element).collect()
    }

    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.iter_mut().for_each(|value| value.change_texts(field, change));
    }
}

impl<T: ConfigValue> ConfigValue for BTreeMap<String, T> {
    const FORM: Form = Form::Map(&T::FORM);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        match (&node.kind, T::FORM) {
            (Kind::Table(_), _) | (_, Form::Table(_)) => by_name(reader, node, what),
            _ => Err(reader.wrong_type(node, what, "a table of strings")),
        }
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
    }
}

fn by_name<T: ConfigValue, M: FromIterator<(String, T)>>(
    reader: &Reader<'_>,
    node: &Node,
    what: &str,
) -> Result<M, FileError> {
    let member = |member: &Node| {
        let value = T::read(reader, member, &format!("`{}` in {what}", quoted(&member.key)))?;
        Ok((member.key.clone(), value))
    };
    reader.table(node, what)?.iter().map(member).collect()
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
        by_name(reader, node, what)
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
