//! One server of a host, as `mcp.toml` would have it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{ServerConfig, Transport};
use serde_json::Value;

use super::command::Command;
use super::fields::Fields;
use super::host::{Folders, Host};
use super::placeholder::{Inputs, Place, Translation, is_variable};
use super::variable::{Variable, server_name, shown};
use crate::project::slashed;

/// A server that was found.
pub(crate) struct Entry {
    /// Its name, as the first of the origins has it.
    pub(crate) name: String,
    pub(crate) origins: Vec<Origin>,
    /// The server, including its secrets, or the reason why it cannot be imported.
    pub(crate) found: Result<ServerConfig, String>,
    /// The setting that switched it off.
    pub(crate) off: Option<String>,
    /// The known variables of its placeholders.
    pub(crate) variables: Vec<Variable>,
    /// The differences from the original.
    pub(crate) notes: Vec<String>,
    /// `true` if the server is in the user's configuration, which that of a project overrides.
    pub(super) is_of_user: bool,
}

/// The origin of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) host: Host,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// The file that servers are read from.
pub(super) struct Source<'a> {
    pub(super) host: Host,
    pub(super) path: &'a Path,
    pub(super) folders: &'a Folders,
    /// The folder of the mcp.toml that they go to.
    pub(super) target: &'a Path,
}

impl Source<'_> {
    /// Reads one server. Its errors do not affect others.
    pub(super) fn entry(&self, name: &str, value: Value, inputs: &mut Inputs) -> Entry {
        let origin = Origin { host: self.host, path: self.path.to_owned(), name: name.to_owned() };
        let mut entry = Entry {
            name: name.to_owned(),
            origins: vec![origin],
            found: Err("it is not a table".to_owned()),
            off: None,
            variables: Vec::new(),
            notes: Vec::new(),
            is_of_user: false,
        };
        let Value::Object(map) = value else { return entry };
        let mut fields = Fields::new(map);
        entry.off = match (fields.switch("disabled"), fields.switch("enabled")) {
            (Some(true), _) => Some("`disabled` is true".to_owned()),
            (_, Some(false)) => Some("`enabled` is false".to_owned()),
            _ => None,
        };
        let name = server_name(name);
        let workspace = self.folders.workspace(self.path);
        let mut translation = Translation {
            host: self.host,
            platform: self.folders.platform,
            inputs,
            workspace_name: workspace.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
            server: &name,
            notes: Vec::new(),
            variables: Vec::new(),
            uses_workspace: false,
            plain: BTreeSet::new(),
        };
        let workspace = workspace.map_or_else(|| ".".to_owned(), |workspace| relative(self.target, workspace));
        let found = self.server(&name, &mut fields, &mut translation, &workspace);
        fields.rest();
        entry.found = match (fields.fault, found) {
            (Some(fault), _) => Err(fault),
            (None, found) => found,
        };
        entry.notes = fields.notes;
        entry.notes.append(&mut translation.notes);
        entry.variables = translation.variables;
        if let Ok(server) = &entry.found {
            let stands =
                |plain: &&String| server.placeholders().iter().any(|known| plain_form(plain) == known.to_string());
            for plain in translation.plain.iter().filter(stands) {
                let (text, host) = (shown(plain), self.host.name());
                entry.notes.push(format!("`{text}` is plain text for {host}, but a placeholder in mcp.toml"));
            }
        }
        entry
    }

    fn server(
        &self,
        name: &str,
        fields: &mut Fields,
        translation: &mut Translation<'_>,
        workspace: &str,
    ) -> Result<ServerConfig, String> {
        self.unfold(fields);
        let way = fields.text(&["type", "transport"]);
        let is_remote = match way.as_deref() {
            Some("stdio" | "local") => Some(false),
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "sse" | "remote") => Some(true),
            Some(other) => return Err(format!("unsupported transport `{}`", shown(other))),
            None => None,
        };
        const URLS: [&str; 4] = ["httpUrl", "serverUrl", "url", "uri"];
        let has_url = URLS.iter().any(|key| fields.has(key));
        let mut server = match is_remote.unwrap_or(has_url && !fields.has("command")) {
            true => self.remote(name, fields, translation, &URLS, way.as_deref() == Some("sse"))?,
            false => self.child(name, fields, translation, workspace)?,
        };
        if let Transport::Http { url, .. } | Transport::Sse { url, .. } = &server.transport
            && !["http://", "https://", "${"].iter().any(|start| url.starts_with(start))
        {
            let scheme = url.split_once("://").map_or("something else", |(scheme, _)| scheme);
            return Err(format!("its URL begins with `{}` instead of `https://`", shown(scheme)));
        }
        self.rest(fields, &mut server);
        Ok(server)
    }

    /// Brings the older ways to write a server into the common one.
    fn unfold(&self, fields: &mut Fields) {
        match fields.take(&["command", "cmd"]) {
            // Zed's.
            Some((_, Value::Object(mut inner))) => {
                if let Some(path) = inner.remove("path") {
                    inner.insert("command".to_owned(), path);
                }
                inner.into_iter().for_each(|(key, value)| fields.put(&key, value));
            }
            // OpenCode's.
            Some((_, Value::Array(mut words))) if !words.is_empty() => {
                fields.put("command", words.remove(0));
                fields.put("args", words.into());
            }
            Some((_, command)) => fields.put("command", command),
            None => {}
        }
        if self.host == Host::Zed
            && let Some((key, source)) = fields.take(&["source"])
            && source != "custom"
        {
            fields.put(&key, source);
        }
    }

    fn child(
        &self,
        name: &str,
        fields: &mut Fields,
        translation: &mut Translation<'_>,
        workspace: &str,
    ) -> Result<ServerConfig, String> {
        let Some(command) = fields.text(&["command"]).filter(|command| !command.trim().is_empty()) else {
            let of_extension = ["settings", "extension", "source"].iter().any(|key| fields.has(key));
            return Err(match of_extension {
                true => format!("it belongs to an extension of {}, which starts it", self.host.name()),
                false => "it has neither `command` nor `url`".to_owned(),
            });
        };
        let cwd = fields.text(&["cwd"]);
        let own_cwd = cwd.map(|cwd| translation.translate(place("`cwd`", "cwd", workspace, false), &cwd));
        let own_cwd = own_cwd.map(|cwd| rebased(&cwd, workspace));
        // Arguments are relative to the folder that the program runs in.
        let inner = if own_cwd.as_deref().is_none_or(|cwd| cwd == workspace) { "." } else { workspace };
        translation.uses_workspace = false;
        let args: Vec<String> = fields.texts(&["args"]).unwrap_or_default();
        let args: Vec<String> =
            args.iter().map(|text| translation.translate(place("`args`", "argument", inner, false), text)).collect();
        let env = fields.pairs(&["env", "environment", "envs"]).into_iter().map(|(key, text)| {
            let label = format!("env `{}`", shown(&key));
            let text = translation.translate(place(&label, &key, inner, true), &text);
            (key, text)
        });
        let env: Vec<(String, String)> = env.collect();
        let is_relative = args.iter().any(|argument| argument.starts_with("./") || argument.starts_with("../"));
        let in_workspace = translation.uses_workspace || (is_relative && self.is_of_project());
        let command = translation.translate(place("`command`", "command", workspace, false), &command);
        let is_path = command.contains(['/', '\\']) && !command.starts_with("${");
        let command = if is_path { rebased(&command, workspace) } else { command };
        let mut command = Command { command, args, env };
        command.shorten();
        if let Some(bridged) = command.bridged() {
            fields.notes.extend(bridged.notes);
            let server = at_url(name, bridged.url, bridged.is_sse);
            return Ok(bridged.headers.into_iter().fold(server, |server, (key, value)| server.header(key, value)));
        }
        let mut server = ServerConfig::stdio(name, command.command).args(command.args);
        server.env = command.env.into_iter().collect();
        match own_cwd {
            Some(cwd) => {
                if in_workspace && inner != "." {
                    let note = "`cwd` is not the project folder: check that its arguments are still right";
                    fields.notes.push(note.to_owned());
                }
                server = server.cwd(cwd);
            }
            None if in_workspace => server = server.cwd(workspace),
            None => {}
        }
        server.inherit_env = self.inherited(fields);
        Ok(server)
    }

    /// Reads Codex' `env_vars`: names, or tables with a name and its source.
    fn inherited(&self, fields: &mut Fields) -> Vec<String> {
        let Some((key, value)) = fields.take(&["env_vars", "env_keys"]) else { return Vec::new() };
        let mut names = Vec::new();
        for value in value.as_array().cloned().unwrap_or_default() {
            let source = value.get("source").and_then(Value::as_str).unwrap_or("local");
            let name = value.as_str().or_else(|| value.get("name").and_then(Value::as_str)).unwrap_or_default();
            if source == "local" && is_variable(name) && shown(name) == name {
                names.push(name.to_owned());
            } else {
                let (name, source) = (shown(name), shown(source));
                fields.notes.push(format!("`{name}` in `{key}` (`source` {source}) was not imported"));
            }
        }
        names
    }

    fn remote(
        &self,
        name: &str,
        fields: &mut Fields,
        translation: &mut Translation<'_>,
        keys: &[&str],
        is_sse: bool,
    ) -> Result<ServerConfig, String> {
        let Some(url) = fields.text(keys).filter(|url| !url.trim().is_empty()) else {
            return Err("it has no `url`".to_owned());
        };
        let url = translation.translate(place("`url`", "url", ".", false), &url);
        let mut server = at_url(name, url, is_sse);
        for (key, text) in fields.pairs(&["headers", "http_headers"]) {
            let label = format!("header `{}`", shown(&key));
            let text = translation.translate(place(&label, &key, ".", false), &text);
            server = server.header(key, text);
        }
        for (key, variable) in fields.pairs(&["env_http_headers"]) {
            server = match is_variable(&variable) {
                true => server.header(key, format!("${{{variable}}}")),
                false => {
                    let note = format!("`{key}` in `env_http_headers` was not imported: it is not a variable name");
                    fields.notes.push(note);
                    server
                }
            };
        }
        if let Some(variable) = fields.text(&["bearer_token_env_var"]) {
            if !is_variable(&variable) {
                return Err("`bearer_token_env_var` is not a variable name".to_owned());
            }
            server = server.header("Authorization", format!("Bearer ${{{variable}}}"));
        }
        if let Some(token) = fields.text(&["bearer_token"]) {
            server = server.header("Authorization", format!("Bearer {token}"));
        }
        Ok(server)
    }

    /// Reads the keys of every server, however it is reached.
    fn rest(&self, fields: &mut Fields, server: &mut ServerConfig) {
        let is_seconds = self.host == Host::Zed;
        server.timeout = fields.time("timeout", is_seconds).or_else(|| fields.time("tool_timeout_sec", true));
        server.connect_timeout =
            fields.time("startup_timeout_sec", true).or_else(|| fields.time("startup_timeout_ms", false));
        server.description = fields.text(&["description"]);
        if self.host == Host::Codex {
            approvals(fields, server);
        }
        let tools = fields.texts(&["includeTools", "enabled_tools", "enabledTools", "available_tools", "tools"]);
        server.tools = tools.filter(|tools| tools.as_slice() != ["*"]);
        server.exclude = fields.texts(&["excludeTools", "disabledTools", "disabled_tools"]).unwrap_or_default();
    }

    fn is_of_project(&self) -> bool {
        self.folders.projects.iter().any(|project| self.path.starts_with(project))
            && self.folders.home.as_deref().is_none_or(|home| self.folders.workspace(self.path) != Some(home))
    }
}

/// Reads Codex' `tools.T.approval_mode`, and the mode for all tools.
fn approvals(fields: &mut Fields, server: &mut ServerConfig) {
    if let Some((key, mode)) = fields.take(&["default_tools_approval_mode"]) {
        match mode.as_str() {
            Some("prompt") => server.approve.push("*".to_owned()),
            _ => fields.notes.push(super::fields::left_out(&key, &mode)),
        }
    }
    let Some((_, Value::Object(tools))) = fields.take(&["tools"]) else { return };
    for (tool, value) in tools {
        let Value::Object(mut about) = value else { continue };
        if about.get("approval_mode").is_some_and(|mode| mode == "prompt") {
            about.remove("approval_mode");
            server.approve.push(tool.clone());
        }
        for (key, value) in about {
            fields.notes.push(format!("tool `{}`: {}", shown(&tool), super::fields::left_out(&key, &value)));
        }
    }
}

fn at_url(name: &str, url: String, is_sse: bool) -> ServerConfig {
    if is_sse { ServerConfig::sse(name, url) } else { ServerConfig::http(name, url) }
}

fn place<'a>(label: &'a str, key: &'a str, workspace: &'a str, is_env: bool) -> Place<'a> {
    Place { label, key, workspace, is_env }
}

/// Returns a placeholder as `placeholders` shows it.
fn plain_form(plain: &str) -> String {
    let inside = plain.trim_start_matches("${").trim_end_matches('}');
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    format!("${{{}}}", inside.split(":-").next().unwrap_or_default())
}

/// Returns a relative path of the project as one that is relative to the folder of mcp.toml.
fn rebased(path: &str, workspace: &str) -> String {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.starts_with("${") || path.get(1..2) == Some(":");
    if workspace == "." || is_absolute || path == workspace || path.starts_with(&format!("{workspace}/")) {
        return path.to_owned();
    }
    format!("{workspace}/{}", path.trim_start_matches("./"))
}

/// Returns the way from one folder to another.
pub(crate) fn relative(from: &Path, to: &Path) -> String {
    let way = mcp_bindgen_codegen::relative(from, to);
    match slashed(&way) {
        _ if way.is_absolute() => way.display().to_string(),
        here if here.is_empty() => ".".to_owned(),
        way => way,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_durations_are_formatted_relative_and_short() {
        for (from, to, expected) in [
            ("/a/b", "/a/b", "."),
            ("/a/b", "/a", ".."),
            ("/a", "/a/b/c", "b/c"),
            ("/a/x", "/a/y", "../y"),
            ("/a/b/..", "/a/b", "b"),
        ] {
            assert_eq!(relative(from.as_ref(), to.as_ref()), expected);
        }
        assert_eq!(rebased("./bin/x", ".."), "../bin/x");
        assert_eq!(rebased("/bin/x", ".."), "/bin/x");
    }
}
