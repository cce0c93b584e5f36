//! The state of every request of a connection.
//!
//! A request is admitted, queued, written, and then answered, given up or failed; the transports report each step. The
//! ledger thus distinguishes a call that never left from a call that may have run.

mod book;
mod outgoing;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use self::book::Limits;
use self::book::{Book, Silence, TIMEOUTS_WITHOUT_A_SIGN};
pub use self::outgoing::Outgoing;
use crate::Dispatched;
use crate::call::Progress;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::ground::sync::lock;
use crate::rpc::failure::Failure;
use crate::rpc::list_changes::ListChanges;
use crate::rpc::messages::{self, Incoming, Question, UNREADABLE};
use crate::rpc::notices::Notices;
use crate::rpc::sent::Message;
use crate::rpc::subscriptions::Subscriptions;
use crate::rpc::ticket::{State, Ticket, TicketTerms};

/// Answers repeat the id and the method of a request.
const LONGEST_NAME: usize = 512;
const PROGRESS: &str = "notifications/progress";
const CANCELLED: &str = "notifications/cancelled";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// Pointer to the id of the subscription that a notification belongs to.
const SUBSCRIPTION: &str = "/_meta/io.modelcontextprotocol~1subscriptionId";

/// An observer of messages as they are on the wire, including secrets.
pub(crate) trait Witness: Send + Sync {
    /// Observes a message that was handed to the transport.
    fn sent(&self, message: &Message);

    /// Observes the response to a request: `result` or `error` is among the fields.
    fn answered(&self, id: &RequestId, fields: &Map<String, Value>);

    /// Observes a request or notification of the server.
    fn called(&self, fields: &Map<String, Value>);
}

/// The requests of one connection and their states.
pub struct Ledger {
    limits: Limits,
    /// The default timeout of a request.
    timeout: Duration,
    redactor: Redactor,
    witness: OnceLock<Arc<dyn Witness>>,
    pub(crate) list_changes: ListChanges,
    notices: OnceLock<Arc<Notices>>,
    resources: OnceLock<Arc<Subscriptions>>,
    next_serial: AtomicI64,
    book: Mutex<Book>,
}

impl Ledger {
    pub(crate) fn new(limits: Limits, timeout: Duration, redactor: Redactor) -> Arc<Self> {
        let (witness, list_changes, notices, resources, next_serial, book) = Default::default();
        Arc::new(Self { limits, timeout, redactor, witness, list_changes, notices, resources, next_serial, book })
    }

    /// Sets the witness of all later messages. Only the first witness counts.
    #[cfg_attr(not(feature = "cassette"), allow(dead_code))]
    pub(crate) fn witnessed_by(&self, witness: Arc<dyn Witness>) {
        let _ = self.witness.set(witness);
    }

    /// Sends the server's notifications to `notices`.
    pub(crate) fn reports_to(&self, notices: Arc<Notices>) {
        let _ = self.notices.set(notices);
    }

    /// Reports updated resources to these subscriptions.
    pub(crate) fn resources_watched_by(&self, resources: Arc<Subscriptions>) {
        let _ = self.resources.set(resources);
    }

    /// Returns the id of the next request.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes in the request with this id, of about `size` bytes, which is handed to the transport.
    ///
    /// # Errors
    /// Fails if nothing more is sent over this connection, or too much waits already.
    pub(crate) fn admit(
        self: &Arc<Self>,
        (id, message): (i64, &Message),
        size: usize,
        terms: TicketTerms,
    ) -> Result<(Ticket, Outgoing), Failure> {
        let ticket = {
            let mut book = lock(&self.book);
            if let Some(ended) = &book.ended {
                return Err(Failure { dispatched: Dispatched::No, ..ended.clone() });
            }
            let waiting = book.queued;
            // A message above the limit is sent when nothing else waits.
            let too_large = waiting > 0 && book.queued_bytes.saturating_add(size) > self.limits.bytes;
            if waiting >= self.limits.requests || too_large {
                return Err(Failure::not_sent(format!("{waiting} requests are already waiting to be sent")));
            }
            book.take_in(id, size, terms)
        };
        self.witness_sees(message);
        Ok((ticket.clone(), Outgoing { ledger: self.clone(), request: Some(ticket) }))
    }

    /// Notes another message that is handed to the transport.
    pub(crate) fn queued(self: &Arc<Self>, message: &Message) -> Outgoing {
        self.witness_sees(message);
        let mut book = lock(&self.book);
        book.messages += 1;
        book.last_notification = Some(book.messages);
        Outgoing { ledger: self.clone(), request: None }
    }

    fn witness_sees(&self, message: &Message) {
        if let Some(witness) = self.witness.get() {
            witness.sent(message);
        }
    }

    /// Returns `true` if a request is still to be sent.
    fn may_leave(&self, book: &mut Book, ticket: &Ticket) -> bool {
        if !ticket.is_for_list(self.list_changes.count()) {
            book.settle(ticket, State::Failed(Failure::stale()));
        }
        ticket.is_queued() && !ticket.is_late() && book.ended.is_none()
    }

    fn begin_write(&self, ticket: &Ticket, end: Option<u64>) -> bool {
        let mut book = lock(&self.book);
        let may_leave = self.may_leave(&mut book, ticket);
        if may_leave {
            book.waits_no_more(ticket);
            ticket.becomes(State::Writing { end });
        }
        may_leave
    }

    /// Gives up a request. Returns whether the server may have acted on it.
    pub(crate) fn give_up(&self, ticket: &Ticket) -> Dispatched {
        let mut book = lock(&self.book);
        let dispatched = match ticket.state() {
            State::Queued => Dispatched::No,
            State::Writing { .. } | State::Written { .. } => {
                // One that is cancelled is not answered.
                book.owes_answers |= !ticket.is_subscription;
                Dispatched::Unknown
            }
            State::Answered => Dispatched::Yes,
            State::GivenUp(dispatched) => dispatched,
            State::Failed(failure) => failure.dispatched,
        };
        book.settle(ticket, State::GivenUp(dispatched));
        dispatched
    }

    /// Gives up a request like [`give_up`](Self::give_up), because its time is over.
    pub(crate) fn time_out(&self, ticket: &Ticket) -> Dispatched {
        let dispatched = self.give_up(ticket);
        let mut book = lock(&self.book);
        if book.silence.has_lasted(ticket.admitted, self.timeout) && book.ended.is_none() {
            let message = format!("no message from the server during {TIMEOUTS_WITHOUT_A_SIGN} timeouts");
            book.end(&Failure::lost(message));
        }
        dispatched
    }

    /// Stops sending. Unsent and new requests fail; sent requests may still be answered.
    pub(crate) fn stop(&self, failure: &Failure) {
        lock(&self.book).end(failure);
    }

    /// Ends the connection: all pending requests fail. For a single stream, `read` is the maximum number of bytes that
    /// the server can have read.
    pub fn close(&self, failure: &Failure, read: Option<u64>) {
        let mut book = lock(&self.book);
        book.end(failure);
        let tickets: Vec<Ticket> = book.requests.values().cloned().collect();
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

    /// Returns `true` if more can be sent.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.book).ended.is_none()
    }

    /// Returns how many requests were answered.
    pub(crate) fn answers(&self) -> u64 {
        lock(&self.book).answers
    }

    /// Records a message that arrived, and returns a request or cancellation to act on. `answers` is the request whose response
    /// carried it, if the transport knows.
    pub fn received(&self, message: Value, answers: Option<&RequestId>) -> Option<Incoming> {
        let Value::Object(fields) = message else {
            tracing::debug!("ignoring a message that is not a JSON object");
            return None;
        };
        if fields.contains_key("method") {
            return self.called_or_notified(fields);
        }
        self.answered(fields, answers);
        None
    }

    fn answered(&self, mut fields: Map<String, Value>, answers: Option<&RequestId>) {
        let id = fields.remove("id").and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        let mut book = lock(&self.book);
        book.silence = Silence::default();
        let is_response = ["result", "error", UNREADABLE].iter().any(|key| fields.contains_key(*key));
        if !is_response {
            if id.is_none() {
                return;
            }
            fields.insert(UNREADABLE.to_owned(), "the response has neither `result` nor `error`".into());
        }
        let code = fields.get("error").map(|error| error.get("code").and_then(Value::as_i64).unwrap_or_default());
        let Some(ticket) = book.answered(id.as_ref(), answers, code) else {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            let id = self.redactor.shown_line(&id, LONGEST_MESSAGE);
            tracing::debug!(id, "ignoring a response without a pending request");
            return;
        };
        if let Some(why) = fields.remove(UNREADABLE) {
            let failure = Failure::new(Dispatched::Yes, why.as_str().unwrap_or_default());
            return book.settle(&ticket, State::Failed(failure));
        }
        if let Some(witness) = self.witness.get() {
            witness.answered(&ticket.id(), &fields);
        }
        ticket.answer(fields.remove("result").ok_or_else(|| {
            let mut error = fields.remove("error").unwrap_or_default();
            self.redactor.value(&mut error);
            messages::error_data(&error, "no message was given")
        }));
        book.settle(&ticket, State::Answered);
    }

    /// Notes a request or a notification of the server.
    fn called_or_notified(&self, mut fields: Map<String, Value>) -> Option<Incoming> {
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        let none = Value::Null;
        let params = fields.get("params").unwrap_or(&none);
        let mut listener = None;
        {
            let mut book = lock(&self.book);
            book.silence = Silence::default();
            match method {
                PROGRESS => listener = book.note_progress(params),
                ACKNOWLEDGED => {
                    let subscription = params.pointer(SUBSCRIPTION).and_then(|id| book.ticket(id));
                    if let (Some(ticket), Some(covered)) = (subscription, params.get("notifications")) {
                        ticket.acknowledge(covered.clone());
                    }
                }
                CANCELLED => {
                    let cancelled = params.get("requestId").and_then(|id| book.ticket(id)).cloned();
                    if let Some(ticket) = cancelled.filter(|ticket| ticket.is_subscription) {
                        book.settle(&ticket, State::Failed(Failure::lost("the server ended the subscription")));
                    }
                }
                _ => {}
            }
        }
        self.list_changes.record(&fields);
        if method == RESOURCE_UPDATED
            && let (Some(resources), Some(uri)) = (self.resources.get(), params.get("uri").and_then(Value::as_str))
        {
            resources.note(uri);
        }
        if let Some(notices) = self.notices.get() {
            notices.publish(&fields, &self.redactor);
        }
        if let Some(witness) = self.witness.get() {
            witness.called(&fields);
        }
        if let (Some(listener), Some(progress)) = (listener, Progress::from_params(params)) {
            progress.tell(&listener);
        }
        let is_cancelled = method == CANCELLED;
        match fields.remove("id") {
            Some(id) => question(id, fields).map(Incoming::Question),
            None if is_cancelled => {
                let id = fields.get("params")?.get("requestId")?;
                RequestId::deserialize(id).ok().map(Incoming::Cancelled)
            }
            None => None,
        }
    }

    /// Returns how many requests have no end yet.
    #[cfg(test)]
    pub(in crate::rpc) fn open_requests(&self) -> usize {
        let book = lock(&self.book);
        assert!(book.queued > 0 || book.queued_bytes == 0, "bytes of no request wait");
        book.requests.len()
    }
}

/// Returns a request of the server, if its id can be answered.
fn question(id: Value, mut fields: Map<String, Value>) -> Option<Question> {
    let id = serde_json::from_value(id).ok();
    let Some((id, Value::String(method))) = id.zip(fields.remove("method")) else {
        tracing::debug!("ignoring a request without an id or a method");
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
