//! A typed call that has not been made yet.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{CallError, CallOptions, CallTool, Tool, ToolCall};

type Running<'c, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'c>>;

/// A call with typed parameters and a typed result, made when it is awaited. The methods of bindings return it.
///
/// ```ignore
/// let issue = gh.create_issue(params).await?;
/// let issue = gh.create_issue(params).within(Duration::from_secs(5)).await?;
/// let issue = gh.create_issue(params).with(CallOptions::new().on_progress(report)).await?;
/// ```
#[must_use = "a call is made when it is awaited"]
pub struct TypedCall<'c, C, P: Tool> {
    state: State<'c, C, P>,
}

enum State<'c, C, P: Tool> {
    Unmade { client: &'c C, params: P, options: CallOptions },
    Running(Running<'c, P::Output>),
    Over,
}

impl<'c, C: CallTool, P: Tool + 'c> TypedCall<'c, C, P> {
    /// A call through `client`.
    pub const fn new(client: &'c C, params: P) -> Self {
        Self { state: State::Unmade { client, params, options: CallOptions::new() } }
    }

    /// Sets options, and keeps earlier ones that these do not set. Has no effect after the first poll.
    pub fn with(mut self, given: CallOptions) -> Self {
        if let State::Unmade { options, .. } = &mut self.state {
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
        let state = &mut self.get_mut().state;
        if let State::Unmade { .. } = state
            && let State::Unmade { client, params, options } = std::mem::replace(state, State::Over)
        {
            *state = State::Running(Box::pin(made(client, params, options)));
        }
        match state {
            State::Running(running) => {
                let outcome = running.as_mut().poll(context);
                if outcome.is_ready() {
                    *state = State::Over;
                }
                outcome
            }
            // A finished future is pending forever.
            State::Unmade { .. } | State::Over => Poll::Pending,
        }
    }
}

/// Nothing in it is ever pinned where it lies.
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
