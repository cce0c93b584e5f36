//! Requests to the other side, from the caller to the transport and back.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Fuse;
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::failure::CLOSED;
use super::request::Terms;
use super::sent::PROGRESS_TOKEN;
use super::ticket::{State, Ticket};
use super::{Failure, Ledger, Message, MethodCall, RequestError, Sender, Sending};
use crate::Dispatched;
use crate::call::events::note_request;
use crate::ground::deadline::Patience;
use crate::ground::sync::lock;
use crate::ground::task::{Boxed, cancelled, task};

/// The request that a session begins with, before anything is agreed on: it is not cancelled.
const HANDSHAKE: &str = "initialize";

/// One session with the other side.
#[derive(Clone)]
pub struct Session {
    pub(crate) ledger: Arc<Ledger>,
    pub(super) sender: Arc<dyn Sender>,
    /// Cancelled when the connection ends, which ends background work.
    pub(super) ended: CancellationToken,
    /// The runtime of the receiving side.
    pub(super) runtime: Handle,
    /// The `_meta` of every request, in protocol versions without a handshake; `None` if requests are sent unchanged.
    pub(crate) stamp: Option<Arc<Map<String, Value>>>,
}

impl Session {
    /// Sends a request and waits for its raw result. Dropping the future cancels the request. An unsent request is
    /// never sent; for a sent one, the server receives a cancellation.
    pub(crate) async fn request(&self, request: MethodCall, terms: Terms) -> Result<Value, RequestError> {
        let is_call = request.method == "tools/call";
        let mut sent = self.send(request, terms)?;
        if is_call {
            note_request(&sent.ticket.id());
        }
        let ticket = sent.ticket.clone();
        tokio::select! {
            biased;
            () = cancelled(ticket.terms.cancellation.as_ref()) => Err(RequestError::Cancelled(sent.give_up())),
            answer = sent.answer() => answer,
            () = ticket.runs_out() => Err(sent.late()),
        }
    }

    /// Sends a request unchanged and waits for its result without a time limit. Dropping the future cancels the
    /// request.
    ///
    /// # Errors
    /// Fails with the error of the other side, or if no response arrives.
    pub async fn ask(&self, request: MethodCall) -> Result<Value, RequestError> {
        self.request(request, Patience::strictly(Duration::MAX).into()).await
    }

    /// Opens a subscription, which lasts until it is dropped or the server ends it. `filter` has the form of the
    /// protocol. Cancel safe.
    pub(crate) async fn listen(&self, filter: Value) -> Result<Subscription, RequestError> {
        let terms = Terms { is_subscription: true, ..Terms::default() };
        let request = MethodCall::with("subscriptions/listen", json!({ "notifications": filter }));
        let mut sent = self.send(request, terms)?;
        sent.reaches(State::is_acknowledged).await;
        let covered = lock(&sent.ticket.covered).take();
        match covered {
            Some(covered) => Ok(Subscription { sent, covered }),
            None => {
                Err(sent.answer().await.err().unwrap_or_else(|| {
                    RequestError::invalid("the server ended the subscription before acknowledging it")
                }))
            }
        }
    }

    /// Sends a notification. Cancel safe: a partly written message is still written to its end.
    ///
    /// # Errors
    /// Fails with the reason why it was not sent.
    pub async fn notify(&self, notification: MethodCall) -> Result<(), Failure> {
        self.hand_over(Message::Notification(notification)).await
    }

    /// Hands a notification or a response to the transport.
    pub(super) fn hand_over(&self, message: Message) -> Sending {
        let outgoing = self.ledger.queued(&message);
        self.sender.clone().send(message, outgoing)
    }

    /// Runs a future in the background until the connection ends.
    pub(crate) fn in_background(&self, work: Boxed<()>) {
        let ended = self.ended.clone();
        self.runtime.spawn(task(async move {
            ended.run_until_cancelled(work).await;
        }));
    }

    fn send(&self, mut request: MethodCall, mut terms: Terms) -> Result<Sent, RequestError> {
        let (id, size) = (self.ledger.next_id(), request.size());
        let about = request.about.clone();
        let is_handshake = request.method == HANDSHAKE;
        if let Some(common) = self.stamp.as_ref().filter(|_| !is_handshake) {
            let mut meta = (**common).clone();
            meta.extend(terms.stamp.take().unwrap_or_default());
            meta.insert(PROGRESS_TOKEN.to_owned(), id.into());
            request.stamp(meta);
        }
        let message = Message::Request { id: RequestId::Number(id), call: request };
        let (ticket, outgoing) = self.ledger.admit((id, &message), size, terms).map_err(RequestError::Failed)?;
        let sending = self.sender.clone().send(message, outgoing).fuse();
        Ok(Sent { session: self.clone(), ticket, is_handshake, about, sending })
    }
}

/// A subscription to changes on a server. Dropping it ends it.
pub(crate) struct Subscription {
    sent: Sent,
    /// The subscriptions that the server acknowledged, in its own form.
    covered: Value,
}

impl Subscription {
    /// Returns `true` if the subscription covers this resource.
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        let resources = self.covered.get("resourceSubscriptions").and_then(Value::as_array);
        resources.is_some_and(|resources| resources.iter().any(|resource| resource == uri))
    }

    /// Waits until the subscription ends. Cancel safe.
    pub(crate) async fn ended(&mut self) -> Result<(), RequestError> {
        self.sent.answer().await.map(drop)
    }
}

/// A request that the transport has; dropping it gives it up, if it has no answer yet.
struct Sent {
    session: Session,
    ticket: Arc<Ticket>,
    is_handshake: bool,
    /// The request of the other side that it belongs to.
    about: Option<RequestId>,
    sending: Fuse<Sending>,
}

impl Sent {
    /// Waits for a state of the request, and sends it meanwhile. Cancel safe.
    async fn reaches(&mut self, is_reached: fn(&State) -> bool) {
        while !self.ticket.is(is_reached) {
            tokio::select! {
                biased;
                _ = &mut self.sending => {}
                () = self.ticket.reaches(is_reached) => {}
            }
        }
    }

    /// Waits for the outcome of the request. Cancel safe.
    async fn answer(&mut self) -> Result<Value, RequestError> {
        self.reaches(State::is_final).await;
        if let Some(answer) = self.ticket.take_answer() {
            return answer.map_err(RequestError::Rpc);
        }
        match self.ticket.state() {
            // The transport does not write late requests.
            State::Failed(Failure { dispatched: Dispatched::No, .. }) if self.ticket.is_late() => Err(self.late()),
            State::Failed(failure) => Err(RequestError::Failed(failure)),
            _ => Err(RequestError::Failed(Failure::new(self.give_up(), CLOSED))),
        }
    }

    fn late(&self) -> RequestError {
        let dispatched = self.session.ledger.time_out(&self.ticket);
        self.notify_of_cancellation();
        RequestError::Timeout(dispatched)
    }

    fn give_up(&self) -> Dispatched {
        let dispatched = self.session.ledger.give_up(&self.ticket);
        self.notify_of_cancellation();
        dispatched
    }

    /// Sends `notifications/cancelled` if the request has left.
    fn notify_of_cancellation(&self) {
        let has_left = self.ticket.is(|state| matches!(state, State::GivenUp(Dispatched::Unknown)));
        if has_left && !self.is_handshake {
            let params = json!({ "requestId": self.ticket.id(), "reason": "the caller no longer waits" });
            let cancelled = MethodCall::with("notifications/cancelled", params).about(self.about.clone());
            let session = self.session.clone();
            self.session.in_background(Box::pin(async move {
                // Failing to cancel changes nothing for the caller.
                let _ = session.notify(cancelled).await;
            }));
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        // Before the sending ends, so that the server receives the cancellation.
        if !self.ticket.is(State::is_final) {
            self.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Mutex;

    use super::*;
    use crate::ground::redact::Redactor;
    use crate::rpc::Outgoing;

    /// Keeps messages; their first byte leaves if there is room.
    struct Wire {
        has_room: bool,
        messages: Mutex<Vec<(Message, Outgoing)>>,
    }

    impl Sender for Wire {
        fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
            assert!(!self.has_room || outgoing.begin_write(None));
            lock(&self.messages).push((message, outgoing));
            Box::pin(pending())
        }
    }

    #[tokio::test]
    async fn cancellation_is_sent_for_requests_that_may_have_left_except_the_handshake() {
        for (method, has_room, expected) in [
            ("tools/call", true, true),
            ("tools/call", false, false),
            (HANDSHAKE, true, false),
            (HANDSHAKE, false, false),
        ] {
            let wire = Arc::new(Wire { has_room, messages: Mutex::default() });
            let ledger = Ledger::new(Duration::from_secs(30), Redactor::default());
            let (ended, runtime) = (CancellationToken::new(), Handle::current());
            let session = Session { ledger, sender: wire.clone(), ended, runtime, stamp: None };
            assert!(session.ask(MethodCall::new(method, Map::new())).now_or_never().is_none());
            // The cancellation is sent in the background.
            tokio::task::yield_now().await;
            let is_cancellation = |message: &Message| matches!(message, Message::Notification(call) if call.method == "notifications/cancelled");
            let is_sent = lock(&wire.messages).iter().any(|(message, _)| is_cancellation(message));
            assert_eq!(is_sent, expected, "{method}, with room: {has_room}");
        }
    }
}
