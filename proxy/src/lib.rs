//! Several servers, served again as one: with policies, approvals and events.
//!
//! A [`Proxy`] is built from the configurations of servers, each with its layers. It serves their tools under the names
//! of a [`Toolset`](mcp_bindgen_agents::Toolset), and passes results on unchanged.
//!
//! - A client of a version up to 2025-11-25 has a session with its own connections to servers. If a server asks
//!   something during a call (elicitation, sampling, roots), the client that made the call receives the question. State
//!   that a server keeps for one client is invisible to others. The connections open on first use, and close with the
//!   session.
//! - Requests of 2026-07-28 have no session, and share one connection for each server. A server asks in the result of a
//!   request (`input_required`), and the answer comes with the next request. A server of an older version cannot ask
//!   this way: its questions are declined, and its log is dropped.
//! - Calls that need an approval ask the client of the proxy ([`ask_client`]): by `elicitation/create` in a session,
//!   and otherwise by an `input_required` of the proxy. The state that the client returns is signed, valid for that
//!   call only, and can be used once.
//! - Tools that the configuration or a policy by name denies are not listed, and calls of them are refused. An
//!   unreachable server affects only its own tools.
//! - Credentials of a client never reach a server, and credentials for a server never reach a client.

// Without one of these features some of the parts are not used.
#![cfg_attr(not(all(feature = "jwt", feature = "redis")), allow(dead_code))]

mod approval;
mod attached;
mod builder;
mod call;
mod catalog;
mod client_state;
mod context;
mod downstream;
mod error;
mod http;
mod listening;
mod lock;
mod outcome;
mod random;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod requests;
mod resources;
mod scope;
mod setup;
mod shared;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::__private::rpc::{serve, with_client};
use mcp_bindgen_runtime::events::Event;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use self::approval::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
pub use self::builder::ProxyBuilder;
use self::client_state::ClientState;
pub use self::downstream::ask_client;
pub use self::error::{ProxyError, ProxyFault, ServeError};
#[cfg(feature = "jwt")]
pub use self::http::JwtAuth;
pub use self::http::{HttpOptions, HttpServer, TokenFile, TokenFileError};
pub use self::record::{CallLog, CallLogError};
#[cfg(feature = "redis")]
pub use self::redis::{RedisState, RedisStateError};
use self::shared::Shared;

/// How many bytes a message may have. A longer one is dropped, whatever its length.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// Several servers behind one MCP server. Cheap to clone.
#[derive(Clone)]
pub struct Proxy {
    shared: Arc<Shared>,
}

impl Proxy {
    /// Creates an empty builder.
    pub fn builder() -> ProxyBuilder {
        ProxyBuilder::default()
    }

    /// Serves the servers, names and `[access]` of a builder from now on, and ignores its other settings. Sessions
    /// continue, and connections to unchanged servers stay open. Clients are notified of changed lists. Returns the
    /// names of new, removed or changed servers.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_proxy::Proxy;
    ///
    /// let files = || Proxy::builder().server(ServerConfig::stdio("files", "my-mcp-server"));
    /// let proxy = files().build()?;
    /// let changed = proxy.reload(files().server(ServerConfig::stdio("notes", "my-notes-server")))?;
    /// assert_eq!(changed, ["notes"]);
    /// # Ok::<(), mcp_bindgen_proxy::ProxyError>(())
    /// ```
    ///
    /// # Errors
    /// Fails like [`ProxyBuilder::build`]; then nothing changes.
    pub fn reload(&self, builder: ProxyBuilder) -> Result<Vec<String>, ProxyError> {
        #[cfg(feature = "redis")]
        let builder = builder.counted_by(self.shared.redis.clone());
        Ok(self.shared.reload(builder.setup()?))
    }

    /// Subscribes to events behind the proxy: calls, and changes of connections. It only covers connections that are
    /// opened later: subscribe before serving.
    ///
    /// ```
    /// use mcp_bindgen_proxy::Proxy;
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let proxy = Proxy::builder().server(ServerConfig::stdio("files", "my-mcp-server")).build()?;
    /// let events = proxy.events();
    /// # drop(events);
    /// # Ok::<(), mcp_bindgen_proxy::ProxyError>(())
    /// ```
    #[must_use]
    pub fn events(&self) -> ProxyEvents {
        ProxyEvents(self.shared.bus.subscribe())
    }

    /// Serves one client on stdin and stdout, until stdin ends. Nothing else may use them meanwhile.
    ///
    /// ```no_run
    /// # async fn serve(proxy: mcp_bindgen_proxy::Proxy) -> Result<(), mcp_bindgen_proxy::ServeError> {
    /// proxy.serve_stdio().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the conversation cannot begin, and with [`ServeError::AccessWithoutNames`].
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        #[cfg(target_os = "linux")]
        if let Ok((input, output)) = pipes() {
            return self.converse(input, output).await;
        }
        self.converse(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client on a stream, until the stream ends: a socket, a pipe, or `tokio::io::duplex` in tests.
    ///
    /// # Errors
    /// Fails like [`serve_stdio`](Self::serve_stdio).
    pub async fn serve_over(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Result<(), ServeError> {
        let (input, output) = tokio::io::split(stream);
        self.converse(input, output).await
    }

    async fn converse<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        if self.shared.setup().access.is_some() {
            return Err(ServeError::AccessWithoutNames);
        }
        let client = Arc::new(ClientState::new(self.shared.clone(), None, CancellationToken::new()));
        let receiving = serve(|ledger| with_client(input, output, LONGEST_MESSAGE, ledger), client);
        let receiving = receiving.map_err(|error| ServeError::Connection { message: error.to_string() })?;
        // On a task, which needs no thread to be woken for each message; it ends if this future is dropped.
        let mut serving = JoinSet::new();
        serving.spawn(receiving.run(CancellationToken::new()));
        let _ = serving.join_next().await;
        Ok(())
    }

    /// Closes all connections to servers concurrently and waits for child processes to exit, for a few seconds at
    /// most. Later requests open new connections.
    pub async fn close(&self) {
        self.shared.close().await;
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("setup", &self.shared.setup()).finish_non_exhaustive()
    }
}

/// The events of all servers of a [`Proxy`], for all its clients; returned by [`Proxy::events`].
#[derive(Debug)]
pub struct ProxyEvents(broadcast::Receiver<Event>);

impl ProxyEvents {
    /// Waits for the next event; returns `None` once the proxy is dropped. Cancel safe. A slow reader loses the
    /// oldest of more than 1024 events, which is logged.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.0.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(missed)) => tracing::warn!("{missed} events of a proxy were missed"),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Opens stdin and stdout again if both are pipes, so that non-blocking mode stays inside this process.
#[cfg(target_os = "linux")]
fn pipes() -> std::io::Result<(tokio::net::unix::pipe::Receiver, tokio::net::unix::pipe::Sender)> {
    let options = tokio::net::unix::pipe::OpenOptions::new();
    Ok((options.open_receiver("/proc/self/fd/0")?, options.open_sender("/proc/self/fd/1")?))
}
