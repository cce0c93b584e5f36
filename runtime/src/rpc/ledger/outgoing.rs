//! A message on its way out.

use std::sync::Arc;

use super::Ledger;
use crate::Dispatched;
use crate::ground::sync::lock;
use crate::rpc::failure::{CLOSED, Failure};
use crate::rpc::ticket::{State, Ticket};

/// A message in the hands of the transport, which reports its progress. If it is dropped unsent, it has failed.
pub struct Outgoing {
    pub(super) ledger: Arc<Ledger>,
    pub(super) request: Option<Ticket>,
}

impl Outgoing {
    /// Returns `true` if the message must still be sent, and records that its first byte leaves. `end` is its end in
    /// the stream, if all requests share one.
    pub fn begin_write(&self, end: Option<u64>) -> bool {
        self.request.as_ref().is_none_or(|ticket| self.ledger.begin_write(ticket, end))
    }

    /// Returns `true` if the message is still to be sent.
    pub(crate) fn may_leave(&self) -> bool {
        self.request.as_ref().is_none_or(|ticket| self.ledger.may_leave(&mut lock(&self.ledger.book), ticket))
    }

    /// Returns `true` if no caller waits for the response.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.request.as_ref().is_some_and(|ticket| ticket.is_settled() || ticket.is_late())
    }

    /// Returns a function that begins the write, for a transport that does not write itself. After a redirect it may
    /// have begun already.
    pub(crate) fn departure(&self) -> impl FnOnce() -> bool + Send + Sync + use<> {
        let (ledger, ticket) = (self.ledger.clone(), self.request.clone());
        let begin =
            move |ticket: Ticket| matches!(ticket.state(), State::Writing { .. }) || ledger.begin_write(&ticket, None);
        move || ticket.is_none_or(begin)
    }

    /// Records that the whole message was written.
    pub fn written(&self) {
        let Some(ticket) = &self.request else { return };
        let _book = lock(&self.ledger.book);
        if let State::Writing { end } = ticket.state() {
            ticket.becomes(State::Written { end });
        }
    }

    /// Records that the server refused it unseen; it will be written again, or fail.
    pub(crate) fn returned(&self) {
        let Some(ticket) = &self.request else { return };
        let mut book = lock(&self.ledger.book);
        if matches!(ticket.state(), State::Writing { .. } | State::Written { .. }) {
            book.wait(ticket);
            ticket.becomes(State::Queued);
        }
    }

    /// Records that no response will arrive.
    pub(crate) fn failed(&self, mut failure: Failure) {
        let Some(ticket) = &self.request else { return };
        let mut book = lock(&self.ledger.book);
        if ticket.is_queued() {
            failure.dispatched = Dispatched::No;
        }
        book.settle(ticket, State::Failed(failure));
    }

    /// Waits until no caller wants a response, or none can arrive. Waits forever if the message is not a request.
    /// Cancel safe.
    pub(crate) async fn abandoned(&self) {
        match &self.request {
            Some(ticket) => ticket.abandoned().await,
            None => std::future::pending().await,
        }
    }

    /// Returns `true` once the request can no longer complete.
    pub(crate) fn is_settled(&self) -> bool {
        self.request.as_ref().is_some_and(|ticket| ticket.is_settled())
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some(ticket) = &self.request else { return };
        if matches!(ticket.state(), State::Queued | State::Writing { .. }) {
            self.failed(Failure::lost(CLOSED));
        }
    }
}
