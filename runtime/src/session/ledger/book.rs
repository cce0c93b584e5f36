//! The requests of one connection that have no answer.

use std::collections::HashMap;

use rmcp::model::{ProgressToken, RequestId};
use serde_json::Value;

use crate::Dispatched;
use crate::call::Listener;
use crate::session::deadline::Deadline;
use crate::session::failure::Failure;
use crate::session::silence::Silence;
use crate::session::ticket::{State, Ticket};

/// JSON-RPC's parse error and invalid request: the errors of a message whose id could not be read.
const NAMELESS_ERRORS: [i64; 2] = [-32700, -32600];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    Initialize,
    Discover,
    Result,
    /// The same, by a caller that has it straight from the transport.
    Direct,
    /// Open until somebody closes it: its answer is no answer to anything.
    Subscription,
}

pub(super) struct Entry {
    awaited: Awaited,
    /// How many messages were handed to the transport before it.
    place: u64,
    progress_token: Option<ProgressToken>,
    pub(super) ticket: Ticket,
}

/// The state of a ledger.
#[derive(Default)]
pub(super) struct Book {
    /// Requests of which nothing has left, by serial number.
    pub(super) queued: HashMap<u64, Ticket>,
    pub(super) queued_bytes: usize,
    next_serial: u64,
    /// Requests that the transport has, and that have no answer.
    pub(super) under_way: HashMap<RequestId, Entry>,
    pub(super) by_progress_token: HashMap<ProgressToken, RequestId>,
    /// Whether a response may come for which nobody waits any more.
    pub(super) owes_answers: bool,
    /// How many messages were handed to the transport.
    pub(super) messages: u64,
    /// The place of the last notification or answer, until the server has answered a request after it.
    pub(super) last_notification: Option<u64>,
    pub(super) ended: Option<Failure>,
    pub(super) handshake: Option<Value>,
    pub(super) last_failure: Option<Failure>,
    pub(super) silence: Silence,
}

impl Book {
    pub(super) fn take_in(&mut self, size: usize, deadline: Deadline, listener: Option<Listener>) -> Ticket {
        let ticket = Ticket::new(self.next_serial, size, deadline, listener);
        self.next_serial += 1;
        self.wait(&ticket);
        ticket
    }

    pub(super) fn goes_under_way(
        &mut self,
        id: &RequestId,
        awaited: Awaited,
        token: Option<ProgressToken>,
        ticket: &Ticket,
    ) {
        if !matches!(ticket.state(), State::Queued) {
            return;
        }
        if let Some(token) = &token {
            self.by_progress_token.insert(token.clone(), id.clone());
        }
        self.messages += 1;
        let entry = Entry { awaited, place: self.messages, progress_token: token, ticket: ticket.clone() };
        self.under_way.insert(id.clone(), entry);
        if awaited != Awaited::Subscription {
            self.silence.begins();
        }
    }

    pub(super) fn wait(&mut self, ticket: &Ticket) {
        self.queued.insert(ticket.serial(), ticket.clone());
        self.queued_bytes += ticket.size();
    }

    pub(super) fn waits_no_more(&mut self, ticket: &Ticket) {
        if self.queued.remove(&ticket.serial()).is_some() {
            self.queued_bytes = self.queued_bytes.saturating_sub(ticket.size());
        }
    }

    pub(super) fn forget(&mut self, ticket: &Ticket) {
        if let Some(entry) = ticket.id().and_then(|id| self.under_way.remove(id))
            && let Some(token) = &entry.progress_token
        {
            self.by_progress_token.remove(token);
        }
    }

    /// Sets the final state of a request, unless it has one.
    pub(super) fn settle(&mut self, ticket: &Ticket, state: State) {
        self.waits_no_more(ticket);
        self.forget(ticket);
        if matches!(ticket.state(), State::Queued | State::Writing { .. } | State::Written { .. }) {
            if let State::Failed(failure) = &state {
                self.last_failure = Some(failure.clone());
            }
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

    /// The request that a response with this id answers, `error` being its code where it is one. A response without an id
    /// answers the only request that can be meant.
    pub(super) fn answered(
        &mut self,
        id: Option<&RequestId>,
        answers: Option<&RequestId>,
        error: Option<i64>,
    ) -> Option<(RequestId, Awaited, Ticket)> {
        let found = self.find_answered(id, answers, error)?;
        // The server reads in order.
        if let Some(entry) = self.under_way.get(&found.0)
            && self.last_notification.is_some_and(|place| place < entry.place)
        {
            self.last_notification = None;
        }
        Some(found)
    }

    fn find_answered(
        &self,
        id: Option<&RequestId>,
        answers: Option<&RequestId>,
        error: Option<i64>,
    ) -> Option<(RequestId, Awaited, Ticket)> {
        let find = |id: &RequestId| {
            let entry = self.under_way.get(id)?;
            let has_left = !matches!(entry.ticket.state(), State::Queued);
            has_left.then(|| (id.clone(), entry.awaited, entry.ticket.clone()))
        };
        match id {
            Some(RequestId::Number(_)) => id.and_then(find),
            // Some servers write numbers as texts, others invent an id for what they could not read.
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
                    let found = self.under_way.keys().filter_map(find);
                    let mut found = found.filter(|(_, awaited, _)| *awaited != Awaited::Subscription);
                    found.next().filter(|_| found.next().is_none())
                }
            },
        }
    }

    /// Returns `true` if an error without an id is about a request: a server that could not read a message answers with one of
    /// [`NAMELESS_ERRORS`]. It may mean a notification too, unless nothing else was ever sent.
    fn is_about_a_request(&self, code: i64) -> bool {
        self.messages == 1 || NAMELESS_ERRORS.contains(&code) && self.last_notification.is_none()
    }

    /// Notes that the server gets on with a request, and says who is to hear of it.
    pub(super) fn note_progress(&self, params: &Value) -> Option<Listener> {
        let token = serde_json::from_value::<ProgressToken>(params.get("progressToken")?.clone()).ok()?;
        let entry = self.under_way.get(self.by_progress_token.get(&token)?)?;
        entry.ticket.progressed();
        entry.ticket.listener()
    }
}
