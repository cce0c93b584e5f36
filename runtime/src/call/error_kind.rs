//! The kinds of errors of calls, for metrics.

use super::CallError;

macro_rules! kinds {
    ($(#[$attribute:meta])* pub enum CallErrorKind { $($kind:ident = $name:literal,)* }) => {
        $(#[$attribute])*
        pub enum CallErrorKind {
            $(
                #[doc = concat!("[`CallError::", stringify!($kind), "`]")]
                $kind,
            )*
        }

        impl CallErrorKind {
            /// Returns the kind as one word of metrics and traces: `not_connected`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        impl CallError {
            /// Returns the kind of the error.
            pub fn kind(&self) -> CallErrorKind {
                match self {
                    $(Self::$kind { .. } => CallErrorKind::$kind,)*
                }
            }
        }
    };
}

kinds! {
    /// The kinds of [`CallError`], without server, tool or arguments.
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
        NotConnected = "not_connected",
        ToolNotFound = "tool_not_found",
        PromptNotFound = "prompt_not_found",
        ResourceNotFound = "resource_not_found",
        NotOffered = "not_offered",
        InvalidArguments = "invalid_arguments",
        Denied = "denied",
        Timeout = "timeout",
        Cancelled = "cancelled",
        Transport = "transport",
        OutcomeUnknown = "outcome_unknown",
        InvalidResponse = "invalid_response",
        Rpc = "rpc",
        // The word that OpenTelemetry has for it.
        Tool = "tool_error",
        Decode = "decode",
        Incompatible = "incompatible",
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
