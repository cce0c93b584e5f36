//! Reads `[access]`: who sees which servers and tools through a proxy.

use std::collections::BTreeMap;

use super::node::Node;
use super::read::{Reader, check_server, tool_of_server};
use super::table::{Table, table};
use crate::secrets::quoted;
use crate::{FileError, matches_globs};

/// `[access]`: the servers and tools that callers of a proxy see and use. A caller that no entry is for sees nothing.
///
/// ```
/// use mcp_bindgen_model::Config;
///
/// let config = Config::parse_toml(
///     r#"
///     [servers.github]
///     url = "https://github.example.com/mcp"
///     [access]
///     ci = { groups = ["build"], tools = ["github/get_*"] }
///     "#,
///     "mcp.toml".as_ref(),
/// )?;
/// let access = config.access.expect("the file has the table");
/// let entries = access.entries_for(Some("robot"), &["build".to_owned()], &[]);
/// assert_eq!(entries, ["ci"]);
/// assert!(access.shows_tool(&entries, "github", "get_issue") && !access.shows_tool(&entries, "github", "merge"));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// The entries by name.
    pub entries: BTreeMap<String, AccessEntry>,
}

table! {
    /// One entry of `[access]`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AccessEntry {
        /// The principals that it is for. If `groups` and `scopes` are empty too, the principal with the entry's name.
        pub principals: Vec<String> => "principals", "the name",
            "names of principals";
        /// The groups that it is for.
        pub groups: Vec<String> => "groups", "[]",
            "groups of principals";
        /// The scopes that it is for.
        pub scopes: Vec<String> => "scopes", "[]",
            "scopes of tokens";
        /// The servers with all their tools, prompts and resources.
        pub servers: Vec<String> => "servers", "[]",
            "servers with all their tools, prompts and resources";
        /// Globs of tools, each as `server/tool`.
        pub tools: Vec<String> => "tools", "[]",
            "globs of tools, each as `\"server/tool\"`";
    }
}

impl Access {
    /// Returns the names of the entries that are for a caller.
    #[must_use]
    pub fn entries_for(&self, principal: Option<&str>, groups: &[String], scopes: &[String]) -> Vec<&str> {
        let is_for = |(name, entry): &(&String, &AccessEntry)| {
            let own = entry.principals.is_empty() && entry.groups.is_empty() && entry.scopes.is_empty();
            principal.is_some_and(|own| entry.principals.iter().any(|one| one == own))
                || entry.groups.iter().any(|group| groups.contains(group))
                || entry.scopes.iter().any(|scope| scopes.contains(scope))
                || (own && principal == Some(name.as_str()))
        };
        self.entries.iter().filter(is_for).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns `true` if one of these entries shows all of a server, its prompts and resources included.
    #[must_use]
    pub fn shows_server(&self, entries: &[impl AsRef<str>], server: &str) -> bool {
        self.of(entries).any(|entry| entry.servers.iter().any(|shown| shown == server))
    }

    /// Returns `true` if one of these entries shows a tool of a server.
    #[must_use]
    pub fn shows_tool(&self, entries: &[impl AsRef<str>], server: &str, tool: &str) -> bool {
        let name = format!("{server}/{tool}");
        self.shows_server(entries, server) || self.of(entries).any(|entry| matches_globs(&entry.tools, &name))
    }

    /// Returns `true` if one of these entries shows anything of a server.
    #[must_use]
    pub fn shows_any_of(&self, entries: &[impl AsRef<str>], server: &str) -> bool {
        let is_of = |tool: &String| tool.split_once('/').is_some_and(|(name, _)| name == server);
        self.shows_server(entries, server) || self.of(entries).any(|entry| entry.tools.iter().any(is_of))
    }

    fn of(&self, entries: &[impl AsRef<str>]) -> impl Iterator<Item = &AccessEntry> {
        entries.iter().filter_map(|name| self.entries.get(name.as_ref()))
    }
}

pub(super) fn read<T>(reader: &Reader<'_>, node: &Node, servers: &BTreeMap<String, T>) -> Result<Access, FileError> {
    let mut access = Access::default();
    for named in reader.table(node, "`access`")? {
        let what = format!("`{}` in `access`", quoted(&named.key));
        let mut read = AccessEntry::default();
        read.fill(reader, &named.value, &what, "of")?;
        if read.servers.is_empty() && read.tools.is_empty() {
            let help = "add `servers = [\"name\"]` or `tools = [\"name/list_*\"]`";
            return Err(reader.error(named.at, format!("{what} shows nothing")).with_help(help));
        }
        let place = reader.place(named.at);
        for server in &read.servers {
            check_server(servers, &place, &what, server)?;
        }
        for tool in &read.tools {
            let name = tool.strip_prefix('!').unwrap_or(tool);
            tool_of_server(servers, &place, &what, name)?;
        }
        access.entries.insert(named.key.clone(), read);
    }
    Ok(access)
}
