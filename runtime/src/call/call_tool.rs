//! Everything that can call a tool.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{CallError, CallOptions, Offer, ToolCall, ToolResult};

/// Anything that can call a tool: a [`Client`](crate::Client), a layer around one, a fake in a test.
pub trait CallTool: Send + Sync {
    /// Calls a tool and returns its result, even if the tool answered `isError`.
    ///
    /// # Errors
    /// Fails with any [`CallError`] except `Tool` and `Decode`.
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send;

    /// Returns the rules for the tools that may be called, for lists that are made for a model.
    #[doc(hidden)]
    fn offer(&self) -> Offer {
        Offer::default()
    }

    /// Wraps the caller with options for every call that does not set them itself.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// use mcp_bindgen_runtime::{CallOptions, CallTool, ToolCall};
    ///
    /// let traced = client.with_call_options(CallOptions::new().meta("traceparent", "00-4bf92f3577b34da6-00f067aa0ba902b7-01"));
    /// traced.call_tool(ToolCall::new("files", "index", Default::default())).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn with_call_options(self, options: CallOptions) -> WithOptions<Self>
    where
        Self: Sized,
    {
        WithOptions { client: self, options }
    }

    /// Wraps the caller with a time limit for every call; see [`CallOptions::timeout`].
    fn within(self, timeout: Duration) -> WithOptions<Self>
    where
        Self: Sized,
    {
        self.with_call_options(CallOptions::new().timeout(timeout))
    }
}

macro_rules! through_pointers {
    ($($pointer:ty),*) => {$(
        impl<C: CallTool + ?Sized> CallTool for $pointer {
            fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
                (**self).call_tool(call)
            }

            fn offer(&self) -> Offer {
                (**self).offer()
            }
        }
    )*};
}

through_pointers!(&C, Arc<C>, Box<C>);

/// Calls tools with options; made by [`CallTool::with_call_options`].
#[derive(Clone, Debug)]
pub struct WithOptions<C> {
    client: C,
    options: CallOptions,
}

impl<C> WithOptions<C> {
    pub(crate) fn parts(&self) -> (&C, &CallOptions) {
        (&self.client, &self.options)
    }
}

impl<C: CallTool> CallTool for WithOptions<C> {
    fn call_tool(&self, mut call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
        call.options = call.options.or(&self.options);
        self.client.call_tool(call)
    }

    fn offer(&self) -> Offer {
        self.client.offer()
    }
}

/// [`CallTool`] behind a pointer: `Box<dyn DynCallTool>` and `Arc<dyn DynCallTool>` are `CallTool`s themselves.
///
/// ```
/// use std::sync::Arc;
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::{CallTool, Client, DynCallTool};
///
/// fn takes_any(_: impl CallTool) {}
///
/// let client: Arc<dyn DynCallTool> = Arc::new(Client::new(ServerConfig::stdio("files", "my-mcp-server")));
/// takes_any(client);
/// ```
pub trait DynCallTool: Send + Sync {
    /// Calls the tool like [`CallTool::call_tool`].
    fn call_tool_dyn(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolResult, CallError>>;

    /// Returns the offer like [`CallTool::offer`].
    #[doc(hidden)]
    fn offer_dyn(&self) -> Offer;
}

impl<C: CallTool> DynCallTool for C {
    fn call_tool_dyn(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolResult, CallError>> {
        Box::pin(self.call_tool(call))
    }

    fn offer_dyn(&self) -> Offer {
        self.offer()
    }
}

impl CallTool for dyn DynCallTool + '_ {
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
        self.call_tool_dyn(call)
    }

    fn offer(&self) -> Offer {
        self.offer_dyn()
    }
}
