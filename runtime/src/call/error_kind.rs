//! What kind of error a call ended with, for those who count them.

use std::fmt;

use super::CallError;

/// The kinds of [`CallError`], which say neither what was called nor with what.
///
/// ```
/// use mcp_runtime::{CallError, CallErrorKind};
///
/// let error = CallError::denied("github", "delete_repo", "never");
/// assert_eq!(error.kind(), CallErrorKind::Denied);
/// assert_eq!(error.kind().to_string(), "denied");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// [`CallError::NotConnected`]
    NotConnected,
    /// [`CallError::ToolNotFound`]
    ToolNotFound,
    /// [`CallError::PromptNotFound`]
    PromptNotFound,
    /// [`CallError::ResourceNotFound`]
    ResourceNotFound,
    /// [`CallError::NotOffered`]
    NotOffered,
    /// [`CallError::InvalidArguments`]
    InvalidArguments,
    /// [`CallError::Denied`]
    Denied,
    /// [`CallError::Timeout`]
    Timeout,
    /// [`CallError::Cancelled`]
    Cancelled,
    /// [`CallError::Transport`]
    Transport,
    /// [`CallError::OutcomeUnknown`]
    OutcomeUnknown,
    /// [`CallError::InvalidResponse`]
    InvalidResponse,
    /// [`CallError::Rpc`]
    Rpc,
    /// [`CallError::Tool`]
    Tool,
    /// [`CallError::Decode`]
    Decode,
    /// [`CallError::Incompatible`]
    Incompatible,
}

impl CallErrorKind {
    /// The kind as one word of metrics and traces: `not_connected`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotConnected => "not_connected",
            Self::ToolNotFound => "tool_not_found",
            Self::PromptNotFound => "prompt_not_found",
            Self::ResourceNotFound => "resource_not_found",
            Self::NotOffered => "not_offered",
            Self::InvalidArguments => "invalid_arguments",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Transport => "transport",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::InvalidResponse => "invalid_response",
            Self::Rpc => "rpc",
            // The word that OpenTelemetry has for it.
            Self::Tool => "tool_error",
            Self::Decode => "decode",
            Self::Incompatible => "incompatible",
        }
    }
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl CallError {
    /// What kind of error it is.
    pub fn kind(&self) -> CallErrorKind {
        match self {
            Self::NotConnected { .. } => CallErrorKind::NotConnected,
            Self::ToolNotFound { .. } => CallErrorKind::ToolNotFound,
            Self::PromptNotFound { .. } => CallErrorKind::PromptNotFound,
            Self::ResourceNotFound { .. } => CallErrorKind::ResourceNotFound,
            Self::NotOffered { .. } => CallErrorKind::NotOffered,
            Self::InvalidArguments { .. } => CallErrorKind::InvalidArguments,
            Self::Denied { .. } => CallErrorKind::Denied,
            Self::Timeout { .. } => CallErrorKind::Timeout,
            Self::Cancelled { .. } => CallErrorKind::Cancelled,
            Self::Transport { .. } => CallErrorKind::Transport,
            Self::OutcomeUnknown { .. } => CallErrorKind::OutcomeUnknown,
            Self::InvalidResponse { .. } => CallErrorKind::InvalidResponse,
            Self::Rpc { .. } => CallErrorKind::Rpc,
            Self::Tool(_) => CallErrorKind::Tool,
            Self::Decode { .. } => CallErrorKind::Decode,
            Self::Incompatible { .. } => CallErrorKind::Incompatible,
        }
    }
}
