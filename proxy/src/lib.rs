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
mod http;
mod linked;
mod list_changes;
mod listening;
mod lock;
mod notifications;
mod outcome;
mod random;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod requests;
mod routes;
mod scope;
mod session;
mod setup;
mod shared;
mod shares;
mod stdio;
#[cfg(test)]
mod tests;
mod toolset;
mod upstream;
mod visible_tools;

use std::fmt;
use std::sync::Arc;

pub use approval::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
pub use approval_question::ask_client;
pub use builder::ProxyBuilder;
pub use error::{ProxyError, ProxyFault, ServeError};
pub use events::ProxyEvents;
#[cfg(feature = "jwt")]
pub use http::JwtAuth;
pub use http::{HttpOptions, HttpServer, TokenFile, TokenFileError};
pub use record::{CallLog, CallLogError};
#[cfg(feature = "redis")]
pub use redis::{RedisState, RedisStateError};
use shared::Shared;

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
