//! A request, from admission until its outcome is final.

use std::sync::Mutex;

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Dispatched;
use crate::call::Listener;
use crate::ground::deadline::Deadline;
use crate::rpc::failure::Failure;

/// The state of a request.
///
/// ```text
/// Queued ─▶ Writing ─▶ Written ───────────────▶ Answered
///   │          ├──────────┼─▶ Acknowledged ───▶ Answered
///   └──────────┴──────────┴────────┴──────────▶ Failed, GivenUp
/// ```
///
/// A request that an HTTP server refused unseen returns to `Queued`.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Nothing of it has left.
    Queued,
    /// The message is being written. `end` is its end in the stream, if all requests share one.
    Writing { end: Option<u64> },
    /// It has left.
    Written { end: Option<u64> },
    /// The server has acknowledged the subscription.
    Acknowledged,
    /// The response has arrived.
    Answered,
    /// The caller does not wait any more.
    GivenUp(Dispatched),
    /// No response will come.
    Failed(Failure),
}

impl State {
    /// Returns `true` once the request can no longer complete.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Answered | Self::GivenUp(_) | Self::Failed(_))
    }

    /// Returns `true` once a subscription has begun or can no longer begin.
    pub(super) fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Acknowledged) || self.is_final()
    }
}

/// The terms that a request is admitted with.
#[derive(Default)]
pub(crate) struct TicketTerms {
    /// The deadline for sending.
    pub(crate) deadline: Deadline,
    /// The listener to its progress.
    pub(crate) listener: Option<Listener>,
    /// The count of changes to the list of tools for which the call was allowed.
    pub(crate) list: Option<u64>,
    /// `true` if its response ends a subscription instead of answering a call.
    pub(crate) is_subscription: bool,
}

/// A request, for its caller, its transport and the ledger.
pub(crate) struct Ticket {
    pub(super) serial: i64,
    /// The number of messages that were handed to the transport, including this one.
    pub(super) place: u64,
    pub(super) size: usize,
    pub(super) terms: TicketTerms,
    pub(super) admitted: Instant,
    state: watch::Sender<State>,
    /// The server's answer, until the caller takes it.
    pub(super) answer: Mutex<Option<Result<Value, ErrorData>>>,
    /// The subscriptions that the server acknowledged, until the caller takes them.
    pub(super) covered: Mutex<Option<Value>>,
    /// The time of the last progress report.
    pub(super) progress: Mutex<Option<Instant>>,
}

impl Ticket {
    pub(super) fn new(serial: i64, place: u64, size: usize, terms: TicketTerms) -> Self {
        let (admitted, state) = (Instant::now(), watch::Sender::new(State::Queued));
        let (answer, covered, progress) = Default::default();
        Self { serial, place, size, terms, admitted, state, answer, covered, progress }
    }

    pub(super) fn id(&self) -> RequestId {
        RequestId::Number(self.serial)
    }

    pub(super) fn is_late(&self) -> bool {
        self.terms.deadline.has_passed()
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns `true` if nothing of it has left.
    pub(super) fn is_queued(&self) -> bool {
        matches!(*self.state.borrow(), State::Queued)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state.borrow().is_final()
    }

    /// Waits for a state. Cancel safe.
    pub(super) async fn reaches(&self, is_reached: fn(&State) -> bool) {
        let _ = self.state.subscribe().wait_for(is_reached).await;
    }

    pub(super) fn becomes(&self, state: State) {
        self.state.send_if_modified(|current| {
            // Callers wait only for these states, and a wake-up costs as much as writing the request.
            let is_awaited = state.is_acknowledged();
            *current = state;
            is_awaited
        });
    }
}
