//! Answers requests of the other side, concurrently and within limits.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::handlers::TOO_MANY;
use super::{Message, Question, Session};
use crate::ground::contained::contained_async;
use crate::ground::task::Boxed;
use crate::ground::wire::size_of_value;

/// The maximum number of answers that are sent at once: over HTTP each needs a connection.
const MOST_ON_THEIR_WAY: usize = 16;
/// The approximate limit on the bytes of answers that the other side has not read; a single answer may exceed it.
/// Beyond it, nothing more is read from the other side.
const MOST_UNREAD: usize = 1024 * 1024;
/// The time without reads and sent answers after which the connection is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a waiting answer takes besides its content.
const ENVELOPE: usize = 2048;

/// The error for a request with the id of an open one.
pub const IN_USE: &str = "duplicate request id: a request with this id is pending";

/// Answers the requests of the other side.
pub trait Respond: Send + Sync {
    /// Returns the limits of requests that are open at once.
    fn limits(&self) -> OpenLimits;

    /// Returns the answer to a request that can be answered at once, or `None`. Later requests see its effect.
    fn at_once(&self, question: &Question) -> Option<Result<Value, ErrorData>>;

    /// Answers a request. The future is dropped if the answer is no longer wanted.
    fn respond(self: Arc<Self>, session: Session, question: Question) -> Boxed<Result<Value, ErrorData>>;
}

/// The limits of requests that are open at once.
#[derive(Clone, Copy, Debug)]
pub struct OpenLimits {
    /// The maximum number; further requests are refused.
    pub requests: usize,
    /// The approximate limit on their bytes in total; a single request may exceed it.
    pub bytes: usize,
    /// The time to answer open requests after the other side has sent its last message.
    pub at_the_end: Duration,
}

/// The requests of the other side that are open. Dropping it gives them up.
pub(super) struct Questions {
    responder: Arc<dyn Respond>,
    /// The tasks that answer.
    tasks: JoinSet<Result<Value, ErrorData>>,
    /// The request of each task; a task without one was cancelled.
    open: Vec<Open>,
    /// The answers that have not left, in order, of which the first ones are on their way; each yields its bytes, and
    /// whether it has left.
    leaving: Vec<Boxed<(usize, bool)>>,
    unread: usize,
    /// The time since which the other side has too many bytes to read; meanwhile nothing more is read from it.
    pub(super) full_since: Option<Instant>,
}

struct Open {
    id: RequestId,
    size: usize,
    task: AbortHandle,
}

impl Questions {
    pub(super) fn new(responder: Arc<dyn Respond>) -> Self {
        Self { responder, tasks: JoinSet::new(), open: Vec::new(), leaving: Vec::new(), unread: 0, full_since: None }
    }

    /// Begins to answer a request. If its id is in use, it is refused, and the other request continues.
    pub(super) fn ask(&mut self, session: &Session, question: Question) {
        let id = question.id.clone();
        if let Some(answer) = self.responder.at_once(&question) {
            return self.answered(session, id, answer, 0);
        }
        if self.open.iter().any(|open| open.id == id) {
            return self.answered(session, id, Err(ErrorData::new(ErrorCode::INVALID_REQUEST, IN_USE, None)), 0);
        }
        let size = size_of_value(&question.params);
        let bytes: usize = self.open.iter().map(|open| open.size).sum();
        let limits = self.responder.limits();
        if self.open.len() >= limits.requests || !self.open.is_empty() && bytes.saturating_add(size) > limits.bytes {
            let message = format!("too many concurrent requests: {} are already open", self.open.len());
            return self.answered(session, id, Err(ErrorData::new(TOO_MANY, message, None)), 0);
        }
        let task = self.tasks.spawn(self.responder.clone().respond(session.clone(), question));
        self.open.push(Open { id, size, task });
    }

    /// Cancels a request whose answer the other side no longer wants.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        for open in self.open.extract_if(.., |open| open.id == *id) {
            open.task.abort();
        }
    }

    /// Sends answers, and waits until another one is ready or was sent. Cancel safe.
    pub(super) async fn advance(&mut self, session: &Session) {
        let leaving = poll_fn(|context| {
            for (at, answer) in self.leaving.iter_mut().take(MOST_ON_THEIR_WAY).enumerate() {
                if let Poll::Ready(left) = answer.as_mut().poll(context) {
                    drop(self.leaving.remove(at));
                    return Poll::Ready(left);
                }
            }
            Poll::Pending
        });
        tokio::select! {
            biased;
            (size, has_left) = leaving => self.sent(size, has_left),
            Some(ended) = self.tasks.join_next_with_id() => {
                let (task, answer) = ended.unwrap_or_else(|error| {
                    (error.id(), Err(ErrorData::internal_error("failed to handle the request", None)))
                });
                if let Some(at) = self.open.iter().position(|open| open.task.id() == task) {
                    let Open { id, .. } = self.open.swap_remove(at);
                    let size = answer.as_ref().map_or(0, size_of_value);
                    self.answered(session, id, answer, size);
                }
            }
        }
    }

    /// Sends the remaining answers after the last request, while they are useful. If the future is dropped, the rest is
    /// not sent.
    pub(super) async fn finish(&mut self, session: &Session) {
        let patience = self.responder.limits().at_the_end;
        let answering = async {
            while !(self.tasks.is_empty() && self.leaving.is_empty()) {
                self.advance(session).await;
            }
        };
        let _ = tokio::time::timeout(patience, answering).await;
    }

    fn answered(&mut self, session: &Session, id: RequestId, outcome: Result<Value, ErrorData>, size: usize) {
        let size = ENVELOPE.saturating_add(size);
        let session = session.clone();
        self.leaving.push(Box::pin(async move {
            let sent = contained_async(move || session.hand_over(Message::Response { id, outcome })).await;
            (size, matches!(sent, Ok(Ok(()))))
        }));
        self.unread = self.unread.saturating_add(size);
        if self.is_full() {
            self.full_since.get_or_insert_with(Instant::now);
        }
    }

    fn is_full(&self) -> bool {
        self.unread >= MOST_UNREAD && self.leaving.len() > 1
    }

    fn sent(&mut self, size: usize, has_left: bool) {
        self.unread = self.unread.saturating_sub(size);
        let since = self.full_since.filter(|_| !has_left);
        self.full_since = self.is_full().then(|| since.unwrap_or_else(Instant::now));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::{pending, ready};
    use std::sync::Mutex;

    use futures_util::FutureExt;

    use tokio::runtime::Handle;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::ground::redact::Redactor;
    use crate::ground::sync::lock;
    use crate::rpc::{Failure, Ledger, Outgoing, Sender, Sending};

    /// Sends answers with these outcomes, and then waits forever.
    struct Wire(Mutex<VecDeque<Sending>>);

    impl Sender for Wire {
        fn send(self: Arc<Self>, _: Message, _: Outgoing) -> Sending {
            lock(&self.0).pop_front().unwrap_or_else(|| Box::pin(pending()))
        }
    }

    fn session(wire: &Arc<Wire>) -> Session {
        let ledger = Ledger::new(Duration::from_secs(30), Redactor::default());
        let (ended, runtime) = (CancellationToken::new(), Handle::current());
        Session { ledger, sender: wire.clone(), ended, runtime, stamp: None }
    }

    fn wire(sendings: impl IntoIterator<Item = Sending>) -> Arc<Wire> {
        Arc::new(Wire(Mutex::new(sendings.into_iter().collect())))
    }

    fn left() -> Sending {
        Box::pin(ready(Ok(())))
    }

    /// The limit on the bytes of open requests.
    const MOST_BYTES: usize = 1000;

    struct Nobody;

    impl Respond for Nobody {
        fn limits(&self) -> OpenLimits {
            OpenLimits { requests: 3, bytes: MOST_BYTES, at_the_end: Duration::from_secs(5) }
        }

        fn at_once(&self, _: &Question) -> Option<Result<Value, ErrorData>> {
            None
        }

        fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
            Box::pin(pending())
        }
    }

    fn questions(session: &Session, sizes: &[usize]) -> Questions {
        let mut questions = Questions::new(Arc::new(Nobody));
        for size in sizes {
            questions.answered(session, RequestId::Number(1), Ok(Value::Null), *size);
        }
        questions
    }

    #[tokio::test]
    async fn one_answer_may_be_large_and_many_pause_reading() {
        let session = session(&wire([left()]));
        assert!(questions(&session, &[MOST_UNREAD * 2]).full_since.is_none());
        let mut questions = questions(&session, &[MOST_UNREAD, 1]);
        assert!(questions.full_since.is_some());
        questions.advance(&session).await;
        assert!(questions.full_since.is_none());
    }

    #[tokio::test]
    async fn sent_answers_make_way_for_others() {
        const ANSWERS: usize = 3 * MOST_ON_THEIR_WAY;
        let wire = wire((0..ANSWERS).map(|_| Box::pin(pending()) as Sending));
        let session = session(&wire);
        assert!(questions(&session, &[0; ANSWERS]).advance(&session).now_or_never().is_none());
        assert_eq!(lock(&wire.0).len(), ANSWERS - MOST_ON_THEIR_WAY);
        *lock(&wire.0) = (0..ANSWERS).map(|_| left()).collect();
        let mut questions = questions(&session, &[0; ANSWERS]);
        questions.finish(&session).await;
        assert!(questions.leaving.is_empty() && questions.unread == 0);
    }

    #[tokio::test]
    async fn panic_of_the_transport_loses_one_answer() {
        let session = session(&wire([Box::pin(async { panic!("on purpose") }), left()]));
        let mut questions = questions(&session, &[0; 2]);
        questions.finish(&session).await;
        assert!(questions.leaving.is_empty() && questions.unread == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_restarts_only_after_an_answer_has_left() {
        let lost: Sending = Box::pin(ready(Err(Failure::lost("gone"))));
        let session = session(&wire([lost, left()]));
        let mut questions = questions(&session, &[MOST_UNREAD; 4]);
        let start = questions.full_since.expect("it is full");
        tokio::time::advance(PATIENCE / 2).await;
        questions.advance(&session).await;
        assert_eq!(questions.full_since, Some(start));
        questions.advance(&session).await;
        assert_eq!(questions.full_since, Some(start + PATIENCE / 2));
    }

    #[tokio::test]
    async fn requests_are_taken_up_to_their_limits_and_until_they_are_cancelled() {
        let session = session(&wire([]));
        let mut questions = questions(&session, &[]);
        let ask = |questions: &mut Questions, number, size| {
            let params = "x".repeat(size - 2).into();
            questions.ask(&session, Question { id: RequestId::Number(number), method: "m".to_owned(), params });
            questions.open.len()
        };
        let cancel = |questions: &mut Questions, number| questions.cancel(&RequestId::Number(number));
        assert_eq!(ask(&mut questions, 1, 2 * MOST_BYTES), 1, "a single one may be larger");
        assert_eq!(ask(&mut questions, 2, 2), 1, "too many bytes");
        cancel(&mut questions, 2);
        assert_eq!(questions.open.len(), 1, "another is cancelled");
        cancel(&mut questions, 1);
        assert!(questions.open.is_empty());
        assert_eq!(ask(&mut questions, 1, MOST_BYTES / 2), 1);
        assert_eq!(ask(&mut questions, 2, MOST_BYTES / 2), 2, "as many bytes as may be");
        assert_eq!(ask(&mut questions, 3, 2), 2, "more bytes");
        cancel(&mut questions, 2);
        assert_eq!(ask(&mut questions, 1, 2), 1, "its id is in use");
        assert_eq!([3, 4, 5].map(|number| ask(&mut questions, number, 2)), [2, 3, 3], "too many requests");
    }
}
