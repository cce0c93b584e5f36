//! Reads whole files.

use std::path::Path;

use serde_json::Value;

use super::across::{AccessEntry, JOINED, read_access, read_joined, read_policies};
use super::key::{Form, Key, key};
use super::keys::{Defaults, ServerConfig};
use super::read::{Node, Reader};
use super::table::{ConfigValue, Table};
use super::{Config, server};
use crate::server::{ConfigPlaces, PolicyRule, is_server_name};
use crate::text::without_byte_order_mark;
use crate::{FileError, read_text};

const CODES: Form = Form::List(&Form::Plain(r#"{"type":"string","pattern":"^MCP[0-9]{4}$"}"#));

static FILE: [Key; 7] = [
    key("defaults", Form::Table(Defaults::KEYS), "", "values that servers inherit"),
    key(
        "servers",
        Form::Map(&Form::Table(ServerConfig::KEYS)),
        "",
        "the servers by name: a name has 1 to 64 of `a-z`, `0-9`, `_` and `-`",
    ),
    key(
        "tools",
        Form::Map(&Form::Table(JOINED)),
        "",
        "tools for models that stand for like tools of several servers, by name",
    )
    .page("agents.md#one-tool-for-several-servers"),
    key("policy", <Vec<PolicyRule>>::FORM, "[]", "rules about calls, with each tool as `\"server/tool\"`")
        .page("governance.md#policies-in-mcptoml"),
    key(
        "access",
        Form::Map(&Form::Table(AccessEntry::KEYS)),
        "",
        "servers and tools that callers see through a proxy, by name; others see nothing",
    )
    .page("proxy.md#access"),
    key("deny", CODES, "[]", "diagnostic codes that are errors").page("diagnostics.md"),
    key("allow", CODES, "[]", "diagnostic codes that are hidden").page("diagnostics.md"),
];

/// Returns the JSON Schema of `mcp.toml`, which editors use to complete and check the file. `mcp-bindgen init` writes
/// it.
///
/// ```
/// let schema = mcp_bindgen_model::config_schema();
/// assert_eq!(schema["properties"]["servers"]["additionalProperties"]["properties"]["timeout"]["type"], "string");
/// ```
#[doc(hidden)]
#[must_use]
#[inline]
pub fn config_schema() -> Value {
    let mut schema = Form::Table(&FILE).schema();
    if let Value::Object(members) = &mut schema {
        members.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
        members.insert("title".to_owned(), "mcp.toml of mcp-bindgen".into());
    }
    schema
}

impl Config {
    /// Reads a file: as `.mcp.json` if its name ends in `.json`, else as `mcp.toml`. Relative paths in `command`,
    /// `cwd` and `isolation` are relative to its folder.
    ///
    /// # Errors
    /// Fails if the file cannot be read or something in it is wrong: file, line, column, key and the nearest known one.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let text = read_text(path)?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let mut config = if is_json { Self::parse_mcp_json(&text, path) } else { Self::parse_toml(&text, path) }?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        for server in config.servers.values_mut() {
            server.folder = path.parent().map(Path::to_owned);
        }
        Ok(config)
    }

    /// Parses an `mcp.toml`. Errors name `path`, and the snapshots' folder is relative to it.
    ///
    /// # Errors
    /// Fails if something is wrong: file, line, column, key and the nearest known one.
    pub fn parse_toml(text: &str, path: &Path) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        let mut reader = Reader::new(Some(text), Some(path), true);
        let root = reader.toml(text)?;
        let mut config = Self { path: Some(path.to_owned()), ..Self::default() };
        let Self { defaults, servers, joined, access, diagnostics, .. } = &mut config;
        // The other tables name servers, which may come after them in the file.
        for node in reader.known(&root, "the file", &FILE)? {
            match node.key.as_str() {
                "defaults" => {
                    *defaults = Defaults::default().filled(&reader, node, "`defaults`")?;
                    defaults.says_timeout = node.get("timeout").is_some();
                }
                "servers" => {
                    for server in reader.table(node, "`servers`")? {
                        servers.insert(server.key.clone(), server::read(&mut reader, server)?);
                    }
                }
                "deny" => diagnostics.deny = codes(&reader, node, &mut diagnostics.places)?,
                "allow" => diagnostics.allow = codes(&reader, node, &mut diagnostics.places)?,
                _ => {}
            }
        }
        if let Some(node) = root.get("policy") {
            read_policies(&reader, node, servers)?;
        }
        *access = root.get("access").map(|node| read_access(&reader, node, servers)).transpose()?;
        if let Some(node) = root.get("tools") {
            *joined = read_joined(&reader, node, servers)?;
        }
        config.warnings = reader.warnings;
        Ok(config)
    }

    /// Parses a `.mcp.json`, the file of other MCP hosts. Unknown keys are ignored, because other hosts have their
    /// own; an invalid value rejects its entry, not the file.
    ///
    /// # Errors
    /// Fails if something is wrong: file, line, column and key.
    pub fn parse_mcp_json(text: &str, path: &Path) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        let reader = Reader::new(Some(text), Some(path), false);
        let root = reader.json(text)?;
        reader.table(&root, "the file")?;
        let Some(servers) = root.get("mcpServers") else {
            let (at, help) = match root.get("servers") {
                Some(servers) => (servers.key_at, "rename `servers` to `mcpServers`"),
                None => (root.at, "expected the servers in an object `mcpServers`"),
            };
            return Err(reader.error(at, "the file has no `mcpServers`").with_help(help));
        };
        let config = Self { path: Some(path.to_owned()), ..Self::default() };
        config.read_json(reader, servers, |_| true)
    }

    /// Parses the value of `MCP_SERVERS`: an object of servers by name, or one with `mcpServers`.
    ///
    /// # Errors
    /// Fails if something is wrong: line, column and key.
    pub fn from_env_json(text: &str) -> Result<Self, FileError> {
        let reader = Reader::new(Some(text), Some(Path::new("MCP_SERVERS")), false);
        let root = reader.json(text)?;
        let members = reader.table(&root, "`MCP_SERVERS`")?;
        let servers = members.iter().find(|member| member.key == "mcpServers").unwrap_or(&root);
        Self::default().read_json(reader, servers, |name| !is_server_name(name))
    }

    /// Reads the servers of a JSON file. The invalid ones are rejected if `rejects` says so of their names.
    fn read_json(
        mut self,
        mut reader: Reader<'_>,
        servers: &Node,
        rejects: fn(&str) -> bool,
    ) -> Result<Self, FileError> {
        for node in reader.table(servers, "`mcpServers`")? {
            let name = &node.key;
            match server::read(&mut reader, node) {
                Ok(read) => drop(self.servers.insert(name.clone(), read)),
                Err(error) if rejects(name) => reader.warn(name, error, true),
                Err(error) => return Err(error),
            }
        }
        self.warnings = reader.warnings;
        Ok(self)
    }
}

/// Reads the codes of `deny` or `allow`, and adds their positions.
fn codes(reader: &Reader<'_>, node: &Node, places: &mut ConfigPlaces) -> Result<Vec<String>, FileError> {
    reader.add_places(node, places);
    let what = format!("`{}`", node.key);
    let codes = Vec::<String>::read(reader, node, &what)?;
    let is_code = |code: &str| {
        code.strip_prefix("MCP").is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    for (code, node) in codes.iter().zip(node.elements()) {
        if !is_code(code) {
            let error = reader.error(node.at, format!("{what} contains a value that is not a code"));
            return Err(error.with_help("expected a code such as `MCP0001`"));
        }
    }
    Ok(codes)
}
