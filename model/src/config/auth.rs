//! The table `auth`.

use super::keys;
use super::node::{Kind, Node};
use super::read::Reader;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::{AuthConfig, GrantType};

pub(super) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<AuthConfig, FileError> {
    let mut auth = AuthConfig::default();
    let entries = reader.table(node, what)?;
    for entry in entries {
        reader.check_key(entry, what, &keys::AUTH)?;
        let (node, what) = (&entry.value, format!("`{}` in {what}", quoted(&entry.key)));
        match entry.key.as_str() {
            "issuer" => auth.issuer = Some(issuer(reader, node, &what)?),
            "client" => auth.client = Some(reader.text(node, &what)?),
            "client_secret" => auth.client_secret = Some(reader.text(node, &what)?),
            "scopes" => auth.scopes = Some(reader.texts(node, &what)?),
            "grant" => {
                let word = reader.text(node, &what)?;
                auth.grant = reader.one_of(node, &what, &word, &GrantType::ALL.map(|grant| (grant.name(), grant)))?;
            }
            "redirect_port" => auth.redirect_port = Some(port(reader, node, &what)?),
            _ => {}
        }
    }
    if let Some((key, problem, help)) = auth.problem() {
        let at = entries.iter().find(|entry| entry.key == key).map_or(node.at, |entry| entry.at);
        return Err(reader.error(at, format!("`{key}` in {what} {problem}")).with_help(help));
    }
    Ok(auth)
}

fn issuer(reader: &Reader<'_>, node: &Node, what: &str) -> Result<String, FileError> {
    let issuer = reader.text(node, what)?;
    if ["https://", "http://", "${"].iter().any(|start| issuer.starts_with(start)) {
        return Ok(issuer);
    }
    Err(reader.error(node.at, format!("{what} is not a URL")).with_help("start it with `https://`"))
}

fn port(reader: &Reader<'_>, node: &Node, what: &str) -> Result<u16, FileError> {
    let port = match &node.kind {
        Kind::Number(Some(number)) => {
            number.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
        }
        _ => None,
    };
    port.ok_or_else(|| {
        reader.error(node.at, format!("{what} is not a port")).with_help("write a number from 1 to 65535")
    })
}
