//! One server of a host, as `mcp.toml` would have it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{ConfigField, ServerConfig};
use serde_json::Value;

use super::command::{at_url, bridged, shorten};
use super::fields::Fields;
use super::host::{Host, Source};
use super::placeholder::{Conversion, Inputs, is_variable};
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
pub(crate) struct Origin {
    pub(crate) host: Host,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

impl Entry {
    /// Returns the host of the first of the origins.
    pub(super) fn host(&self) -> Host {
        self.origins.first().map_or(Host::File, |origin| origin.host)
    }

    /// Lists the hosts that have the server.
    pub(crate) fn hosts(&self) -> String {
        self.origins.iter().map(|origin| origin.host.name()).collect::<Vec<_>>().join(" and ")
    }

    /// Lists the files that have the server.
    pub(crate) fn files(&self) -> String {
        self.origins.iter().map(|origin| origin.path.display().to_string()).collect::<Vec<_>>().join(" and ")
    }
}

/// Reads one server. Its errors do not affect others.
pub(super) fn entry(source: Source<'_>, name: &str, value: Value, inputs: &mut Inputs) -> Entry {
    let project = source.folders.workspace(source.path);
    let mut conversion = Conversion {
        source,
        inputs,
        name: server_name(name),
        fields: Fields::of(value),
        workspace: project.map_or_else(|| ".".to_owned(), |project| relative(&source.folders.target, project)),
        uses_workspace: false,
        variables: Vec::new(),
        plain: BTreeSet::new(),
    };
    let [disabled, enabled] = [("disabled", true), ("enabled", false)].map(|(key, is_off)| {
        let (_, value) = conversion.fields.take(&[key])?;
        if !value.is_boolean() {
            conversion.fields.omit(&format!("`{key}`"), "it is not a boolean");
        }
        (value == is_off).then(|| format!("`{key}` is {is_off}"))
    });
    let found = conversion.server();
    let Conversion { mut fields, variables, plain, .. } = conversion;
    fields.omit_rest();
    let (mut notes, host) = (fields.notes, source.host);
    let found = fields.fault.map_or(found, Err);
    if let Ok(server) = &found {
        let known = server.placeholders();
        let is_known =
            |text: &&String| ServerConfig::stdio("", *text).placeholders().iter().any(|read| known.contains(read));
        for text in plain.iter().filter(is_known) {
            let text = shown(text);
            notes.push(format!("`{text}` is plain text for {}, but a placeholder in mcp.toml", host.name()));
        }
    }
    let origins = vec![Origin { host, path: source.path.to_owned(), name: name.to_owned() }];
    Entry { name: name.to_owned(), origins, found, off: disabled.or(enabled), variables, notes, is_of_user: false }
}

impl Conversion<'_> {
    fn server(&mut self) -> Result<ServerConfig, String> {
        const URLS: [&str; 4] = ["httpUrl", "serverUrl", "url", "uri"];
        match self.fields.take(&["command", "cmd"]) {
            // Zed's older form, with `path`, `args` and `env`.
            Some((_, Value::Object(mut inner))) => {
                let path = inner.remove("path").map(|path| ("command".to_owned(), path));
                self.fields.left.extend(inner.into_iter().chain(path));
            }
            // OpenCode's, with the arguments.
            Some((_, Value::Array(mut words))) if !words.is_empty() => {
                let command = words.remove(0);
                self.fields.left.extend([("command".to_owned(), command), ("args".to_owned(), words.into())]);
            }
            command => self.fields.left.extend(command.map(|(_, command)| ("command".to_owned(), command))),
        }
        if self.source.host == Host::Zed {
            self.fields.take_if("source", "custom");
        }
        let kind = self.fields.text(&["type", "transport"]);
        let is_remote = match kind.as_deref() {
            Some("stdio" | "local") => false,
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http" | "sse" | "remote") => true,
            Some(other) => return Err(format!("unsupported transport `{}`", shown(other))),
            None => self.fields.has_any(&URLS) && !self.fields.has_any(&["command"]),
        };
        let mut server = match is_remote {
            true => self.remote(&URLS, kind.as_deref() == Some("sse"))?,
            false => self.child()?,
        };
        if self.source.host == Host::Codex {
            self.approvals(&mut server);
        }
        let (fields, is_seconds) = (&mut self.fields, self.source.host == Host::Zed);
        server.timeout = fields.time("timeout", is_seconds).or_else(|| fields.time("tool_timeout_sec", true));
        server.connect_timeout =
            fields.time("startup_timeout_sec", true).or_else(|| fields.time("startup_timeout_ms", false));
        server.description = fields.text(&["description"]);
        let tools = fields.texts(&["includeTools", "enabled_tools", "enabledTools", "available_tools", "tools"]);
        server.tools = tools.filter(|tools| tools.as_slice() != ["*"]);
        server.exclude = fields.texts(&["excludeTools", "disabledTools", "disabled_tools"]).unwrap_or_default();
        Ok(server)
    }

    fn child(&mut self) -> Result<ServerConfig, String> {
        let Some(command) = self.fields.text(&["command"]).filter(|command| !command.trim().is_empty()) else {
            return Err(match self.fields.has_any(&["settings", "extension", "source"]) {
                true => format!("it belongs to an extension of {}, which starts it", self.source.host.name()),
                false => "it has neither `command` nor `url`".to_owned(),
            });
        };
        let workspace = self.workspace.clone();
        let mut command = self.translate(ConfigField::Command, &command);
        if command.contains(['/', '\\']) {
            command = rebased(&command, &workspace);
        }
        let cwd = self.fields.text(&["cwd"]);
        let cwd = cwd.map(|cwd| rebased(&self.translate(ConfigField::Folder, &cwd), &workspace));
        // Arguments are relative to the folder that the program runs in.
        if cwd.as_ref().is_none_or(|cwd| *cwd == workspace) {
            self.workspace = ".".to_owned();
        }
        self.uses_workspace = false;
        let argument = ConfigField::Argument { command: "", all: &[], index: 0 };
        let args = self.fields.texts(&["args"]).unwrap_or_default();
        let mut args: Vec<String> = args.iter().map(|text| self.translate(argument, text)).collect();
        let env = self.entries(&["env", "environment", "envs"], |name| ConfigField::Env(name));
        let is_relative = args.iter().any(|argument| argument.starts_with("./") || argument.starts_with("../"));
        let in_workspace = self.uses_workspace || (is_relative && self.is_of_project());
        shorten(&mut command, &mut args);
        if let Some(server) = bridged(&self.name, &command, &args, &env, &mut self.fields.notes) {
            return Ok(server);
        }
        let mut server = ServerConfig::stdio(&self.name, command).args(args);
        server.env = env;
        server.inherit_env = self.inherited();
        if in_workspace && self.workspace != "." {
            let note = "`cwd` is not the project folder: check that its arguments are still right";
            self.fields.notes.push(note.to_owned());
        }
        Ok(match cwd.or_else(|| in_workspace.then_some(workspace)) {
            Some(cwd) => server.cwd(cwd),
            None => server,
        })
    }

    /// Reads a table of texts.
    fn entries(&mut self, keys: &[&str], field: fn(&str) -> ConfigField<'_>) -> BTreeMap<String, String> {
        let pairs = self.fields.pairs(keys).into_iter().map(|(name, text)| {
            let text = self.translate(field(&name), &text);
            (name, text)
        });
        pairs.collect()
    }

    /// Reads Codex' `env_vars`: names, or tables with a name and its source.
    fn inherited(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let Some((key, Value::Array(values))) = self.fields.take(&["env_vars", "env_keys"]) else { return names };
        for value in values {
            let source = value.get("source").and_then(Value::as_str).unwrap_or("local");
            let name = value.as_str().or_else(|| value.get("name")?.as_str()).unwrap_or_default();
            if source == "local" && is_variable(name) && shown(name) == name {
                names.push(name.to_owned());
            } else {
                self.fields.omit(&format!("`{}` in `{key}`", shown(name)), "it is not a variable of this machine");
            }
        }
        names
    }

    fn remote(&mut self, keys: &[&str], is_sse: bool) -> Result<ServerConfig, String> {
        let url = self.fields.text(keys).filter(|url| !url.trim().is_empty()).ok_or("it has no `url`")?;
        let url = self.translate(ConfigField::Url, &url);
        if !["http://", "https://", "${"].iter().any(|start| url.starts_with(start)) {
            let scheme = url.split_once("://").map_or("something else", |(scheme, _)| scheme);
            return Err(format!("its URL begins with `{}` instead of `https://`", shown(scheme)));
        }
        let mut headers = self.entries(&["headers", "http_headers"], |name| ConfigField::Header(name));
        let of_variables = self.fields.pairs(&["env_http_headers"]).into_iter().map(|(key, name)| (key, "", name));
        let bearer = self.fields.text(&["bearer_token_env_var"]);
        if bearer.as_ref().is_some_and(|name| !is_variable(name)) {
            return Err("`bearer_token_env_var` is not a variable name".to_owned());
        }
        let bearer = bearer.map(|name| ("Authorization".to_owned(), "Bearer ", name));
        for (key, scheme, name) in of_variables.chain(bearer) {
            if is_variable(&name) {
                headers.insert(key, format!("{scheme}${{{name}}}"));
            } else {
                self.fields.omit(&format!("header `{key}`"), "its value is not the name of a variable");
            }
        }
        if let Some(token) = self.fields.text(&["bearer_token"]) {
            headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
        }
        Ok(at_url(&self.name, url, headers, is_sse))
    }

    /// Reads Codex' `tools.T.approval_mode`, and the mode for all tools.
    fn approvals(&mut self, server: &mut ServerConfig) {
        if self.fields.take_if("default_tools_approval_mode", "prompt") {
            server.approve.push("*".to_owned());
        }
        let tools = match self.fields.take(&["tools"]) {
            Some((_, Value::Object(tools))) => tools,
            other => return self.fields.left.extend(other),
        };
        for (tool, about) in tools {
            let mut about = Fields::of(about);
            if about.take_if("approval_mode", "prompt") {
                server.approve.push(tool.clone());
            }
            about.omit_rest();
            self.fields.notes.extend(about.notes.iter().map(|note| format!("tool `{}`: {note}", shown(&tool))));
        }
    }

    fn is_of_project(&self) -> bool {
        let Source { path, folders, .. } = self.source;
        folders.projects.iter().any(|project| path.starts_with(project))
            && folders.home.as_deref().is_none_or(|home| folders.workspace(path) != Some(home))
    }
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
