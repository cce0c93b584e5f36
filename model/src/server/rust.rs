//! Options of a server's generated code: `unknown` and `[servers.x.rust]`. They are not used at run time, so the
//! configuration in bindings leaves them out.

use serde_json::Value;

use super::ConfigPlace;
use crate::FileError;
use crate::config::key::{Form, Key, key};
use crate::config::read::{Node, Reader};
use crate::config::table::{Change, ConfigValue};
use crate::secrets::{ConfigField, quoted};
use crate::words::words;

pub(crate) const RUST: &[Key] = &[
    key("derive", Form::TEXTS, "[]", "derives beside the usual ones, where they hold"),
    key("rename", Form::Map(&Form::TEXT), "{}", "names of tools and properties in Rust"),
    key("extern", Form::Map(&Form::TEXT), "{}", "types of yours, with serde's traits, in place of definitions"),
    key("shared", Form::Map(&Form::TEXT), "{}", "one type for every place with the same shape as the named one"),
    key("setters", Form::BOOLEAN, "false", "chained setters for optional arguments"),
    key("named", Form::BOOLEAN, "false", "a builder instead of `new` with positions"),
    key("checked", Form::BOOLEAN, "false", "newtypes that check patterns, lengths, numbers of items and bounds"),
];

words! {
    /// The handling of properties that a schema does not declare.
    pub enum UnknownKeys {
        /// They are not kept.
        #[default]
        Ignore = "ignore",
        /// They are kept, in a field `extra`.
        Keep = "keep",
    }
}

/// `[servers.x.rust]`: options of generated code. They never change the JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustConfig {
    /// The entries of all options, in the order of the file.
    pub rules: Vec<RustRule>,
}

/// An entry of `[servers.x.rust]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustRule {
    /// The option that it belongs to: `derive`, `rename`, `extern`, `shared`, `setters`, `named` or `checked`.
    pub option: &'static str,
    /// The key; empty for a derive or a switch.
    pub key: String,
    /// The value; `true` or `false` for a switch.
    pub value: String,
    /// The position of the entry.
    pub place: ConfigPlace,
}

impl RustRule {
    /// Creates an entry that is in no file. `option` is one of those that [the field](Self::option) lists; any other has
    /// no effect.
    pub fn new(option: &'static str, key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { option, key: key.into(), value: value.into(), place: ConfigPlace::default() }
    }
}

/// The table is this project's in every kind of file, so an unknown key in it is always an error.
impl ConfigValue for RustConfig {
    const FORM: Form = Form::Table(RUST);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut rules = Vec::new();
        for node in reader.known(node, what, RUST)? {
            let Some(Key { name: option, form, .. }) = RUST.iter().find(|key| key.name == node.key) else { continue };
            let what = format!("`{option}` in {what}");
            let mut add = |key: &str, value: &str, at| {
                rules.push(RustRule { place: reader.place(at), ..RustRule::new(option, key, value) });
            };
            match form {
                Form::List(_) => {
                    for (text, node) in Vec::<String>::read(reader, node, &what)?.iter().zip(node.elements()) {
                        add("", text, node.at);
                    }
                }
                Form::Map(_) => {
                    for node in reader.table(node, &what)? {
                        let text = reader.text(node, &format!("`{}` in {what}", quoted(&node.key)))?;
                        add(&node.key, text, node.key_at);
                    }
                }
                _ => add("", &bool::read(reader, node, &what)?.to_string(), node.key_at),
            }
        }
        Ok(Self { rules })
    }

    /// Bindings embed no options of generated code.
    fn to_json(&self) -> Value {
        Value::Null
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        for rule in &mut self.rules {
            rule.key.change_texts(field, change);
            rule.value.change_texts(field, change);
        }
    }
}
