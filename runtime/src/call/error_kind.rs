//! The kinds of errors of calls, for metrics, and errors as `main` prints them.

use std::error::Error;
use std::fmt;

use super::{CallError, ConnectError};

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

/// Writes the message of an error and those of its causes, because a program whose `main` fails prints `Debug`.
fn with_causes(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let (mut heading, mut cause) = ("\n\nCaused by:", error.source());
    while let Some(error) = cause {
        write!(f, "{heading}\n    {error}")?;
        (heading, cause) = ("", error.source());
    }
    Ok(())
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cause, ConnectErrorKind};
    use super::*;

    #[test]
    fn debug_output_is_the_message_and_its_causes() {
        let error = ConnectError::new("files", ConnectErrorKind::Spawn, "not found");
        assert_eq!(format!("{error:?}"), "files: not found");
        let (server, tool, message) = ("files".to_owned(), "read".to_owned(), "no program".to_owned());
        let error = CallError::NotConnected { server, tool, message, source: Some(Cause::new(error)) };
        let text = "files: could not connect to call `read`: no program\n\nCaused by:\n    files: not found";
        assert_eq!(format!("{:?}", Box::<dyn Error>::from(error)), text);
    }
}
