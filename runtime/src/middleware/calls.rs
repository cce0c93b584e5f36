//! Converts between callers of tools and tower services.

use tower::{BoxError, Service, ServiceExt};

use crate::call::wait;
use crate::{CallError, CallTool, ToolCall, ToolResult};

/// [`CallTool`] through a tower service: use it to pass a client with tower layers to bindings.
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
    /// Calls tools through a service whose clones share state. An error of the service that is not a [`CallError`] has
    /// no information about the server: it becomes [`CallError::OutcomeUnknown`].
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
        let ready: Result<(), BoxError> = wait::within(&mut call, service.ready()).await?.map(drop).map_err(Into::into);
        let outcome = match ready {
            Ok(()) => service.call(call).await.map_err(Into::into),
            Err(error) => Err(error),
        };
        outcome.map_err(|error| match error.downcast::<CallError>() {
            Ok(error) => *error,
            Err(error) => CallError::outcome_unknown(server, tool, error.to_string()),
        })
    }
}
