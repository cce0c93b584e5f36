//! The evidence of a failed connection.

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
