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
    /// Additional derives; their keys are empty.
    pub derive: Vec<RustRule>,
    /// New names for tools and properties, by place.
    pub rename: Vec<RustRule>,
    /// Types of the program for definitions, by pointer.
    pub extern_types: Vec<RustRule>,
    /// Shapes that become one type wherever they occur, by the type's name.
    pub shared: Vec<RustRule>,
    /// Switches by key, `true` or `false`.
    pub switches: Vec<RustRule>,
}

/// An entry of `[servers.x.rust]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustRule {
    /// The key; empty in a list.
    pub key: String,
    /// The value.
    pub value: String,
    /// The position of the entry.
    pub place: ConfigPlace,
}

impl RustRule {
    /// Creates an entry that is in no file.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), place: ConfigPlace::default() }
    }
}

/// The table is this project's in every kind of file, so an unknown key in it is always an error.
impl ConfigValue for RustConfig {
    const FORM: Form = Form::Table(RUST);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let rule = |key: &str, value: &str, at| RustRule { place: reader.place(at), ..RustRule::new(key, value) };
        let mut rust = Self::default();
        for node in reader.known(node, what, RUST)? {
            let what = format!("`{}` in {what}", node.key);
            let text = |member: &Node| {
                let text = reader.text(member, &format!("`{}` in {what}", quoted(&member.key)))?;
                Ok(rule(&member.key, text, member.key_at))
            };
            let texts = || reader.table(node, &what)?.iter().map(text).collect::<Result<_, FileError>>();
            match node.key.as_str() {
                "derive" => {
                    let texts = Vec::<String>::read(reader, node, &what)?;
                    rust.derive =
                        texts.iter().zip(node.elements()).map(|(text, node)| rule("", text, node.at)).collect();
                }
                "rename" => rust.rename = texts()?,
                "extern" => rust.extern_types = texts()?,
                "shared" => rust.shared = texts()?,
                key => rust.switches.push(rule(key, &bool::read(reader, node, &what)?.to_string(), node.key_at)),
            }
        }
        Ok(rust)
    }

    /// Bindings embed no options of generated code.
    fn to_json(&self) -> Value {
        Value::Null
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        for rule in [&mut self.derive, &mut self.rename, &mut self.extern_types, &mut self.shared].into_iter().flatten()
        {
            rule.key.change_texts(field, change);
            rule.value.change_texts(field, change);
        }
    }
}
