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
mod http;
mod joined;
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
