//! What the configuration of a client demands, at its places in a stack. None of it minds what it stands in: the client
//! asks for the same, wherever it stands.

use std::sync::Arc;
use std::time::Instant;

use super::calls::Called;
use super::layer::Around;
use crate::call::{Demands, Place};
use crate::{CallError, ToolCall, ToolResult};

/// `tools` and `exclude`.
pub(super) struct Admission(pub(super) Demands);

/// `approve`.
pub(super) struct Consent(pub(super) Demands);

/// `drift`; the last of the three, after which the client itself has nothing left to ask.
pub(super) struct Sameness(pub(super) Demands);

impl Around for Admission {
    const PLACE: Option<Place> = None;

    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if let Some(guard) = self.0.guard() {
            // There is one server, and what stands below goes by its name.
            if call.server != guard.server() {
                call.server = guard.server().to_owned().into();
            }
            guard.admit(&call)?;
        }
        below.call(call).await
    }
}

impl Around for Consent {
    const PLACE: Option<Place> = None;

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if let Some(guard) = self.0.guard() {
            guard.approve(&call).await?;
        }
        below.call(call).await
    }
}

impl Around for Sameness {
    const PLACE: Option<Place> = None;

    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        if let Some(guard) = self.0.guard() {
            let begun = Instant::now();
            guard.check_drift(&call).await?;
            call.options.spend(begun.elapsed());
            call.passage.guard_with(guard.id());
        }
        below.call(call).await
    }
}
