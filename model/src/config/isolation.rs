//! The table `isolation`. It is this project's in every kind of file, so an unknown key in it is always an error.

use serde_json::{Map, Value};

use super::key::Form;
use super::keys;
use super::node::{Kind, Node};
use super::read::Reader;
use super::table::{Change, ConfigValue};
use crate::FileError;
use crate::secrets::{ConfigField, quoted};
use crate::server::{Domain, Isolation};

impl ConfigValue for Isolation {
    const FORM: Form = Form::Table(&keys::ISOLATION);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut isolation = Self::new();
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

    fn to_json(&self) -> Value {
        let mut json = Map::new();
        if self.temp_home {
            json.insert("home".to_owned(), "temp".into());
        }
        if self.no_network {
            json.insert("network".to_owned(), "none".into());
        } else if !self.domains.is_empty() {
            json.insert("network".to_owned(), self.domains.to_json());
        }
        for (key, folders) in [("read", &self.read), ("write", &self.write)] {
            json.extend(folders.as_ref().map(|folders| (key.to_owned(), folders.to_json())));
        }
        json.into()
    }

    fn change_texts(&mut self, _: ConfigField<'static>, change: &mut Change<'_>) {
        self.folders_mut().for_each(|folder| *folder = change(ConfigField::Shown, folder));
    }
}

fn domains(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Vec<String>, FileError> {
    let domains = reader.located_texts(node, what)?;
    if domains.is_empty() {
        return Err(reader.error(node.at, format!("{what} is empty")).with_help("write `\"none\"` for no network"));
    }
    for (domain, node) in &domains {
        if let Err(why) = Domain::parse(domain) {
            let message = format!("{what} contains `{}`, which is not a domain", quoted(domain));
            return Err(reader.error(node.at, message).with_help(why));
        }
    }
    Ok(domains.into_iter().map(|(domain, _)| domain).collect())
}
