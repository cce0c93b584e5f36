//! The servers that a project uses, from `mcp.toml`, `.mcp.json` or `MCP_SERVERS`.

mod across;
pub(crate) mod key;
mod keys;
pub(crate) mod read;
mod server;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toml::de::DeTable;

pub use self::across::{Access, AccessEntry, JoinedTool};
use self::across::{JOINED, read_access, read_joined, read_policies};
pub(crate) use self::key::Reach;
use self::key::{Form, Key, key};
pub use self::keys::{Defaults, ServerConfig};
pub use self::read::ConfigWarning;
use self::read::{Node, Reader, suggestion};
use self::table::ConfigValue;
pub(crate) use self::table::{Change, Table};
use crate::secrets::quoted;
use crate::server::{ConfigPlaces, PolicyRule, Transport, View, is_server_name};
use crate::text::without_byte_order_mark;
use crate::{FileError, nearest, read_text};

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The file that it was read from.
    pub path: Option<PathBuf>,
    /// The values that servers inherit.
    pub defaults: Defaults,
    /// The servers by name.
    pub servers: BTreeMap<String, ServerConfig>,
    /// The tools that replace similar tools of several servers, by name, sorted.
    pub joined: Vec<(String, JoinedTool)>,
    /// The servers and tools that callers see through a proxy; `None` if all see everything.
    pub access: Option<Access>,
    /// Problems that do not prevent reading; invalid entries of another program's file are left out. `server`, `has` and
    /// `names` read from it which entries these are.
    pub warnings: Vec<ConfigWarning>,
    /// The levels of the generator's diagnostics.
    pub diagnostics: DiagnosticLevels,
}

/// The codes of the generator's diagnostics that are errors, and those that are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiagnosticLevels {
    /// Codes that are errors.
    pub deny: Vec<String>,
    /// Codes that are hidden.
    pub allow: Vec<String>,
    /// The positions of the codes.
    places: ConfigPlaces,
}

impl Config {
    /// Returns the server with this name.
    ///
    /// # Errors
    /// Fails if there is no such server, with the nearest names and all available ones.
    pub fn server(&self, name: &str) -> Result<&ServerConfig, FileError> {
        if let Some(server) = self.servers.get(name) {
            return Ok(server);
        }
        if let Some(warning) = self.warnings.iter().rfind(|warning| warning.rejects(name)) {
            return Err(warning.error.clone());
        }
        let known: Vec<&str> = self.servers.keys().map(String::as_str).collect();
        let all = suggestion("", &known, "known servers:");
        let help = match nearest(name, known.iter().copied()).first() {
            _ if self.servers.is_empty() => "no servers are configured".to_owned(),
            Some(near) => format!("did you mean `{near}`? {all}"),
            None => all,
        };
        let error = FileError::new(format!("unknown server `{}`", quoted(name))).with_help(help);
        Err(FileError { path: self.path.clone(), ..error })
    }

    /// Returns `true` if there is an entry of this name, even an invalid one.
    pub fn has(&self, name: &str) -> bool {
        self.servers.contains_key(name) || self.warnings.iter().any(|warning| warning.rejects(name))
    }

    /// Returns the names of all entries, with those of invalid ones.
    pub fn names(&self) -> Vec<&str> {
        let rejections = self.warnings.iter().filter(|warning| warning.is_rejection);
        let rejected = rejections.filter_map(|warning| warning.server.as_ref());
        self.servers.keys().chain(rejected).map(String::as_str).collect()
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
        let (own, plain) = (&self.defaults, Defaults::default());
        let is_said = |timeout: &Duration| own.says_timeout || *timeout != plain.timeout;
        server.timeout = server.timeout.or(Some(own.timeout).filter(is_said));
        server.drift = server.drift.or(Some(own.drift).filter(|drift| *drift != plain.drift));
        server.pin = server.pin.or(Some(own.pin).filter(|pin| *pin != plain.pin));
        if matches!(server.transport, Transport::Stdio { .. }) && server.isolation.is_none() {
            server.isolation.clone_from(&own.isolation);
        }
        if server.secret_stores.is_empty() {
            server.secret_stores.clone_from(&own.secret_stores);
        }
        server
    }

    /// Checks the codes of `deny` and `allow`: unknown ones are errors.
    ///
    /// # Errors
    /// Names the first that is not among `known`, its place and the nearest one.
    pub fn check_codes(&self, known: &[&str]) -> Result<(), FileError> {
        let DiagnosticLevels { deny, allow, places } = &self.diagnostics;
        for (key, codes) in [("deny", deny), ("allow", allow)] {
            if let Some(code) = codes.iter().find(|code| !known.contains(&code.as_str())) {
                let place = places.of(&format!("{key}/{code}"));
                let error = place.error(format!("`{key}` contains the unknown code `{code}`"));
                return Err(error.with_help(suggestion(code, known, "known codes:")));
            }
        }
        Ok(())
    }

    /// Returns the path of a server's snapshot.
    pub fn snapshot_path(&self, name: &str) -> PathBuf {
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        folder.join(&self.defaults.snapshots).join(format!("{name}.json"))
    }

    /// Finds the configuration of the crate in a folder: `mcp.toml`, else `.mcp.json`, in the folder itself or else
    /// at the root of its workspace. A published crate only uses files that are packaged with it.
    pub fn find(manifest_dir: impl AsRef<Path>) -> Option<PathBuf> {
        let manifest_dir = manifest_dir.as_ref();
        let found = |folder: &Path| {
            let (own, other) = (folder.join("mcp.toml"), folder.join(".mcp.json"));
            if own.is_file() { Some(own) } else { Some(other).filter(|other| other.is_file()) }
        };
        let is_root = |folder: &&Path| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
            manifest
                .is_ok_and(|text| DeTable::parse(&text).is_ok_and(|table| table.get_ref().contains_key("workspace")))
        };
        found(manifest_dir).or_else(|| {
            let root = manifest_dir.ancestors().filter(|_| !is_packaged(manifest_dir)).find(is_root)?;
            found(root)
        })
    }
}

/// Returns `true` if the folder is a published crate, wherever it was unpacked. `cargo publish` verifies it inside
/// the original workspace, whose files its users will not have.
#[doc(hidden)]
pub fn is_packaged(folder: &Path) -> bool {
    let in_package_folder = folder.parent().is_some_and(|parent| parent.ends_with("target/package"));
    // The manifest before it was published, or what `cargo vendor` leaves in its place.
    in_package_folder || ["Cargo.toml.orig", ".cargo-checksum.json"].iter().any(|mark| folder.join(mark).is_file())
}

impl ServerConfig {
    /// Parses the result of [`to_json`](Self::to_json), or an entry of a `.mcp.json`.
    ///
    /// # Errors
    /// Fails if the name, a type or the transport is invalid.
    pub fn from_json(name: &str, json: &Value) -> Result<Self, FileError> {
        let mut reader = Reader::new(None, None, false);
        let node = Node { key: name.to_owned(), ..reader.json(&json.to_string())? };
        server::read(&mut reader, &node)
    }
}

impl View {
    /// Parses the result of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// Fails if a key or a type is invalid.
    pub fn from_json(json: &Value) -> Result<Self, FileError> {
        let reader = Reader::new(None, None, false);
        Self::read(&reader, &reader.json(&json.to_string())?, "the view")
    }
}

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
