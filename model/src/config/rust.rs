//! The table `[servers.x.rust]`. It is ours in every kind of file, so an unknown key in it is always an error.

use super::keys;
use super::node::{Entry, Kind, Node};
use super::read::Reader;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::{RustConfig, RustRule};

pub(super) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<RustConfig, FileError> {
    let mut rust = RustConfig::default();
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

fn list(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Vec<RustRule>, FileError> {
    let values = reader.texts(node, what)?;
    let nodes: &[Node] = if let Kind::List(nodes) = &node.kind { nodes } else { &[] };
    let rule = |(value, node): (String, &Node)| RustRule { key: String::new(), value, place: reader.place(node.at) };
    Ok(values.into_iter().zip(nodes).map(rule).collect())
}

fn table(reader: &Reader<'_>, entry: &Entry, what: &str) -> Result<Vec<RustRule>, FileError> {
    let read = |member: &Entry| {
        let value = reader.text(&member.value, &format!("`{}` in {what}", quoted(&member.key)))?;
        Ok(RustRule { key: member.key.clone(), value, place: reader.place(member.at) })
    };
    reader.table(&entry.value, what)?.iter().map(read).collect()
}
