//! The state of a ledger: its requests without an outcome, and the responses that it expects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::RequestId;
use serde_json::Value;
use tokio::time::Instant;

use crate::Dispatched;
use crate::rpc::Failure;
use crate::rpc::messages::{id_of, number_of};
use crate::rpc::ticket::{State, Ticket};

/// JSON-RPC's parse error and invalid request: the errors of a message whose id could not be read.
const NAMELESS_ERRORS: [i32; 2] = [-32700, -32600];

/// The state of a ledger.
#[derive(Default)]
pub(super) struct Book {
    /// The requests without an outcome, by serial number.
    pub(super) requests: HashMap<i64, Arc<Ticket>>,
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
        if ticket.is_queued() {
            self.dequeue(ticket);
        }
        self.requests.remove(&ticket.serial);
        if !ticket.is_settled() {
            self.answers += u64::from(matches!(state, State::Answered));
            ticket.becomes(state);
        }
    }

    /// Stops sending, and fails queued requests. Others fail with the outcome that `dispatched` returns for their
    /// state, and stay pending without one.
    pub(super) fn end(&mut self, failure: &Failure, dispatched: impl Fn(State) -> Option<Dispatched>) {
        self.ended.get_or_insert_with(|| failure.clone());
        let tickets: Vec<_> = self.requests.values().cloned().collect();
        for ticket in tickets {
            let dispatched = if ticket.is_queued() { Some(Dispatched::No) } else { dispatched(ticket.state()) };
            if let Some(dispatched) = dispatched {
                self.settle(&ticket, State::Failed(Failure { dispatched, ..failure.clone() }));
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
        let has_left = |ticket: &&Arc<Ticket>| !ticket.is_queued();
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
        self.find(&id_of(id)?)
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<&Arc<Ticket>> {
        let RequestId::Number(serial) = id else { return None };
        self.requests.get(serial)
    }
}

/// The number of timeouts without any message after which a connection is given up.
pub(super) const TIMEOUTS_WITHOUT_A_SIGN: u32 = 3;

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
