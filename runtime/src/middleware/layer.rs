//! The common part of all layers.

use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcp_bindgen_model::matches_globs;

use crate::call::LayerKind;
use crate::{CallError, DynCallTool, ToolCall, ToolResult};

/// The work of one layer around the calls below it.
pub(super) trait Around: Send + Sync {
    fn around(&self, call: ToolCall, below: Below<'_>) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

/// [`Around`] behind a pointer.
pub(super) trait DynAround: Send + Sync {
    fn around_dyn<'a>(&'a self, call: ToolCall, below: Below<'a>) -> BoxFuture<'a, Result<ToolResult, CallError>>;
}

impl<L: Around> DynAround for L {
    fn around_dyn<'a>(&'a self, call: ToolCall, below: Below<'a>) -> BoxFuture<'a, Result<ToolResult, CallError>> {
        Box::pin(self.around(call, below))
    }
}

/// A layer of a stack, with its place among the others.
pub(super) type Layer = (LayerKind, Arc<dyn DynAround>);

/// The calls below a layer.
#[derive(Clone, Copy)]
pub(super) struct Below<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) client: &'a dyn DynCallTool,
}

impl<'a> Below<'a> {
    /// Passes a call to the next layer, or to the client below all of them.
    pub(super) fn call(self, mut call: ToolCall) -> BoxFuture<'a, Result<ToolResult, CallError>> {
        let Some(((kind, layer), layers)) = self.layers.split_first() else {
            return self.client.call_tool_dyn(call);
        };
        match call.passage.enter(*kind) {
            Ok(()) => layer.around_dyn(call, Below { layers, ..self }),
            Err(reason) => Box::pin(ready(Err(call.denied(reason)))),
        }
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
    #[inline]
    pub(super) fn listed(&self) -> String {
        self.0.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
    }
}
