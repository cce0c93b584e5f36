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
pub(super) struct Reading {
    pub(super) entries: Vec<Entry>,
    /// The notes that are not about one server.
    pub(super) notes: Vec<String>,
}

/// The keys that can hold the servers of a file, and the host that writes them so.
const HOLDERS: [(&str, Option<Host>); 5] = [
    ("mcpServers", None),
    ("context_servers", Some(Host::Zed)),
    ("mcp_servers", Some(Host::Codex)),
    ("servers", Some(Host::Vscode)),
    ("mcp", None),
];

/// Reads a file of this host. Without a host, the content determines the format.
///
/// # Errors
/// Fails if the file is malformed, with line and column, or if it contains no servers and the host is unknown.
pub(super) fn read(source: &Source<'_>, text: &str) -> Result<Reading, FileError> {
    let extension = source.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let document = match extension {
        "toml" => text::toml(text),
        "yaml" | "yml" => {
            Err(FileError::new("YAML files are not supported").with_help("add its servers with `mcp-bindgen add`"))
        }
        _ => text::json(text),
    };
    let Document { root, twice } = document.map_err(|error| error.in_file(source.path))?;
    let mut reader = Reader { source, reading: Reading { entries: Vec::new(), notes: Vec::new() } };
    for key in twice {
        reader.reading.notes.push(format!("duplicate key `{}`: the last one is used", shown(&key)));
    }
    reader.root(root)?;
    Ok(reader.reading)
}

/// Returns the names of the servers of `.mcp.json` that settings of Claude Code switch off.
pub(super) fn claude_disabled(text: &str) -> Result<BTreeSet<String>, FileError> {
    let document = text::json(text)?;
    Ok(names(document.root.get("disabledMcpjsonServers")))
}

struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    reading: Reading,
}

impl Reader<'_, '_> {
    fn root(&mut self, mut root: Map<String, Value>) -> Result<(), FileError> {
        match self.source.host {
            Host::ClaudeCode if self.source.path.ends_with(".claude.json") => self.claude(root),
            Host::ClaudeCode | Host::Cursor => {
                self.servers(&mut root, "mcpServers", Value::Null);
                self.rest(root);
            }
            Host::Windsurf => {
                let is_settings = self.source.path.components().any(|part| part.as_os_str() == ".devin")
                    && !self.source.path.ends_with("mcp_config.json");
                self.servers(&mut root, "mcpServers", Value::Null);
                if !is_settings {
                    self.rest(root);
                }
            }
            Host::ClaudeDesktop => self.servers(&mut root, "mcpServers", Value::Null),
            Host::Codex => self.servers(&mut root, "mcp_servers", Value::Null),
            Host::Vscode => self.vscode(root),
            Host::Zed => self.zed(root),
            Host::Gemini => self.gemini(root),
            Host::Opencode => self.opencode(root),
            Host::File => return self.unknown(root),
        }
        Ok(())
    }

    /// Reads the servers of a table, in order.
    fn servers(&mut self, root: &mut Map<String, Value>, key: &str, inputs: Value) {
        let mut inputs = match inputs {
            Value::Null => Inputs::default(),
            inputs => Inputs::read(inputs, &mut self.reading.notes),
        };
        match root.remove(key) {
            Some(Value::Object(servers)) => {
                let entries = servers.into_iter().map(|(name, value)| self.source.entry(&name, value, &mut inputs));
                self.reading.entries.extend(entries);
            }
            Some(_) => self.reading.notes.push(format!("`{key}` is not a table")),
            None => {}
        }
        self.reading.notes.extend(inputs.unused());
    }

    /// Adds notes for the other keys of a file that only configures servers.
    fn rest(&mut self, root: Map<String, Value>) {
        let rest = root.iter().filter(|(key, _)| *key != "$schema");
        self.reading.notes.extend(rest.map(|(key, value)| left_out(key, value)));
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
                    self.servers(&mut project, "mcpServers", Value::Null);
                } else if let Some(Value::Object(servers)) = project.get("mcpServers") {
                    others += servers.len();
                }
            }
        }
        if others > 0 {
            self.reading.notes.push(format!("{others} more servers belong to other projects, and were skipped"));
        }
        let own = self.reading.entries.len();
        self.servers(&mut root, "mcpServers", Value::Null);
        self.reading.entries.iter_mut().skip(own).for_each(|entry| entry.is_of_user = true);
        for entry in &mut self.reading.entries {
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
                if let Some(value) = root.remove(&format!("mcp.{key}")) {
                    holder.insert(key.to_owned(), value);
                }
            }
            let inputs = holder.remove("inputs").unwrap_or_default();
            self.servers(&mut holder, "servers", inputs);
            return self.rest(holder);
        }
        let inputs = root.remove("inputs").unwrap_or_default();
        if self.source.path.ends_with("settings.json") {
            return;
        }
        // The portable form has the other name.
        let key = if root.contains_key("servers") { "servers" } else { "mcpServers" };
        self.servers(&mut root, key, inputs);
        self.rest(root);
    }

    fn zed(&mut self, mut root: Map<String, Value>) {
        self.servers(&mut root, "context_servers", Value::Null);
        let Some(Value::Object(agent)) = root.remove("agent") else { return };
        let profiles = agent.get("profiles").and_then(Value::as_object);
        let permissions = agent.get("tool_permissions").and_then(|all| all.get("tools")).and_then(Value::as_object);
        for entry in &mut self.reading.entries {
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
        self.servers(&mut root, "mcpServers", Value::Null);
        let Some(Value::Object(mut mcp)) = root.remove("mcp") else { return };
        let allowed = mcp.remove("allowed").map(|list| names(Some(&list)));
        let excluded = names(mcp.remove("excluded").as_ref());
        for entry in &mut self.reading.entries {
            if excluded.contains(&entry.name) {
                entry.off.get_or_insert("it is listed in `mcp.excluded`".to_owned());
            } else if allowed.as_ref().is_some_and(|allowed| !allowed.contains(&entry.name)) {
                entry.off.get_or_insert("it is not listed in `mcp.allowed`".to_owned());
            }
        }
        self.rest(mcp);
    }

    fn opencode(&mut self, mut root: Map<String, Value>) {
        let Some(Value::Object(mut mcp)) = root.remove("mcp") else { return };
        let is_new = mcp.get("servers").and_then(Value::as_object).is_some_and(|servers| !servers.contains_key("type"));
        if is_new {
            self.servers(&mut mcp, "servers", Value::Null);
            self.rest(mcp);
        } else {
            let mut holder = Map::from_iter([("mcp".to_owned(), Value::Object(mcp))]);
            self.servers(&mut holder, "mcp", Value::Null);
        }
        if let Some(tools) = root.get("tools") {
            self.reading.notes.push(left_out("tools", tools));
        }
    }

    /// Reads a file that the user named; its content determines the format.
    fn unknown(&mut self, root: Map<String, Value>) -> Result<(), FileError> {
        let holder = HOLDERS.iter().find(|(key, _)| root.get(*key).is_some_and(Value::is_object));
        let Some((key, host)) = holder else {
            let keys = in_ticks(HOLDERS.map(|(key, _)| key));
            return Err(FileError::new("the file has no servers")
                .in_file(self.source.path)
                .with_help(format!("expected servers under {keys}")));
        };
        let host = match (host, *key) {
            (Some(host), _) => *host,
            // Settings of VS Code have `mcp` too; a command is a text there.
            (None, "mcp") if has_text_command(root.get("mcp")) => Host::Vscode,
            (None, "mcp") => Host::Opencode,
            _ => {
                let mut root = root;
                let inputs = root.remove("inputs").unwrap_or_default();
                self.servers(&mut root, key, inputs);
                self.rest(root);
                return Ok(());
            }
        };
        let source = Source { host, ..*self.source };
        let mut reader = Reader { source: &source, reading: Reading { entries: Vec::new(), notes: Vec::new() } };
        reader.root(root)?;
        self.reading.entries.append(&mut reader.reading.entries);
        self.reading.notes.append(&mut reader.reading.notes);
        Ok(())
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
