//! From what calls tools to services of tower, and back.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{BoxError, Service, ServiceExt};

use super::layer::ServiceFuture;
use crate::{CallError, CallTool, ToolCall, ToolResult};

/// [`CallTool`] through a service of tower: the client that bindings are given where a program has put tower's own layers
/// around one.
///
/// ```
/// use mcp_model::ServerConfig;
/// use mcp_runtime::Client;
/// use mcp_runtime::middleware::Calls;
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
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let (server, tool) = (call.server.to_string(), call.tool.to_string());
        let outcome = self.0.clone().oneshot(call).await;
        outcome.map_err(|error| match error.into().downcast::<CallError>() {
            Ok(error) => *error,
            Err(error) => CallError::outcome_unknown(server, tool, error.to_string()),
        })
    }
}

/// Something that calls tools as the service in the middle of a stack.
pub(super) struct Called<C>(Arc<C>);

impl<C> Called<C> {
    pub(super) fn new(inner: Arc<C>) -> Self {
        Self(inner)
    }
}

impl<C> Clone for Called<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<C> fmt::Debug for Called<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Called(..)")
    }
}

impl<C: CallTool + 'static> Service<ToolCall> for Called<C> {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        let inner = self.0.clone();
        Box::pin(async move { inner.call_tool(call).await })
    }
}
