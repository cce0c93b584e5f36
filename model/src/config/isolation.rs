//! The table `isolation`. It is ours in every kind of file, so an unknown key in it is always an error.

use super::keys;
use super::node::Node;
use super::read::Reader;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::Isolation;

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
