//! The servers of a program.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::future::join_all;
use mcp_bindgen_model::{Config, FileError, ServerConfig, nearest};

use super::configured::{SERVERS_VARIABLE, warn_of};
use super::subscribe;
use crate::call::events::Events;
use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind, DynCallTool};

/// Several servers by name, each with one shared connection.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    clients: BTreeMap<String, Client>,
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
        let clients = config.servers.values().map(|server| Client::of_config(&config, server, options.clone()));
        clients.fold(Self::new(), Self::with_client)
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
        self.clients.insert(client.name().to_owned(), client);
        self
    }

    /// Returns the client of a server.
    ///
    /// # Errors
    /// Fails if there is no such server, with the nearest names.
    pub fn client(&self, name: &str) -> Result<Client, ConnectError> {
        self.clients.get(name).cloned().ok_or_else(|| {
            let near = nearest(name, self.names());
            let known: Vec<&str> = self.names().collect();
            let message = match (near.first(), known.is_empty()) {
                (Some(near), _) => format!("unknown server; did you mean `{near}`?"),
                (None, true) => "unknown server; none are configured".to_owned(),
                (None, false) => format!("unknown server; configured are {}", known.join(", ")),
            };
            ConnectError::new(name, ConnectErrorKind::Config, message)
        })
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clients.keys().map(String::as_str)
    }

    /// Connects to all servers concurrently, and reports those that failed.
    pub async fn connect_all(&self) -> ConnectReport {
        connect(self.clients.values()).await
    }

    /// Connects to the servers whose last attempt failed, concurrently, and reports on them.
    pub async fn reconnect_failed(&self) -> ConnectReport {
        connect(self.clients.values().filter(|client| client.supervisor.has_failed())).await
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
    pub fn events(&self) -> Events {
        subscribe(self.clients.values().map(|client| client as &dyn DynCallTool))
    }

    /// Closes all connections concurrently.
    pub async fn close(&self) {
        join_all(self.clients.values().map(Client::close)).await;
    }

    /// Closes all connections for good, concurrently; see [`Client::shutdown`].
    pub async fn shutdown(&self) {
        join_all(self.clients.values().map(Client::shutdown)).await;
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

async fn connect(clients: impl Iterator<Item = &Client>) -> ConnectReport {
    let mut report = ConnectReport::default();
    let connecting = clients.map(async |client| (client, client.connect().await));
    for (client, outcome) in join_all(connecting).await {
        match outcome {
            Ok(()) => report.active.push(client.name().to_owned()),
            Err(error) => report.failed.push(error),
        }
    }
    report
}
