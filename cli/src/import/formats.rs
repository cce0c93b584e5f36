//! The configuration files of other MCP hosts: the positions of servers, and other keys.

use std::collections::BTreeSet;

use mcp_bindgen_model::FileError;
use serde_json::{Map, Value};

use super::entry::{Entry, entry};
use super::fields::left_out;
use super::host::{Host, Source};
use super::placeholder::{inputs, unused_inputs};
use super::text;
use super::variable::shown;
use crate::text::in_ticks;

/// The contents of a file.
pub(super) struct Reading<'a> {
    source: Source<'a>,
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

/// Reads a file of this host. Without a host, the content determines the format.
///
/// # Errors
/// Fails if the file is malformed, with line and column, or if it contains no servers and the host is unknown.
pub(super) fn read<'a>(mut source: Source<'a>, text: &str) -> Result<Reading<'a>, FileError> {
    let (mut root, twice) = text::parse(source.path, text)?;
    if source.host == Host::File {
        source.host = written_by(&root).ok_or_else(|| {
            let help = format!("expected servers under {}", in_ticks(HOLDERS.map(|(key, _)| key)));
            FileError::new("the file has no servers").in_file(source.path).with_help(help)
        })?;
    }
    let twice = twice.iter().map(|key| format!("duplicate key `{}`: the last one is used", shown(key)));
    let mut reading = Reading { source, entries: Vec::new(), notes: twice.collect() };
    match source.host {
        Host::ClaudeCode if source.path.ends_with(".claude.json") => reading.claude(root),
        Host::ClaudeCode | Host::Cursor | Host::File => reading.only_servers(root, "mcpServers"),
        Host::Windsurf if source.path.ends_with("mcp_config.json") => reading.only_servers(root, "mcpServers"),
        // Other files have settings as well.
        Host::ClaudeDesktop | Host::Windsurf => reading.servers(&mut root, "mcpServers"),
        Host::Codex => reading.servers(&mut root, "mcp_servers"),
        Host::Vscode => reading.vscode(root),
        Host::Zed => reading.zed(root),
        Host::Gemini => reading.gemini(root),
        Host::Opencode => reading.opencode(root),
    }
    Ok(reading)
}

/// Returns the host that writes such a file.
fn written_by(root: &Map<String, Value>) -> Option<Host> {
    let (key, host) = HOLDERS.into_iter().find(|(key, _)| root.get(*key).is_some_and(Value::is_object))?;
    // Settings of VS Code have `mcp` too; a command is a text there.
    let mut servers = members(root.get("mcp").and_then(|mcp| mcp.get("servers")));
    let is_of_code = key == "mcp" && servers.any(|(_, server)| server.get("command").is_some_and(Value::is_string));
    Some(if is_of_code { Host::Vscode } else { host })
}

impl Reading<'_> {
    /// Reads the servers of a table, in order, and the inputs that they use.
    fn servers(&mut self, root: &mut Map<String, Value>, key: &str) {
        let mut inputs = inputs(root.remove("inputs"), &mut self.notes);
        match root.remove(key) {
            Some(Value::Object(servers)) => {
                let entries = servers.into_iter().map(|(name, value)| entry(self.source, &name, value, &mut inputs));
                self.entries.extend(entries);
            }
            Some(_) => self.notes.push(format!("`{key}` is not a table")),
            None => {}
        }
        self.notes.extend(unused_inputs(&inputs));
    }

    /// Reads a table that only configures servers, with notes for its other keys.
    fn only_servers(&mut self, mut root: Map<String, Value>, key: &str) {
        self.servers(&mut root, key);
        self.rest(&root);
    }

    /// Adds notes for the keys of a table that were not read.
    fn rest(&mut self, root: &Map<String, Value>) {
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
                if self.source.folders.projects.iter().any(|folder| folder.as_os_str() == path.as_str()) {
                    disabled.extend(names(project.get("disabledMcpServers")));
                    self.servers(&mut project, "mcpServers");
                } else {
                    others += members(project.get("mcpServers")).count();
                }
            }
        }
        if others > 0 {
            self.notes.push(format!("{others} more servers belong to other projects, and were skipped"));
        }
        let own = self.entries.len();
        self.servers(&mut root, "mcpServers");
        self.entries.iter_mut().skip(own).for_each(|entry| entry.is_of_user = true);
        switch_off(&mut self.entries, |entry| disabled.contains(&entry.name), "it is listed in `disabledMcpServers`");
    }

    fn vscode(&mut self, mut root: Map<String, Value>) {
        let mut holder = match root.remove("mcp") {
            Some(Value::Object(holder)) => holder,
            _ => Map::new(),
        };
        for key in ["servers", "inputs"] {
            holder.extend(root.remove(&format!("mcp.{key}")).map(|value| (key.to_owned(), value)));
        }
        if holder.is_empty() && !self.source.path.ends_with("settings.json") {
            holder = root;
        }
        // The portable form has the other name.
        let key = if holder.contains_key("servers") { "servers" } else { "mcpServers" };
        self.only_servers(holder, key);
    }

    fn zed(&mut self, mut root: Map<String, Value>) {
        self.servers(&mut root, "context_servers");
        let Some(agent) = root.get("agent") else { return };
        for entry in &mut self.entries {
            for (profile, value) in members(agent.get("profiles")) {
                let tools = value.get("context_servers").and_then(|servers| servers.get(&entry.name));
                let note = tools.map(|tools| format!("profile `{}`: {}", shown(profile), left_out("tools", tools)));
                entry.notes.extend(note);
            }
            let start = format!("mcp:{}:", entry.name);
            let tools = members(agent.pointer("/tool_permissions/tools"));
            entry.notes.extend(tools.filter(|(key, _)| key.starts_with(&start)).map(|(key, _)| {
                format!("`{}` in `tool_permissions` was not imported: add the tool to `approve`", shown(key))
            }));
        }
    }

    fn gemini(&mut self, mut root: Map<String, Value>) {
        self.servers(&mut root, "mcpServers");
        let Some(Value::Object(mut mcp)) = root.remove("mcp") else { return };
        let excluded = names(mcp.remove("excluded").as_ref());
        switch_off(&mut self.entries, |entry| excluded.contains(&entry.name), "it is listed in `mcp.excluded`");
        if let Some(allowed) = mcp.remove("allowed") {
            let allowed = names(Some(&allowed));
            let why = "it is not listed in `mcp.allowed`";
            switch_off(&mut self.entries, |entry| !allowed.contains(&entry.name), why);
        }
        self.rest(&mcp);
    }

    fn opencode(&mut self, mut root: Map<String, Value>) {
        let tools = root.remove("tools");
        let of_new = root.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
        match of_new.is_some_and(|servers| !servers.contains_key("type")).then(|| root.remove("mcp")) {
            Some(Some(Value::Object(mcp))) => self.only_servers(mcp, "servers"),
            _ => self.servers(&mut root, "mcp"),
        }
        self.notes.extend(tools.map(|tools| left_out("tools", &tools)));
    }
}

/// Marks the servers that a setting disables, unless another one has done so.
pub(super) fn switch_off(entries: &mut [Entry], is_off: impl Fn(&Entry) -> bool, why: &str) {
    for entry in entries {
        if is_off(entry) {
            entry.off.get_or_insert_with(|| why.to_owned());
        }
    }
}

/// Returns the texts of a list.
pub(super) fn names(list: Option<&Value>) -> BTreeSet<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn members(table: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    table.and_then(Value::as_object).into_iter().flatten()
}
