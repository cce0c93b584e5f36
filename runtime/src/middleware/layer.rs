//! The common part of all layers.

use std::sync::Arc;

use mcp_bindgen_model::matches_globs;

use crate::call::{LayerKind, ServiceFuture};
use crate::{CallError, ToolCall, ToolResult};

/// The work of one layer around the calls below it.
pub(super) trait Around: Send + Sync + 'static {
    fn around(
        self: Arc<Self>,
        call: ToolCall,
        below: Called,
    ) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

/// The calls below a layer. Cloning it is cheap.
pub(super) type Called = Arc<dyn Fn(ToolCall) -> ServiceFuture + Send + Sync>;

/// A layer of a stack.
#[derive(Clone)]
pub(super) struct Layer {
    /// The place of the layer among the others.
    pub(super) kind: LayerKind,
    around: Arc<dyn Fn(ToolCall, Called) -> ServiceFuture + Send + Sync>,
}

impl Layer {
    pub(super) fn new(kind: LayerKind, layer: impl Around) -> Self {
        let layer = Arc::new(layer);
        let around = move |mut call: ToolCall, below| -> ServiceFuture {
            let layer = layer.clone();
            Box::pin(async move {
                let _life = call.passage.begin();
                call.passage.enter(kind).map_err(|reason| call.denied(reason))?;
                layer.around(call, below).await
            })
        };
        Self { kind, around: Arc::new(around) }
    }

    /// Puts the layer around a service.
    pub(super) fn over(&self, below: Called) -> Called {
        let around = self.around.clone();
        Arc::new(move |call| around(call, below.clone()))
    }
}

/// Globs of wire names.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs(Arc<[String]>);

impl Globs {
    pub(super) fn new(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(globs.into_iter().map(Into::into).collect())
    }

    pub(super) fn name(&self, tool: &str) -> bool {
        matches_globs(&self.0, tool)
    }

    /// Returns the globs as a sentence has them.
    pub(super) fn listed(&self) -> String {
        self.0.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
    }
}
