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
mod state;

pub use bus::Events;
pub(crate) use bus::subscribe_to_all;
pub use event::{
    ApprovalAsked, CallOutcome, CallSource, DriftDetected, Event, Lagged, ServerStateChanged, ToolInvoked, ToolsChanged,
};
pub(crate) use invocation::{Invocation, Try};
pub(crate) use observer::Observer;
pub(crate) use spans::CallSpan;
pub(crate) use spans::note_request;
pub use state::ConnectionState;
