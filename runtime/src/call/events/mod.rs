//! Events, spans and metrics of calls and connections.

mod content;
mod event;
mod metrics;
mod observer;
mod reports;

pub use event::*;
pub use observer::{Events, HostedObserver};
pub(crate) use observer::{Observer, subscribe_to_all};
pub(crate) use reports::{CallSpan, note_request, report};

/// The names of a call, in traces and metrics (semantic conventions of OpenTelemetry).
const METHOD: &str = "tools/call";
const OPERATION: &str = "execute_tool";

/// The state of the connection of a [`Client`](crate::Client).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectionState {
    /// No connection is open; the next call opens one.
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
