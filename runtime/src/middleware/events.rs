//! Tells of calls, outermost.

use std::sync::Arc;

use tower::ServiceExt;

use super::layer::{Around, Below};
use crate::call::Place;
use crate::call::events::{Observer, observed};
use crate::{CallError, ToolCall, ToolResult};

/// Has each call told once, whatever the layers below make of it.
pub(super) struct Announced(pub(super) Arc<Observer>);

impl Around for Announced {
    const PLACE: Option<Place> = Some(Place::Events);

    async fn around<S: Below>(self: Arc<Self>, call: ToolCall, below: S) -> Result<ToolResult, CallError> {
        if call.passage.is_observed_by(&self.0) {
            return below.oneshot(call).await;
        }
        observed(&self.0, call, below).await
    }
}
