//! The requests of one connection that have no answer.

use std::collections::HashMap;
use std::time::Duration;

use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::Dispatched;
use crate::call::Listener;
use crate::rpc::failure::Failure;
use crate::rpc::ticket::{State, Ticket, TicketTerms};

/// JSON-RPC's parse error and invalid request: the errors of a message whose id could not be read.
const NAMELESS_ERRORS: [i64; 2] = [-32700, -32600];

/// How much may wait for its turn to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) requests: usize,
    pub(crate) bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 16 * 1024, bytes: 64 * 1024 * 1024 }
    }
}

pub(super) struct Entry {
    /// How many messages were handed to the transport before it.
    place: u64,
    pub(super) ticket: Ticket,
}

/// The state of a ledger.
#[derive(Default)]
pub(super) struct Book {
    /// Requests of which nothing has left, by serial number.
    pub(super) queued: HashMap<i64, Ticket>,
    pub(super) queued_bytes: usize,
    next_serial: i64,
    /// Requests that the transport has, and that have no answer.
    pub(super) under_way: HashMap<RequestId, Entry>,
    /// `true` if a response may arrive that no caller waits for.
    pub(super) owes_answers: bool,
    /// How many requests were answered.
    pub(super) answers: u64,
    /// How many messages were handed to the transport.
    pub(super) messages: u64,
    /// The place of the last notification or answer, until the server has answered a request after it.
    pub(super) last_notification: Option<u64>,
    pub(super) ended: Option<Failure>,
    pub(super) silence: Silence,
}

impl Book {
    pub(super) fn take_in(&mut self, size: usize, terms: TicketTerms) -> Ticket {
        let ticket = Ticket::new(self.next_serial, size, terms);
        self.next_serial += 1;
        self.wait(&ticket);
        ticket
    }

    pub(super) fn goes_under_way(&mut self, ticket: &Ticket) {
        if !matches!(ticket.state(), State::Queued) {
            return;
        }
        self.messages += 1;
        self.under_way.insert(ticket.id(), Entry { place: self.messages, ticket: ticket.clone() });
        if !ticket.is_subscription {
            self.silence.begins();
        }
    }

    pub(super) fn wait(&mut self, ticket: &Ticket) {
        self.queued.insert(ticket.serial, ticket.clone());
        self.queued_bytes += ticket.size;
    }

    pub(super) fn waits_no_more(&mut self, ticket: &Ticket) {
        if self.queued.remove(&ticket.serial).is_some() {
            self.queued_bytes = self.queued_bytes.saturating_sub(ticket.size);
        }
    }

    /// Sets the final state of a request, unless it has one.
    pub(super) fn settle(&mut self, ticket: &Ticket, state: State) {
        self.waits_no_more(ticket);
        self.under_way.remove(&ticket.id());
        if !ticket.is_settled() {
            self.answers += u64::from(matches!(state, State::Answered));
            ticket.becomes(state);
        }
    }

    pub(super) fn end(&mut self, failure: &Failure) {
        self.ended.get_or_insert_with(|| failure.clone());
        let queued: Vec<Ticket> = self.queued.values().cloned().collect();
        for ticket in queued {
            self.settle(&ticket, State::Failed(Failure { dispatched: Dispatched::No, ..failure.clone() }));
        }
    }

    /// Returns the request that a response with this id answers; `error` is its code if it is an error. A response
    /// without an id answers the only possible request.
    pub(super) fn answered(
        &mut self,
        id: Option<&RequestId>,
        answers: Option<&RequestId>,
        error: Option<i64>,
    ) -> Option<Ticket> {
        let entry = self.find_answered(id, answers, error)?;
        let (place, ticket) = (entry.place, entry.ticket.clone());
        // The server reads in order.
        if self.last_notification.is_some_and(|last| last < place) {
            self.last_notification = None;
        }
        Some(ticket)
    }

    fn find_answered(&self, id: Option<&RequestId>, answers: Option<&RequestId>, error: Option<i64>) -> Option<&Entry> {
        let has_left = |entry: &&Entry| !matches!(entry.ticket.state(), State::Queued);
        let find = |id: &RequestId| self.under_way.get(id).filter(has_left);
        match id {
            Some(RequestId::Number(_)) => id.and_then(find),
            // Some servers write numbers as strings, and others invent an id for an unreadable message.
            Some(RequestId::String(text)) => match text.parse().map(RequestId::Number) {
                Ok(number) => find(&number),
                Err(_) => answers.and_then(find),
            },
            None => match answers {
                Some(answers) => find(answers),
                None => {
                    if self.owes_answers || error.is_some_and(|code| !self.is_about_a_request(code)) {
                        return None;
                    }
                    let found = self.under_way.values().filter(has_left);
                    let mut found = found.filter(|entry| !entry.ticket.is_subscription);
                    found.next().filter(|_| found.next().is_none())
                }
            },
        }
    }

    /// Returns `true` if an error without an id answers a request. A server that cannot read a message answers with one
    /// of [`NAMELESS_ERRORS`]. A notification that may be unread could be its subject too, unless only one message was
    /// ever sent.
    fn is_about_a_request(&self, code: i64) -> bool {
        self.messages == 1 || NAMELESS_ERRORS.contains(&code) && self.last_notification.is_none()
    }

    /// Records progress of a request, and returns its listener.
    pub(super) fn note_progress(&self, params: &Value) -> Option<Listener> {
        let ticket = self.ticket(params.get("progressToken")?)?;
        ticket.progressed();
        ticket.listener.clone()
    }

    /// Returns the request under way with this id, which is its progress token as well.
    pub(super) fn ticket(&self, id: &Value) -> Option<&Ticket> {
        let id = RequestId::deserialize(id).ok()?;
        self.under_way.get(&id).map(|entry| &entry.ticket)
    }
}

/// The number of timeouts without any message after which a connection is given up.
pub(super) const TIMEOUTS_WITHOUT_A_SIGN: u32 = 3;

/// The time without a message from the server while requests are pending.
#[derive(Default)]
pub(super) struct Silence {
    since: Option<Instant>,
    timeouts: u32,
    last_timeout: Option<Instant>,
}

impl Silence {
    /// Starts the clock, unless it is already running.
    pub(super) fn begins(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// Notes a timeout of a request that was admitted then. Calls that ran side by side count as one.
    pub(super) fn has_lasted(&mut self, admitted: Instant, timeout: Duration) -> bool {
        if self.last_timeout.is_none_or(|last| last <= admitted) {
            self.timeouts += 1;
            self.last_timeout = Some(Instant::now());
        }
        let lasted = self.since.is_some_and(|since| since.elapsed() >= timeout.saturating_mul(TIMEOUTS_WITHOUT_A_SIGN));
        lasted && self.timeouts >= TIMEOUTS_WITHOUT_A_SIGN
    }
}
