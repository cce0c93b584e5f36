//! The layers that a stack has by itself: events, and the demands of a client's configuration.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;

use super::layer::{Around, Called};
use crate::call::LayerKind;
use crate::call::events::{CallSpan, Observer, report};
use crate::{CallError, Client, ToolCall, ToolResult};

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

/// `view`; the outermost of all, so that layers see the arguments that are sent.
#[derive(Clone)]
pub(super) struct Views(pub(super) Client);

/// `tools` and `exclude`.
#[derive(Clone)]
pub(super) struct Admission(pub(super) Client);

/// `approve`.
#[derive(Clone)]
pub(super) struct Consent(pub(super) Client);

/// `drift`; the last of the three, after which the client itself has nothing left to ask.
#[derive(Clone)]
pub(super) struct Sameness(pub(super) Client);

impl Around for Views {
    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        below.call(self.0.viewed(call)?).await
    }
}

impl Around for Admission {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        // The client has one server, and the layers below use its name.
        if call.server != self.0.name() {
            call.server = self.0.name().to_owned().into();
        }
        self.0.admit(&call).await?;
        below.call(call).await
    }
}

impl Around for Consent {
    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        self.0.ask_approval(&call).await?;
        below.call(call).await
    }
}

impl Around for Sameness {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let begun = Instant::now();
        self.0.check_drift(&call).await?;
        call.options.spend(begun.elapsed());
        call.passage.guard_with(self.0.id());
        below.call(call).await
    }
}
