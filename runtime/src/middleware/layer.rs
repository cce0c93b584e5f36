//! The common part of all layers.

use std::future::Future;
use std::sync::Arc;

use crate::call::{LayerKind, ServiceFuture};
use crate::{CallError, CallTool, ToolCall, ToolResult};

/// The work of one layer around the calls below it.
pub(super) trait Around: Send + Sync + 'static {
    /// The kind of the layer, if the order matters.
    const KIND: Option<LayerKind> = None;

    fn around(
        self: Arc<Self>,
        call: ToolCall,
        below: Called,
    ) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

/// A service behind a pointer, around which layers are put. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct Called(Arc<dyn Fn(ToolCall) -> ServiceFuture + Send + Sync>);

impl Called {
    pub(super) fn new<C: CallTool + 'static>(inner: Arc<C>) -> Self {
        Self(Arc::new(move |call| {
            let inner = inner.clone();
            Box::pin(async move { inner.call_tool(call).await })
        }))
    }

    pub(super) fn call(&self, call: ToolCall) -> ServiceFuture {
        (self.0)(call)
    }

    /// Puts a layer around the service.
    pub(super) fn within<L: Around>(self, layer: L) -> Self {
        let layer = Arc::new(layer);
        Self(Arc::new(move |mut call| {
            let (layer, below) = (layer.clone(), self.clone());
            Box::pin(async move {
                let _life = call.passage.begin();
                if let Some(kind) = L::KIND
                    && let Err(reason) = call.passage.enter(kind)
                {
                    return Err(CallError::denied(call.server, call.tool, reason));
                }
                layer.around(call, below).await
            })
        }))
    }

    /// Puts layers around the service, the first one outermost.
    pub(super) fn within_all<L: Around + Clone>(self, layers: &[L]) -> Self {
        layers.iter().rev().fold(self, |service, layer| service.within(layer.clone()))
    }
}
