//! The kinds of errors of calls, for metrics.

/// The kinds of [`CallError`](crate::CallError), without server, tool or arguments.
///
/// ```
/// use mcp_bindgen_runtime::{CallError, CallErrorKind};
///
/// let error = CallError::denied("github", "delete_repo", "never");
/// assert_eq!(error.kind(), CallErrorKind::Denied);
/// assert_eq!(error.kind().to_string(), "denied");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// [`CallError::NotConnected`](crate::CallError::NotConnected)
    NotConnected,
    /// [`CallError::ToolNotFound`](crate::CallError::ToolNotFound)
    ToolNotFound,
    /// [`CallError::PromptNotFound`](crate::CallError::PromptNotFound)
    PromptNotFound,
    /// [`CallError::ResourceNotFound`](crate::CallError::ResourceNotFound)
    ResourceNotFound,
    /// [`CallError::NotOffered`](crate::CallError::NotOffered)
    NotOffered,
    /// [`CallError::InvalidArguments`](crate::CallError::InvalidArguments)
    InvalidArguments,
    /// [`CallError::Denied`](crate::CallError::Denied)
    Denied,
    /// [`CallError::Timeout`](crate::CallError::Timeout)
    Timeout,
    /// [`CallError::Cancelled`](crate::CallError::Cancelled)
    Cancelled,
    /// [`CallError::Transport`](crate::CallError::Transport)
    Transport,
    /// [`CallError::OutcomeUnknown`](crate::CallError::OutcomeUnknown)
    OutcomeUnknown,
    /// [`CallError::InvalidResponse`](crate::CallError::InvalidResponse)
    InvalidResponse,
    /// [`CallError::Rpc`](crate::CallError::Rpc)
    Rpc,
    /// [`CallError::Tool`](crate::CallError::Tool)
    Tool,
    /// [`CallError::Decode`](crate::CallError::Decode)
    Decode,
    /// [`CallError::Incompatible`](crate::CallError::Incompatible)
    Incompatible,
}

impl CallErrorKind {
    /// Returns the kind as one word of metrics and traces: `not_connected`.
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

/// Implements `Display` with `as_str`.
macro_rules! display_as_str {
    ($($type:ty),+) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}
pub(super) use display_as_str;

display_as_str!(CallErrorKind);
