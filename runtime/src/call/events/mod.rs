//! Events, spans and metrics of calls and connections.

mod bus;
mod content;
mod endpoint;
mod event;
mod invocation;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "no_metrics.rs"]
mod metrics;
mod observer;
mod spans;

pub use bus::Events;
pub use event::{
    ApprovalAsked, CallKind, CallOutcome, CallSource, DriftDetected, Event, Lagged, ServerStateChanged, ToolInvoked,
    ToolsChanged,
};
pub(crate) use invocation::report;
pub use observer::HostedObserver;
pub(crate) use observer::{Observer, subscribe_to_all};
pub(crate) use spans::{CallSpan, note_request};

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
