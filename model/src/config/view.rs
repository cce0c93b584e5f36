//! Reads `view` of a server: the tables `[servers.x.view.TOOL]`. They are this project's in every kind of file, so an
//! unknown key in them is always an error.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::key::Form;
use super::keys;
use super::node::{Entry, Kind, Node};
use super::read::Reader;
use super::table::{ConfigValue, Table};
use crate::FileError;
use crate::secrets::{quoted, without_secrets};
use crate::server::{Hint, View};

pub(super) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<View, FileError> {
    let mut view = View::new();
    view.fill(reader, node, what, "in")?;
    view.places = reader.places(node);
    for Entry { value, .. } in reader.table(node, what)?.iter().filter(|entry| entry.key == "name") {
        let name = reader.text(value, what)?;
        reader.check_snake_case(value.at, &name, || format!("`name` in {what} is not a name in snake case"))?;
    }
    if let Some(both) = view.default.keys().find(|argument| view.fixed.contains_key(*argument)) {
        let message = format!("{what} has `{}` in both `fixed` and `default`", quoted(both));
        return Err(view.error(&format!("default/{both}"), message).with_help("keep one of the two"));
    }
    if let Some(both) = view.hide.iter().find(|argument| view.fixed.contains_key(*argument)) {
        let message = format!("{what} has `{}` in both `fixed` and `hide`", quoted(both));
        let error = view.error(&format!("hide/{both}"), message);
        return Err(error.with_help("remove it from `hide`: a fixed argument cannot be seen"));
    }
    Ok(view)
}

impl ConfigValue for BTreeMap<String, View> {
    const FORM: Form = Form::TableMap(View::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let tools = reader.table(node, what)?.iter();
        let view = |tool: &Entry| read(reader, &tool.value, &format!("the view of tool `{}`", quoted(&tool.key)));
        tools.map(|tool| Ok((tool.key.clone(), view(tool)?))).collect()
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(tool, view)| (tool.clone(), view.to_json())).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

impl ConfigValue for BTreeMap<Hint, bool> {
    const FORM: Form = Form::Table(&keys::HINTS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut hints = Self::new();
        for entry in reader.table(node, what)? {
            reader.check_key(entry, what, &keys::HINTS)?;
            let inner = format!("`{}` in {what}", entry.key);
            let value = reader.boolean(&entry.value, &inner)?;
            let Some(hint) = Hint::ALL.into_iter().find(|hint| hint.name() == entry.key) else { continue };
            if value != hint.strict() {
                let message = format!("{inner} cannot be `{value}`: retries and caches rely on it");
                let help = format!("a view only makes hints stricter: remove it, or write `{}`", hint.strict());
                return Err(reader.error(entry.value.at, message).with_help(help));
            }
            hints.insert(hint, value);
        }
        Ok(hints)
    }

    fn to_json(&self) -> Value {
        self.iter().map(|(hint, value)| (hint.name().to_owned(), Value::Bool(*value))).collect()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

/// Values of arguments by name.
impl ConfigValue for Map<String, Value> {
    const FORM: Form = Form::ValueMap;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let member = |member: &Entry| {
            let inner = format!("`{}` in {what}", quoted(&member.key));
            Ok((member.key.clone(), value(reader, &member.value, &inner, &member.key)?))
        };
        reader.table(node, what)?.iter().map(member).collect()
    }

    fn to_json(&self) -> Value {
        self.clone().into()
    }

    fn is_default(&self) -> bool {
        self.is_empty()
    }
}

pub(super) fn value(reader: &Reader<'_>, node: &Node, what: &str, key: &str) -> Result<Value, FileError> {
    Ok(match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Number(Some(number)) => Value::Number(number.clone()),
        Kind::Number(None) => return Err(reader.error(node.at, format!("{what} is not a number that JSON has"))),
        Kind::Date => {
            let help = "write it as a string, as the tool expects it";
            return Err(reader.error(node.at, format!("{what} is a date, which JSON does not have")).with_help(help));
        }
        Kind::Text(text) if text.contains("${") => {
            let message = format!("{what} has a placeholder, which is not replaced in arguments");
            return Err(reader.error(node.at, message).with_help("write the value, or let callers pass the argument"));
        }
        Kind::Text(text) if without_secrets(key, text, "") != *text => {
            let message = format!("{what} looks like a secret, which generated code would contain");
            return Err(reader.error(node.at, message).with_help("let callers pass the argument"));
        }
        Kind::Text(text) => Value::String(text.clone()),
        Kind::List(items) => {
            items.iter().map(|item| value(reader, item, what, key)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Kind::Table(entries) => {
            let member = |entry: &Entry| Ok((entry.key.clone(), value(reader, &entry.value, what, &entry.key)?));
            Value::Object(entries.iter().map(member).collect::<Result<_, FileError>>()?)
        }
    })
}
