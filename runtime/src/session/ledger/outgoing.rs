//! A message on its way out.

use std::sync::Arc;

use rmcp::model::RequestId;

use super::Ledger;
use crate::session::failure::Failure;
use crate::session::ticket::{State, Ticket};

const ANOTHER_SESSION: &str =
    "the server has begun another session; make the call again, and its tools are looked at again";

/// A message that the transport has, and what it reports of it. One that is dropped before it has left failed.
pub(crate) struct Outgoing {
    pub(super) ledger: Arc<Ledger>,
    pub(super) request: Option<(RequestId, Ticket)>,
}

impl Outgoing {
    /// Asked right before the first byte leaves: whether the message is still to be sent. `end` is where it will end in
    /// the stream, where there is one stream for all requests.
    pub(crate) fn begin_write(&self, end: Option<u64>) -> bool {
        let Some((_, ticket)) = &self.request else { return true };
        let mut book = self.ledger.book();
        if !ticket.may_go_to(self.ledger.list_news.session()) {
            book.settle(ticket, State::Failed(Failure::not_sent(ANOTHER_SESSION)));
        }
        let may_leave = matches!(ticket.state(), State::Queued) && !ticket.is_late() && book.ended.is_none();
        if may_leave {
            book.waits_no_more(ticket);
            ticket.becomes(State::Writing { end });
        }
        may_leave
    }

    /// It has left whole.
    pub(crate) fn written(&self) {
        let Some((_, ticket)) = &self.request else { return };
        let _book = self.ledger.book();
        if let State::Writing { end } = ticket.state() {
            ticket.becomes(State::Written { end });
        }
    }

    /// The server has refused it unseen; it will be written once more, or fail.
    #[cfg(feature = "http")]
    pub(crate) fn returned(&self) {
        let Some((_, ticket)) = &self.request else { return };
        let mut book = self.ledger.book();
        if matches!(ticket.state(), State::Writing { .. } | State::Written { .. }) {
            book.wait(ticket);
            ticket.becomes(State::Queued);
        }
    }

    /// No response will come.
    pub(crate) fn failed(&self, failure: Failure) {
        if let Some((_, ticket)) = &self.request {
            self.ledger.book().settle(ticket, State::Failed(failure));
        }
    }

    /// Waits until nobody wants an answer to it, or none can come; for ever where it is no request.
    pub(crate) async fn abandoned(&self) {
        match &self.request {
            Some((_, ticket)) => ticket.abandoned().await,
            None => std::future::pending().await,
        }
    }

    /// Whether nothing can become of it any more.
    #[cfg(feature = "http")]
    pub(crate) fn is_settled(&self) -> bool {
        self.request.as_ref().is_some_and(|(_, ticket)| ticket.is_settled())
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some((_, ticket)) = &self.request else { return };
        let closed = "the connection was closed";
        match ticket.state() {
            State::Queued => self.failed(Failure::not_sent(closed)),
            State::Writing { .. } => self.failed(Failure::lost(closed)),
            _ => {}
        }
    }
}
