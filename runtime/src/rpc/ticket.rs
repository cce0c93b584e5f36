//! A request, from admission until its outcome is final.

use std::sync::Mutex;

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::Dispatched;
use crate::call::Listener;
use crate::ground::deadline::Deadline;
use crate::rpc::failure::Failure;

/// The state of a request.
///
/// ```text
/// Queued ─▶ Writing ─▶ Written ─▶ Answered
///   │          │          │
///   └──────────┴──────────┴─────▶ Failed, GivenUp
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
    /// The response has arrived.
    Answered,
    /// The caller does not wait any more.
    GivenUp(Dispatched),
    /// No response will come.
    Failed(Failure),
}

impl State {
    /// Returns `true` once the request can no longer complete.
    fn is_final(&self) -> bool {
        matches!(self, Self::Answered | Self::GivenUp(_) | Self::Failed(_))
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
    /// For a subscription: the channel for the server's acknowledgement.
    pub(crate) acknowledged: Option<mpsc::Sender<Value>>,
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
    /// The time of the last progress report.
    pub(super) progress: Mutex<Option<Instant>>,
}

impl Ticket {
    pub(super) fn new(serial: i64, place: u64, size: usize, terms: TicketTerms) -> Self {
        let (admitted, state) = (Instant::now(), watch::Sender::new(State::Queued));
        Self { serial, place, size, terms, admitted, state, answer: Mutex::default(), progress: Mutex::default() }
    }

    pub(super) fn id(&self) -> RequestId {
        RequestId::Number(self.serial)
    }

    /// Returns `true` if its response ends a subscription instead of answering a call.
    pub(super) fn is_subscription(&self) -> bool {
        self.terms.acknowledged.is_some()
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

    /// Waits until the request can no longer complete. Cancel safe.
    pub(crate) async fn settled(&self) {
        let _ = self.state.subscribe().wait_for(State::is_final).await;
    }

    /// Waits until it was given up, or failed. Cancel safe.
    pub(super) async fn abandoned(&self) {
        let is_abandoned = |state: &State| matches!(state, State::GivenUp(_) | State::Failed(_));
        let _ = self.state.subscribe().wait_for(is_abandoned).await;
    }

    pub(super) fn becomes(&self, state: State) {
        self.state.send_if_modified(|current| {
            // Callers wait only for final states, and a wake-up costs as much as writing the request.
            let is_awaited = state.is_final();
            *current = state;
            is_awaited
        });
    }
}
