//! The servers of a program, and the configurations that bindings find. Bindings with equal configurations share one
//! connection.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use futures_util::future::join_all;
use mcp_bindgen_model::{Config, FileError, SecretRef, ServerConfig, Snapshot, Transport, digest, nearest, printable};
use serde_json::Value;
use tokio::runtime::Handle;

use super::catalog::drift::{Bound, refuses};
use super::subscribe;
use super::supervisor::Supervisor;
use crate::call::events::Events;
use crate::ground::sync::lock;
use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind, DynCallTool, ServerSpec};

/// The variable that holds servers as JSON, before any file.
const SERVERS_VARIABLE: &str = "MCP_SERVERS";

/// The shared supervisors. Weak references let the last client end its supervisor.
static SHARED: Mutex<Vec<Weak<Supervisor>>> = Mutex::new(Vec::new());

/// Several servers by name, each with one shared connection.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Sorted by their names, which differ.
    clients: Vec<Client>,
}

impl Servers {
    /// Creates an empty collection; add servers with [`with`](Self::with).
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the servers of a configuration.
    pub fn from_config(config: Config) -> Self {
        Self::from_config_with(config, ClientOptions::default())
    }

    /// Creates the servers of a configuration with these options, which the configuration of each server overrides;
    /// [`with_client`](Self::with_client) replaces the client of one.
    ///
    /// ```
    /// use mcp_bindgen_model::Config;
    /// use mcp_bindgen_runtime::middleware::ApprovalAnswer;
    /// use mcp_bindgen_runtime::{ClientOptions, Servers};
    ///
    /// let text = "[servers.github]\nnpm = \"x\"\napprove = [\"merge_*\"]\n";
    /// let config = Config::parse_toml(text, "mcp.toml".as_ref())?;
    /// let options = ClientOptions::new().on_approval(async |request| match request.server.as_str() {
    ///     "github" => ApprovalAnswer::Approve,
    ///     other => ApprovalAnswer::Decline(format!("nothing of {other} is approved")),
    /// });
    /// let servers = Servers::from_config_with(config, options);
    /// // let gh = Github::connect_with(&servers).await?;
    /// # drop(servers);
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    pub fn from_config_with(config: Config, options: ClientOptions) -> Self {
        warn_of(&config, None);
        let of = |server| Client::of_config(&config, server, options.clone());
        config.servers.values().fold(Self::new(), |servers, server| servers.with_client(of(server)))
    }

    /// Creates the servers of an `mcp.toml` or a `.mcp.json`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_with(path, ClientOptions::default())
    }

    /// Creates the servers of an `mcp.toml` or a `.mcp.json`, as [`from_config_with`](Self::from_config_with).
    ///
    /// # Errors
    /// Fails if the file cannot be read or is wrong.
    pub fn load_with(path: impl AsRef<Path>, options: ClientOptions) -> Result<Self, FileError> {
        Ok(Self::from_config_with(Config::load(path.as_ref())?, options))
    }

    /// Creates the servers of the environment variable `MCP_SERVERS`; empty if it is not set.
    ///
    /// # Errors
    /// Fails if its JSON is invalid.
    pub fn from_env() -> Result<Self, FileError> {
        Self::from_env_with(ClientOptions::default())
    }

    /// Creates the servers of the variable `MCP_SERVERS`, as [`from_config_with`](Self::from_config_with).
    ///
    /// # Errors
    /// Fails if its JSON is wrong.
    pub fn from_env_with(options: ClientOptions) -> Result<Self, FileError> {
        match std::env::var(SERVERS_VARIABLE) {
            Ok(text) => Ok(Self::from_config_with(Config::from_env_json(&text)?, options)),
            Err(_) => Ok(Self::new()),
        }
    }

    /// Adds a server, or replaces the one of its name.
    #[must_use]
    pub fn with(self, server: ServerConfig) -> Self {
        self.with_client(Client::new(server))
    }

    /// Adds a client, or replaces the one of its name.
    #[must_use]
    pub fn with_client(mut self, client: Client) -> Self {
        self.clients.retain(|known| known.name() != client.name());
        let place = self.clients.partition_point(|known| known.name() < client.name());
        self.clients.insert(place, client);
        self
    }

    /// Returns the client of a server.
    ///
    /// # Errors
    /// Fails if there is no such server, with the nearest names.
    #[inline]
    pub fn client(&self, name: &str) -> Result<Client, ConnectError> {
        if let Some(client) = self.clients.iter().find(|client| client.name() == name) {
            return Ok(client.clone());
        }
        let message = format!("unknown server; {}", suggestion(name, &self.names().collect::<Vec<_>>()));
        Err(ConnectError::new(name, ConnectErrorKind::Config, message))
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clients.iter().map(Client::name)
    }

    /// Connects to all servers concurrently, and reports those that failed.
    pub async fn connect_all(&self) -> ConnectReport {
        connect(self.clients.iter().collect()).await
    }

    /// Connects to the servers whose last attempt failed, concurrently, and reports on them.
    pub async fn reconnect_failed(&self) -> ConnectReport {
        connect(self.clients.iter().filter(|client| client.supervisor.has_failed()).collect()).await
    }

    /// Subscribes to events of the current servers; see [`Client::events`].
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::Servers;
    ///
    /// let servers = Servers::new().with(ServerConfig::stdio("files", "my-mcp-server"));
    /// let events = servers.events();
    /// # let _ = events;
    /// ```
    #[must_use]
    #[inline]
    pub fn events(&self) -> Events {
        subscribe(self.clients.iter().map(|client| client as &dyn DynCallTool))
    }

    /// Closes all connections concurrently.
    pub async fn close(&self) {
        join_all(self.clients.iter().map(Client::close)).await;
    }

    /// Closes all connections for good, concurrently; see [`Client::shutdown`].
    pub async fn shutdown(&self) {
        join_all(self.clients.iter().map(Client::shutdown)).await;
    }
}

/// The connected servers, and the errors of the others.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use = "the report names the servers that failed to connect"]
pub struct ConnectReport {
    /// The names of the servers that are connected, sorted.
    pub active: Vec<String>,
    /// The errors of the other servers, sorted by name.
    pub failed: Vec<ConnectError>,
}

impl ConnectReport {
    /// Returns `true` if every server is connected.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

async fn connect(clients: Vec<&Client>) -> ConnectReport {
    let mut report = ConnectReport::default();
    let connecting = clients.into_iter().map(async |client| (client, client.connect().await));
    for (client, outcome) in join_all(connecting).await {
        match outcome {
            Ok(()) => report.active.push(client.name().to_owned()),
            Err(error) => report.failed.push(error),
        }
    }
    report
}

/// Returns the configuration of bindings. The program's options get the protocol version and the client capabilities of
/// the snapshot, unless they set them.
pub(super) fn of_spec(
    spec: &'static ServerSpec,
    mut options: ClientOptions,
) -> Result<(ServerConfig, ClientOptions), ConnectError> {
    let wrong = |message: String| ConnectError::new(spec.name, ConnectErrorKind::Config, message);
    let config = configured(spec, &options).map_err(|error| wrong(error.to_string()))?;
    if let Some(text) = spec.client_capabilities {
        let fault = |error| wrong(format!("the client capabilities of its bindings are not JSON: {error}"));
        let capabilities = serde_json::from_str(text).map_err(fault)?;
        options.capabilities.get_or_insert(capabilities);
    }
    options.protocol_version = options.protocol_version.or_else(|| spec.protocol_version.map(str::to_owned));
    Ok((config, options))
}

fn configured(spec: &ServerSpec, options: &ClientOptions) -> Result<ServerConfig, Box<dyn Error>> {
    let carried = carried(spec)?;
    if let Ok(text) = std::env::var(SERVERS_VARIABLE) {
        let config = Config::from_env_json(&text)?;
        if config.has(spec.name) {
            let server = config.server(spec.name)?.clone();
            warn_of(&config, Some(spec.name));
            return Ok(carried.iter().fold(server, ServerConfig::with_demands_of));
        }
        let (name, names) = (spec.name, config.names());
        if !names.is_empty() {
            // A misspelt name would otherwise be ignored silently.
            let unknown = format!("{SERVERS_VARIABLE} does not contain the server `{name}` of these bindings");
            tracing::warn!(server = name, "{unknown}; {}", suggestion(name, &names));
        }
    }
    match carried {
        Some(server) => Ok(server),
        None => of_working_directory(spec.name, options.trusts_current_folder),
    }
}

/// Returns the configuration that the bindings contain, if they contain one.
fn carried(spec: &ServerSpec) -> Result<Option<ServerConfig>, Box<dyn Error>> {
    let Some(text) = spec.config else { return Ok(None) };
    let value = serde_json::from_str(text).map_err(|error| format!("the configuration of its bindings: {error}"))?;
    let mut server = ServerConfig::from_json(spec.name, &value)?;
    server.folder = spec.folder.map(PathBuf::from);
    Ok(Some(server))
}

/// Returns the help for an unknown server: the nearest name, or all names.
fn suggestion(name: &str, names: &[&str]) -> String {
    match (nearest(name, names.iter().copied()).first(), names) {
        (Some(near), _) => format!("did you mean `{}`?", printable(near)),
        (None, []) => "none are configured".to_owned(),
        (None, names) => format!("configured are {}", printable(&names.join(", "))),
    }
}

/// Returns the configuration in a file of the working directory. Its author may not be the user of the program. Without
/// the program's trust its `command` is not started, and no secret is sent to its `url`.
fn of_working_directory(name: &str, is_trusted: bool) -> Result<ServerConfig, Box<dyn Error>> {
    let folder = std::env::current_dir().map_err(|error| format!("cannot read the working directory: {error}"))?;
    let shown = |path: &Path| printable(&path.to_string_lossy());
    let help = match Config::find(&folder) {
        Some(path) if is_trusted => {
            let config = Config::load(&path)?;
            let server = config.server_with_defaults(name)?;
            warn_of(&config, Some(name));
            return Ok(server);
        }
        Some(path) => format!(
            "`{}` is only read with `connect_with` and `Servers::load`, or `ClientOptions::trust_current_folder`; if it was \
             added after the build, build the program again",
            shown(&path)
        ),
        None if is_trusted => format!("no mcp.toml or .mcp.json in `{}` or at its workspace root", shown(&folder)),
        None => "set it, or generate the bindings in a project whose mcp.toml has the server".to_owned(),
    };
    let none = format!("no configuration: the bindings embed none, and {SERVERS_VARIABLE} does not contain the server");
    Err(format!("{none}; {help}").into())
}

/// Logs the warnings of a configuration, for one of its servers or for all.
fn warn_of(config: &Config, server: Option<&str>) {
    let warnings = config.warnings.iter();
    for warning in warnings.filter(|warning| server.is_none() || warning.server.as_deref() == server) {
        tracing::warn!("{warning}");
    }
}

/// Returns the reviewed snapshot of a server, for calls that have no bindings: the one beside the configuration's file.
fn snapshot_of(config: &Config, name: &str) -> Option<Snapshot> {
    config.path.as_ref()?;
    let path = config.snapshot_path(name);
    let known = path.exists().then(|| Snapshot::load(&path))?;
    known.inspect_err(|error| tracing::warn!(server = name, "failed to read its snapshot: {error}")).ok()
}

/// Returns the supervisor shared by clients with the same configuration. The options are the defaults, plus the
/// capabilities that the snapshot was taken with.
pub(super) fn shared(config: ServerConfig, options: ClientOptions) -> Arc<Supervisor> {
    let key = key(&config, &options);
    let mut shared = lock(&SHARED);
    shared.retain(|supervisor| supervisor.strong_count() > 0);
    for found in shared.iter().filter_map(Weak::upgrade) {
        if key.is_some() && found.key == key && *found.shared.config == config && !found.is_shut_down() {
            return found;
        }
    }
    let made = Arc::new(Supervisor::new(config, options, key));
    shared.push(Arc::downgrade(&made));
    made
}

/// Returns the key of a configuration that can be resolved. Others are not shared; connecting reports the error.
fn key(config: &ServerConfig, options: &ClientOptions) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    // Keyrings and files are read when a connection is opened; an entry is the same for all.
    let value = |secret: &SecretRef| match secret {
        SecretRef::Variable(name) if config.secret_stores.is_empty() => variable(name),
        other => Some(other.to_string()),
    };
    let resolved = config.expand_with(value).ok()?;
    // A connection belongs to the runtime that opened it.
    let runtime = Handle::try_current().ok().map(|runtime| runtime.id().to_string());
    let mut rest = vec![runtime.into(), options.protocol_version.clone().into(), options.declared_capabilities()];
    rest.extend(config.placeholders().iter().map(|secret| value(secret).into()));
    rest.extend(resolved.inherit_env.iter().map(|name| variable(name).into()));
    Some(digest(&Value::Array(rest)))
}

impl Client {
    /// Creates a client for a server of a configuration, with its `[defaults]`, and with the snapshot that `drift =
    /// "deny"` compares with.
    #[doc(hidden)]
    #[must_use]
    pub fn of_config(config: &Config, server: &ServerConfig, options: ClientOptions) -> Self {
        let client = Self::with_options(config.with_defaults(server), options);
        client.compared_with(&|| snapshot_of(config, &server.name))
    }

    /// Creates a client to take a snapshot with. It declares the capabilities of the `known` snapshot, because the
    /// list may depend on them. If the configuration rejects changed tools, calls are compared with it. A child
    /// process starts in the folder of the configuration.
    #[doc(hidden)]
    #[inline]
    pub fn for_snapshot(
        config: &Config,
        server: &ServerConfig,
        known: Option<&Snapshot>,
        options: ClientOptions,
    ) -> Self {
        let mut options = options.timeout(config.defaults.timeout);
        if let Some(capabilities) = known.and_then(|known| known.client_capabilities.clone()) {
            options = options.capabilities(capabilities);
        }
        let mut server = config.with_defaults(server);
        // An isolated server may not see that folder, and did not request it.
        let has_cwd = !matches!(&server.transport, Transport::Stdio { cwd: None, .. });
        if server.folder.is_some() && server.isolation.is_none() && !has_cwd {
            server = server.cwd(".");
        }
        Self::with_options(server, options).compared_with(&|| known.cloned())
    }

    /// Sets the snapshot that tools without bindings are compared with, if the configuration rejects changed tools.
    fn compared_with(self, snapshot: &dyn Fn() -> Option<Snapshot>) -> Self {
        let known = if refuses(self.config()) { snapshot() } else { None };
        let mut bound = Vec::new();
        for tool in known.unwrap_or_default().tools {
            bound.push(Bound::Listed(Arc::new(tool)));
        }
        Self { snapshot: Arc::new(bound), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_shared_connection_contains_no_values() {
        let config = ServerConfig::http("s", "https://h").header("Authorization", "Bearer ${PATH}");
        let key = key(&config, &ClientOptions::new()).expect("the variable is set");
        assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}");
    }
}
