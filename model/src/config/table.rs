//! Tables that are structs: one row declares a key, its default, its help and the field with its value.

use std::collections::BTreeMap;
use std::fmt::DebugStruct;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::key::{Form, Key};
use super::node::{Kind, Node};
use super::read::Reader;
use crate::secrets::ConfigField;
use crate::server::{Prefix, Rate, SecretStore};
use crate::words::Words;
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

    /// Returns `true` for the default, which is not printed.
    fn is_default(&self) -> bool {
        false
    }

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
    fn set(&mut self, key: &str, reader: &Reader<'_>, node: &Node, what: &str) -> Result<(), FileError>;

    /// Returns the values of the fields by key, without defaults.
    fn members(&self) -> Map<String, Value>;

    /// Copies the fields of `other` that restrict calls, if they have their default here.
    fn inherit_demands(&mut self, other: &Self);

    /// Replaces the texts of the fields; `field` returns the place of a key.
    fn change_each_text(&mut self, field: fn(&'static Key) -> ConfigField<'static>, change: &mut Change<'_>);

    /// Formats the fields.
    fn show(&self, shown: &mut DebugStruct<'_, '_>);

    /// Reads every entry of a table; an unknown key is an error. `joint` is the word between a key and `what`.
    fn fill(&mut self, reader: &Reader<'_>, node: &Node, what: &str, joint: &str) -> Result<(), FileError> {
        for entry in reader.table(node, what)? {
            reader.check_key(entry, what, Self::KEYS)?;
            self.set(&entry.key, reader, &entry.value, &format!("`{}` {joint} {what}", entry.key))?;
        }
        Ok(())
    }
}

/// Declares a struct and its table. A row is `FIELD: TYPE => KEY, DEFAULT, HELP;`, with methods of `Key` after the
/// help; a row without a field has a key that is read otherwise. Fields after `with` have no key of their own.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $( $(#[$doc:meta])* pub $field:ident: $type:ty )?
                => $key:literal, $default:literal, $help:literal $(.$method:ident($($argument:expr)?))*;
            )*
        }
        $(with { $( $(#[$more_doc:meta])* $visibility:vis $more:ident: $more_type:ty = $value:expr; )* })?
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($( $(#[$more_doc])* $visibility $more: $more_type, )*)?
            $($( $(#[$doc])* pub $field: $type, )?)*
        }

        impl $crate::config::table::Table for $name {
            const KEYS: &'static [$crate::config::key::Key] = &[$(
                $crate::config::key::key($key, $crate::config::key::Form::Value, $default, $help)
                    $(.form(<$type as $crate::config::table::ConfigValue>::FORM))?
                    $(.$method($($argument)?))*
            ),*];

            fn empty() -> Self {
                Self { $($($more: $value,)*)? $($($field: <$type>::default(),)?)* }
            }

            #[allow(unused_variables)]
            fn set(
                &mut self,
                key: &str,
                reader: &$crate::config::read::Reader<'_>,
                node: &$crate::config::node::Node,
                what: &str,
            ) -> Result<(), $crate::FileError> {
                use $crate::config::table::ConfigValue;
                match key {
                    $($($key => self.$field = <$type as ConfigValue>::read(reader, node, what)?,)?)*
                    _ => {}
                }
                Ok(())
            }

            fn members(&self) -> serde_json::Map<String, serde_json::Value> {
                use $crate::config::table::ConfigValue;
                let mut members = serde_json::Map::new();
                $($(
                    if !self.$field.is_default() {
                        members.insert($key.to_owned(), self.$field.to_json());
                    }
                )?)*
                members
            }

            fn inherit_demands(&mut self, other: &Self) {
                use $crate::config::table::ConfigValue;
                let is_demand = |name: &str| Self::KEYS.iter().any(|key| key.name == name && key.is_demand);
                $($(
                    if is_demand($key) && self.$field.is_default() {
                        self.$field.clone_from(&other.$field);
                    }
                )?)*
            }

            fn change_each_text(
                &mut self,
                field: fn(&'static $crate::config::key::Key) -> $crate::secrets::ConfigField<'static>,
                change: &mut $crate::config::table::Change<'_>,
            ) {
                use $crate::config::table::ConfigValue;
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
}
pub(crate) use table;

impl<W: Words> ConfigValue for W {
    const FORM: Form = Form::Words(W::words);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.word(node, what)
    }

    fn to_json(&self) -> Value {
        self.word().into()
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl<T: ConfigValue> ConfigValue for Option<T> {
    const FORM: Form = T::FORM;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        T::read(reader, node, what).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }

    fn is_default(&self) -> bool {
        self.is_none()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.iter_mut().for_each(|value| value.change_texts(field, change));
    }
}

impl ConfigValue for bool {
    const FORM: Form = Form::Boolean;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.boolean(node, what)
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }

    fn is_default(&self) -> bool {
        !self
    }
}

impl ConfigValue for String {
    const FORM: Form = Form::Text;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.text(node, what)
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        *self = change(field, self);
    }
}

impl ConfigValue for PathBuf {
    const FORM: Form = Form::Text;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.text(node, what).map(Self::from)
    }

    fn to_json(&self) -> Value {
        self.to_string_lossy().into()
    }
}

impl ConfigValue for Vec<String> {
    const FORM: Form = Form::Texts;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.texts(node, what)
    }

    fn to_json(&self) -> Value {
        self.clone().into()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.iter_mut().for_each(|text| text.change_texts(field, change));
    }
}

/// The variables of a child process.
impl ConfigValue for BTreeMap<String, String> {
    const FORM: Form = Form::TextMap;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        reader.text_map(node, what)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }

    fn change_texts(&mut self, _: ConfigField<'static>, change: &mut Change<'_>) {
        change_entries(self, "env", |name| ConfigField::Env(name), change);
    }
}

/// Replaces the names and the values of variables or headers.
pub(crate) fn change_entries(
    entries: &mut BTreeMap<String, String>,
    key: &'static str,
    field: fn(&str) -> ConfigField<'_>,
    change: &mut Change<'_>,
) {
    for (name, value) in std::mem::take(entries) {
        entries.insert(change(ConfigField::Name(key), &name), change(field(&name), &value));
    }
}

impl ConfigValue for u16 {
    const FORM: Form = Form::Port;

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

impl ConfigValue for Duration {
    const FORM: Form = Form::Duration;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let help = "write a whole number above zero with a unit: \"500ms\", \"30s\", \"2m\" or \"1h\"";
        let Kind::Text(text) = &node.kind else {
            return Err(reader.wrong_type(node, what, "a duration such as \"30s\"").with_help(help));
        };
        let error = || reader.error(node.at, format!("{what} is not a duration")).with_help(help);
        duration::parse_duration(text).ok_or_else(error)
    }

    fn to_json(&self) -> Value {
        duration::to_text(*self).into()
    }
}

impl ConfigValue for Rate {
    const FORM: Form = Form::Rate;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let help = "write a whole number above zero with a time: \"10/s\", \"100/m\" or \"1000/h\"";
        let Kind::Text(text) = &node.kind else {
            return Err(reader.wrong_type(node, what, "a rate such as \"10/s\"").with_help(help));
        };
        Self::parse(text).ok_or_else(|| reader.error(node.at, format!("{what} is not a rate")).with_help(help))
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }
}

impl ConfigValue for Prefix {
    const FORM: Form = Form::Prefix;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let help = "use a word as the prefix, or `prefix = false` for none";
        match &node.kind {
            Kind::Bool(false) => Ok(Self::None),
            Kind::Text(text) => Self::named(text)
                .ok_or_else(|| reader.error(node.at, format!("{what} is not a valid prefix")).with_help(help)),
            _ => Err(reader.wrong_type(node, what, "a string or `false`").with_help(help)),
        }
    }

    fn to_json(&self) -> Value {
        if let Self::Named(prefix) = self { prefix.as_str().into() } else { false.into() }
    }

    fn is_default(&self) -> bool {
        *self == Self::ServerName
    }
}

impl ConfigValue for Vec<SecretStore> {
    const FORM: Form = Form::Stores;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let nodes = reader.list(node, what, "an array of strings")?;
        if nodes.is_empty() {
            let expected = SecretStore::WORDS.map(|word| format!("`\"{word}\"`")).join(", ");
            let error = reader.error(node.at, format!("{what} is empty"));
            return Err(error.with_help(format!("expected some of {expected}")));
        }
        let known = SecretStore::WORDS.map(|word| (word, ()));
        let store = |node: &Node| {
            let what = format!("every element of {what}");
            let word = reader.text(node, &what)?;
            match SecretStore::parse(&word) {
                Some(store) => Ok(store),
                None => reader.one_of(node, &what, &word, &known).map(|()| SecretStore::Env),
            }
        };
        nodes.iter().map(store).collect()
    }

    fn to_json(&self) -> Value {
        self.iter().map(ToString::to_string).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}
