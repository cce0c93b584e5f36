//! Several servers, served again as one: with policies, approvals and events.
//!
//! A [`Proxy`] is put together from the configurations of servers, each with the layers that are to stand around it. What it
//! serves has the names that a [`Toolset`](mcp_bindgen_agents::Toolset) gives, and results as servers sent them.
//!
//! - A client of a version up to 2025-11-25 has a session, and with it connections to servers of its own: what a server asks in
//!   the middle of a call (elicitation, sampling, roots) is asked of the client that made it, and what a server remembers of one
//!   client no other sees. They are opened when they are first needed, and closed with the session.
//! - Requests of 2026-07-28 keep no session, and share one connection for each server. What a server asks is the result of the
//!   request (`input_required`), and the answer comes with the next one. A server of an older version cannot ask so: its
//!   questions are declined, and its log is nobody's.
//! - Calls that need an approval ask the client of the proxy ([`ask_client`]): by `elicitation/create` where there is a session,
//!   by an `input_required` of the proxy's own where there is none. What such a client keeps meanwhile is signed, of this call
//!   and no other, and good for one use.
//! - Tools that a configuration or a policy by names denies are not listed, and refused when they are called. A server that
//!   cannot be reached costs nothing but what is its own.
//! - Nothing that a client of the proxy brings along to be let in goes to a server, and nothing that a server is reached by goes
//!   to a client.

// Without one of these features some of the parts are not used.
#![cfg_attr(not(all(feature = "jwt", feature = "redis")), allow(dead_code))]

mod approval;
mod approval_question;
mod attached;
mod builder;
mod call;
mod catalog;
mod client_state;
mod context;
mod downstream;
mod error;
mod events;
mod health;
mod http;
mod joined;
mod linked;
mod listening;
mod notifications;
mod outcome;
mod random;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod requests;
mod routes;
mod scope;
mod sees;
mod serve_error;
mod session;
mod setup;
mod shared;
mod shares;
mod stdio;
#[cfg(test)]
mod tests;
mod toolset;
mod upstream;
mod visit;

use std::sync::Arc;

pub use approval::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
pub use approval_question::ask_client;
#[cfg(feature = "redis")]
use attached::Kind;
pub use builder::ProxyBuilder;
use client_state::ClientState;
pub use error::{ProxyError, ProxyFault};
pub use events::ProxyEvents;
use health::ServerState;
#[cfg(feature = "jwt")]
pub use http::JwtAuth;
pub use http::{HttpOptions, HttpServer, TokenFile, TokenFileError};
use mcp_bindgen_runtime::Caller;
use record::Counts;
pub use record::{CallLog, CallLogError};
#[cfg(feature = "redis")]
pub use redis::{RedisState, RedisStateError};
use serde_json::{Map, Value};
pub use serve_error::ServeError;
use shared::Shared;
#[cfg(feature = "redis")]
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use visit::Visits;

/// Several servers behind one MCP server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
}

impl Proxy {
    /// Creates an empty builder.
    pub fn builder() -> ProxyBuilder {
        ProxyBuilder::default()
    }

    fn of(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Returns the state of one client: of one session, or of one request where there is none. It is cheap to make: nothing
    /// is reached before something is asked for.
    pub(crate) fn client(&self, visits: Option<Visits>, closing: CancellationToken) -> Arc<ClientState> {
        Arc::new(ClientState::new(self.shared.clone(), visits, closing))
    }

    /// Returns the schema of a tool's arguments, as the proxy lists it to clients without a session.
    pub(crate) async fn input_schema(&self, tool: &str, caller: &Caller) -> Option<Arc<Map<String, Value>>> {
        self.shared.pool().await.input_schema(tool, &self.shared.sees(caller)).await
    }

    /// Adds the entries of `[access]` that are for a caller.
    pub(crate) fn admitted(&self, caller: Caller) -> Caller {
        self.shared.admitted(caller)
    }

    /// Returns the servers, and whether they can be reached.
    pub(crate) fn servers(&self) -> Vec<(Arc<str>, ServerState)> {
        self.shared.servers()
    }

    /// Returns the metrics as text; those of the transport are in `counts`.
    pub(crate) fn metrics(&self, counts: Counts) -> String {
        self.shared.metrics(counts)
    }

    /// Returns the state that it shares with other instances.
    #[cfg(feature = "redis")]
    pub(crate) fn redis(&self) -> Option<RedisState> {
        self.shared.redis.clone()
    }

    /// Listens to changes that servers tell of.
    #[cfg(feature = "redis")]
    pub(crate) fn changes(&self) -> broadcast::Receiver<(Arc<str>, Kind)> {
        self.shared.changes.subscribe()
    }

    /// Asks for a list anew that has changed as another instance says.
    #[cfg(feature = "redis")]
    pub(crate) async fn list_anew(&self, server: &str, kind: Kind) {
        self.shared.list_anew(server, kind).await;
    }

    /// Returns `true` if no server keeps anything of a session.
    #[cfg(feature = "redis")]
    pub(crate) fn can_sessions_move(&self) -> bool {
        self.shared.setup().upstreams.iter().all(|upstream| upstream.can_move)
    }

    /// Returns how many child processes each session starts.
    pub(crate) fn children_of_session(&self) -> usize {
        self.shared.children_of_session()
    }

    /// Returns `true` if callers see only what `[access]` shows them, for which they must be known.
    pub(crate) fn restricts_access(&self) -> bool {
        self.shared.setup().access.is_some()
    }

    /// Serves what a builder describes from now on, without ending a session: connections to servers that are the same go
    /// on, and clients are notified of changed lists. Of the builder only servers, names and `[access]` are used.
    /// Returns the names of servers that are new, gone or changed.
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
    /// As [`ProxyBuilder::build`]; then nothing changes.
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
        self.shared.bus.subscribe()
    }

    /// Closes all connections to servers concurrently and waits for child processes to exit, for a few seconds at
    /// most. Later requests open new connections.
    pub async fn close(&self) {
        self.shared.close().await;
    }
}
