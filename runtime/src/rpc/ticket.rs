//! The requests of a connection, each from admission until its outcome is final.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Dispatched;
use crate::ground::deadline::Deadline;
use crate::ground::sync::lock;
use crate::rpc::clock::until;
use crate::rpc::failure::Failure;
use crate::rpc::messages::{id_of, number_of};
use crate::rpc::request::Terms;

/// JSON-RPC's parse error and invalid request: the errors of a message whose id could not be read.
const NAMELESS_ERRORS: [i32; 2] = [-32700, -32600];
/// The number of timeouts without any message after which a connection is given up.
pub(super) const TIMEOUTS_WITHOUT_A_SIGN: u32 = 3;

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
    /// The response has arrived; the caller takes it.
    Answered(Option<Result<Value, ErrorData>>),
    /// The caller does not wait any more.
    GivenUp(Dispatched),
    /// No response will come.
    Failed(Failure),
}

impl State {
    /// Returns `true` while nothing of the request has left.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self, Self::Queued)
    }

    /// Returns `true` once the request can no longer complete.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Answered(_) | Self::GivenUp(_) | Self::Failed(_))
    }

    /// Returns `true` once a subscription has begun or can no longer begin.
    pub(super) fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Acknowledged) || self.is_final()
    }
}

/// A request, for its caller, its transport and the ledger.
pub(crate) struct Ticket {
    pub(super) serial: i64,
    /// The number of messages that were handed to the transport, including this one.
    pub(super) place: u64,
    pub(super) size: usize,
    pub(super) terms: Terms,
    pub(super) admitted: Instant,
    pub(super) state: Mutex<State>,
    changed: Notify,
    /// The subscriptions that the server acknowledged, until the caller takes them.
    pub(super) covered: Mutex<Option<Value>>,
    /// The time of the last progress report.
    pub(super) progress: Mutex<Option<Instant>>,
}

impl Ticket {
    pub(super) fn new(serial: i64, place: u64, size: usize, terms: Terms) -> Self {
        let (admitted, state) = (Instant::now(), Mutex::new(State::Queued));
        let (changed, covered, progress) = Default::default();
        Self { serial, place, size, terms, admitted, state, changed, covered, progress }
    }

    pub(super) fn id(&self) -> RequestId {
        RequestId::Number(self.serial)
    }

    pub(super) fn is_late(&self) -> bool {
        self.terms.patience.first.has_passed()
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.state).clone()
    }

    /// Returns `true` in a state of this kind.
    pub(super) fn is(&self, kind: fn(&State) -> bool) -> bool {
        kind(&lock(&self.state))
    }

    pub(super) fn take_answer(&self) -> Option<Result<Value, ErrorData>> {
        if let State::Answered(answer) = &mut *lock(&self.state) { answer.take() } else { None }
    }

    /// Waits for a state. Cancel safe.
    pub(super) async fn reaches(&self, is_reached: fn(&State) -> bool) {
        until(&self.changed, &|| self.is(is_reached)).await;
    }

    /// Waits until the time of the request is over. Progress extends it, and it is paused while the server waits for an
    /// answer. Dropping the future changes nothing: it only watches.
    pub(super) async fn runs_out(&self) {
        let Terms { patience, questions, .. } = &self.terms;
        let (mut patience, mut end) = (*patience, patience.first);
        let mut allowance = questions.as_ref().map_or(Duration::ZERO, |questions| questions.allowance);
        loop {
            if let Some(questions) = questions.as_ref().filter(|_| !allowance.is_zero())
                && end.bound(questions.until(true)).await.is_some()
            {
                let start = Instant::now();
                let _ = Deadline::after(allowance).bound(questions.until(false)).await;
                let elapsed = start.elapsed();
                allowance = allowance.saturating_sub(elapsed);
                (patience, end) = (patience.without(elapsed), end.later(elapsed));
                continue;
            }
            end.passed().await;
            // Progress moves the end, but not beyond the cap.
            let last_progress = *lock(&self.progress);
            let renewed = last_progress.map(|last| Deadline::since(last, patience.timeout));
            match renewed.map(|renewed| renewed.earlier(patience.cap)) {
                Some(renewed) if !renewed.has_passed() => end = renewed,
                _ => return,
            }
        }
    }

    pub(super) fn becomes(&self, state: State) {
        // Callers wait only for these states, and a wake-up costs as much as writing the request.
        let is_awaited = state.is_acknowledged();
        *lock(&self.state) = state;
        if is_awaited {
            self.changed.notify_waiters();
        }
    }
}

/// The requests of a connection without an outcome, and the responses that it expects.
#[derive(Default)]
pub(super) struct Book {
    /// The requests without an outcome, by serial number.
    pub(super) requests: BTreeMap<i64, Arc<Ticket>>,
    /// The number of queued requests.
    pub(super) queued: usize,
    pub(super) queued_bytes: usize,
    /// `true` if a response may arrive that no caller waits for.
    pub(super) owes_answers: bool,
    /// The number of answered requests.
    pub(super) answers: u64,
    /// The number of messages that were handed to the transport.
    pub(super) messages: u64,
    /// The place of the last notification or answer, until the server has answered a request after it.
    pub(super) last_notification: Option<u64>,
    pub(super) ended: Option<Failure>,
    pub(super) silence: Silence,
}

impl Book {
    /// Records that a request is queued.
    pub(super) fn enqueue(&mut self, ticket: &Ticket) {
        self.queued += 1;
        self.queued_bytes += ticket.size;
    }

    /// Records that a request is no longer queued.
    pub(super) fn dequeue(&mut self, ticket: &Ticket) {
        self.queued = self.queued.saturating_sub(1);
        self.queued_bytes = self.queued_bytes.saturating_sub(ticket.size);
    }

    /// Sets the final state of a request, unless it has one.
    pub(super) fn settle(&mut self, ticket: &Ticket, state: State) {
        if ticket.is(State::is_queued) {
            self.dequeue(ticket);
        }
        self.requests.remove(&ticket.serial);
        if !ticket.is(State::is_final) {
            self.answers += u64::from(matches!(state, State::Answered(_)));
            ticket.becomes(state);
        }
    }

    /// Stops sending, and fails queued requests. Others fail with the outcome that `dispatched` returns for their
    /// state, and stay pending without one.
    pub(super) fn end(&mut self, failure: &Failure, dispatched: &dyn Fn(&State) -> Option<Dispatched>) {
        self.ended.get_or_insert_with(|| failure.clone());
        for ticket in &Vec::from_iter(self.requests.values().cloned()) {
            let dispatched = match &*lock(&ticket.state) {
                State::Queued => Some(Dispatched::No),
                state => dispatched(state),
            };
            if let Some(dispatched) = dispatched {
                self.settle(ticket, State::Failed(Failure { dispatched, ..failure.clone() }));
            }
        }
    }

    /// Returns the request that a response with this id answers; `answers` is the request whose response carried it,
    /// and `error` is the code of the error in it. A response without an id answers the only possible request.
    pub(super) fn answered(
        &mut self,
        id: Option<&RequestId>,
        answers: Option<&RequestId>,
        error: Option<i32>,
    ) -> Option<Arc<Ticket>> {
        let has_left = |ticket: &&Arc<Ticket>| !ticket.is(State::is_queued);
        // Some servers invent an id for an unreadable message.
        let found = match id.and_then(number_of).or_else(|| answers.and_then(number_of)) {
            Some(number) => self.requests.get(&number).filter(has_left),
            None if id.is_some() || self.owes_answers => None,
            None if error.is_some_and(|code| !self.is_about_a_request(code)) => None,
            None => {
                let mut found = self.requests.values().filter(has_left).filter(|ticket| !ticket.terms.is_subscription);
                found.next().filter(|_| found.next().is_none())
            }
        };
        let ticket = found?.clone();
        // The server reads in order.
        if self.last_notification.is_some_and(|last| last < ticket.place) {
            self.last_notification = None;
        }
        Some(ticket)
    }

    /// Returns `true` if an error without an id answers a request. A server that cannot read a message answers with one
    /// of [`NAMELESS_ERRORS`]. A notification that may be unread could be its subject too, unless only one message was
    /// ever sent.
    fn is_about_a_request(&self, code: i32) -> bool {
        self.messages == 1 || NAMELESS_ERRORS.contains(&code) && self.last_notification.is_none()
    }

    /// Returns the pending request with this id, which is also its progress token.
    pub(super) fn ticket(&self, id: &Value) -> Option<&Arc<Ticket>> {
        if let RequestId::Number(serial) = id_of(id)? { self.requests.get(&serial) } else { None }
    }
}

/// The time without a message from the server while requests are pending.
#[derive(Default)]
pub(super) struct Silence {
    pub(super) since: Option<Instant>,
    timeouts: u32,
    last_timeout: Option<Instant>,
}

impl Silence {
    /// Records the timeout of a request, and returns `true` if the server was silent for so long that the connection is
    /// given up. Timeouts of concurrent requests count as one.
    pub(super) fn has_lasted(&mut self, admitted: Instant, timeout: Duration) -> bool {
        if self.last_timeout.is_none_or(|last| last <= admitted) {
            self.timeouts += 1;
            self.last_timeout = Some(Instant::now());
        }
        let lasted = self.since.is_some_and(|since| since.elapsed() >= timeout.saturating_mul(TIMEOUTS_WITHOUT_A_SIGN));
        lasted && self.timeouts >= TIMEOUTS_WITHOUT_A_SIGN
    }
}
