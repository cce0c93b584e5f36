//! What is seen of a server besides its protocol messages, and what whoever watches is told of calls and connections.

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
pub(crate) mod notes;
mod observer;
pub(crate) mod redact;
mod spans;
mod state;

pub use bus::Events;
pub(crate) use bus::subscribe_to_all;
pub use event::{
    ApprovalAsked, CallOutcome, CallSource, DriftDetected, Event, Lagged, ServerStateChanged, ToolInvoked, ToolsChanged,
};
pub(crate) use invocation::{Invocation, Try, observed};
pub(crate) use observer::Observer;
pub(crate) use spans::note_request;
pub use state::ConnectionState;
