//! The layers that a stack has by itself: events, and the demands of a client's configuration.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;

use super::layer::{Around, Called};
use crate::call::events::{CallSpan, Observer, report};
use crate::{CallError, Client, ToolCall, ToolResult};

/// A layer that reports each call once, from its beginning to its end, whatever the layers below do.
pub(super) struct EventReports(pub(super) Arc<Observer>);

impl Around for EventReports {
    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if call.passage.is_observed_by(&self.0) {
            return below(call).await;
        }
        report(&self.0, call, async |call| {
            let span = CallSpan::of_all(&self.0, &call);
            let outcome = below(call).instrument(span.span.clone()).await;
            span.end(&outcome);
            outcome
        })
        .await
    }
}

/// A key of the client's configuration, which the stack enforces instead of the client.
pub(super) enum Demand {
    /// `view`
    View(Client),
    /// `tools`, `exclude` and `[[policy]]`
    Admission(Client),
    /// `approve`
    Consent(Client),
    /// `drift`; the last one, after which the client itself has nothing left to check.
    Drift(Client),
}

impl Around for Demand {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        match &*self {
            Self::View(client) => call = client.viewed(call)?,
            Self::Admission(client) => {
                // The client has one server, and the layers below use its name.
                if call.server != client.name() {
                    call.server = client.name().to_owned().into();
                }
                client.admit(&call).await?;
            }
            Self::Consent(client) => client.ask_approval(&call).await?,
            Self::Drift(client) => {
                let begun = Instant::now();
                client.check_drift(&call).await?;
                call.options.spend(begun.elapsed());
                call.passage.guard_with(client.id());
            }
        }
        below(call).await
    }
}
