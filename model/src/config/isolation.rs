//! The table `isolation`. It is ours in every kind of file, so an unknown key in it is always an error.

use super::keys;
use super::node::{Kind, Node};
use super::read::Reader;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::{Domain, Isolation};

pub(super) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Isolation, FileError> {
    let mut isolation = Isolation::new();
    for entry in reader.table(node, what)? {
        reader.check_key(entry, what, &keys::ISOLATION)?;
        let inner = format!("`{}` in {what}", quoted(&entry.key));
        let is = |only: &str| {
            let word = reader.text(&entry.value, &inner)?;
            reader.one_of(&entry.value, &inner, &word, &[(only, ())])
        };
        match entry.key.as_str() {
            "home" => {
                is("temp")?;
                isolation = isolation.temp_home();
            }
            "network" if matches!(entry.value.kind, Kind::List(_)) => {
                isolation = isolation.domains(domains(reader, &entry.value, &inner)?);
            }
            "network" => {
                is("none")?;
                isolation = isolation.no_network();
            }
            "read" => isolation = isolation.read(reader.texts(&entry.value, &inner)?),
            "write" => isolation = isolation.write(reader.texts(&entry.value, &inner)?),
            _ => {}
        }
    }
    Ok(isolation)
}

fn domains(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Vec<String>, FileError> {
    let domains = reader.texts(node, what)?;
    let Kind::List(nodes) = &node.kind else { return Ok(domains) };
    if domains.is_empty() {
        return Err(reader.error(node.at, format!("{what} is empty")).with_help("write `\"none\"` for no network"));
    }
    for (domain, node) in domains.iter().zip(nodes) {
        if let Err(why) = Domain::parse(domain) {
            let message = format!("{what} contains `{}`, which is not a domain", quoted(domain));
            return Err(reader.error(node.at, message).with_help(why));
        }
    }
    Ok(domains)
}
