//! Tells of calls, outermost.

use std::sync::Arc;

use super::calls::Called;
use super::layer::Around;
use crate::call::Place;
use crate::call::events::{Observer, observed};
use crate::{CallError, ToolCall, ToolResult};

/// Has each call told once, whatever the layers below make of it.
pub(super) struct Announced(pub(super) Arc<Observer>);

impl Around for Announced {
    const PLACE: Option<Place> = Some(Place::Events);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if call.passage.is_observed_by(&self.0) {
            return below.call(call).await;
        }
        observed(&self.0, call, below).await
    }
}
