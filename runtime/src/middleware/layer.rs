//! What all layers have in common.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::call::{Place, ServiceFuture};
use crate::{CallError, ToolCall, ToolResult};

/// A service that a layer can be put around.
pub(super) trait Below:
    Service<ToolCall, Response = ToolResult, Error = CallError, Future: Send> + Clone + Send + 'static
{
}

impl<S> Below for S where
    S: Service<ToolCall, Response = ToolResult, Error = CallError, Future: Send> + Clone + Send + 'static
{
}

/// What one layer does around the service below it, which is ready for one call: whoever called the layer has seen to that.
pub(super) trait Around: Send + Sync + 'static {
    /// Where it stands among the others, where that matters.
    const PLACE: Option<Place>;

    fn around<S: Below>(
        self: Arc<Self>,
        call: ToolCall,
        below: S,
    ) -> impl Future<Output = Result<ToolResult, CallError>> + Send;
}

/// A service with a layer of this crate around it.
#[derive(Debug)]
pub struct Layered<L, S> {
    layer: Arc<L>,
    below: S,
}

impl<L, S: Clone> Clone for Layered<L, S> {
    fn clone(&self) -> Self {
        Self { layer: self.layer.clone(), below: self.below.clone() }
    }
}

impl<L, S> Layered<L, S> {
    pub(super) fn new(layer: Arc<L>, below: S) -> Self {
        Self { layer, below }
    }
}

#[allow(private_bounds)]
impl<L: Around, S: Below> Service<ToolCall> for Layered<L, S> {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.below.poll_ready(context)
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        // The one that is ready goes with the call.
        let next = self.below.clone();
        let below = std::mem::replace(&mut self.below, next);
        through(self.layer.clone(), call, below)
    }
}

/// A call through a layer to the service below it, which is ready.
pub(super) fn through<L: Around, S: Below>(layer: Arc<L>, mut call: ToolCall, below: S) -> ServiceFuture {
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

/// Lets a program put layers around any service of its own, as [`Stack`](super::Stack) puts them around a client.
macro_rules! layers_of_tower {
    ($($layer:ident),* $(,)?) => {$(
        impl<S> tower::Layer<S> for $layer {
            type Service = super::Layered<Self, S>;

            fn layer(&self, below: S) -> Self::Service {
                super::Layered::new(std::sync::Arc::new(self.clone()), below)
            }
        }
    )*};
}

pub(super) use layers_of_tower;
