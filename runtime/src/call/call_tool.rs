//! Callers of tools, and the tools that they allow to call.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::events::Observer;
use super::{CallError, CallOptions, ToolCall, ToolResult};
use crate::ground::redact::debug_as;

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

/// Returns `true` if a tool may be called; the second argument is `true` for a template that is not a local file.
type Rule = Arc<dyn Fn(&str, bool) -> bool + Send + Sync>;

/// The tools that may be called through a caller, with the client and the observer behind it.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Offer {
    /// The client behind all layers. `Client` is in a module above this one.
    client: Option<Arc<dyn Any + Send + Sync>>,
    /// `true` if a stack enforces the rules of the client's configuration.
    pub(crate) is_governed: bool,
    /// The observer of the calls.
    pub(crate) observer: Option<Arc<Observer>>,
    rules: Vec<Rule>,
}

impl Offer {
    pub(crate) fn of(client: impl Any + Send + Sync) -> Self {
        Self { client: Some(Arc::new(client)), ..Self::default() }
    }

    /// Creates the offer of functions of the program, whose calls one observer reports.
    #[must_use]
    pub fn of_functions() -> Self {
        Self::default().observed_by(Arc::new(Observer::of_functions()))
    }

    /// Sets the observer of the calls, unless they have one.
    pub(crate) fn observed_by(mut self, observer: Arc<Observer>) -> Self {
        self.observer.get_or_insert(observer);
        self
    }

    /// Restricts the offer to tools that the rule accepts; its second argument is `true` for a template that is not a
    /// local file.
    pub(crate) fn restricted(mut self, rule: impl Fn(&str, bool) -> bool + Send + Sync + 'static) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }

    /// Returns the client behind all layers.
    pub(crate) fn client<C: Any>(&self) -> Option<&C> {
        self.client.as_deref().and_then(<dyn Any + Send + Sync>::downcast_ref)
    }

    /// Returns `true` if calls of this tool are allowed by its name: by `tools` and `exclude` of the configuration,
    /// and by policies by name.
    #[must_use]
    pub fn admits(&self, tool: &str) -> bool {
        self.rules.iter().all(|rule| rule(tool, false))
    }

    /// Checks a tool like [`admits`](Self::admits), for a template that is not a local file: `remote_use` of the
    /// configuration must name the tool too. Without a configuration such calls are allowed.
    #[must_use]
    pub fn admits_remote(&self, tool: &str) -> bool {
        self.rules.iter().all(|rule| rule(tool, true))
    }
}

debug_as!(Offer, "Offer(..)");
