//! Timeouts of a call and of each attempt, and a limit of calls in a time.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::Rate;

use super::layer::{Around, Called};
use crate::call::{Limit, wait};
use crate::ground::limiter::Limiter;
use crate::{CallError, Dispatched, ToolCall, ToolResult};

/// The extra time for a call that ends at its limit by itself, to report what was sent.
const GRACE: Duration = Duration::from_millis(20);

/// A layer that bounds how long a call may take, or each attempt of it.
pub(super) struct Bounded(pub(super) Duration);

impl Around for Bounded {
    /// Runs a call within the time. Clients and layers of this crate end in time and know what was sent; for other
    /// services that is unknown.
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let limit = Limit::after(self.0);
        call.passage.bound(limit);
        let (server, tool) = (call.server.clone(), call.tool.clone());
        let timeout = |dispatched| CallError::timeout(server, tool, limit.after, dispatched);
        match limit.end.later(GRACE).bound(below(call)).await {
            Some(Err(CallError::Timeout { dispatched, .. })) if limit.end.has_passed() => Err(timeout(dispatched)),
            Some(outcome) => outcome,
            None => Err(timeout(Dispatched::Unknown)),
        }
    }
}

/// Limits the attempts of calls in a time. Further ones wait for their turn, within the time of the call. Clones count
/// together. `limit` of a server's configuration separately limits the calls of its clients.
///
/// ```
/// use mcp_bindgen_model::{Rate, ServerConfig};
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{RateLimit, Stack};
///
/// let limit = RateLimit::new(Rate::parse("10/s").expect("it is a rate"));
/// let stack = Stack::new(Client::new(ServerConfig::stdio("files", "my-mcp-server"))).rate_limit(limit);
/// # let _ = stack;
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit(Arc<Limiter>);

impl RateLimit {
    /// Creates a separate limit.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self(Arc::new(Limiter::new(rate)))
    }
}

impl Around for RateLimit {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        wait::within(&mut call, self.0.turn()).await?;
        below(call).await
    }
}
