//! The errors of connecting, and the causes of errors.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::visible;

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

/// Writes the message of an error and those of its causes that it does not contain, because a program whose `main` fails
/// prints `Debug`. Further lines of a message, as in the name of a tool, are indented.
pub(super) fn with_causes(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

impl fmt::Debug for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_causes(self, f)
    }
}
