//! Events for observers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::call::INPUT_REQUIRED;
use crate::call::error_kind::display_as_str;
use crate::{CallError, CallErrorKind, Caller, ConnectionState, Dispatched, ToolResult};

/// An event. It contains no secrets of the configuration, and contents of calls only with
/// [`ClientOptions::record_content`](crate::ClientOptions::record_content).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A call has ended, or was refused.
    ToolInvoked(ToolInvoked),
    /// The connection of a client does something else.
    ServerStateChanged(ServerStateChanged),
    /// The server's list of tools has changed, or may have.
    ToolsChanged(ToolsChanged),
    /// A tool is not the one that was bound.
    DriftDetected(DriftDetected),
    /// A call waits for approval.
    ApprovalAsked(ApprovalAsked),
    /// This listener was too slow and missed events. This event replaces them.
    Lagged(Lagged),
}

/// A call ended, or was denied. There is one event for each call of the program, also if a
/// [`Stack`](crate::middleware::Stack) retries it, a policy denies it or a cache answers it.
///
/// A typed call whose result does not match its type (`CallError::Decode`) counts as successful: the result is read
/// later.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolInvoked {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The kind of the tool or of its caller.
    pub kind: CallKind,
    /// The part of the program that made the call.
    pub source: CallSource,
    /// The caller on whose behalf it was made, if that is known.
    pub caller: Option<Arc<Caller>>,
    /// How long it took, from when it was made: connecting, approvals, tries and pauses included.
    pub duration: Duration,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The reason of a denied call, on one line, and without the secrets that the client has read so far.
    pub reason: Option<String>,
    /// The arguments, redacted, if the client records content.
    pub arguments: Option<Map<String, Value>>,
    /// The `result` of the response, redacted, if there is one and the client records content.
    pub result: Option<Value>,
}

/// The connection of a client does something else than before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStateChanged {
    /// The server's name.
    pub server: String,
    /// The new state.
    pub state: ConnectionState,
    /// The error of a failed connection: [`ConnectError::message`](crate::ConnectError::message). Only if connecting
    /// was tried, and the state is [`Disconnected`](ConnectionState::Disconnected).
    pub error: Option<String>,
}

/// The server reported a change of its tools, or was reconnected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsChanged {
    /// The server's name.
    pub server: String,
}

/// A tool of the live server is not the one that was bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriftDetected {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// A description of the change.
    pub change: String,
    /// `true` if valid calls may now fail, or their results may be unreadable.
    pub is_breaking: bool,
    /// `true` if calls of the tool are refused.
    pub is_refused: bool,
}

/// Approval of a call was requested. The call's [`ToolInvoked`] has the outcome.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalAsked {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The arguments, redacted, if the client records content.
    pub arguments: Option<Map<String, Value>>,
}

/// A listener was too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lagged {
    /// How many events it has missed.
    pub missed: u64,
}

/// The kind of a call: which program ran the tool, and for which caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// A server ran it, called by this program.
    #[default]
    Mcp,
    /// A function of the program.
    Native,
    /// A server ran it for an action of a template.
    Template,
    /// A server ran it, called by the model's provider. Read from the provider's response, so the duration is zero.
    Hosted,
}

impl CallKind {
    /// Returns `mcp`, `native`, `template` or `hosted`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Native => "native",
            Self::Template => "template",
            Self::Hosted => "hosted",
        }
    }
}

/// The caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallSource {
    /// Generated bindings.
    Bindings,
    /// Names and JSON, without bindings.
    Untyped,
    /// A name from [`CallOptions::source`](crate::CallOptions::source).
    Named(String),
}

impl CallSource {
    /// `bindings`, `untyped`, or the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Bindings => "bindings",
            Self::Untyped => "untyped",
            Self::Named(name) => name,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The tool gave a result.
    Success,
    /// The tool answered that it failed (`isError`).
    ToolError,
    /// The call failed, or was refused.
    #[non_exhaustive]
    Failed {
        /// How.
        kind: CallErrorKind,
        /// Shows whether the server may have acted on the call.
        dispatched: Dispatched,
    },
    /// The server wants to know something before it gives a result, and the caller answers it with another call:
    /// [`CallOptions::pass_input`](crate::CallOptions::pass_input).
    InputRequired,
    /// The future of the call was dropped before its end. The server may or may not have acted on it.
    Dropped,
}

impl CallOutcome {
    /// Returns how a call ended, from its result.
    #[must_use]
    pub fn of(outcome: &Result<ToolResult, CallError>) -> Self {
        match outcome {
            Ok(result) if result.is_error => Self::ToolError,
            Ok(result) if result.needs_input() => Self::InputRequired,
            Ok(_) => Self::Success,
            Err(CallError::Tool(_)) => Self::ToolError,
            Err(error) => Self::Failed { kind: error.kind(), dispatched: error.dispatched() },
        }
    }

    /// Returns `true` if the tool gave a result.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Success)
    }

    /// Returns `true` if something went wrong.
    pub(super) const fn is_failure(self) -> bool {
        !matches!(self, Self::Success | Self::InputRequired)
    }

    /// Returns the outcome as one word of metrics and traces: `success`, `tool_error`, `timeout`, `dropped`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ToolError => CallErrorKind::Tool.as_str(),
            Self::Failed { kind, .. } => kind.as_str(),
            Self::InputRequired => INPUT_REQUIRED,
            Self::Dropped => "dropped",
        }
    }
}

display_as_str!(CallKind, CallSource, CallOutcome);
