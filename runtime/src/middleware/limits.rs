//! How long a call, and each try of it, may take.

use std::sync::Arc;
use std::time::Duration;

use super::calls::Called;
use super::layer::Around;
use crate::call::{Limit, Place};
use crate::{CallError, Dispatched, ToolCall, ToolResult};

/// What tells for itself that time is up, and what was sent by then, gets so much longer to say it.
const GRACE: Duration = Duration::from_millis(20);

/// Bounds a whole call: approvals, waiting for others, all tries and the pauses between them. A call that takes longer ends
/// with [`CallError::Timeout`], which knows whether the server may have acted on it; times that are given with a call or
/// configured hold beside it.
///
/// ```
/// use std::time::Duration;
/// use mcp_model::ServerConfig;
/// use mcp_runtime::Client;
/// use mcp_runtime::middleware::{Retry, Stack};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let stack = Stack::new(client)
///     .total_cap(Duration::from_secs(60))
///     .retry(Retry::new())
///     .try_timeout(Duration::from_secs(10));
/// # let _ = stack;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TotalCap(Duration);

impl TotalCap {
    /// A cap of so much.
    #[must_use]
    pub const fn new(cap: Duration) -> Self {
        Self(cap)
    }
}

impl TotalCap {
    /// The shorter one.
    pub(super) fn min(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self(self.0.min(other.0)))
    }
}

impl TryTimeout {
    /// The shorter one.
    pub(super) fn min(self, other: Option<Self>) -> Self {
        other.map_or(self, |other| Self(self.0.min(other.0)))
    }
}

/// Bounds each try of a call, connecting included. What is given with a call or configured holds beside it.
#[derive(Clone, Copy, Debug)]
pub struct TryTimeout(Duration);

impl TryTimeout {
    /// So much for each try.
    #[must_use]
    pub const fn new(timeout: Duration) -> Self {
        Self(timeout)
    }
}

impl Around for TotalCap {
    const PLACE: Option<Place> = Some(Place::TotalCap);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        bounded(call, below, self.0).await
    }
}

impl Around for TryTimeout {
    const PLACE: Option<Place> = Some(Place::TryTimeout);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        bounded(call, below, self.0).await
    }
}

/// Clients and layers of this crate end in time, and know what was sent; of anything else that is not known.
async fn bounded(mut call: ToolCall, below: Called, time: Duration) -> Result<ToolResult, CallError> {
    let limit = Limit::after(time);
    call.passage.bound(limit);
    let (server, tool) = (call.server.clone(), call.tool.clone());
    let timeout = |dispatched| CallError::timeout(server, tool, time, dispatched);
    match limit.end.later(GRACE).bound(below.call(call)).await {
        Some(Err(CallError::Timeout { dispatched, .. })) if limit.end.has_passed() => Err(timeout(dispatched)),
        Some(outcome) => outcome,
        None => Err(timeout(Dispatched::Unknown)),
    }
}
