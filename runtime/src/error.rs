//! The errors of connecting and of calling. Each names the server and, where there is one, the tool.

use std::time::Duration;

use serde_json::Value;

use crate::ToolResult;

/// Why a call gave no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is no connection, and none could be made.
    #[error("{server}: could not connect to call `{tool}`: {message}")]
    NotConnected {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// What stood in the way.
        message: String,
    },
    /// The server has no such tool.
    #[error("{server}: the server has no tool `{tool}`")]
    ToolNotFound {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
    },
    /// The arguments are not what the tool's `inputSchema` asks for.
    #[error("{server}: arguments of `{tool}` do not fit{}: {message}", place(.pointer))]
    InvalidArguments {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// Where in the arguments, as a JSON pointer (RFC 6901); empty for the whole.
        pointer: String,
        /// What does not fit.
        message: String,
    },
    /// A policy or an approval said no.
    #[error("{server}: `{tool}` was denied: {reason}")]
    Denied {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// Why.
        reason: String,
    },
    /// No answer came in time.
    #[error("{server}: `{tool}` did not answer within {after:?}")]
    Timeout {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// How long was waited.
        after: Duration,
    },
    /// The connection failed before the call was on the wire.
    #[error("{server}: the connection failed before `{tool}` was sent: {message}")]
    Transport {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// What failed.
        message: String,
    },
    /// The connection was lost while the call was under way: whether it took effect is unknown.
    #[error("{server}: the connection was lost during `{tool}`; whether it took effect is unknown: {message}")]
    OutcomeUnknown {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// What failed.
        message: String,
    },
    /// The server answered with a JSON-RPC error.
    #[error("{server}: `{tool}` failed with JSON-RPC error {code}: {message}")]
    Rpc {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The JSON-RPC error code.
        code: i64,
        /// The server's message.
        message: String,
        /// The server's data.
        data: Option<Box<Value>>,
    },
    /// The tool itself answered with an error (`isError`).
    #[error("{}: `{}` answered with an error: {}", .0.server, .0.tool, .0.text())]
    Tool(Box<ToolResult>),
    /// The result is not what the tool's `outputSchema` promised.
    #[error("{}: the result of `{}` does not fit its outputSchema{}: {message}", .result.server, .result.tool, place(.pointer))]
    Decode {
        /// Where in the structured result, as a JSON pointer (RFC 6901); empty for the whole.
        pointer: String,
        /// What does not fit.
        message: String,
        /// The result as it came.
        result: Box<ToolResult>,
    },
    /// The live server's tool is not the one that was bound.
    #[error("{server}: `{tool}` has changed since its bindings were made: {message}")]
    Incompatible {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// What changed.
        message: String,
    },
}

/// Where a value does not fit; nothing where it is the whole.
pub(crate) fn place(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{}`", mcp_model::printable(pointer)) }
}

impl CallError {
    /// The server's name.
    pub fn server(&self) -> &str {
        self.names().0
    }

    /// The tool's wire name.
    pub fn tool(&self) -> &str {
        self.names().1
    }

    fn names(&self) -> (&str, &str) {
        match self {
            Self::NotConnected { server, tool, .. }
            | Self::ToolNotFound { server, tool }
            | Self::InvalidArguments { server, tool, .. }
            | Self::Denied { server, tool, .. }
            | Self::Timeout { server, tool, .. }
            | Self::Transport { server, tool, .. }
            | Self::OutcomeUnknown { server, tool, .. }
            | Self::Rpc { server, tool, .. }
            | Self::Incompatible { server, tool, .. } => (server, tool),
            Self::Tool(result) | Self::Decode { result, .. } => (&result.server, &result.tool),
        }
    }
}

/// Why a server could not be reached, or did not say what it offers.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{server}: {message}")]
#[non_exhaustive]
pub struct ConnectError {
    /// The server's name.
    pub server: String,
    /// What stood in the way, for a program.
    pub kind: ConnectErrorKind,
    /// What stood in the way, for a person; never a secret.
    pub message: String,
}

impl ConnectError {
    pub(crate) fn new(server: &str, kind: ConnectErrorKind, message: impl Into<String>) -> Self {
        Self { server: server.to_owned(), kind, message: message.into() }
    }
}

/// The kinds of [`ConnectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The configuration is missing or wrong, or a variable that it names is not set.
    Config,
    /// This build or version cannot do what the configuration asks for.
    Unsupported,
    /// The server's program could not be started.
    Spawn,
    /// The connection could not be opened, or was lost.
    Transport,
    /// The server asks for authorization.
    Auth,
    /// No answer came in time.
    Timeout,
    /// The server answered, but not as the protocol says.
    Protocol,
}
