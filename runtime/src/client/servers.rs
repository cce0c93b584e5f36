//! The servers of a program.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_model::{Config, FileError, ServerConfig, nearest};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::configured::{SERVERS_VARIABLE, clients_of};
use crate::call::events::{Events, subscribe_to_all};
use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind};

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
        Self::from_config_with(config, ClientOptions::default())
    }

    /// The servers of a configuration, each with these options. What the configuration says of a server comes before them;
    /// [`with_client`](Self::with_client) gives one of them others.
    ///
    /// ```
    /// use mcp_model::Config;
    /// use mcp_runtime::middleware::ApprovalAnswer;
    /// use mcp_runtime::{ClientOptions, Servers};
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
    /// # Ok::<(), mcp_model::FileError>(())
    /// ```
    pub fn from_config_with(config: Config, options: ClientOptions) -> Self {
        Self { clients: clients_of(&config, &options) }
    }

    /// The servers of an `mcp.toml` or a `.mcp.json`.
    ///
    /// # Errors
    /// Where the file cannot be read or is wrong.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_with(path, ClientOptions::default())
    }

    /// The servers of an `mcp.toml` or a `.mcp.json`, as [`from_config_with`](Self::from_config_with).
    ///
    /// # Errors
    /// Where the file cannot be read or is wrong.
    pub fn load_with(path: impl AsRef<Path>, options: ClientOptions) -> Result<Self, FileError> {
        Ok(Self::from_config_with(Config::load(path.as_ref())?, options))
    }

    /// The servers of the variable `MCP_SERVERS`; none where it is not set.
    ///
    /// # Errors
    /// Where its JSON is wrong.
    pub fn from_env() -> Result<Self, FileError> {
        Self::from_env_with(ClientOptions::default())
    }

    /// The servers of the variable `MCP_SERVERS`, as [`from_config_with`](Self::from_config_with).
    ///
    /// # Errors
    /// Where its JSON is wrong.
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

    /// Connects to all servers side by side, and says which of them failed; the others serve.
    pub async fn connect_all(&self) -> ConnectReport {
        connect(self.clients.values()).await
    }

    /// Tries again to connect to the servers whose last attempt to connect failed, side by side; the report is of them.
    pub async fn reconnect_failed(&self) -> ConnectReport {
        connect(self.clients.values().filter(|client| client.supervisor.has_failed())).await
    }

    /// Listens from now on to what happens to all servers that are there now; see [`Client::events`].
    ///
    /// ```
    /// use mcp_model::ServerConfig;
    /// use mcp_runtime::Servers;
    ///
    /// let servers = Servers::new().with(ServerConfig::stdio("files", "my-mcp-server"));
    /// let events = servers.events();
    /// # let _ = events;
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        self.clients.values().for_each(|client| client.changes().watch());
        subscribe_to_all(self.clients.values().map(|client| &**client.observer()))
    }

    /// Closes all connections side by side.
    pub async fn close(&self) {
        side_by_side(self.clients.values(), |client| async move { client.close().await }).await;
    }

    /// Closes all connections for good, side by side; see [`Client::shutdown`].
    pub async fn shutdown(&self) {
        side_by_side(self.clients.values(), |client| async move { client.shutdown().await }).await;
    }
}

/// Which servers are connected, and why the others are not.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use = "it says which servers are not there"]
pub struct ConnectReport {
    /// The names of the servers that are connected, sorted.
    pub active: Vec<String>,
    /// Why each of the others is not, sorted by name.
    pub failed: Vec<ConnectError>,
}

impl ConnectReport {
    /// Whether every server is connected.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

async fn connect(clients: impl Iterator<Item = &Client>) -> ConnectReport {
    let outcomes = side_by_side(clients, |client| async move { (client.name().to_owned(), client.connect().await) });
    let mut report = ConnectReport::default();
    for (name, outcome) in outcomes.await {
        match outcome {
            Ok(()) => report.active.push(name),
            Err(error) => report.failed.push(error),
        }
    }
    report.active.sort();
    report.failed.sort_by(|a, b| a.server.cmp(&b.server));
    report
}

async fn side_by_side<'a, T, F>(clients: impl Iterator<Item = &'a Client>, act: impl Fn(Client) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    if Handle::try_current().is_ok() {
        return clients.cloned().map(act).collect::<JoinSet<T>>().join_all().await;
    }
    // Outside a runtime there is nothing to wait for side by side.
    let mut outcomes = Vec::new();
    for client in clients {
        outcomes.push(act(client.clone()).await);
    }
    outcomes
}
