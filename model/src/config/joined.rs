//! Reads `[tools]`: tools that stand for like tools of several servers.

use super::keys;
use super::node::{Kind, Node};
use super::read::Reader;
use crate::FileError;
use crate::secrets::quoted;
use crate::server::ConfigPlace;

/// A tool that stands for like tools of several servers: `[tools.NAME]`. An argument says which server is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedTool {
    /// The tools, each as its server and its name there.
    pub of: Vec<(String, String)>,
    /// The position in the file.
    pub place: ConfigPlace,
}

pub(super) fn read(reader: &Reader<'_>, name: &str, at: usize, node: &Node) -> Result<JoinedTool, FileError> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
    if !(name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_letter)) {
        let help = "use 1 to 64 of a-z, 0-9 and `_`, and begin with a letter";
        return Err(reader.error(at, format!("invalid tool name `{}`", quoted(name))).with_help(help));
    }
    let what = format!("tool `{name}`");
    let mut of = Vec::new();
    for entry in reader.table(node, &what)? {
        reader.check_key(entry, &what, &keys::JOINED)?;
        let what = format!("`{}` of {what}", entry.key);
        let texts = reader.texts(&entry.value, &what)?;
        let nodes: &[Node] = if let Kind::List(nodes) = &entry.value.kind { nodes } else { &[] };
        for (text, node) in texts.iter().zip(nodes) {
            let (server, tool) = reader.tool_of_server(node.at, &what, text)?;
            if of.iter().any(|(known, _)| known == server) {
                let message = format!("{what} has two tools of server `{server}`");
                return Err(reader
                    .error(node.at, message)
                    .with_help("keep one: the server's name says which tool is meant"));
            }
            of.push((server.to_owned(), tool.to_owned()));
        }
    }
    if of.len() < 2 {
        let help = "name the tools of two or more servers: `of = [\"wiki_eu/search\", \"wiki_us/search\"]`";
        return Err(reader.error(at, format!("{what} stands for fewer than two tools")).with_help(help));
    }
    Ok(JoinedTool { of, place: reader.place(at) })
}
