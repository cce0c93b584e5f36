//! Reports calls as events; the outermost layer.

use std::sync::Arc;

use tracing::Instrument;

use super::layer::{Around, Called};
use crate::call::LayerKind;
use crate::call::events::{CallSpan, Observer, report};
use crate::{CallError, ToolCall, ToolResult};

/// A layer that reports each call once, from its beginning to its end, whatever the layers below do.
pub(super) struct Announced(pub(super) Arc<Observer>);

impl Around for Announced {
    const KIND: Option<LayerKind> = Some(LayerKind::Events);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if call.passage.is_observed_by(&self.0) {
            return below.call(call).await;
        }
        report(&self.0, call, async |call| {
            let span = CallSpan::of_all(&self.0, &call);
            let outcome = below.call(call).instrument(span.span()).await;
            span.end(&outcome);
            outcome
        })
        .await
    }
}
