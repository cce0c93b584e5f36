//! The servers that a project uses, from `mcp.toml`, `.mcp.json` or `MCP_SERVERS`.

mod access;
mod auth;
mod drift;
mod find;
mod isolation;
mod joined_tools;
pub(crate) mod key;
mod keys;
pub(crate) mod node;
mod policy;
pub(crate) mod read;
mod rust;
mod schema;
mod server;
pub(crate) mod table;
mod view;
mod warning;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

pub use self::access::{Access, AccessEntry};
#[doc(hidden)]
pub use self::find::is_packaged;
pub use self::joined_tools::JoinedTool;
pub(crate) use self::key::{Key, Reach};
#[doc(hidden)]
pub use self::keys::config_keys;
pub use self::keys::{Defaults, ServerConfig};
use self::node::{Entry, Node};
use self::read::{Reader, suggestion};
pub use self::schema::config_schema;
pub(crate) use self::table::{Change, Table, change_entries, table};
pub use self::warning::ConfigWarning;
use crate::secrets::quoted;
use crate::server::{Transport, View, is_server_name};
use crate::text::without_byte_order_mark;
use crate::{FileError, read_text};

/// The servers of a project.
///
/// ```
/// use mcp_bindgen_model::Config;
///
/// let config = Config::parse_toml(
///     r#"
///     [servers.github]
///     npm = "@modelcontextprotocol/server-github"
///     env = { GITHUB_PERSONAL_ACCESS_TOKEN = "${GITHUB_TOKEN}" }
///     "#,
///     "mcp.toml".as_ref(),
/// )?;
/// assert_eq!(config.server("github")?.name, "github");
/// assert_eq!(config.snapshot_path("github"), std::path::Path::new("mcp/github.json"));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// The file that it was read from.
    pub path: Option<PathBuf>,
    /// The values that servers inherit.
    pub defaults: Defaults,
    /// The servers by name.
    pub servers: BTreeMap<String, ServerConfig>,
    /// The tools that replace similar tools of several servers, by name.
    pub joined: BTreeMap<String, JoinedTool>,
    /// The servers and tools that callers see through a proxy; `None` if all see everything.
    pub access: Option<Access>,
    /// Invalid entries of another program's file, by name, with the reason.
    pub rejected: BTreeMap<String, FileError>,
    /// Problems that do not prevent reading.
    pub warnings: Vec<ConfigWarning>,
    /// The levels of the generator's diagnostics.
    pub diagnostics: DiagnosticLevels,
}

/// Omits the names of rejected entries, because such a name may be a secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("defaults", &self.defaults)
            .field("servers", &self.servers)
            .field("joined", &self.joined)
            .field("access", &self.access)
            .field("rejected", &self.rejected.values().collect::<Vec<_>>())
            .field("warnings", &self.warnings)
            .field("diagnostics", &self.diagnostics)
            .finish()
    }
}

/// The codes of the generator's diagnostics that are errors, and those that are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticLevels {
    /// Codes that are errors.
    pub deny: Vec<String>,
    /// Codes that are hidden.
    pub allow: Vec<String>,
    /// Each code with its place in the file.
    places: Vec<(String, FileError)>,
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
        let root = node::from_toml(reader.source, text)?;
        let mut config = Self { path: Some(path.to_owned()), ..Self::default() };
        for entry in reader.table(&root, "the file")? {
            reader.check_key(entry, "the file", &keys::FILE)?;
            match entry.key.as_str() {
                "defaults" => config.defaults = defaults(&reader, &entry.value)?,
                "servers" => {
                    for server in reader.table(&entry.value, "`servers`")? {
                        let read = server::read(&mut reader, &server.key, server.at, &server.value)?;
                        config.servers.insert(server.key.clone(), read);
                    }
                }
                "deny" => config.diagnostics.deny = codes(&reader, entry, &mut config.diagnostics.places)?,
                "allow" => config.diagnostics.allow = codes(&reader, entry, &mut config.diagnostics.places)?,
                _ => {}
            }
        }
        // They name servers, which may come after them in the file.
        let all = reader.table(&root, "the file")?;
        let of = |key: &str| all.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        if let Some(node) = of("policy") {
            policy::read_all(&reader, node, &mut config.servers)?;
        }
        config.access = of("access").map(|node| access::read(&reader, node, &config.servers)).transpose()?;
        for tool in of("tools").map(|node| reader.table(node, "`tools`")).transpose()?.unwrap_or_default() {
            let read = joined_tools::read(&reader, tool, &config.servers)?;
            config.joined.insert(tool.key.clone(), read);
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
        let root = node::from_json(reader.source, text)?;
        let entries = reader.table(&root, "the file")?;
        let Some(servers) = entries.iter().find(|entry| entry.key == "mcpServers") else {
            let known = entries.iter().find(|entry| entry.key == "servers");
            let help = match known {
                Some(_) => "rename `servers` to `mcpServers`",
                None => "expected the servers in an object `mcpServers`",
            };
            return Err(reader.error(known.map_or(root.at, |e| e.at), "the file has no `mcpServers`").with_help(help));
        };
        let config = Self { path: Some(path.to_owned()), ..Self::default() };
        config.read_json(reader, &servers.value, |_| true)
    }

    /// Parses the value of `MCP_SERVERS`: an object of servers by name, or one with `mcpServers`.
    ///
    /// # Errors
    /// Fails if something is wrong: line, column and key.
    pub fn from_env_json(text: &str) -> Result<Self, FileError> {
        let reader = Reader::new(Some(text), Some(Path::new("MCP_SERVERS")), false);
        let root = node::from_json(reader.source, text)?;
        let entries = reader.table(&root, "`MCP_SERVERS`")?;
        let servers = entries.iter().find(|entry| entry.key == "mcpServers").map_or(&root, |entry| &entry.value);
        Self::default().read_json(reader, servers, |name| !is_server_name(name))
    }

    /// Reads the servers of a JSON file. The invalid ones are rejected if `rejects` says so of their names.
    fn read_json(
        mut self,
        mut reader: Reader<'_>,
        servers: &Node,
        rejects: fn(&str) -> bool,
    ) -> Result<Self, FileError> {
        for Entry { key, at, value } in reader.table(servers, "`mcpServers`")? {
            match server::read(&mut reader, key, *at, value) {
                Ok(read) => drop(self.servers.insert(key.clone(), read)),
                Err(error) if rejects(key) => {
                    reader.warn(key, error.clone());
                    self.rejected.insert(key.clone(), error);
                }
                Err(error) => return Err(error),
            }
        }
        self.warnings = reader.warnings;
        Ok(self)
    }

    /// Returns the server with this name.
    ///
    /// # Errors
    /// Fails if there is no such server, with the nearest names and all available ones.
    pub fn server(&self, name: &str) -> Result<&ServerConfig, FileError> {
        if let Some(server) = self.servers.get(name) {
            return Ok(server);
        }
        if let Some(error) = self.rejected.get(name) {
            return Err(error.clone());
        }
        let error = FileError::new(format!("unknown server `{}`", quoted(name)));
        let error = match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        };
        if self.servers.is_empty() {
            return Err(error.with_help("no servers are configured"));
        }
        let known = || self.servers.keys().map(String::as_str);
        let all = suggestion("", known(), "known servers:");
        let near = crate::nearest(name, known());
        Err(error.with_help(match near.first() {
            Some(near) => format!("did you mean `{near}`? {all}"),
            None => all,
        }))
    }

    /// Returns the server with this name, with the defaults for everything that it does not set; bindings embed this.
    ///
    /// # Errors
    /// Fails like [`server`](Self::server).
    pub fn server_with_defaults(&self, name: &str) -> Result<ServerConfig, FileError> {
        self.server(name).map(|server| self.with_defaults(server))
    }

    /// Returns a server with the values that it inherits from `[defaults]`.
    #[must_use]
    pub fn with_defaults(&self, server: &ServerConfig) -> ServerConfig {
        let mut server = server.clone();
        let plain = Defaults::default();
        let is_said = |timeout: &Duration| self.defaults.says_timeout || *timeout != plain.timeout;
        let timeout = Some(self.defaults.timeout).filter(is_said);
        server.timeout = server.timeout.or(timeout);
        let drift = Some(self.defaults.drift).filter(|drift| *drift != plain.drift);
        server.drift = server.drift.or(drift);
        let pin = Some(self.defaults.pin).filter(|pin| *pin != plain.pin);
        server.pin = server.pin.or(pin);
        if matches!(server.transport, Transport::Stdio { .. }) && server.isolation.is_none() {
            server.isolation.clone_from(&self.defaults.isolation);
        }
        if server.secret_stores.is_empty() {
            server.secret_stores.clone_from(&self.defaults.secret_stores);
        }
        server
    }

    /// Checks the codes of `deny` and `allow`: unknown ones are errors.
    ///
    /// # Errors
    /// Names the first that is not among `known`, its place and the nearest one.
    pub fn check_codes<'a>(&self, known: impl Iterator<Item = &'a str> + Clone) -> Result<(), FileError> {
        for (code, place) in &self.diagnostics.places {
            if !known.clone().any(|known| known == code) {
                return Err(place.clone().with_help(suggestion(code, known, "known codes:")));
            }
        }
        Ok(())
    }

    /// Returns the path of a server's snapshot.
    pub fn snapshot_path(&self, name: &str) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        folder.join(&self.defaults.snapshots).join(format!("{name}.json"))
    }
}

/// Parses the configuration of one server, outside any file.
pub(crate) fn server_from_json(name: &str, json: &Value) -> Result<ServerConfig, FileError> {
    server::read(&mut Reader::new(None, None, false), name, 0, &node::from_value(json))
}

/// Parses one view, outside any file.
pub(crate) fn view_from_json(json: &Value) -> Result<View, FileError> {
    view::read(&Reader::new(None, None, false), &node::from_value(json), "the view")
}

fn defaults(reader: &Reader<'_>, node: &Node) -> Result<Defaults, FileError> {
    let mut defaults = Defaults::default();
    defaults.fill(reader, node, "`defaults`", "in")?;
    defaults.says_timeout = reader.table(node, "`defaults`")?.iter().any(|entry| entry.key == "timeout");
    Ok(defaults)
}

/// Reads the codes of `deny` or `allow`. `places` receives each code with the error to report if the code is unknown.
fn codes(reader: &Reader<'_>, entry: &Entry, places: &mut Vec<(String, FileError)>) -> Result<Vec<String>, FileError> {
    let what = format!("`{}`", entry.key);
    let codes = reader.located_texts(&entry.value, &what)?;
    let is_code = |code: &str| {
        code.strip_prefix("MCP").is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    if let Some((_, node)) = codes.iter().find(|(code, _)| !is_code(code)) {
        let error = reader.error(node.at, format!("{what} contains a value that is not a code"));
        return Err(error.with_help("expected a code such as `MCP0001`"));
    }
    let unknown = |code: &str, at| reader.error(at, format!("{what} contains the unknown code `{code}`"));
    places.extend(codes.iter().map(|(code, node)| (code.clone(), unknown(code, node.at))));
    Ok(codes.into_iter().map(|(code, _)| code).collect())
}
