//! A limit of calls in a time.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::Rate;

use super::layer::{Around, Called};
use crate::call::wait;
use crate::ground::limiter::Limiter;
use crate::{CallError, ToolCall, ToolResult};

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
        wait::within(&mut call, Duration::MAX, self.0.turn()).await?;
        below.call(call).await
    }
}
