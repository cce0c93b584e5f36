//! A request, from admission until its outcome is final.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::Dispatched;
use crate::call::Listener;
use crate::ground::deadline::Deadline;
use crate::ground::sync::lock;
use crate::rpc::failure::Failure;

/// The state of a request.
///
/// ```text
/// Queued ─▶ Writing ─▶ Written ─▶ Answered
///   │          │          ├─────▶ Failed
///   └──────────┴──────────┴─────▶ GivenUp
/// ```
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
    /// The count of changes to the list of tools for which it was let through.
    pub(crate) list: Option<u64>,
    /// For a subscription: the channel for the server's acknowledgement.
    pub(crate) acknowledged: Option<oneshot::Sender<Value>>,
}

/// The caller's hold on a request.
#[derive(Clone)]
pub(crate) struct Ticket(Arc<Slip>);

pub(crate) struct Slip {
    pub(super) serial: i64,
    /// How many messages were handed to the transport before it.
    pub(super) place: u64,
    pub(super) size: usize,
    deadline: Deadline,
    pub(super) admitted: Instant,
    list: Option<u64>,
    /// `true` if its response ends a subscription instead of answering a call.
    pub(super) is_subscription: bool,
    acknowledged: Mutex<Option<oneshot::Sender<Value>>>,
    state: watch::Sender<State>,
    /// The server's answer, until the caller takes it.
    answer: Mutex<Option<Result<Value, ErrorData>>>,
    progress: Mutex<Option<Instant>>,
    pub(super) listener: Option<Listener>,
}

impl Deref for Ticket {
    type Target = Slip;

    fn deref(&self) -> &Slip {
        &self.0
    }
}

impl Ticket {
    pub(super) fn new(serial: i64, place: u64, size: usize, terms: TicketTerms) -> Self {
        let TicketTerms { deadline, listener, list, acknowledged } = terms;
        Self(Arc::new(Slip {
            serial,
            place,
            size,
            deadline,
            admitted: Instant::now(),
            list,
            is_subscription: acknowledged.is_some(),
            acknowledged: Mutex::new(acknowledged),
            state: watch::Sender::new(State::Queued),
            answer: Mutex::default(),
            progress: Mutex::new(None),
            listener,
        }))
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Returns the time of the last progress report.
    pub(crate) fn last_progress(&self) -> Option<Instant> {
        *lock(&self.progress)
    }

    /// Waits until the request can no longer complete. Cancel safe.
    pub(crate) async fn settled(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(State::is_final).await;
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state.borrow().is_final()
    }

    /// Returns `true` if nothing of it has left.
    pub(super) fn is_queued(&self) -> bool {
        matches!(*self.state.borrow(), State::Queued)
    }

    /// Waits until it was given up, or failed.
    /// Cancel safe.
    pub(super) async fn abandoned(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| matches!(state, State::GivenUp(_) | State::Failed(_))).await;
    }

    pub(super) fn id(&self) -> RequestId {
        RequestId::Number(self.serial)
    }

    /// Records the subscriptions that the server acknowledged.
    pub(super) fn acknowledge(&self, covered: Value) {
        let acknowledged = lock(&self.acknowledged).take();
        // The receiver may be gone.
        let _ = acknowledged.map(|acknowledged| acknowledged.send(covered));
    }

    /// Returns `true` if the server cannot have acted on it.
    pub(super) fn is_unsent(&self) -> bool {
        match &*self.state.borrow() {
            State::Queued => true,
            State::Failed(failure) => failure.dispatched == Dispatched::No,
            _ => false,
        }
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline.has_passed()
    }

    /// Returns `true` if the list has not changed since, or was not looked at.
    pub(super) fn is_for_list(&self, list: u64) -> bool {
        self.list.is_none_or(|own| own == list)
    }

    pub(super) fn becomes(&self, state: State) {
        self.state.send_if_modified(|current| {
            // Callers wait only for final states, and a wake-up costs as much as writing the request.
            let is_awaited = state.is_final();
            *current = state;
            is_awaited
        });
    }

    pub(super) fn answer(&self, answer: Result<Value, ErrorData>) {
        *lock(&self.answer) = Some(answer);
    }

    /// Takes the server's answer.
    pub(super) fn take_answer(&self) -> Option<Result<Value, ErrorData>> {
        lock(&self.answer).take()
    }

    pub(super) fn progressed(&self) {
        *lock(&self.progress) = Some(Instant::now());
    }
}
