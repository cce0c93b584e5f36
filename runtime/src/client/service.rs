//! A client as a service of tower.

use std::task::{Context, Poll};

use tower::Service;

use super::Client;
use crate::call::ServiceFuture;
use crate::{CallError, CallTool, ToolCall, ToolResult};

/// It is always ready; what cannot be sent at once waits within the time of its call.
impl Service<ToolCall> for Client {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        let client = self.clone();
        Box::pin(async move { client.call_tool(call).await })
    }
}
