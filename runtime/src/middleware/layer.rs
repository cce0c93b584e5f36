//! The common part of all layers.

use std::future::Future;
use std::sync::Arc;

use super::calls::Called;
use crate::call::{Place, ServiceFuture};
use crate::{CallError, ToolCall, ToolResult};

/// The work of one layer around the calls below it.
pub(super) trait Around: Send + Sync + 'static {
    /// Where it stands among the others, where that matters.
    const PLACE: Option<Place>;

    fn around(
        self: Arc<Self>,
        call: ToolCall,
        below: Called,
    ) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

/// A call through a layer to what is below it.
pub(super) fn through<L: Around>(layer: Arc<L>, mut call: ToolCall, below: Called) -> ServiceFuture {
    Box::pin(async move {
        let _life = call.passage.begin();
        if let Some(place) = L::PLACE
            && let Err(reason) = call.passage.enter(place)
        {
            return Err(CallError::denied(call.server, call.tool, reason));
        }
        layer.around(call, below).await
    })
}
