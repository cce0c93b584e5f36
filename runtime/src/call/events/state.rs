//! The state of a connection.

/// The state of the connection of a [`Client`](crate::Client).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectionState {
    /// There is none; the next call opens one.
    Disconnected,
    /// It is being opened.
    Connecting,
    /// It is open.
    Connected,
    /// It was lost, and is being opened again.
    Reconnecting,
    /// The client was shut down, and opens no other.
    ShutDown,
}
