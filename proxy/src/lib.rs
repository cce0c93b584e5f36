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

mod approval;
mod approval_question;
mod attached;
mod builder;
mod call;
mod catalog;
mod client_state;
mod downstream;
mod error;
mod events;
mod http;
mod joined;
mod linked;
mod listening;
mod notifications;
mod outcome;
mod requests;
mod routes;
mod scope;
mod serve_error;
mod session;
mod shared;
mod stdio;
#[cfg(test)]
mod tests;
mod under_way;
mod upstream;

use std::sync::Arc;

pub use approval::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
pub use approval_question::ask_client;
pub use builder::ProxyBuilder;
pub use error::{ProxyError, ProxyFault};
pub use events::ProxyEvents;
pub use http::{HttpOptions, HttpServer};
use serde_json::{Map, Value};
pub use serve_error::ServeError;
pub(crate) use session::Session;
use shared::Shared;

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

    /// Returns the session of one client: one for each session of a client that has sessions, one for each request of one that
    /// has none.
    pub(crate) fn session(&self) -> Session {
        Session::new(self.shared.clone())
    }

    /// Returns the schema of a tool's arguments, as the proxy lists it to clients without a session.
    pub(crate) async fn input_schema(&self, tool: &str) -> Option<Arc<Map<String, Value>>> {
        self.shared.pool().await.input_schema(tool).await
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
