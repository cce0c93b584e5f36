//! Fakes of servers, for tests of programs.

use std::fmt;
use std::future::{Future, ready};
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::nearest;
use serde_json::{Map, Value};

use crate::call::{Limit, ServiceFuture, place, wait};
use crate::ground::sync::lock;
use crate::ground::wire::Wire;
use crate::{CallError, CallTool, Tool, ToolCall, ToolResult, parse_arguments};

/// The error code of servers for arguments that do not fit.
const INVALID_PARAMS: i64 = -32602;

/// A typed fake of a server for tests, instead of a [`Client`](crate::Client). Clones share everything.
///
/// Arguments and results are serialized and parsed like those of a server, so that a fake accepts and returns only
/// what a server could. Unexpected calls, and calls whose arguments do not match, fail; [`refused`](Self::refused)
/// lists them.
///
/// ```ignore
/// let fake = Fake::new()
///     .on(|p: GithubCreateIssueParams| GithubCreateIssueOutput::new(1, p.title))
///     .on(|p: GithubCloseIssueParams| ToolResult::error(format!("there is no issue {}", p.number)));
/// report(&Github::with(fake.clone())).await?;      // what is tested
/// let [issue] = &fake.calls::<GithubCreateIssueParams>()[..] else { panic!("one issue was to be opened") };
/// assert_eq!(issue.title, "It broke");
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Fake {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// Sorted by the names of server and tool.
    handlers: Vec<(Names, Handler)>,
    calls: Vec<ToolCall>,
    refused: Vec<CallError>,
}

type Names = (&'static str, &'static str);

/// Reads the arguments and begins to answer, or refuses them.
type Handler = Arc<dyn Fn(&Map<String, Value>) -> Result<ServiceFuture, CallError> + Send + Sync>;

impl Fake {
    /// Creates a fake that expects nothing.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the closure that answers calls of a tool, replacing an earlier one. Calls run one after another, so that
    /// the closure may change its state.
    pub fn on<P, A>(self, answer: impl FnMut(P) -> A + Send + 'static) -> Self
    where
        P: Tool + 'static,
        A: Answer<P>,
    {
        let answer = Mutex::new(answer);
        self.handle::<P>(move |params| {
            // A closure that panicked in one call still answers the next one.
            let mut answer = lock(&answer);
            Box::pin(ready((*answer)(params).into_result()))
        })
    }

    /// Adds a handler like [`on`](Self::on), with an asynchronous closure: `.on_async(async |p: GithubGetIssueParams|
    /// ..)`. Calls run concurrently, and timeouts and cancellation apply.
    pub fn on_async<P, A, F>(self, answer: impl Fn(P) -> F + Send + Sync + 'static) -> Self
    where
        P: Tool + 'static,
        F: Future<Output = A> + Send + 'static,
        A: Answer<P>,
    {
        self.handle::<P>(move |params| {
            let answering = answer(params);
            Box::pin(async move { answering.await.into_result() })
        })
    }

    fn handle<P: Tool>(self, begin: impl Fn(P) -> ServiceFuture + Send + Sync + 'static) -> Self {
        let handler: Handler = Arc::new(move |arguments| Ok(begin(parse_arguments(arguments).map_err(as_the_server)?)));
        lock(&self.inner).handle((P::SERVER.name, P::NAME), handler);
        self
    }

    /// Returns the arguments of the calls of one tool so far, in the order in which they came.
    #[must_use]
    pub fn calls<P: Tool>(&self) -> Vec<P> {
        let inner = lock(&self.inner);
        let of_tool = inner.calls.iter().filter(|call| call.server == P::SERVER.name && call.tool == P::NAME);
        of_tool.filter_map(|call| parse_arguments(&call.arguments).ok()).collect()
    }

    /// Returns every call so far, in the order in which they came, also those that were refused.
    #[must_use]
    #[inline]
    pub fn tool_calls(&self) -> Vec<ToolCall> {
        lock(&self.inner).calls.clone()
    }

    /// Returns the errors of refused calls: unexpected calls, or calls whose arguments do not match.
    #[must_use]
    #[inline]
    pub fn refused(&self) -> Vec<CallError> {
        lock(&self.inner).refused.clone()
    }

    #[inline]
    fn begin(&self, call: &ToolCall) -> Result<ServiceFuture, CallError> {
        let handler = {
            let mut inner = lock(&self.inner);
            inner.calls.push(call.clone());
            let handler = inner.handlers.iter().find(|(names, _)| *names == (&*call.server, &*call.tool));
            handler.map(|(_, handler)| handler.clone()).ok_or_else(|| inner.unexpected(call))
        };
        let begun = handler.and_then(|handler| handler(&call.arguments));
        begun.inspect_err(|error| lock(&self.inner).refused.push(error.clone()))
    }
}

impl CallTool for Fake {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let answering = self.begin(&call)?;
        // Without progress, the shorter of both limits the call.
        let given = call.options.given();
        let limit = [given.timeout, given.cap].into_iter().flatten().min().map(Limit::after).unwrap_or_default();
        let result = match wait::within(&mut call, limit, answering).await.map_err(CallError::after_dispatch)? {
            // A server cannot report that a result is not a success; the caller finds out.
            Err(CallError::Tool(result) | CallError::Decode { result, .. }) => *result,
            outcome => outcome?,
        };
        Ok(ToolResult::from_json(&*call.server, &*call.tool, result.to_json()))
    }
}

impl Inner {
    #[inline]
    fn handle(&mut self, names: Names, handler: Handler) {
        self.handlers.retain(|(known, _)| *known != names);
        let place = self.handlers.partition_point(|(known, _)| *known < names);
        self.handlers.insert(place, (names, handler));
    }

    #[inline]
    fn unexpected(&self, call: &ToolCall) -> CallError {
        let (mut servers, mut tools) = (Vec::new(), Vec::new());
        for ((server, tool), _) in &self.handlers {
            servers.push((*server).to_owned());
            if call.server == *server {
                tools.push((*tool).to_owned());
            }
        }
        servers.dedup();
        let listed = |names: &[String]| format!("`{}`", names.join("`, `"));
        let expected = match (servers.is_empty(), tools.is_empty()) {
            (true, _) => "it expects no calls; set answers with `Fake::on`".to_owned(),
            (false, true) => format!("it expects calls of {}, not of this server", listed(&servers)),
            (false, false) => format!("it expects calls of {}", listed(&tools)),
        };
        let near = nearest(&call.tool, tools.iter().map(String::as_str))
            .first()
            .map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_default();
        call.denied(format!("the fake does not expect this call; {expected}{near}"))
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = lock(&self.inner);
        let tools = inner.handlers.iter().map(|((server, tool), _)| format!("{server}/{tool}"));
        let tools: Vec<String> = tools.collect();
        f.debug_struct("Fake").field("answers", &tools).field("calls", &inner.calls.len()).finish()
    }
}

/// Returns the client's error about arguments in the words of a server that got them.
fn as_the_server(error: CallError) -> CallError {
    match error {
        CallError::InvalidArguments { server, tool, pointer, message } => {
            let message = format!("invalid arguments{}: {message}", place(&pointer));
            CallError::rpc(server, tool, INVALID_PARAMS, message)
        }
        other => other,
    }
}

/// An answer of a [`Fake`](crate::Fake) to a call of the tool `P`: its output, a [`ToolResult`], a [`CallError`], or a
/// `Result` of two of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an answer to a call of `{P}`",
    note = "an answer is the tool's output, a `ToolResult`, a `CallError`, or a `Result` of two of them"
)]
pub trait Answer<P: Tool> {
    /// Returns the result, as the server would send it.
    ///
    /// # Errors
    /// The error that the call fails with.
    fn into_result(self) -> Result<ToolResult, CallError>;
}

impl<P: Tool<Output = T>, T: Wire> Answer<P> for T {
    fn into_result(self) -> Result<ToolResult, CallError> {
        ToolResult::of::<P>(self)
    }
}

impl<P: Tool> Answer<P> for ToolResult {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Ok(self)
    }
}

/// The error of a `Result`, for lints that demand a small error.
impl<P: Tool> Answer<P> for Box<ToolResult> {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Ok(*self)
    }
}

impl<P: Tool> Answer<P> for CallError {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Err(self)
    }
}

impl<P: Tool, A: Answer<P>, E: Answer<P>> Answer<P> for Result<A, E> {
    fn into_result(self) -> Result<ToolResult, CallError> {
        match self {
            Ok(answer) => answer.into_result(),
            Err(answer) => answer.into_result(),
        }
    }
}
