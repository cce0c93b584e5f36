//! The servers of a rendered prompt as the configuration of a host: a program that starts MCP servers itself.

use std::sync::Arc;

use mcp_bindgen_model::{SecretRef, ServerConfig, Transport};
use serde_json::{Map, Value, json};

use super::offered::{Offer, RenderedServer};
use super::render::RenderedPrompt;
use super::server::selects;
use crate::json::names;

/// A program that starts MCP servers and connects to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Host {
    /// Claude Code and the Claude Agent SDK: `.mcp.json`, `mcpServers`.
    Claude,
    /// Cursor: `.cursor/mcp.json`.
    Cursor,
    /// Visual Studio Code: `.vscode/mcp.json`.
    VsCode,
}

impl Host {
    /// Returns the key of the servers in the host's configuration.
    ///
    /// ```
    /// assert_eq!(mcp_bindgen_agents::Host::VsCode.servers_key(), "servers");
    /// ```
    #[must_use]
    pub const fn servers_key(self) -> &'static str {
        match self {
            Self::Claude | Self::Cursor => "mcpServers",
            Self::VsCode => "servers",
        }
    }

    /// Returns the host's placeholder for an environment variable.
    ///
    /// ```
    /// use mcp_bindgen_agents::Host;
    ///
    /// assert_eq!((Host::Claude.placeholder("A"), Host::Cursor.placeholder("A")), ("${A}".into(), "${env:A}".into()));
    /// ```
    #[must_use]
    pub fn placeholder(self, variable: &str) -> String {
        match self {
            Self::Claude => format!("${{{variable}}}"),
            Self::Cursor | Self::VsCode => format!("${{env:{variable}}}"),
        }
    }
}

/// The servers of a prompt for a [`Host`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HostConfig {
    /// The file's content: `{"mcpServers": {..}}`, with `servers` for Visual Studio Code. Secrets are the host's placeholders for
    /// environment variables.
    pub config: Value,
    /// The tools that the prompt offers, in the form of the host's list of allowed tools: `mcp__files__read`. For Claude only,
    /// in `allowedTools` of the SDK's options or `--allowedTools`: Claude calls them without asking its user.
    pub allowed_tools: Vec<String>,
    /// The other tools of the servers, in the same form. For Claude only, in `disallowedTools` or `--disallowedTools`: Claude
    /// does not call them. A tool that the server adds later is in neither list, and Claude asks its user.
    pub disallowed_tools: Vec<String>,
    /// The servers that the host cannot run as they are configured, with the reasons.
    pub left_out: Vec<(String, String)>,
}

impl RenderedPrompt {
    /// Returns the servers of the open sections as the configuration of a host. The host then starts them, calls their
    /// tools and asks for approvals itself. Functions of the prompt are omitted.
    ///
    /// Nothing is weakened: a server is left out if its configuration or its section demands what the host does not enforce.
    /// These are the [demands](ServerConfig::demands) of its configuration and layers of its section. A selection of tools
    /// becomes `allowed_tools` and `disallowed_tools` for Claude. A server with placeholders that the host does not know is left out too.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Host, Prompt, PromptParams, PromptState, Section, SectionServer};
    /// use mcp_bindgen_model::{ServerConfig, Snapshot};
    ///
    /// let known = Snapshot::parse(r#"{ "tools": [{ "name": "read" }] }"#)?;
    /// let files = ServerConfig::npm("files", "my-files-server").env("TOKEN", "${FILES_TOKEN}");
    /// let section = Section::new("files", "Files").server(SectionServer::from(files).snapshot(known));
    /// let prompt = Prompt::new().section(section).build()?;
    /// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
    ///
    /// let claude = rendered.host_config(Host::Claude);
    /// assert_eq!(claude.config["mcpServers"]["files"]["env"]["TOKEN"], "${FILES_TOKEN}");
    /// assert_eq!(claude.allowed_tools, ["mcp__files__read"]);
    /// let code = rendered.host_config(Host::VsCode);
    /// assert_eq!(code.config["servers"]["files"]["env"]["TOKEN"], "${env:FILES_TOKEN}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn host_config(&self, host: Host) -> HostConfig {
        let (mut servers, mut allowed_tools, mut disallowed_tools) = (Map::new(), Vec::new(), Vec::new());
        let mut left_out = Vec::new();
        for (index, server) in self.servers().iter().enumerate() {
            let selections = self.offered.order.iter().filter_map(|(_, offer)| match offer {
                Offer::Server { index: of, only } if *of == index => Some(only.as_ref()),
                _ => None,
            });
            let selections: Vec<Option<&Arc<[String]>>> = selections.collect();
            match entry(host, server, selections.iter().all(Option::is_some)) {
                Ok(entry) => {
                    servers.insert(server.name().to_owned(), entry);
                    if host == Host::Claude {
                        let (allowed, others) = tools(server, &selections);
                        allowed_tools.extend(allowed);
                        disallowed_tools.extend(others);
                    }
                }
                Err(why) => left_out.push((server.name().to_owned(), why)),
            }
        }
        HostConfig { config: json!({ host.servers_key(): servers }), allowed_tools, disallowed_tools, left_out }
    }
}

/// Returns the tools of a server that the prompt offers, and the others, as Claude names them.
fn tools(server: &RenderedServer, selections: &[Option<&Arc<[String]>>]) -> (Vec<String>, Vec<String>) {
    let listed = server.handle.listed().unwrap_or_default();
    let is_offered = |name: &&str| server.handle.allows(name) && selections.iter().any(|only| selects(*only, name));
    let (offered, others): (Vec<&str>, Vec<&str>) = names(&listed).partition(is_offered);
    let named = |names: Vec<&str>| names.iter().map(|name| format!("mcp__{}__{name}", server.name())).collect();
    (named(offered), named(others))
}

fn entry(host: Host, server: &RenderedServer, is_selected: bool) -> Result<Value, String> {
    let config = server.config().ok_or("its configuration is unknown: it is called by code of the program")?;
    if !Arc::ptr_eq(&server.caller, &server.handle.caller) {
        return Err("policies or layers of its section would not apply".to_owned());
    }
    let is_enforced = |demand: &str| host == Host::Claude && ["tools", "exclude"].contains(&demand);
    let has_cwd = matches!(&config.transport, Transport::Stdio { cwd: Some(_), .. });
    let others =
        [("cwd", has_cwd && host != Host::VsCode), ("SectionServer::only", is_selected && host != Host::Claude)];
    let others = others.into_iter().filter_map(|(demand, is_set)| is_set.then_some(demand));
    if let Some(demand) = config.demands().chain(others).find(|demand| !is_enforced(demand)) {
        return Err(format!("the host does not enforce `{demand}`"));
    }
    let mut entry = members(config);
    let placeholders = config.placeholders();
    if let Some(secret) = placeholders.iter().find(|secret| !matches!(secret, SecretRef::Variable(_))) {
        return Err(format!("the host cannot look up `{secret}`"));
    }
    if !config.secret_stores.is_empty() {
        return Err("the host looks secrets up in the environment only, and not along `secrets`".to_owned());
    }
    let empty = if host == Host::Claude { ":-" } else { "" };
    if let (Transport::Stdio { .. }, Value::Object(entry)) = (&config.transport, &mut entry) {
        let inherited = config.inherit_env.iter().map(|name| (name.clone(), format!("${{{name}{empty}}}").into()));
        let mut env: Map<String, Value> = inherited.collect();
        env.extend(entry.remove("env").and_then(|env| env.as_object().cloned()).unwrap_or_default());
        if !env.is_empty() {
            entry.insert("env".to_owned(), env.into());
        }
    }
    if host != Host::Claude {
        in_form_of(host, &mut entry)?;
    }
    Ok(entry)
}

/// Formats the transport of a server in the keys that all hosts share.
fn members(config: &ServerConfig) -> Value {
    // Without secrets that are written out: their placeholders name the variables to set.
    let mut json = config.to_json();
    let transport = match &config.transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
        Transport::Sse { .. } => "sse",
    };
    if let Value::Object(members) = &mut json {
        members.retain(|key, _| ["command", "args", "cwd", "env", "url", "headers"].contains(&key.as_str()));
        members.insert("type".to_owned(), transport.into());
    }
    json
}

/// Writes placeholders as an editor does, which has no defaults.
fn in_form_of(host: Host, value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let mut written = String::new();
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once("${") {
                let (name, after) = after.split_once('}').ok_or("a placeholder does not end")?;
                let name = name.strip_prefix("env:").unwrap_or(name);
                if name.contains(":-") {
                    return Err(format!("the host knows no defaults, as in `${{{name}}}`"));
                }
                written.push_str(before);
                written.push_str(&host.placeholder(name));
                rest = after;
            }
            written.push_str(rest);
            *text = written;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| in_form_of(host, item)),
        Value::Object(members) => members.values_mut().try_for_each(|member| in_form_of(host, member)),
        _ => Ok(()),
    }
}
