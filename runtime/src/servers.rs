//! The servers of a program.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_model::{Config, FileError, ServerConfig, nearest};
use tokio::task::JoinSet;

use crate::client::{SERVERS_VARIABLE, clients_of};
use crate::{Client, ConnectError, ConnectErrorKind};

/// Several servers by name, each with one shared connection.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    clients: BTreeMap<String, Client>,
}

impl Servers {
    /// No servers; add them with [`with`](Self::with).
    pub fn new() -> Self {
        Self::default()
    }

    /// The servers of a configuration.
    pub fn from_config(config: Config) -> Self {
        Self { clients: clients_of(config) }
    }

    /// The servers of an `mcp.toml` or a `.mcp.json`.
    ///
    /// # Errors
    /// Where the file cannot be read or is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Config::load(path.as_ref()).map(Self::from_config)
    }

    /// The servers of the variable `MCP_SERVERS`; none where it is not set.
    ///
    /// # Errors
    /// Where its JSON is wrong.
    pub fn from_env() -> Result<Self, FileError> {
        match std::env::var(SERVERS_VARIABLE) {
            Ok(text) => Config::from_env_json(&text).map(Self::from_config),
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

    /// The client of a server.
    ///
    /// # Errors
    /// Where there is no such server: the nearest names.
    pub fn client(&self, name: &str) -> Result<Client, ConnectError> {
        self.clients.get(name).cloned().ok_or_else(|| {
            let near = nearest(name, self.names());
            let known: Vec<&str> = self.names().collect();
            let message = match (near.first(), known.is_empty()) {
                (Some(near), _) => format!("no such server; did you mean `{near}`?"),
                (None, true) => "no such server; none are configured".to_owned(),
                (None, false) => format!("no such server; there are {}", known.join(", ")),
            };
            ConnectError::new(name, ConnectErrorKind::Config, message)
        })
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clients.keys().map(String::as_str)
    }

    /// Connects to all servers side by side, and gives the errors of those that failed; the others serve.
    pub async fn connect_all(&self) -> Vec<ConnectError> {
        let mut connecting: JoinSet<Option<ConnectError>> = JoinSet::new();
        for client in self.clients.values() {
            let client = client.clone();
            connecting.spawn(async move { client.connect().await.err() });
        }
        let mut failed: Vec<ConnectError> = connecting.join_all().await.into_iter().flatten().collect();
        failed.sort_by(|a, b| a.server.cmp(&b.server));
        failed
    }

    /// Closes all connections side by side.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for client in self.clients.values() {
            let client = client.clone();
            closing.spawn(async move { client.close().await });
        }
        closing.join_all().await;
    }
}
