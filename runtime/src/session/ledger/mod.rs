//! What became of every request of one connection.
//!
//! A request is admitted, queued, written, and then answered, given up or failed; the transports report what they do
//! with it. So a call that never left is told from one that may have run.

mod book;
mod outgoing;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions, GetMeta, ProgressToken, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde_json::{Map, Value};

use self::book::{Awaited, Book};
#[cfg(feature = "http")]
pub(crate) use self::outgoing::Departure;
pub(crate) use self::outgoing::Outgoing;
use crate::Dispatched;
use crate::call::{Listener, Progress};
use crate::observe::redact::{LONGEST_MESSAGE, Redactor};
use crate::session::deadline::Deadline;
use crate::session::failure::Failure;
pub(crate) use crate::session::limits::Limits;
use crate::session::list_news::ListNews;
use crate::session::notices::Notices;
use crate::session::raw::{self, UNREADABLE};
use crate::session::silence::{Silence, TIMEOUTS_WITHOUT_A_SIGN};
use crate::session::ticket::{State, Ticket};
use crate::session::witness::Witness;
use crate::transport::{Incoming, Question};

/// Answers repeat the id and the method of a request.
const LONGEST_NAME: usize = 512;
const PROGRESS: &str = "notifications/progress";

/// The requests of one connection, and what the server said of itself.
pub(crate) struct Ledger {
    limits: Limits,
    /// How long the program waits for an answer where nothing else is said.
    timeout: Duration,
    /// What is not data for the program passes it before rmcp sees it, which logs what it likes.
    redactor: Redactor,
    witness: OnceLock<Arc<dyn Witness>>,
    pub(crate) list_news: ListNews,
    notices: OnceLock<Arc<Notices>>,
    book: Mutex<Book>,
}

impl Ledger {
    pub(crate) fn new(limits: Limits, timeout: Duration, redactor: Redactor) -> Arc<Self> {
        let (witness, list_news, notices, book) = Default::default();
        Arc::new(Self { limits, timeout, redactor, witness, list_news, notices, book })
    }

    /// Has a witness see what passes from now on; there is one at most.
    #[cfg_attr(not(feature = "cassette"), allow(dead_code))]
    pub(crate) fn witnessed_by(&self, witness: Arc<dyn Witness>) {
        let _ = self.witness.set(witness);
    }

    /// Has whoever listens hear what the server tells.
    pub(crate) fn heard_by(&self, notices: Arc<Notices>) {
        let _ = self.notices.set(notices);
    }

    /// Takes in a request of about `size` bytes.
    ///
    /// # Errors
    /// Where nothing more is sent over this connection, or too much waits already.
    pub(crate) fn admit(&self, size: usize, deadline: Deadline, listener: Option<Listener>) -> Result<Ticket, Failure> {
        let mut book = self.book();
        if let Some(ended) = &book.ended {
            return Err(Failure { dispatched: Dispatched::No, ..ended.clone() });
        }
        let waiting = book.queued.len();
        // What is too large by itself has its chance when nothing else waits.
        let too_large = waiting > 0 && book.queued_bytes.saturating_add(size) > self.limits.bytes;
        if waiting >= self.limits.requests || too_large {
            return Err(Failure::not_sent(format!("{waiting} requests wait already for the server to read them")));
        }
        Ok(book.take_in(size, deadline, listener))
    }

    /// A request that goes straight to the transport, and whose answer rmcp does not see.
    pub(crate) fn queued_directly(
        self: &Arc<Self>,
        message: &ClientJsonRpcMessage,
        id: &RequestId,
        ticket: &Ticket,
    ) -> Outgoing {
        if let Some(witness) = self.witness.get() {
            witness.sent(message);
        }
        ticket.name(id);
        self.book().goes_under_way(id, Awaited::Direct, Some(ProgressToken(id.clone())), ticket);
        Outgoing { ledger: self.clone(), request: Some((id.clone(), ticket.clone())) }
    }

    /// A message that was handed to the transport.
    pub(crate) fn queued(self: &Arc<Self>, message: &ClientJsonRpcMessage) -> Outgoing {
        if let Some(witness) = self.witness.get() {
            witness.sent(message);
        }
        let ClientJsonRpcMessage::Request(request) = message else {
            let mut book = self.book();
            book.messages += 1;
            book.last_notification = Some(book.messages);
            return Outgoing { ledger: self.clone(), request: None };
        };
        let awaited = match &request.request {
            ClientRequest::InitializeRequest(_) => Awaited::Initialize,
            ClientRequest::DiscoverRequest(_) => Awaited::Discover,
            ClientRequest::SubscriptionsListenRequest(_) => Awaited::Subscription,
            _ => Awaited::Result,
        };
        let mut book = self.book();
        let (ticket, awaited) = match request.request.extensions().get::<Ticket>() {
            // A `server/discover` of ours, which asks whether the server is still there.
            Some(ticket) if awaited == Awaited::Discover => (ticket.clone(), Awaited::Result),
            Some(ticket) => (ticket.clone(), awaited),
            // rmcp's own, those of the handshake.
            None => (book.take_in(0, Deadline::NEVER, None), awaited),
        };
        ticket.name(&request.id);
        book.goes_under_way(&request.id, awaited, request.request.get_meta().get_progress_token(), &ticket);
        drop(book);
        Outgoing { ledger: self.clone(), request: Some((request.id.clone(), ticket)) }
    }

    /// Returns `true` if a request is still to be sent.
    fn may_leave(&self, book: &mut Book, ticket: &Ticket) -> bool {
        if !ticket.is_for_list(self.list_news.count()) {
            book.settle(ticket, State::Failed(Failure::stale()));
        }
        matches!(ticket.state(), State::Queued) && !ticket.is_late() && book.ended.is_none()
    }

    fn begin_write(&self, ticket: &Ticket, end: Option<u64>) -> bool {
        let mut book = self.book();
        let may_leave = self.may_leave(&mut book, ticket);
        if may_leave {
            book.waits_no_more(ticket);
            ticket.becomes(State::Writing { end });
        }
        may_leave
    }

    /// The caller does not wait any longer. Whether the server may have acted on the request.
    pub(crate) fn give_up(&self, ticket: &Ticket) -> Dispatched {
        let mut book = self.book();
        let dispatched = match ticket.state() {
            State::Queued => Dispatched::No,
            State::Writing { .. } | State::Written { .. } => {
                book.owes_answers = true;
                Dispatched::Unknown
            }
            State::Answered => Dispatched::Yes,
            State::GivenUp(dispatched) => dispatched,
            State::Failed(failure) => failure.dispatched,
        };
        book.settle(ticket, State::GivenUp(dispatched));
        dispatched
    }

    /// Like [`give_up`](Self::give_up), for want of an answer in time.
    pub(crate) fn time_out(&self, ticket: &Ticket) -> Dispatched {
        let dispatched = self.give_up(ticket);
        let mut book = self.book();
        if book.silence.has_lasted(ticket.admitted(), self.timeout) && book.ended.is_none() {
            let message = format!("nothing came from the server during {TIMEOUTS_WITHOUT_A_SIGN} timeouts");
            book.end(&Failure::lost(message));
        }
        dispatched
    }

    /// The same of the request with this id.
    #[cfg(feature = "http")]
    pub(crate) fn abandon(&self, id: &RequestId) {
        let ticket = self.book().under_way.get(id).map(|entry| entry.ticket.clone());
        if let Some(ticket) = ticket {
            self.give_up(&ticket);
        }
    }

    /// Nothing more can be sent: what has not left fails now, and new requests are refused. What has left may still be
    /// answered.
    pub(crate) fn stop(&self, failure: &Failure) {
        self.book().end(failure);
    }

    /// Nothing more will come: all that is under way fails. Of one stream for all requests, `read` says how much of it
    /// the server can have read at most.
    pub(crate) fn close(&self, failure: &Failure, read: Option<u64>) {
        let mut book = self.book();
        book.end(failure);
        let tickets: Vec<Ticket> = book.under_way.values().map(|entry| entry.ticket.clone()).collect();
        for ticket in tickets {
            let dispatched = match (ticket.state(), read) {
                // The last byte is only a line's end: without it, it may be read all the same.
                (State::Writing { end: Some(end) } | State::Written { end: Some(end) }, Some(read))
                    if read.saturating_add(1) < end =>
                {
                    Dispatched::No
                }
                _ => Dispatched::Unknown,
            };
            book.settle(&ticket, State::Failed(Failure { dispatched, ..failure.clone() }));
        }
    }

    /// Whether more can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.book().ended.is_none()
    }

    /// What failed last.
    pub(crate) fn last_failure(&self) -> Option<Failure> {
        self.book().last_failure.clone()
    }

    /// What the server answered to `initialize` or `server/discover`, as sent.
    pub(crate) fn handshake(&self) -> Option<Value> {
        self.book().handshake.clone()
    }

    /// Notes a message that arrived, and returns what others have to see of it. `answers` is the request that it came in answer
    /// to, where the transport knows.
    pub(crate) fn received(&self, message: Value, answers: Option<&RequestId>) -> Option<Incoming> {
        let Value::Object(mut fields) = message else {
            tracing::debug!("ignoring a message that is not a JSON object");
            return None;
        };
        let mut book = self.book();
        book.silence = Silence::default();
        if fields.contains_key("method") {
            let params = fields.get("params").filter(|_| fields.get("method") == Some(&PROGRESS.into()));
            let listener = params.and_then(|params| book.note_progress(params));
            drop(book);
            self.list_news.hear(&fields);
            if let Some(notices) = self.notices.get() {
                notices.hear(&fields, &self.redactor);
            }
            if let Some(witness) = self.witness.get() {
                witness.said(&fields);
            }
            // Here and not in a handler of rmcp's, which runs each notification on a task of its own, in any order.
            if let (Some(listener), Some(progress)) = (listener, params.and_then(Progress::from_params)) {
                progress.tell(&listener);
            }
            return match fields.remove("id") {
                Some(id) => question(id, fields).map(Incoming::Question),
                None => self.notified(fields).map(Incoming::Message),
            };
        }
        let id = fields.remove("id").and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        let is_response = ["result", "error", UNREADABLE].iter().any(|key| fields.contains_key(*key));
        if !is_response {
            id.as_ref()?;
            fields.insert(UNREADABLE.to_owned(), "the answer has neither `result` nor `error`".into());
        }
        let code = fields.get("error").map(|error| error.get("code").and_then(Value::as_i64).unwrap_or_default());
        let Some((id, awaited, ticket)) = book.answered(id.as_ref(), answers, code) else {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            let id = self.redactor.shown_line(&id, LONGEST_MESSAGE);
            tracing::debug!(id, "ignoring a response to no request that is under way");
            return None;
        };
        if let Some(why) = fields.remove(UNREADABLE) {
            let message = why.as_str().unwrap_or_default();
            book.settle(&ticket, State::Failed(Failure::new(Dispatched::Yes, message)));
            if awaited == Awaited::Direct {
                return None;
            }
            let error = raw::error_data(&Value::String(message.to_owned()));
            return Some(Incoming::Message(ServerJsonRpcMessage::error(error, Some(id))));
        }
        if let Some(witness) = self.witness.get() {
            witness.answered(&id, &fields);
        }
        if awaited == Awaited::Direct {
            ticket.answer(fields.remove("result").ok_or_else(|| {
                let mut error = fields.remove("error").unwrap_or_default();
                self.redactor.value(&mut error);
                raw::error_data(&error)
            }));
            book.settle(&ticket, State::Answered);
            return None;
        }
        book.settle(&ticket, State::Answered);
        if let Some(result) = fields.remove("result") {
            let plain = match awaited {
                Awaited::Initialize => raw::plain_initialize,
                Awaited::Discover => raw::plain_discover,
                Awaited::Result | Awaited::Direct | Awaited::Subscription => {
                    return Some(Incoming::Message(ServerJsonRpcMessage::response(raw::wrap(result), id)));
                }
            };
            book.handshake = Some(result.clone());
            let mut shown = result;
            self.redactor.value(&mut shown);
            let plain: Option<ServerResult> = plain(&shown);
            let plain = plain.unwrap_or_else(|| raw::wrap(shown));
            return Some(Incoming::Message(ServerJsonRpcMessage::response(plain, id)));
        }
        let mut error = fields.remove("error")?;
        self.redactor.value(&mut error);
        Some(Incoming::Message(ServerJsonRpcMessage::error(raw::error_data(&error), Some(id))))
    }

    /// Returns a notification as rmcp may see it, which logs it.
    fn notified(&self, mut fields: Map<String, Value>) -> Option<ServerJsonRpcMessage> {
        // It cannot be changed, and rmcp logs it.
        if fields.get("method").and_then(Value::as_str).is_some_and(|method| self.redactor.knows(method)) {
            tracing::debug!("ignoring a notification whose name holds a secret");
            return None;
        }
        if let Some(params) = fields.get_mut("params") {
            self.redactor.value(params);
        }
        let malformed = |error: &serde_json::Error| {
            let error = self.redactor.shown_line(&error.to_string(), LONGEST_MESSAGE);
            tracing::debug!("ignoring a malformed notification: {error}");
        };
        serde_json::from_value(Value::Object(fields)).inspect_err(malformed).ok()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of the server, where it has an id that can be answered.
fn question(id: Value, mut fields: Map<String, Value>) -> Option<Question> {
    let id = serde_json::from_value(id).ok();
    let Some((id, Value::String(method))) = id.zip(fields.remove("method")) else {
        tracing::debug!("ignoring a request without an id or a method that is text");
        return None;
    };
    let length = if let RequestId::String(id) = &id { id.len() } else { 0 };
    if length.max(method.len()) > LONGEST_NAME {
        tracing::debug!("ignoring a request whose id or method has more than {LONGEST_NAME} bytes");
        return None;
    }
    Some(Question { id, method, params: fields.remove("params").unwrap_or_default() })
}

#[cfg(test)]
mod tests;
