//! From what calls tools to services of tower, and back.

use std::sync::Arc;
use std::time::Duration;

use tower::{BoxError, Service, ServiceExt};

use super::layer::{Around, through};
use crate::call::{ServiceFuture, wait};
use crate::{CallError, CallTool, Dispatched, ToolCall, ToolResult};

/// [`CallTool`] through a service of tower: the client that bindings are given where a program has put tower's own layers
/// around one.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::Calls;
/// use tower::limit::ConcurrencyLimit;
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let two_at_once = Calls::through(ConcurrencyLimit::new(client, 2));
/// // Files::with(two_at_once).list(params).await?
/// # let _ = two_at_once;
/// ```
#[derive(Clone, Debug)]
pub struct Calls<S>(S);

impl<S> Calls<S> {
    /// Calls tools through a service, clones of which are the same service. An error of its own, which is no
    /// [`CallError`], says nothing of the server: it becomes [`CallError::OutcomeUnknown`].
    pub fn through(service: S) -> Self
    where
        S: Service<ToolCall, Response = ToolResult, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync,
    {
        Self(service)
    }
}

impl<S> CallTool for Calls<S>
where
    S: Service<ToolCall, Response = ToolResult, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync,
{
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let (server, tool) = (call.server.to_string(), call.tool.to_string());
        let mut service = self.0.clone();
        // However long that takes: the call's own time is what bounds it.
        let ready = wait::within(&mut call, Duration::MAX, service.ready()).await?;
        let outcome: Result<ToolResult, BoxError> = match ready.map(|ready| ready.map(drop).map_err(Into::into)) {
            Some(Ok(())) => service.call(call).await.map_err(Into::into),
            Some(Err(error)) => Err(error),
            None => Err(CallError::timeout(server.as_str(), tool.as_str(), Duration::MAX, Dispatched::No).into()),
        };
        outcome.map_err(|error| match error.downcast::<CallError>() {
            Ok(error) => *error,
            Err(error) => CallError::outcome_unknown(server, tool, error.to_string()),
        })
    }
}

/// Calls behind a pointer: what layers of a stack stand around. A copy of it costs nothing.
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

    /// The same with a layer around.
    pub(super) fn within<L: Around>(self, layer: L) -> Self {
        let layer = Arc::new(layer);
        Self(Arc::new(move |call| through(layer.clone(), call, self.clone())))
    }

    /// The same with layers around, the first one outermost.
    pub(super) fn within_all<L: Around + Clone>(self, layers: &[L]) -> Self {
        layers.iter().rev().fold(self, |service, layer| service.within(layer.clone()))
    }
}
