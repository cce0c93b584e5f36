//! A typed call that has not been made yet.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{CallError, CallOptions, CallTool, Tool, ToolCall};

/// A call with typed parameters and a typed result, made when it is awaited. The methods of bindings return it.
///
/// ```ignore
/// let issue = gh.create_issue(params).await?;
/// let issue = gh.create_issue(params).within(Duration::from_secs(5)).await?;
/// let issue = gh.create_issue(params).with(CallOptions::new().on_progress(report)).await?;
/// ```
#[must_use = "a call is made when it is awaited"]
pub struct TypedCall<'c, C, P: Tool> {
    /// The parts of the call, until it is first polled.
    unmade: Option<(&'c C, P, CallOptions)>,
    /// Until it has ended.
    running: Option<BoxFuture<'c, Result<P::Output, CallError>>>,
}

impl<'c, C: CallTool, P: Tool + 'c> TypedCall<'c, C, P> {
    /// Creates a call through `client`.
    pub const fn new(client: &'c C, params: P) -> Self {
        Self { unmade: Some((client, params, CallOptions::new())), running: None }
    }

    /// Sets options, and keeps earlier ones that these do not set. Has no effect after the first poll.
    pub fn with(mut self, given: CallOptions) -> Self {
        if let Some((_, _, options)) = &mut self.unmade {
            *options = given.or(options);
        }
        self
    }

    /// Sets the timeout of the call, including connecting; see [`CallOptions::timeout`].
    pub fn within(self, timeout: Duration) -> Self {
        self.with(CallOptions::new().timeout(timeout))
    }
}

impl<'c, C: CallTool, P: Tool + 'c> Future for TypedCall<'c, C, P> {
    type Output = Result<P::Output, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { unmade, running } = self.get_mut();
        if let Some((client, params, options)) = unmade.take() {
            *running = Some(Box::pin(made(client, params, options)));
        }
        // A finished future is pending forever.
        let Some(call) = running else { return Poll::Pending };
        let outcome = call.as_mut().poll(context);
        if outcome.is_ready() {
            *running = None;
        }
        outcome
    }
}

/// No field is ever pinned.
impl<C, P: Tool> Unpin for TypedCall<'_, C, P> {}

async fn made<P: Tool>(client: &impl CallTool, params: P, options: CallOptions) -> Result<P::Output, CallError> {
    let call = ToolCall::of(&params)?.with(options);
    P::output(client.call_tool(call).await?)
}

impl<C, P: Tool> fmt::Debug for TypedCall<'_, C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedCall").field("server", &P::SERVER.name).field("tool", &P::NAME).finish_non_exhaustive()
    }
}
