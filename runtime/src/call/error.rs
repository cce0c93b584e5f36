//! The errors of connecting and of calling. Each names the server and, if known, the tool.

use std::error::Error;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::ToolResult;

/// Shows whether the server may have acted on a failed call.
///
/// ```
/// use mcp_bindgen_runtime::{CallError, Dispatched};
///
/// fn may_be_repeated(error: &CallError, is_idempotent: bool) -> bool {
///     match error.dispatched() {
///         Dispatched::No => true,
///         Dispatched::Unknown => is_idempotent,
///         Dispatched::Yes => false,
///     }
/// }
/// # let error = CallError::not_connected("github", "create_issue", "no route to host");
/// # assert!(may_be_repeated(&error, false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dispatched {
    /// Nothing of it has reached the tool, and nothing will: it can be repeated.
    No,
    /// It has left, and no answer came: the tool may have run, or may still run.
    Unknown,
    /// The server has answered it.
    Yes,
}

/// The error below another one, shared by its clones.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Creates an error that shows no secret.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The error of a call. [`dispatched`](Self::dispatched) says whether it may have had an effect.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The client is not connected, and could not connect.
    #[error("{server}: could not connect to call `{tool}`: {message}")]
    #[non_exhaustive]
    NotConnected {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The reason.
        message: String,
        /// The reason for the missing connection: a [`ConnectError`].
        #[source]
        source: Option<Cause>,
    },
    /// The server has no such tool.
    #[error("{server}: the server has no tool `{tool}`")]
    #[non_exhaustive]
    ToolNotFound {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
    },
    /// The server has no such prompt.
    #[error("{server}: the server has no prompt `{prompt}`")]
    #[non_exhaustive]
    PromptNotFound {
        /// The server's name.
        server: String,
        /// The prompt's name.
        prompt: String,
    },
    /// The server has no such resource.
    #[error("{server}: the server has no resource `{uri}`")]
    #[non_exhaustive]
    ResourceNotFound {
        /// The server's name.
        server: String,
        /// The resource's URI.
        uri: String,
    },
    /// The server does not offer the requested item.
    #[error("{server}: `{tool}`: the server does not offer {what}")]
    #[non_exhaustive]
    NotOffered {
        /// The server's name.
        server: String,
        /// The subject of the request: a resource's URI.
        tool: String,
        /// The missing capability.
        what: String,
    },
    /// The arguments do not match the tool's `inputSchema`.
    #[error("{server}: invalid arguments for `{tool}`{}: {message}", place(.pointer))]
    #[non_exhaustive]
    InvalidArguments {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// A JSON pointer into the arguments (RFC 6901); empty for the whole.
        pointer: String,
        /// The fault in the arguments.
        message: String,
    },
    /// The configuration, a policy or an approval denied the call.
    #[error("{server}: `{tool}` was denied: {reason}{}", after(.help))]
    #[non_exhaustive]
    Denied {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// Why.
        reason: String,
        /// The next step for a developer, if there is one. It is hidden from models.
        help: Option<String>,
        /// How long to wait until the call may be made, if a rate denied it.
        retry_after: Option<Duration>,
    },
    /// No answer came in time.
    #[error("{server}: `{tool}` did not answer within {after:?}{}", unsent(.dispatched))]
    #[non_exhaustive]
    Timeout {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// How long was waited.
        after: Duration,
        /// Shows whether the server may have acted on the call.
        dispatched: Dispatched,
    },
    /// The caller's token was cancelled (see [`CallOptions::cancelled_by`](crate::CallOptions::cancelled_by)).
    #[error("{server}: `{tool}` was cancelled{}", unsent(.dispatched))]
    #[non_exhaustive]
    Cancelled {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// Shows whether the server may have acted on the call.
        dispatched: Dispatched,
    },
    /// The call was not carried out: the connection failed before it was on the wire, or what carries it refused it, as by
    /// HTTP 429.
    #[error("{server}: `{tool}` did not run: {message}")]
    #[non_exhaustive]
    Transport {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The fault.
        message: String,
        /// The delay that the server requested before the next attempt, if any.
        retry_after: Option<Duration>,
        /// The error below.
        #[source]
        source: Option<Cause>,
    },
    /// The connection was lost while the call was under way: whether it took effect is unknown.
    #[error("{server}: the connection was lost during `{tool}`; whether it took effect is unknown: {message}")]
    #[non_exhaustive]
    OutcomeUnknown {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The fault.
        message: String,
        /// The delay that the server requested before the next attempt, if any.
        retry_after: Option<Duration>,
        /// The error below.
        #[source]
        source: Option<Cause>,
    },
    /// The server's response is not the result of a call, or no JSON parser can read it.
    #[error("{server}: cannot read the response to `{tool}`: {message}")]
    #[non_exhaustive]
    InvalidResponse {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The fault in the answer.
        message: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("{server}: `{tool}` failed with JSON-RPC error {code}: {message}")]
    #[non_exhaustive]
    Rpc {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The JSON-RPC error code.
        code: i64,
        /// The server's message, without the secrets of its configuration and what could command a terminal; cut.
        message: String,
        /// The server's data, without those secrets.
        data: Option<Box<Value>>,
    },
    /// The tool itself answered with an error (`isError`). The message is without the secrets of the server's
    /// configuration and cut; the result is as it came.
    #[error("{}: `{}` returned an error: {}", .0.server, .0.tool, .0.error_text())]
    Tool(Box<ToolResult>),
    /// The result does not match the tool's `outputSchema`.
    #[error("{}: the result of `{}` does not match its outputSchema{}: {message}", .result.server, .result.tool, place(.pointer))]
    #[non_exhaustive]
    Decode {
        /// A JSON pointer into the structured result (RFC 6901); empty for the whole.
        pointer: String,
        /// The fault in the result.
        message: String,
        /// The result as it came.
        result: Box<ToolResult>,
    },
    /// The live server's tool is not the one that was bound.
    #[error("{server}: `{tool}` has changed since its bindings were generated: {message}")]
    #[non_exhaustive]
    Incompatible {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The changes.
        message: String,
    },
}

/// Returns the next step behind a reason.
fn after(help: &Option<String>) -> String {
    help.as_ref().map_or_else(String::new, |help| format!("; {help}"))
}

/// Returns a timeout's words about a call that was not sent.
fn unsent(dispatched: &Dispatched) -> &'static str {
    if *dispatched == Dispatched::No { "; it was not sent" } else { "" }
}

/// Formats the place of a mismatch; empty if the pointer names the whole value.
pub(crate) fn place(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{}`", mcp_bindgen_model::printable(pointer)) }
}

/// Constructors for fakes in tests and for layers around a client; variants may grow.
impl CallError {
    /// Creates a [`NotConnected`](Self::NotConnected) error.
    pub fn not_connected(server: impl Into<String>, tool: impl Into<String>, message: impl Into<String>) -> Self {
        Self::NotConnected { server: server.into(), tool: tool.into(), message: message.into(), source: None }
    }

    /// Creates a [`ToolNotFound`](Self::ToolNotFound) error.
    pub fn tool_not_found(server: impl Into<String>, tool: impl Into<String>) -> Self {
        Self::ToolNotFound { server: server.into(), tool: tool.into() }
    }

    /// Creates a [`Denied`](Self::Denied) error.
    pub fn denied(server: impl Into<String>, tool: impl Into<String>, reason: impl Into<String>) -> Self {
        let (server, tool, reason) = (server.into(), tool.into(), reason.into());
        Self::Denied { server, tool, reason, help: None, retry_after: None }
    }

    /// Creates a [`NotOffered`](Self::NotOffered) error.
    pub fn not_offered(server: impl Into<String>, tool: impl Into<String>, what: impl Into<String>) -> Self {
        Self::NotOffered { server: server.into(), tool: tool.into(), what: what.into() }
    }

    /// Creates a [`Timeout`](Self::Timeout) error.
    pub fn timeout(
        server: impl Into<String>,
        tool: impl Into<String>,
        after: Duration,
        dispatched: Dispatched,
    ) -> Self {
        Self::Timeout { server: server.into(), tool: tool.into(), after, dispatched }
    }

    /// Creates a [`Cancelled`](Self::Cancelled) error.
    pub fn cancelled(server: impl Into<String>, tool: impl Into<String>, dispatched: Dispatched) -> Self {
        Self::Cancelled { server: server.into(), tool: tool.into(), dispatched }
    }

    /// Creates a [`Transport`](Self::Transport) error.
    pub fn transport(server: impl Into<String>, tool: impl Into<String>, message: impl Into<String>) -> Self {
        let (server, tool, message) = (server.into(), tool.into(), message.into());
        Self::Transport { server, tool, message, retry_after: None, source: None }
    }

    /// Creates an [`OutcomeUnknown`](Self::OutcomeUnknown) error.
    pub fn outcome_unknown(server: impl Into<String>, tool: impl Into<String>, message: impl Into<String>) -> Self {
        let (server, tool, message) = (server.into(), tool.into(), message.into());
        Self::OutcomeUnknown { server, tool, message, retry_after: None, source: None }
    }

    /// Creates an [`Rpc`](Self::Rpc) error without data.
    pub fn rpc(server: impl Into<String>, tool: impl Into<String>, code: i64, message: impl Into<String>) -> Self {
        Self::Rpc { server: server.into(), tool: tool.into(), code, message: message.into(), data: None }
    }

    pub(crate) fn invalid_arguments(server: &str, tool: &str, pointer: &str, message: impl Into<String>) -> Self {
        let (server, tool, pointer) = (server.to_owned(), tool.to_owned(), pointer.to_owned());
        Self::InvalidArguments { server, tool, pointer, message: message.into() }
    }
}

impl CallError {
    /// Returns the server's name.
    pub fn server(&self) -> &str {
        self.names().0
    }

    /// Returns the tool's wire name; for prompts the prompt's, for resources the URI.
    pub fn tool(&self) -> &str {
        self.names().1
    }

    /// Returns whether the server may have acted on the call.
    pub fn dispatched(&self) -> Dispatched {
        match self {
            Self::NotConnected { .. }
            | Self::ToolNotFound { .. }
            | Self::PromptNotFound { .. }
            | Self::ResourceNotFound { .. }
            | Self::NotOffered { .. }
            | Self::InvalidArguments { .. }
            | Self::Denied { .. }
            | Self::Transport { .. }
            | Self::Incompatible { .. } => Dispatched::No,
            Self::Timeout { dispatched, .. } | Self::Cancelled { dispatched, .. } => *dispatched,
            Self::OutcomeUnknown { .. } => Dispatched::Unknown,
            Self::InvalidResponse { .. } | Self::Rpc { .. } | Self::Tool(_) | Self::Decode { .. } => Dispatched::Yes,
        }
    }

    /// Returns the delay before the next attempt, if the server (`Retry-After`) or the rate of a policy sets one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transport { retry_after, .. }
            | Self::OutcomeUnknown { retry_after, .. }
            | Self::Denied { retry_after, .. } => *retry_after,
            Self::NotConnected { source, .. } => source.as_ref()?.downcast_ref::<ConnectError>()?.retry_after(),
            _ => None,
        }
    }

    /// Returns the error of a call of which an earlier part may have reached the tool.
    pub(crate) fn after_dispatch(mut self) -> Self {
        match &mut self {
            Self::Timeout { dispatched, .. } | Self::Cancelled { dispatched, .. } => *dispatched = Dispatched::Unknown,
            error if error.dispatched() == Dispatched::No => {
                return Self::OutcomeUnknown {
                    server: error.server().to_owned(),
                    tool: error.tool().to_owned(),
                    message: format!("an earlier attempt may have run; the last one failed: {error}"),
                    retry_after: error.retry_after(),
                    source: Some(Cause::new(error.clone())),
                };
            }
            _ => {}
        }
        self
    }

    fn names(&self) -> (&str, &str) {
        match self {
            Self::NotConnected { server, tool, .. }
            | Self::ToolNotFound { server, tool }
            | Self::PromptNotFound { server, prompt: tool }
            | Self::ResourceNotFound { server, uri: tool }
            | Self::NotOffered { server, tool, .. }
            | Self::Cancelled { server, tool, .. }
            | Self::InvalidArguments { server, tool, .. }
            | Self::Denied { server, tool, .. }
            | Self::Timeout { server, tool, .. }
            | Self::Transport { server, tool, .. }
            | Self::OutcomeUnknown { server, tool, .. }
            | Self::InvalidResponse { server, tool, .. }
            | Self::Rpc { server, tool, .. }
            | Self::Incompatible { server, tool, .. } => (server, tool),
            Self::Tool(result) | Self::Decode { result, .. } => (&result.server, &result.tool),
        }
    }
}

/// The error of connecting to a server, or of listing its tools.
#[derive(Clone, thiserror::Error)]
#[error("{server}: {message}")]
#[non_exhaustive]
pub struct ConnectError {
    /// The server's name.
    pub server: String,
    /// The reason, for a program.
    pub kind: ConnectErrorKind,
    /// The reason, for a person; never a secret.
    pub message: String,
    retry_after: Option<Duration>,
    evidence: Arc<Evidence>,
}

impl ConnectError {
    pub(crate) fn new(server: &str, kind: ConnectErrorKind, message: impl Into<String>) -> Self {
        let evidence = Arc::default();
        Self { server: server.to_owned(), kind, message: message.into(), retry_after: None, evidence }
    }

    pub(crate) fn with_evidence(self, evidence: Evidence) -> Self {
        Self { evidence: Arc::new(evidence), ..self }
    }

    pub(crate) fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        Self { retry_after, ..self }
    }

    /// Returns the delay before the next attempt, if the server set one (`Retry-After`).
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the evidence of the failure: the exit status, the last lines on stderr, the HTTP status.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}

/// The evidence that a server left when it could not be connected to, without secrets.
///
/// [`ConnectError::message`] holds all of it as text; this is for a program that looks for the cause.
///
/// [`ConnectError::message`]: crate::ConnectError::message
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The exit status of its process, if it ended: `exit status: 3`.
    pub exit_status: Option<String>,
    /// Its last lines on stderr.
    pub stderr: Vec<String>,
    /// The last lines on its stdout that are not JSON-RPC.
    pub stray_output: Vec<String>,
    /// The HTTP status of the rejected connection.
    pub http_status: Option<u16>,
}

/// The kinds of [`ConnectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The configuration is missing or wrong, or a variable that it names is not set.
    Config,
    /// This build or version does not support the configuration.
    Unsupported,
    /// The server's program could not be started.
    Spawn,
    /// The connection could not be opened, or was lost.
    Transport,
    /// The server requires authorization.
    Auth,
    /// No answer came in time.
    Timeout,
    /// The server's answer violates the protocol.
    Protocol,
    /// The client was shut down.
    ShutDown,
}

impl ToolResult {
    /// Returns the result, unless the tool failed.
    ///
    /// # Errors
    /// [`CallError::Tool`] with the result.
    pub fn success(self) -> Result<Self, CallError> {
        if self.is_error { Err(CallError::Tool(Box::new(self))) } else { Ok(self) }
    }
}
