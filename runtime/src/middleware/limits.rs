//! Timeouts of a call and of each attempt.

use std::sync::Arc;
use std::time::Duration;

use super::layer::{Around, Called};
use crate::call::{Limit, Place};
use crate::{CallError, Dispatched, ToolCall, ToolResult};

/// The extra time for a call that ends at its limit by itself, to report what was sent.
const GRACE: Duration = Duration::from_millis(20);

/// A layer that bounds how long a call may take.
#[derive(Clone, Copy)]
pub(super) struct Bounded<const IS_WHOLE: bool>(Duration);

/// Bounds the whole call.
pub(super) type TotalCap = Bounded<true>;
/// Bounds each try.
pub(super) type TryTimeout = Bounded<false>;

impl<const IS_WHOLE: bool> Bounded<IS_WHOLE> {
    /// Returns the shorter of two times.
    pub(super) fn shortest(time: Duration, other: Option<Self>) -> Self {
        Self(other.map_or(time, |other| time.min(other.0)))
    }
}

impl<const IS_WHOLE: bool> Around for Bounded<IS_WHOLE> {
    const PLACE: Option<Place> = Some(if IS_WHOLE { Place::TotalCap } else { Place::TryTimeout });

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        bounded(call, below, self.0).await
    }
}

/// Runs a call within a time. Clients and layers of this crate end in time and know what was sent; for other services
/// that is unknown.
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
