//! The evidence of a failed connection.

/// The evidence that a server left when it could not be connected to, without secrets.
///
/// [`ConnectError::message`] holds all of it as text; this is for a program that looks for the cause.
///
/// [`ConnectError::message`]: crate::ConnectError::message
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// How its process ended, where it did: `exit status: 3`.
    pub exit_status: Option<String>,
    /// Its last lines on stderr.
    pub stderr: Vec<String>,
    /// The last lines on its stdout that are not JSON-RPC.
    pub stray_output: Vec<String>,
    /// The HTTP status that it refused the connection with.
    pub http_status: Option<u16>,
}
