//! Reads `[tools]`: tools in place of similar tools of several servers.

use std::collections::BTreeMap;

use super::keys;
use super::node::Entry;
use super::read::{Reader, tool_of_server};
use crate::FileError;
use crate::secrets::quoted;
use crate::server::ConfigPlace;

/// One tool in place of similar tools of several servers: `[tools.NAME]`. An argument selects the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedTool {
    /// The tools, each as its server and its name there.
    pub of: Vec<(String, String)>,
    /// The position in the file.
    pub place: ConfigPlace,
}

pub(super) fn read<T>(
    reader: &Reader<'_>,
    Entry { key: name, at, value: node }: &Entry,
    servers: &BTreeMap<String, T>,
) -> Result<JoinedTool, FileError> {
    reader.check_snake_case(*at, name, || format!("invalid tool name `{}`", quoted(name)))?;
    let what = format!("tool `{name}`");
    let mut of = Vec::new();
    for entry in reader.table(node, &what)? {
        reader.check_key(entry, &what, &keys::JOINED)?;
        let what = format!("`{}` of {what}", entry.key);
        for (text, node) in reader.located_texts(&entry.value, &what)? {
            let (server, tool) = tool_of_server(servers, &reader.place(node.at), &what, &text)?;
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
        return Err(reader.error(*at, format!("{what} stands for fewer than two tools")).with_help(help));
    }
    Ok(JoinedTool { of, place: reader.place(*at) })
}
