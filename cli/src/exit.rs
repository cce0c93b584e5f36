//! How the program ends.

use std::error::Error;
use std::fmt::Display;

use mcp_bindgen_runtime::{CallError, ConnectError, ConnectErrorKind, Dispatched};

/// The exit codes, for the help text.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  wrong usage
  3  the tool returned an error
  4  out of date, or different
  5  could not connect";

/// The exit codes. 2 is for wrong usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// The tool answered `isError`.
    ToolError = 3,
    /// A snapshot differs from its server.
    OutOfDate = 4,
    NotConnected = 5,
    /// The terminal went away (SIGHUP), as shells report it.
    HungUp = 129,
    /// Ctrl-C, as shells report it.
    Interrupted = 130,
    /// SIGTERM, as shells report it.
    Terminated = 143,
}

impl Exit {
    /// Returns the code for several outcomes: the common code of all failures, or plain failure.
    pub(crate) fn of_all(outcomes: impl IntoIterator<Item = Self>) -> Self {
        outcomes.into_iter().fold(Self::Done, |all, one| match (all, one) {
            (all, Self::Done) => all,
            (Self::Done, one) => one,
            (all, one) if all == one => all,
            // A failure must be fixed first; a later run finds out-of-date snapshots again.
            (Self::OutOfDate, worse) | (worse, Self::OutOfDate) => worse,
            _ => Self::Failed,
        })
    }
}

/// The result of a command, or of a step of one.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command cannot go on.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// Adds the next step.
    pub(crate) fn with_help(mut self, help: impl Display) -> Self {
        self.message.push_str(&format!("\n  = help: {help}"));
        self
    }
}

/// Failed requests have exit codes of their own.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let any: &(dyn Error + 'static) = &error;
        let exit = match (any.downcast_ref::<ConnectError>().map(|error| error.kind), any.downcast_ref()) {
            (Some(ConnectErrorKind::Config | ConnectErrorKind::Unsupported), _) => Exit::Failed,
            (Some(_), _) | (_, Some(CallError::NotConnected { .. } | CallError::Transport { .. })) => {
                Exit::NotConnected
            }
            // All that a call waits for before it is sent is the connection.
            (_, Some(CallError::Timeout { dispatched: Dispatched::No, .. })) => Exit::NotConnected,
            (_, Some(CallError::Tool(_))) => Exit::ToolError,
            _ => Exit::Failed,
        };
        Self { exit, message: in_our_words(&error.to_string()) }
    }
}

/// Replaces the advice for programs in a message by advice for the command line.
pub(crate) fn in_our_words(message: &str) -> String {
    const WORDS: [(&str, &str); 3] = [
        (
            ": set `OAuth::on_url`, `OAuth::open_browser` or `OAuth::on_redirect`, reuse stored tokens with `OAuth::store`, or \
             use `OAuth::client_credentials`",
            ", and there is no terminal to ask for that; run `mcp-bindgen auth login SERVER` once (`--no-browser` on a machine \
             without a browser), or use `grant = \"client_credentials\"` in `[servers.SERVER.auth]`, or set \
             `headers.Authorization`",
        ),
        (", or use OAuth (`ClientOptions::authorization`, feature `auth`)", ""),
        ("`OAuth::scopes`", "`scopes` in `auth`"),
    ];
    WORDS.iter().fold(message.to_owned(), |message, (words, ours)| message.replace(words, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_outcomes_have_one_exit_code() {
        use Exit::{Done, Failed, NotConnected, OutOfDate};
        for (outcomes, code) in [
            (vec![], Done),
            (vec![Done, Done], Done),
            (vec![Done, OutOfDate, Done], OutOfDate),
            (vec![NotConnected, NotConnected], NotConnected),
            (vec![OutOfDate, NotConnected], NotConnected),
            (vec![NotConnected, OutOfDate], NotConnected),
            (vec![NotConnected, Failed], Failed),
        ] {
            assert_eq!(Exit::of_all(outcomes.clone()), code, "{outcomes:?}");
        }
    }
}
