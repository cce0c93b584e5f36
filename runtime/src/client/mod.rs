//! A client of one server.

mod calling;
pub(crate) mod catalog;
mod governance;
mod requesting;
mod servers;
mod state;
mod supervisor;

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_model::ServerConfig;

use self::state::Lease;
use self::supervisor::Supervisor;
use crate::call::events::{Events, Observer, subscribe_to_all};
use crate::client::catalog::drift::Bound;
use crate::ground::deadline::Patience;
use crate::{CallTool, ClientOptions, ConnectError, ConnectionState, DynCallTool, ServerSpec};

pub use servers::{ConnectReport, Servers};
pub use state::StateWatch;

/// Subscribes to the events of several callers at once: to those of the clients behind them, else of their stacks. Callers
/// without either have none.
///
/// ```
/// use mcp_bindgen_runtime::middleware::Stack;
/// use mcp_bindgen_runtime::{DynCallTool, Fake, events};
///
/// let (files, notes) = (Stack::new(Fake::new()), Stack::new(Fake::new()));
/// let events = events::subscribe([&files as &dyn DynCallTool, &notes]);
/// # let _ = events;
/// ```
#[must_use]
pub fn subscribe<'c>(callers: impl IntoIterator<Item = &'c dyn DynCallTool>) -> Events {
    let mut observers: Vec<Arc<Observer>> = Vec::new();
    for caller in callers {
        let offer = caller.offer_dyn();
        if let Some(client) = offer.client::<Client>() {
            client.supervisor.shared.tools.watch();
        }
        observers.extend(offer.observer.filter(|new| !observers.iter().any(|known| Arc::ptr_eq(known, new))));
    }
    subscribe_to_all(&observers)
}

/// A client of one server. Clones share one connection, which is opened by the first call and closed with the last
/// clone.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::{CallTool, Client, ToolCall};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let result = client.call_tool(ToolCall::new("files", "list", Default::default())).await?;
/// println!("{}", result.text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    supervisor: Arc<Supervisor>,
    /// The bindings that connect with it.
    bindings: Option<&'static ServerSpec>,
    /// The reviewed tools of the server, for calls without bindings.
    snapshot: Arc<Vec<Bound>>,
}

impl Client {
    /// Creates a client of the server with this configuration. It connects when it is first used.
    pub fn new(config: ServerConfig) -> Self {
        Self::with_options(config, ClientOptions::default())
    }

    /// Creates a client with options.
    pub fn with_options(config: ServerConfig, options: ClientOptions) -> Self {
        Self { supervisor: Arc::new(Supervisor::new(config, options, None)), bindings: None, snapshot: Arc::default() }
    }

    /// Creates a client of the server at the other end of a pair of streams: one in the same process, on a pipe of
    /// [`tokio::io::duplex`], or behind a socket. It speaks lines of JSON, as over stdio.
    ///
    /// There is one connection, which the first call begins. When it has ended, also by [`close`](Self::close) or
    /// [`ClientOptions::idle_timeout`], every call fails with [`CallError::NotConnected`](crate::CallError::NotConnected).
    ///
    /// ```
    /// # async fn run(serve: impl AsyncFn(tokio::io::DuplexStream)) -> Result<(), mcp_bindgen_runtime::ConnectError> {
    /// use mcp_bindgen_runtime::Client;
    ///
    /// let (near, far) = tokio::io::duplex(64 * 1024);
    /// let (read, write) = tokio::io::split(near);
    /// let client = Client::over(read, write);
    /// let (connected, ()) = tokio::join!(client.connect(), serve(far));
    /// # connected
    /// # }
    /// ```
    #[cfg(feature = "stdio")]
    pub fn over(
        read: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        write: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::over_with_options("in-process", read, write, ClientOptions::default())
    }

    /// Creates a client like [`over`](Self::over), with options and the server name for errors. Its
    /// [`config`](Self::config) contains only the name.
    #[cfg(feature = "stdio")]
    pub fn over_with_options(
        name: impl Into<String>,
        read: impl tokio::io::AsyncRead + Send + Unpin + 'static,
        write: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
        mut options: ClientOptions,
    ) -> Self {
        options.streams = Some(crate::rpc::transports::duplex::Streams::new(Box::new(read), Box::new(write)));
        // Nothing is ever started.
        Self::with_options(ServerConfig::stdio(name, ""), options)
    }

    /// Creates a client of a server that a [`Connector`](crate::Connector) opens connections to, with the name that
    /// errors know it by. A lost connection is opened again, as for other servers. For a server with a configuration
    /// use [`ClientOptions::connector`].
    #[cfg(feature = "stdio")]
    pub fn connected_by(name: impl Into<String>, options: ClientOptions, connector: impl crate::Connector) -> Self {
        // Nothing is ever started.
        Self::with_options(ServerConfig::stdio(name, ""), options.connector(connector))
    }

    /// Creates the client that bindings connect with. Its configuration is that of `MCP_SERVERS`, else the one
    /// embedded in the bindings. Files of the working directory are ignored unless the program sets
    /// [`ClientOptions::trust_current_folder`].
    ///
    /// Bindings with equal configurations share one connection, as long as one of them exists.
    ///
    /// # Errors
    /// Fails if none of them has the server, or one of them cannot be read.
    pub fn for_spec(spec: &'static ServerSpec) -> Result<Self, ConnectError> {
        let (config, options) = servers::of_spec(spec, ClientOptions::default())?;
        Ok(Self { supervisor: servers::shared(config, options), bindings: Some(spec), snapshot: Arc::default() })
    }

    /// Creates a client like [`for_spec`](Self::for_spec), with options, which the configuration overrides.
    ///
    /// It has its own connection, shared with its clones only: handlers in options cannot be compared, and one caller
    /// must not approve the calls of another.
    ///
    /// ```no_run
    /// use mcp_bindgen_runtime::middleware::ApprovalAnswer;
    /// use mcp_bindgen_runtime::{Client, ClientOptions, ServerSpec};
    ///
    /// # static SERVER: ServerSpec = ServerSpec::new("github");
    /// let options = ClientOptions::new().on_approval(async |_| ApprovalAnswer::Approve);
    /// let client = Client::for_spec_with(&SERVER, options)?; // of bindings: `&github::SERVER`
    /// // Github::with(client).merge_pull_request(params).await?
    /// # drop(client);
    /// # Ok::<(), mcp_bindgen_runtime::ConnectError>(())
    /// ```
    ///
    /// # Errors
    /// Fails like [`for_spec`](Self::for_spec).
    pub fn for_spec_with(spec: &'static ServerSpec, options: ClientOptions) -> Result<Self, ConnectError> {
        let (config, options) = servers::of_spec(spec, options)?;
        Ok(Self { bindings: Some(spec), ..Self::with_options(config, options) })
    }

    /// Returns the client at the end of these calls, if there is one: layers may be around it.
    #[doc(hidden)]
    #[must_use]
    pub fn behind(calls: &(impl CallTool + ?Sized)) -> Option<Self> {
        calls.offer().client::<Self>().cloned()
    }

    /// Returns `true` if calls of both clients go through one connection, as those of clones do.
    #[doc(hidden)]
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.supervisor, &other.supervisor)
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.supervisor.shared.config.name
    }

    /// Returns the server's configuration, with its placeholders.
    pub fn config(&self) -> &ServerConfig {
        &self.supervisor.shared.config
    }

    /// Opens the connection, unless it is open. After a failed attempt calls fail with its error for 250 ms, doubling
    /// up to 30 seconds; this method retries at once.
    ///
    /// # Errors
    /// Fails with the error of the attempt.
    pub async fn connect(&self) -> Result<(), ConnectError> {
        self.supervisor.lease(true).await.map(drop)
    }

    /// Returns `true` if the connection is open.
    pub fn is_connected(&self) -> bool {
        self.supervisor.open_connection().is_some()
    }

    /// Returns the state of the connection.
    pub fn state(&self) -> ConnectionState {
        self.supervisor.shared.progress.borrow().progress.state()
    }

    /// Watches the state of the connection.
    pub fn watch_state(&self) -> StateWatch {
        StateWatch(self.supervisor.shared.progress.subscribe())
    }

    /// Subscribes to events: calls, and changes of the connection. Changes of the tool list are reported as by
    /// [`tool_changes`](Self::tool_changes).
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) {
    /// use mcp_bindgen_runtime::events::Event;
    ///
    /// let mut events = client.events();
    /// while let Some(event) = events.next().await {
    ///     if let Event::ToolInvoked(call) = event {
    ///         println!("{} called {}: {}", call.source, call.tool, call.outcome);
    ///     }
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        self.supervisor.shared.tools.watch();
        self.supervisor.shared.observer.subscribe()
    }

    /// Closes the connection, even while it is being opened, and waits for a child process and its descendants to
    /// exit. This takes a few seconds at most. The next call opens another connection.
    pub async fn close(&self) {
        self.supervisor.close().await;
        self.supervisor.shared.options.save_cassette();
    }

    /// Closes the connection for good, for all clones: later calls fail at once with
    /// [`ConnectErrorKind::ShutDown`](crate::ConnectErrorKind::ShutDown).
    pub async fn shutdown(&self) {
        self.supervisor.shut_down().await;
        self.supervisor.shared.options.save_cassette();
    }

    /// Returns the default time limits of a call or a listing over an open connection.
    pub(crate) fn patience(&self) -> Patience {
        self.supervisor.shared.options.call_patience(self.supervisor.shared.config.timeout)
    }

    /// Returns the open connection. Callers that arrive while it opens wait for the same attempt.
    pub(crate) fn connection(&self) -> impl Future<Output = Result<Lease, ConnectError>> {
        self.supervisor.lease(false)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.supervisor.shared.config).field("state", &self.state()).finish()
    }
}

/// The kind of a request's subject.
#[derive(Clone, Copy)]
enum Subject {
    Tool,
    Prompt,
    Resource,
    Method,
}
