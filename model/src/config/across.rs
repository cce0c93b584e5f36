//! Tables that name tools of several servers as `server/tool`: `[access]`, `[tools]` and `[[policy]]`.

use std::collections::BTreeMap;

use super::key::{Form, Key, key};
use super::keys::ServerConfig;
use super::read::{Node, Reader, suggestion};
use super::table::{ConfigValue, Table, table};
use crate::secrets::quoted;
use crate::server::{ConfigPlace, PolicyRule, is_server_name};
use crate::{FileError, matches_globs};

type Servers = BTreeMap<String, ServerConfig>;

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
    /// The entries by name, sorted.
    pub entries: Vec<(String, AccessEntry)>,
}

table! {
    /// One entry of `[access]`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AccessEntry {
        /// The principals that it is for. If `groups` and `scopes` are empty too, the principal with the entry's name.
        pub principals: Vec<String> => "principals", "the name", "names of principals";
        /// The groups that it is for.
        pub groups: Vec<String> => "groups", "[]", "groups of principals";
        /// The scopes that it is for.
        pub scopes: Vec<String> => "scopes", "[]", "scopes of tokens";
        /// The servers with all their tools, prompts and resources.
        pub servers: Vec<String> => "servers", "[]", "servers with all their tools, prompts and resources";
        /// Globs of tools, each as `server/tool`.
        pub tools: Vec<String> => "tools", "[]", "globs of tools, each as `\"server/tool\"`";
    }
}

impl Access {
    /// Returns the names of the entries that are for a caller.
    #[must_use]
    pub fn entries_for(&self, principal: Option<&str>, groups: &[String], scopes: &[String]) -> Vec<&str> {
        let is_for = |(name, entry): &&(String, AccessEntry)| {
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
        let is_one = move |name: &str| entries.iter().any(|entry| entry.as_ref() == name);
        self.entries.iter().filter(move |(name, _)| is_one(name)).map(|(_, entry)| entry)
    }
}

/// One tool in place of similar tools of several servers: `[tools.NAME]`. An argument selects the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedTool {
    /// The tools, each as its server and its name there.
    pub of: Vec<(String, String)>,
    /// The position in the file.
    pub place: ConfigPlace,
}

pub(super) const JOINED: &[Key] =
    &[key("of", Form::TEXTS, "", "the tools, each as `\"server/tool\"`; an argument says which server is meant")];

pub(super) fn read_access(reader: &Reader<'_>, node: &Node, servers: &Servers) -> Result<Access, FileError> {
    let mut access = Access::default();
    for node in reader.table(node, "`access`")? {
        let what = format!("`{}` in `access`", quoted(&node.key));
        let entry = AccessEntry::default().filled(reader, node, &what)?;
        let place = reader.place(node.key_at);
        if entry.servers.is_empty() && entry.tools.is_empty() {
            let help = "add `servers = [\"name\"]` or `tools = [\"name/list_*\"]`";
            return Err(place.error(format!("{what} shows nothing")).with_help(help));
        }
        for server in &entry.servers {
            check_server(servers, &place, &what, server)?;
        }
        for tool in &entry.tools {
            tool_of_server(servers, &place, &what, tool.strip_prefix('!').unwrap_or(tool))?;
        }
        access
            .entries
            .insert(access.entries.partition_point(|(known, _)| *known < node.key), (node.key.clone(), entry));
    }
    Ok(access)
}

pub(super) fn read_joined(
    reader: &Reader<'_>,
    node: &Node,
    servers: &Servers,
) -> Result<Vec<(String, JoinedTool)>, FileError> {
    let mut joined: Vec<(String, JoinedTool)> = Vec::new();
    for node in reader.table(node, "`tools`")? {
        let (name, at) = (&node.key, node.key_at);
        reader.check_snake_case(at, name, format!("invalid tool name `{}`", quoted(name)))?;
        let what = format!("tool `{name}`");
        let mut of: Vec<(String, String)> = Vec::new();
        for tools in reader.known(node, &what, JOINED)? {
            let what = format!("`{}` in {what}", tools.key);
            for (text, node) in Vec::<String>::read(reader, tools, &what)?.iter().zip(tools.elements()) {
                let place = reader.place(node.at);
                let (server, tool) = tool_of_server(servers, &place, &what, text)?;
                if of.iter().any(|(known, _)| known == server) {
                    let error = place.error(format!("{what} has two tools of server `{server}`"));
                    return Err(error.with_help("keep one: the server's name says which tool is meant"));
                }
                let tool = (server.to_owned(), tool.to_owned());
                if let Some((other, _)) = joined.iter().find(|(_, joined)| joined.of.contains(&tool)) {
                    let message = format!("{what} contains `{}`, which is in tool `{other}` too", quoted(text));
                    return Err(place.error(message).with_help("keep it in one of them"));
                }
                of.push(tool);
            }
        }
        if of.len() < 2 {
            let help = "name the tools of two or more servers: `of = [\"wiki_eu/search\", \"wiki_us/search\"]`";
            return Err(reader.error(at, format!("{what} stands for fewer than two tools")).with_help(help));
        }
        let place = reader.place(at);
        let at = joined.partition_point(|(known, _)| known < name);
        joined.insert(at, (name.clone(), JoinedTool { of, place }));
    }
    Ok(joined)
}

/// Reads the rules about calls of the whole file, and adds each to the servers whose tools it names.
pub(super) fn read_policies(reader: &Reader<'_>, node: &Node, servers: &mut Servers) -> Result<(), FileError> {
    for rule in Vec::<PolicyRule>::read(reader, node, "`policy`")? {
        // The servers that have a rule of it.
        let mut begun = Vec::new();
        for written in &rule.tools {
            let (not, name) = written.strip_prefix('!').map_or(("", written.as_str()), |name| ("!", name));
            let place = rule.place(&format!("tools/{written}"));
            let (server, tool) = tool_of_server(servers, &place, "`tools` of a policy", name)?;
            let Some(ServerConfig { policies, .. }) = servers.get_mut(server) else { continue };
            if !begun.contains(&server) {
                begun.push(server);
                policies.push(PolicyRule { tools: Vec::new(), ..rule.clone() });
            }
            if let Some(own) = policies.last_mut() {
                let glob = format!("{not}{tool}");
                own.places.add(format!("tools/{glob}"), place);
                own.tools.push(glob);
            }
        }
    }
    Ok(())
}

/// Splits `server/tool`, an element of `what`. The file must have the server.
fn tool_of_server<'t>(
    servers: &Servers,
    place: &ConfigPlace,
    what: &str,
    text: &'t str,
) -> Result<(&'t str, &'t str), FileError> {
    let Some((server, tool)) = text.split_once('/').filter(|(server, _)| is_server_name(server)) else {
        let message = format!("{what} contains `{}`, which names no tool of a server", quoted(text));
        return Err(place.error(message).with_help("write each as \"server/tool\""));
    };
    check_server(servers, place, what, server)?;
    Ok((server, tool))
}

/// Fails if the file has no such server, which `what` names.
fn check_server(servers: &Servers, place: &ConfigPlace, what: &str, server: &str) -> Result<(), FileError> {
    if servers.contains_key(server) {
        return Ok(());
    }
    let known: Vec<&str> = servers.keys().map(String::as_str).collect();
    let help = suggestion(server, &known, "known servers:");
    Err(place.error(format!("{what} names the unknown server `{}`", quoted(server))).with_help(help))
}
