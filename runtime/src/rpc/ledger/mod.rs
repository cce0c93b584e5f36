//! The state of every request of a connection.
//!
//! A request is admitted, queued, written, and then answered, given up or failed; the transports report each step. The
//! ledger thus distinguishes a call that never left from a call that may have run.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rmcp::model::{ErrorData, RequestId};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::Dispatched;
use crate::call::Progress;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::ground::sync::lock;
use crate::rpc::failure::{CLOSED, Failure};
use crate::rpc::messages::{self, Incoming, Question, UNREADABLE};
use crate::rpc::notices::{ListChanges, Notices};
use crate::rpc::request::Terms;
use crate::rpc::sent::{Message, PROGRESS_TOKEN};
use crate::rpc::ticket::{Book, Silence, State, TIMEOUTS_WITHOUT_A_SIGN, Ticket};

/// The maximum number of queued requests, and about how many bytes they may have.
const MOST_QUEUED: usize = 16 * 1024;
const MOST_QUEUED_BYTES: usize = 64 * 1024 * 1024;
/// Answers repeat the id and the method of a request.
const LONGEST_NAME: usize = 512;
pub(super) const PROGRESS: &str = "notifications/progress";
const CANCELLED: &str = "notifications/cancelled";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// Pointer to the id of the subscription that a notification belongs to.
pub(super) const SUBSCRIPTION: &str = "/_meta/io.modelcontextprotocol~1subscriptionId";

/// An observer of messages as they are on the wire, including secrets.
pub(crate) trait Witness: Send + Sync {
    /// Observes a message that was handed to the transport.
    fn sent(&self, message: &Message);

    /// Observes the response to a request. An error has no secrets, and defaults for missing members.
    fn answered(&self, id: &RequestId, answer: &Result<Value, ErrorData>);

    /// Observes a request or notification of the server.
    fn called(&self, fields: &Map<String, Value>);
}

/// The requests of one connection and their states.
pub struct Ledger {
    /// The default timeout of a request.
    timeout: Duration,
    redactor: Redactor,
    /// The witness of all later messages.
    pub(crate) witness: OnceLock<Arc<dyn Witness>>,
    pub(crate) list_changes: ListChanges,
    /// The receivers of the server's notifications.
    pub(crate) notices: OnceLock<Arc<Notices>>,
    next_serial: AtomicI64,
    book: Mutex<Book>,
}

impl Ledger {
    pub(crate) fn new(timeout: Duration, redactor: Redactor) -> Arc<Self> {
        let (witness, list_changes, notices, next_serial, book) = Default::default();
        Arc::new(Self { timeout, redactor, witness, list_changes, notices, next_serial, book })
    }

    /// Returns the id of the next request.
    pub(crate) fn next_id(&self) -> i64 {
        self.next_serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Admits the request with this id, of about `size` bytes, which is handed to the transport.
    ///
    /// # Errors
    /// Fails if nothing more is sent over this connection, or too much waits already.
    pub(crate) fn admit(
        self: &Arc<Self>,
        (id, message): (i64, &Message),
        size: usize,
        terms: Terms,
    ) -> Result<(Arc<Ticket>, Outgoing), Failure> {
        let ticket = {
            let mut book = lock(&self.book);
            if let Some(ended) = &book.ended {
                return Err(Failure { dispatched: Dispatched::No, ..ended.clone() });
            }
            let waiting = book.queued;
            // A message above the limit is sent when nothing else waits.
            let too_large = waiting > 0 && book.queued_bytes.saturating_add(size) > MOST_QUEUED_BYTES;
            if waiting >= MOST_QUEUED || too_large {
                return Err(Failure::not_sent(format!("{waiting} requests are already waiting to be sent")));
            }
            book.messages += 1;
            let ticket = Arc::new(Ticket::new(id, book.messages, size, terms));
            book.enqueue(&ticket);
            book.requests.insert(id, ticket.clone());
            if !ticket.terms.is_subscription {
                book.silence.since.get_or_insert_with(Instant::now);
            }
            ticket
        };
        self.witness.get().inspect(|witness| witness.sent(message));
        Ok((ticket.clone(), Outgoing { ledger: self.clone(), request: Some(ticket) }))
    }

    /// Records a notification or a response that is handed to the transport.
    pub(crate) fn queued(self: &Arc<Self>, message: &Message) -> Outgoing {
        self.witness.get().inspect(|witness| witness.sent(message));
        let mut book = lock(&self.book);
        book.messages += 1;
        book.last_notification = Some(book.messages);
        Outgoing { ledger: self.clone(), request: None }
    }

    /// Returns `true` if a request is still to be sent.
    fn may_leave(&self, book: &mut Book, ticket: &Ticket) -> bool {
        if ticket.terms.list.is_some_and(|list| list != self.list_changes.count()) {
            book.settle(ticket, State::Failed(Failure::stale()));
        }
        ticket.is(State::is_queued) && !ticket.is_late() && book.ended.is_none()
    }

    fn begin_write(&self, ticket: &Ticket, end: Option<u64>) -> bool {
        let mut book = lock(&self.book);
        let may_leave = self.may_leave(&mut book, ticket);
        if may_leave {
            book.dequeue(ticket);
            ticket.becomes(State::Writing { end });
        }
        may_leave
    }

    /// Gives up a request. Returns whether the server may have acted on it.
    pub(crate) fn give_up(&self, ticket: &Ticket) -> Dispatched {
        let mut book = lock(&self.book);
        let dispatched = match &*lock(&ticket.state) {
            State::Queued => Dispatched::No,
            State::Writing { .. } | State::Written { .. } | State::Acknowledged => {
                // One that is cancelled is not answered.
                book.owes_answers |= !ticket.terms.is_subscription;
                Dispatched::Unknown
            }
            State::Answered(_) => Dispatched::Yes,
            State::GivenUp(dispatched) => *dispatched,
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
            book.end(&Failure::lost(message), &|_| None);
        }
        dispatched
    }

    /// Stops sending. Unsent and new requests fail; sent requests may still be answered.
    pub(crate) fn stop(&self, failure: &Failure) {
        lock(&self.book).end(failure, &|_| None);
    }

    /// Ends the connection: all pending requests fail. For a single stream, `read` is the maximum number of bytes that
    /// the server can have read.
    pub fn close(&self, failure: &Failure, read: Option<u64>) {
        lock(&self.book).end(failure, &|state| match (state, read) {
            // The last byte is only a line's end: the server may read the message without it.
            (State::Writing { end: Some(end) } | State::Written { end: Some(end) }, Some(read))
                if read.saturating_add(1) < *end =>
            {
                Some(Dispatched::No)
            }
            _ => Some(Dispatched::Unknown),
        });
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
        let id = fields.get("id").and_then(messages::id_of);
        let mut book = lock(&self.book);
        book.silence = Silence::default();
        let error = fields.remove("error").map(|mut error| {
            self.redactor.value(&mut error);
            messages::error_data(&error, "no message was given")
        });
        let code = error.as_ref().map(|error| error.code.0);
        let answer = match (fields.remove(UNREADABLE), fields.remove("result"), error) {
            (Some(why), ..) => Err(why.as_str().unwrap_or_default().to_owned()),
            (None, Some(result), _) => Ok(Ok(result)),
            (None, None, Some(error)) => Ok(Err(error)),
            (None, None, None) if id.is_some() => Err("the response has neither `result` nor `error`".to_owned()),
            (None, None, None) => return,
        };
        let Some(ticket) = book.answered(id.as_ref(), answers, code) else {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            let id = self.redactor.shown_line(&id, LONGEST_MESSAGE);
            tracing::debug!(id, "ignoring a response without a pending request");
            return;
        };
        match answer {
            Ok(answer) => {
                if let Some(witness) = self.witness.get() {
                    witness.answered(&ticket.id(), &answer);
                }
                book.settle(&ticket, State::Answered(Some(answer)));
            }
            Err(why) => book.settle(&ticket, State::Failed(Failure::new(Dispatched::Yes, why))),
        }
    }

    /// Notes a request or a notification of the server.
    fn called_or_notified(&self, mut fields: Map<String, Value>) -> Option<Incoming> {
        let method = fields.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = fields.get("params").unwrap_or(&Value::Null);
        let cancelled = params.get("requestId").filter(|_| method == CANCELLED);
        let mut listener = None;
        {
            let mut book = lock(&self.book);
            book.silence = Silence::default();
            if let (PROGRESS, Some(ticket)) = (method, params.get(PROGRESS_TOKEN).and_then(|id| book.ticket(id))) {
                *lock(&ticket.progress) = Some(Instant::now());
                listener = ticket.terms.listener.clone();
            }
            if let (ACKNOWLEDGED, Some(covered)) = (method, params.get("notifications"))
                && let Some(ticket) = params.pointer(SUBSCRIPTION).and_then(|id| book.ticket(id))
                && ticket.terms.is_subscription
                && ticket.is(|state| matches!(state, State::Writing { .. } | State::Written { .. }))
            {
                *lock(&ticket.covered) = Some(covered.clone());
                ticket.becomes(State::Acknowledged);
            }
            let ended = cancelled.and_then(|id| book.ticket(id)).filter(|ticket| ticket.terms.is_subscription);
            if let Some(ticket) = ended.cloned() {
                book.settle(&ticket, State::Failed(Failure::lost("the server ended the subscription")));
            }
        }
        self.list_changes.record(method, params);
        if let Some(notices) = self.notices.get() {
            if let (RESOURCE_UPDATED, Some(uri)) = (method, params.get("uri").and_then(Value::as_str)) {
                notices.resources.note(uri);
            }
            notices.publish(&fields, &self.redactor);
        }
        if let Some(witness) = self.witness.get() {
            witness.called(&fields);
        }
        if let (Some(listener), Some(progress)) = (listener, Progress::from_params(params)) {
            progress.tell(&listener);
        }
        let cancelled = cancelled.and_then(messages::id_of);
        match fields.remove("id") {
            Some(id) => question(&id, fields).map(Incoming::Question),
            None => cancelled.map(Incoming::Cancelled),
        }
    }
}

/// Returns a request of the server, if its id can be answered.
fn question(id: &Value, mut fields: Map<String, Value>) -> Option<Question> {
    let id = messages::id_of(id).filter(|id| id.to_string().len() <= LONGEST_NAME);
    let method = fields.get("method").and_then(Value::as_str).filter(|method| method.len() <= LONGEST_NAME);
    let (Some(id), Some(method)) = (id, method.map(str::to_owned)) else {
        tracing::debug!("ignoring a request without an id and a method of at most {LONGEST_NAME} bytes");
        return None;
    };
    Some(Question { id, method, params: fields.remove("params").unwrap_or_default() })
}

/// A message in the hands of the transport, which reports its progress. If it is dropped unsent, it has failed.
pub struct Outgoing {
    ledger: Arc<Ledger>,
    request: Option<Arc<Ticket>>,
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
        self.request.as_ref().is_some_and(|ticket| ticket.is(State::is_final) || ticket.is_late())
    }

    /// Returns a function that begins the write, for a transport that does not write itself. After a redirect it may
    /// have begun already.
    pub(crate) fn departure(&self) -> impl FnOnce() -> bool + Send + Sync + use<> {
        let (ledger, ticket) = (self.ledger.clone(), self.request.clone());
        let has_begun = |state: &State| matches!(state, State::Writing { .. } | State::Acknowledged);
        move || ticket.is_none_or(|ticket| ticket.is(has_begun) || ledger.begin_write(&ticket, None))
    }

    /// Records that the whole message was written.
    pub fn written(&self) {
        let Some(ticket) = &self.request else { return };
        let _book = lock(&self.ledger.book);
        let State::Writing { end } = *lock(&ticket.state) else { return };
        ticket.becomes(State::Written { end });
    }

    /// Records that the server refused it unseen; it will be written again, or fail.
    pub(crate) fn returned(&self) {
        let Some(ticket) = &self.request else { return };
        let mut book = lock(&self.ledger.book);
        if !ticket.is(State::is_queued) && !ticket.is(State::is_final) {
            book.enqueue(ticket);
            ticket.becomes(State::Queued);
        }
    }

    /// Records that no response will arrive.
    pub(crate) fn failed(&self, mut failure: Failure) {
        let Some(ticket) = &self.request else { return };
        let mut book = lock(&self.ledger.book);
        if ticket.is(State::is_queued) {
            failure.dispatched = Dispatched::No;
        }
        book.settle(ticket, State::Failed(failure));
    }

    /// Waits until no caller wants a response, or none can arrive. Waits forever if the message is not a request.
    /// Cancel safe.
    pub(crate) async fn abandoned(&self) {
        match &self.request {
            Some(ticket) => ticket.reaches(|state| matches!(state, State::GivenUp(_) | State::Failed(_))).await,
            None => std::future::pending().await,
        }
    }

    /// Returns `true` once the request can no longer complete.
    pub(crate) fn is_settled(&self) -> bool {
        self.request.as_ref().is_some_and(|ticket| ticket.is(State::is_final))
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some(ticket) = &self.request else { return };
        if ticket.is(|state| matches!(state, State::Queued | State::Writing { .. })) {
            self.failed(Failure::lost(CLOSED));
        }
    }
}

#[cfg(test)]
mod tests;
