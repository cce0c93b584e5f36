//! The table `auth`.

use serde_json::Value;

use super::key::Form;
use super::node::Node;
use super::read::Reader;
use super::table::{Change, ConfigValue, Table};
use crate::FileError;
use crate::secrets::ConfigField;
use crate::server::AuthConfig;

impl ConfigValue for AuthConfig {
    const FORM: Form = Form::Table(Self::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let mut auth = Self::default();
        auth.fill(reader, node, what, "in")?;
        let place = |key: &str| reader.table(node, what).ok()?.iter().find(|entry| entry.key == key);
        let is_url = |issuer: &String| ["https://", "http://", "${"].iter().any(|start| issuer.starts_with(start));
        if !auth.issuer.as_ref().is_none_or(is_url) {
            let at = place("issuer").map_or(node.at, |entry| entry.value.at);
            let error = reader.error(at, format!("`issuer` in {what} is not a URL"));
            return Err(error.with_help("start it with `https://`"));
        }
        match auth.problem() {
            Some((key, problem, help)) => {
                let at = place(key).map_or(node.at, |entry| entry.at);
                Err(reader.error(at, format!("`{key}` in {what} {problem}")).with_help(help))
            }
            None => Ok(auth),
        }
    }

    fn to_json(&self) -> Value {
        self.members().into()
    }

    fn change_texts(&mut self, _: ConfigField<'static>, change: &mut Change<'_>) {
        self.change_each_text(|key| ConfigField::Auth(key.name), change);
    }
}
