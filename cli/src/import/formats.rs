//! The configuration files of other MCP hosts: the positions of servers, and other keys.

use std::collections::BTreeSet;

use mcp_bindgen_model::FileError;
use serde_json::{Map, Value};

use super::entry::{Entry, Source};
use super::fields::left_out;
use super::host::Host;
use super::placeholder::Inputs;
use super::text::{self, Document};
use super::variable::shown;
use crate::text::in_ticks;

/// The contents of a file.
pub(super) struct Reading<'s, 'a> {
    source: &'s Source<'a>,
    pub(super) entries: Vec<Entry>,
    /// The notes that are not about one server.
    pub(super) notes: Vec<String>,
}

/// The keys that can hold the servers of a file, and the host that writes them so.
const HOLDERS: [(&str, Host); 5] = [
    ("mcpServers", Host::File),
    ("context_servers", Host::Zed),
    ("mcp_servers", Host::Codex),
    ("servers", Host::Vscode),
    ("mcp", Host::Opencode),
];

/// Reads a file of this host, and returns its servers, and the notes that are not about one of them. Without a host, the
/// content determines the format.
///
/// # Errors
/// Fails if the file is malformed, with line and column, or if it contains no servers and the host is unknown.
pub(super) fn read(source: &Source<'_>, text: &str) -> Result<(Vec<Entry>, Vec<String>), FileError> {
    let extension = source.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let document = match extension {
        "toml" => text::toml(text),
        "yaml" | "yml" => {
            Err(FileError::new("YAML files are not supported").with_help("add its servers with `mcp-bindgen add`"))
        }
        _ => text::json(text),
    };
    let Document { root, twice } = document.map_err(|error| error.in_file(source.path))?;
    let host = match source.host {
        Host::File => written_by(&root).ok_or_else(|| {
            let help = format!("expected servers under {}", in_ticks(HOLDERS.map(|(key, _)| key)));
            FileError::new("the file has no servers").in_file(source.path).with_help(help)
        })?,
        host => host,
    };
    let twice = twice.iter().map(|key| format!("duplicate key `{}`: the last one is used", shown(key)));
    let source = Source { host, ..*source };
    let mut reading = Reading { source: &source, entries: Vec::new(), notes: twice.collect() };
    reading.root(root);
    Ok((reading.entries, reading.notes))
}

/// Returns the host that writes such a file.
fn written_by(root: &Map<String, Value>) -> Option<Host> {
    let (key, host) = HOLDERS.iter().find(|(key, _)| root.get(*key).is_some_and(Value::is_object))?;
    // Settings of VS Code have `mcp` too; a command is a text there.
    Some(if *key == "mcp" && has_text_command(root.get("mcp")) { Host::Vscode } else { *host })
}

/// Returns the names of the servers of `.mcp.json` that settings of Claude Code switch off.
pub(super) fn claude_disabled(text: &str) -> Result<BTreeSet<String>, FileError> {
    let document = text::json(text)?;
    Ok(names(document.root.get("disabledMcpjsonServers")))
}

impl Reading<'_, '_> {
    fn root(&mut self, mut root: Map<String, Value>) {
        let path = self.source.path;
        match self.source.host {
            Host::ClaudeCode if path.ends_with(".claude.json") => self.claude(root),
            Host::ClaudeCode | Host::Cursor | Host::File => self.only_servers(root, "mcpServers"),
            // Other files in this folder have settings as well.
            Host::Windsurf
                if path.ends_with("mcp_config.json") || !path.iter().any(|part| part.to_str() == Some(".devin")) =>
            {
                self.only_servers(root, "mcpServers");
            }
            Host::ClaudeDesktop | Host::Windsurf => self.servers(&mut root, "mcpServers"),
            Host::Codex => self.servers(&mut root, "mcp_servers"),
            Host::Vscode => self.vscode(root),
            Host::Zed => self.zed(root),
            Host::Gemini => self.gemini(root),
            Host::Opencode => self.opencode(root),
        }
    }

    /// Reads the servers of a table, in order, and the inputs that they use.
    fn servers(&mut self, root: &mut Map<String, Value>, key: &str) {
        let mut inputs = match root.remove("inputs") {
            Some(Value::Null) | None => Inputs::default(),
            Some(inputs) => Inputs::read(inputs, &mut self.notes),
        };
        match root.remove(key) {
            Some(Value::Object(servers)) => {
                let entries = servers.into_iter().map(|(name, value)| self.source.entry(&name, value, &mut inputs));
                self.entries.extend(entries);
            }
            Some(_) => self.notes.push(format!("`{key}` is not a table")),
            None => {}
        }
        self.notes.extend(inputs.unused());
    }

    /// Reads a table that only configures servers, with notes for its other keys.
    fn only_servers(&mut self, mut root: Map<String, Value>, key: &str) {
        self.servers(&mut root, key);
        self.rest(root);
    }

    /// Adds notes for the keys of a table that were not read.
    fn rest(&mut self, root: Map<String, Value>) {
        let rest = root.iter().filter(|(key, _)| *key != "$schema");
        self.notes.extend(rest.map(|(key, value)| left_out(key, value)));
    }

    /// Reads `~/.claude.json`: the servers of this project, then those of the user.
    fn claude(&mut self, mut root: Map<String, Value>) {
        let mut others = 0;
        let mut disabled: BTreeSet<String> = BTreeSet::new();
        if let Some(Value::Object(projects)) = root.remove("projects") {
            for (path, project) in projects {
                let Value::Object(mut project) = project else { continue };
                let is_ours = self.source.folders.projects.iter().any(|folder| folder.as_os_str() == path.as_str());
                if is_ours {
                    disabled.extend(names(project.get("disabledMcpServers")));
                    self.servers(&mut project, "mcpServers");
                } else if let Some(Value::Object(servers)) = project.get("mcpServers") {
                    others += servers.len();
                }
            }
        }
        if others > 0 {
            self.notes.push(format!("{others} more servers belong to other projects, and were skipped"));
        }
        let own = self.entries.len();
        self.servers(&mut root, "mcpServers");
        self.entries.iter_mut().skip(own).for_each(|entry| entry.is_of_user = true);
        for entry in &mut self.entries {
            if disabled.contains(&entry.name) {
                entry.off.get_or_insert("it is listed in `disabledMcpServers`".to_owned());
            }
        }
    }

    fn vscode(&mut self, mut root: Map<String, Value>) {
        if root.get("mcp").is_some_and(Value::is_object) || root.contains_key("mcp.servers") {
            let mut holder = match root.remove("mcp") {
                Some(Value::Object(holder)) => holder,
                _ => Map::new(),
            };
            for key in ["servers", "inputs"] {
                holder.extend(root.remove(&format!("mcp.{key}")).map(|value| (key.to_owned(), value)));
            }
            self.only_servers(holder, "servers");
        } else if !self.source.path.ends_with("settings.json") {
            // The portable form has the other name.
            let key = if root.contains_key("servers") { "servers" } else { "mcpServers" };
            self.only_servers(root, key);
        }
    }

    fn zed(&mut self, mut root: Map<String, Value>) {
        self.servers(&mut root, "context_servers");
        let Some(Value::Object(agent)) = root.remove("agent") else { return };
        let profiles = agent.get("profiles").and_then(Value::as_object);
        let permissions = agent.get("tool_permissions").and_then(|all| all.get("tools")).and_then(Value::as_object);
        for entry in &mut self.entries {
            let chosen = profiles.into_iter().flatten().filter_map(|(profile, value)| {
                let tools = value.get("context_servers")?.get(&entry.name)?;
                Some(format!("profile `{}`: {}", shown(profile), left_out("tools", tools)))
            });
            let start = format!("mcp:{}:", entry.name);
            let approved = permissions.into_iter().flatten().filter(|(key, _)| key.starts_with(&start));
            let approved = approved.map(|(key, _)| {
                format!("`{}` in `tool_permissions` was not imported: add the tool to `approve`", shown(key))
            });
            let notes: Vec<String> = chosen.chain(approved).collect();
            entry.notes.extend(notes);
        }
    }

    fn gemini(&mut self, mut root: Map<String, Value>) {
        self.servers(&mut root, "mcpServers");
        let Some(Value::Object(mut mcp)) = root.remove("mcp") else { return };
        let allowed = mcp.remove("allowed").map(|list| names(Some(&list)));
        let excluded = names(mcp.remove("excluded").as_ref());
        for entry in &mut self.entries {
            if excluded.contains(&entry.name) {
                entry.off.get_or_insert("it is listed in `mcp.excluded`".to_owned());
            } else if allowed.as_ref().is_some_and(|allowed| !allowed.contains(&entry.name)) {
                entry.off.get_or_insert("it is not listed in `mcp.allowed`".to_owned());
            }
        }
        self.rest(mcp);
    }

    fn opencode(&mut self, mut root: Map<String, Value>) {
        let Some(Value::Object(mcp)) = root.remove("mcp") else { return };
        let is_new = mcp.get("servers").and_then(Value::as_object).is_some_and(|servers| !servers.contains_key("type"));
        match is_new {
            true => self.only_servers(mcp, "servers"),
            false => self.servers(&mut Map::from_iter([("mcp".to_owned(), mcp.into())]), "mcp"),
        }
        self.notes.extend(root.get("tools").map(|tools| left_out("tools", tools)));
    }
}

fn has_text_command(mcp: Option<&Value>) -> bool {
    let servers = mcp.and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
    servers.is_some_and(|servers| servers.values().any(|server| server.get("command").is_some_and(Value::is_string)))
}

fn names(list: Option<&Value>) -> BTreeSet<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
