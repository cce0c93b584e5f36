//! The table `[servers.x.rust]`. It is this project's in every kind of file, so an unknown key in it is always an
//! error.

use serde_json::Value;

use super::key::Form;
use super::keys;
use super::node::{Entry, Node};
use super::read::Reader;
use super::table::{Change, ConfigValue};
use crate::FileError;
use crate::secrets::{ConfigField, quoted};
use crate::server::{RustConfig, RustRule};

impl ConfigValue for RustConfig {
    const FORM: Form = Form::Table(&keys::RUST);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut rust = Self::default();
        for entry in reader.table(node, what)? {
            reader.check_key(entry, what, &keys::RUST)?;
            let inner = format!("`{}` in {what}", quoted(&entry.key));
            match entry.key.as_str() {
                "derive" => rust.derive = list(reader, &entry.value, &inner)?,
                "rename" => rust.rename = table(reader, entry, &inner)?,
                "extern" => rust.extern_types = table(reader, entry, &inner)?,
                "shared" => rust.shared = table(reader, entry, &inner)?,
                key => {
                    let value = reader.boolean(&entry.value, &inner)?.to_string();
                    rust.switches.push(RustRule { key: key.to_owned(), value, place: reader.place(entry.at) });
                }
            }
        }
        Ok(rust)
    }

    /// Bindings embed no options of generated code.
    fn to_json(&self) -> Value {
        Value::Null
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        let lists = [&mut self.derive, &mut self.rename, &mut self.extern_types, &mut self.shared];
        let texts = lists.into_iter().flatten().flat_map(|rule| [&mut rule.key, &mut rule.value]);
        texts.for_each(|text| text.change_texts(field, change));
    }
}

fn list(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Vec<RustRule>, FileError> {
    let rule = |(value, node): (String, &Node)| RustRule { key: String::new(), value, place: reader.place(node.at) };
    Ok(reader.located_texts(node, what)?.into_iter().map(rule).collect())
}

fn table(reader: &Reader<'_>, entry: &Entry, what: &str) -> Result<Vec<RustRule>, FileError> {
    let read = |member: &Entry| {
        let value = reader.text(&member.value, &format!("`{}` in {what}", quoted(&member.key)))?;
        Ok(RustRule { key: member.key.clone(), value, place: reader.place(member.at) })
    };
    reader.table(&entry.value, what)?.iter().map(read).collect()
}
