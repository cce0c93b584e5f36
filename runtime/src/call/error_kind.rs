//! The kinds of errors of calls, for metrics, and errors as `main` prints them.

use std::error::Error;
use std::fmt;

use mcp_bindgen_model::visible;

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

/// Writes the message of an error and those of its causes that it does not contain, because a program whose `main` fails
/// prints `Debug`. Further lines of a message, as in the name of a tool, are indented.
fn with_causes(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown = |text: &str| visible(text).replace('\n', "\n    ");
    let (mut above, mut heading, mut cause) = (error.to_string(), "\n\nCaused by:", error.source());
    f.write_str(&shown(&above))?;
    while let Some(error) = cause {
        let text = error.to_string();
        let message = error.downcast_ref::<ConnectError>().map_or(&*text, |error| &*error.message);
        if !above.contains(message) {
            write!(f, "{heading}\n    {}", shown(&text))?;
            heading = "";
            above += &text;
        }
        cause = error.source();
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
        assert_eq!(format!("{:?}", Box::<dyn Error>::from(error)), shown);
    }

    #[test]
    fn debug_output_does_not_command_a_terminal() {
        let error = CallError::tool_not_found("files", "a\u{1b}[2J\u{202e}\nerror: b");
        assert_eq!(format!("{error:?}"), "files: the server has no tool `a[2J\n    error: b`");
    }
}
