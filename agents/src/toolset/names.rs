//! The names that models know tools by: one for each in a set.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ServerSpec};
use mcp_bindgen_schema::names::{PROGRAM, PrefixedNames, told_apart};

use super::Entry;

/// How tools are called in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameStyle {
    /// `server_tool`, the prefixed name, which bindings have as well; functions of the program without a group by their own.
    #[default]
    ServerTool,
    /// The tool's own name. Two tools of one name are an error.
    ToolOnly,
}

/// The inputs of a set's names, beside the tools themselves.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The names of a configuration or a prompt.
    pub(super) around: PrefixedNames,
    /// The names of bindings, and of lists that were known before the set, such as those of snapshots.
    pub(super) servers: PrefixedNames,
    /// The whole lists of servers, also of tools that are not in the set.
    listed: BTreeMap<String, BTreeSet<String>>,
}

impl Naming {
    /// Takes note of a server that is called through this.
    pub(super) fn server(&mut self, name: &str, client: Option<&Client>) {
        if !self.servers.has(name) {
            add_server(&mut self.servers, name, client.map(Client::config));
        }
    }

    /// Takes note of the tools of a list that the server has sent.
    pub(super) fn listed<'t>(&mut self, server: &str, tools: impl IntoIterator<Item = &'t str>) {
        self.listed.entry(server.to_owned()).or_default().extend(tools.into_iter().map(str::to_owned));
    }

    /// Returns the names of these tools, in their order; those that are taken are others.
    pub(super) fn names(mut self, entries: &[Entry], style: NameStyle, taken: &BTreeSet<&str>) -> Vec<String> {
        for (server, tool) in entries.iter().filter(|entry| entry.is_of_server()).map(Entry::identity) {
            self.listed(server, [tool]);
        }
        let mut names = self.around;
        names.merge(&self.servers);
        let mut made: BTreeMap<(&str, &str), String> = BTreeMap::new();
        for (server, tools) in &self.listed {
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            made.extend(tools.iter().zip(names.tools(server, &tools)).map(|(tool, name)| ((&**server, *tool), name)));
        }
        let wanted = entries.iter().map(|entry| {
            let (server, tool) = entry.identity();
            let name = match style {
                _ if entry.opens_sections() => tool.to_owned(),
                NameStyle::ServerTool if entry.is_of_server() => made.remove(&(server, tool)).unwrap_or_default(),
                NameStyle::ServerTool if server != PROGRAM => own_name(server, &format!("{server}_{tool}")),
                _ => own_name(server, entry.viewed_name()),
            };
            (server, tool, name)
        });
        told_apart(&wanted.collect::<Vec<_>>(), |name| taken.contains(name))
    }
}

/// Adds a server with the names from its configuration, if there is one.
pub(crate) fn add_server(names: &mut PrefixedNames, name: &str, config: Option<&ServerConfig>) {
    match config.cloned() {
        Some(mut config) => {
            config.name = name.to_owned();
            names.add_configured(&config);
        }
        None => names.add_snapshot(name, []),
    }
}

/// Adds the names that bindings have.
pub(crate) fn add_bound(names: &mut PrefixedNames, server: &ServerSpec) {
    names.add_bound(server.name, server.tools.iter().map(|tool| (tool.name, tool.prefixed)));
}

/// Returns the name of a tool or function without a prefix, as every provider accepts it.
fn own_name(server: &str, name: &str) -> String {
    let mut names = PrefixedNames::default();
    names.add_snapshot(server, [name]);
    names.without_prefixes().tools(server, &[name]).pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_names_are_valid_for_every_provider() {
        assert_eq!(own_name("program", "find-order"), "find-order");
        assert_eq!(own_name("program", "find order"), "find_order");
        assert!(own_name("program", "call_tool").starts_with("call_tool_"));
        assert_eq!(own_name("program", &"x".repeat(80)).len(), 64);
    }
}
