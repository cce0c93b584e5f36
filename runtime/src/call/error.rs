//! The errors of calls. Each names the server and, if known, the tool.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::connect_error::with_causes;
use super::{CallErrorKind, Cause, ConnectError, ToolResult};

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

/// The facts that all errors have.
struct Facts<'e> {
    kind: CallErrorKind,
    server: &'e str,
    tool: &'e str,
    dispatched: Dispatched,
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
        self.facts().server
    }

    /// Returns the tool's wire name; for prompts the prompt's, for resources the URI.
    pub fn tool(&self) -> &str {
        self.facts().tool
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> CallErrorKind {
        self.facts().kind
    }

    /// Returns whether the server may have acted on the call.
    pub fn dispatched(&self) -> Dispatched {
        self.facts().dispatched
    }

    fn facts(&self) -> Facts<'_> {
        use CallErrorKind as Kind;
        use Dispatched::{No, Unknown, Yes};
        let (kind, server, tool, dispatched): (_, &str, &str, _) = match self {
            Self::NotConnected { server, tool, .. } => (Kind::NotConnected, server, tool, No),
            Self::ToolNotFound { server, tool } => (Kind::ToolNotFound, server, tool, No),
            Self::PromptNotFound { server, prompt } => (Kind::PromptNotFound, server, prompt, No),
            Self::ResourceNotFound { server, uri } => (Kind::ResourceNotFound, server, uri, No),
            Self::NotOffered { server, tool, .. } => (Kind::NotOffered, server, tool, No),
            Self::InvalidArguments { server, tool, .. } => (Kind::InvalidArguments, server, tool, No),
            Self::Denied { server, tool, .. } => (Kind::Denied, server, tool, No),
            Self::Timeout { server, tool, dispatched, .. } => (Kind::Timeout, server, tool, *dispatched),
            Self::Cancelled { server, tool, dispatched } => (Kind::Cancelled, server, tool, *dispatched),
            Self::Transport { server, tool, .. } => (Kind::Transport, server, tool, No),
            Self::OutcomeUnknown { server, tool, .. } => (Kind::OutcomeUnknown, server, tool, Unknown),
            Self::InvalidResponse { server, tool, .. } => (Kind::InvalidResponse, server, tool, Yes),
            Self::Rpc { server, tool, .. } => (Kind::Rpc, server, tool, Yes),
            Self::Tool(result) => (Kind::Tool, &result.server, &result.tool, Yes),
            Self::Decode { result, .. } => (Kind::Decode, &result.server, &result.tool, Yes),
            Self::Incompatible { server, tool, .. } => (Kind::Incompatible, server, tool, No),
        };
        Facts { kind, server, tool, dispatched }
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
    #[inline]
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
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectErrorKind;

    #[test]
    fn debug_output_is_the_message_and_causes_that_it_does_not_contain() {
        let message =
            "failed to start `npx`: not found; is it installed, and on PATH?\n  its last line on stderr:\n    no";
        let error = ConnectError::new("files", ConnectErrorKind::Spawn, message);
        let shown = format!("files: {}", message.replace('\n', "\n    "));
        assert_eq!(format!("{error:?}"), shown);
        let (server, tool, message) = ("files".to_owned(), "read".to_owned(), error.message.clone());
        let error = CallError::NotConnected { server, tool, message, source: Some(Cause::new(error)) };
        let shown = shown.replace("files: ", "files: could not connect to call `read`: ");
        assert_eq!(format!("{error:?}"), shown);
        assert_eq!(format!("{:?}", error.after_dispatch()).matches("not found").count(), 1);
        let (server, tool, message) = ("files".to_owned(), "read".to_owned(), "the server stopped reading".to_owned());
        let source = Some(Cause::new(std::io::Error::from(std::io::ErrorKind::BrokenPipe)));
        let error = CallError::Transport { server, tool, message, retry_after: None, source };
        let shown = "files: `read` did not run: the server stopped reading\n\nCaused by:\n    broken pipe";
        assert_eq!(format!("{:?}", Box::<dyn std::error::Error>::from(error)), shown);
    }

    #[test]
    fn debug_output_does_not_command_a_terminal() {
        let error = CallError::tool_not_found("files", "a\u{1b}[2J\u{202e}\nerror: b");
        assert_eq!(format!("{error:?}"), "files: the server has no tool `a[2J\n    error: b`");
    }
}
