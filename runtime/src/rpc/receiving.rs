//! Receives the messages of the other side, and answers its requests concurrently and within limits, until the connection
//! ends.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::failure::CLOSED;
use super::{Failure, Incoming, Ledger, Message, Question, Session, Sides, Transport};
use crate::ground::contained::contained_async;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::ground::task::{Boxed, task};
use crate::ground::wire::size_of_value;

const UNREAD: &str = "the server keeps sending requests without reading the responses";
/// The error for a request with the id of an open one.
pub const IN_USE: &str = "duplicate request id: a request with this id is pending";
pub(super) const TOO_MANY: ErrorCode = ErrorCode(-32000);
/// The maximum number of answers that are sent at once: over HTTP each needs a connection.
const MOST_ON_THEIR_WAY: usize = 16;
/// The approximate limit on the bytes of answers that the other side has not read; a single answer may exceed it.
/// Beyond it, nothing more is read from the other side.
const MOST_UNREAD: usize = 1024 * 1024;
/// The time without reads and sent answers after which the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a waiting answer takes besides its content.
const ENVELOPE: usize = 2048;

/// The result of a request, or its error.
pub(crate) type Answer = Result<Value, ErrorData>;

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

/// The receiving side of a session; dropping it ends the session.
pub struct Receiving {
    transport: Box<dyn Transport>,
    questions: Questions,
}

/// Creates a session and its receiving side, which must be polled.
pub(crate) fn open(
    (sender, transport): Sides,
    ledger: Arc<Ledger>,
    responder: Arc<dyn Respond>,
    stamp: Option<Map<String, Value>>,
) -> (Session, Receiving) {
    let (ended, runtime, stamp) = (CancellationToken::new(), Handle::current(), stamp.map(Arc::new));
    let session = Session { ledger, sender, ended, runtime, stamp };
    (session.clone(), Receiving { transport, questions: Questions::new(session, responder) })
}

/// Serves a client over a transport that is created for it, and answers its requests. Returns the receiving side, which
/// the current runtime must poll.
///
/// # Errors
/// Fails if the transport cannot be created.
pub fn serve(
    transport: impl FnOnce(Arc<Ledger>) -> io::Result<Sides>,
    responder: Arc<dyn Respond>,
) -> io::Result<Receiving> {
    let ledger = Ledger::new(Duration::MAX, Redactor::default());
    Ok(open(transport(ledger.clone())?, ledger, responder, None).1)
}

impl Receiving {
    /// Receives until nothing more comes. Cancel safe.
    pub(crate) async fn until_end(&mut self) {
        loop {
            let full_since = self.questions.full_since;
            let stuck = full_since.unwrap_or_else(Instant::now) + PATIENCE;
            tokio::select! {
                biased;
                () = self.questions.advance() => {}
                incoming = self.transport.receive(), if full_since.is_none() => match incoming {
                    Some(Incoming::Question(question)) => self.questions.ask(question),
                    Some(Incoming::Cancelled(id)) => self.questions.cancel(&id),
                    None => return self.questions.finish().await,
                },
                () = sleep_until(stuck), if full_since.is_some() => {
                    return self.questions.session.ledger.close(&Failure::lost(UNREAD), None);
                }
            }
        }
    }

    /// Receives until the connection ends or `hang_up` is cancelled, then closes the connection. Dropping the future
    /// ends the session at once: a child process is killed, and an HTTP session is not deleted.
    pub async fn run(mut self, hang_up: CancellationToken) {
        hang_up.run_until_cancelled(self.until_end()).await;
        self.transport.close().await;
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let Session { ended, ledger, .. } = &self.questions.session;
        ended.cancel();
        ledger.close(&Failure::lost(CLOSED), None);
    }
}

/// The requests of the other side that are open. Dropping it gives them up.
struct Questions {
    session: Session,
    responder: Arc<dyn Respond>,
    /// The tasks that answer.
    tasks: JoinSet<()>,
    /// The request of each task; a task without one was cancelled.
    open: Vec<Open>,
    /// The answers that have not left, in order, of which the first ones are on their way; each yields its bytes, and
    /// whether it has left.
    leaving: Vec<Boxed<(usize, bool)>>,
    unread: usize,
    /// The time since which the other side has too many bytes to read; meanwhile nothing more is read from it.
    full_since: Option<Instant>,
}

struct Open {
    id: RequestId,
    size: usize,
    task: AbortHandle,
    /// The answer, once the task has ended; a task that panicked has none.
    answer: Arc<Mutex<Option<Answer>>>,
}

impl Questions {
    fn new(session: Session, responder: Arc<dyn Respond>) -> Self {
        let (tasks, open, leaving, unread, full_since) = Default::default();
        Self { session, responder, tasks, open, leaving, unread, full_since }
    }

    /// Begins to answer a request. If its id is in use, it is refused, and the other request continues.
    fn ask(&mut self, question: Question) {
        let id = question.id.clone();
        if let Some(answer) = self.responder.at_once(&question) {
            return self.answered(id, answer, 0);
        }
        if self.open.iter().any(|open| open.id == id) {
            return self.answered(id, Err(ErrorData::new(ErrorCode::INVALID_REQUEST, IN_USE, None)), 0);
        }
        let size = size_of_value(&question.params);
        let bytes: usize = self.open.iter().map(|open| open.size).sum();
        let limits = self.responder.limits();
        if self.open.len() >= limits.requests || !self.open.is_empty() && bytes.saturating_add(size) > limits.bytes {
            let message = format!("too many concurrent requests: {} are already open", self.open.len());
            return self.answered(id, Err(ErrorData::new(TOO_MANY, message, None)), 0);
        }
        let answering = self.responder.clone().respond(self.session.clone(), question);
        let answer = Arc::new(Mutex::new(None));
        let answered = answer.clone();
        let task = self.tasks.spawn(task(async move { *lock(&answered) = Some(answering.await) }));
        self.open.push(Open { id, size, task, answer });
    }

    /// Cancels a request whose answer the other side no longer wants.
    fn cancel(&mut self, id: &RequestId) {
        for open in self.open.extract_if(.., |open| open.id == *id) {
            open.task.abort();
        }
    }

    /// Sends answers, and waits until another one is ready or was sent. Cancel safe.
    async fn advance(&mut self) {
        poll_fn(|context| self.poll_advance(context)).await;
    }

    fn poll_advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for at in 0..self.leaving.len().min(MOST_ON_THEIR_WAY) {
            if let Some(answer) = self.leaving.get_mut(at)
                && let Poll::Ready((size, has_left)) = answer.as_mut().poll(context)
            {
                drop(self.leaving.remove(at));
                self.sent(size, has_left);
                return Poll::Ready(());
            }
        }
        let Poll::Ready(Some(ended)) = self.tasks.poll_join_next_with_id(context) else { return Poll::Pending };
        let task = ended.map_or_else(|error| error.id(), |(task, ())| task);
        if let Some(at) = self.open.iter().position(|open| open.task.id() == task) {
            let Open { id, answer, .. } = self.open.swap_remove(at);
            let answer = lock(&answer).take();
            let answer = answer.unwrap_or_else(|| Err(ErrorData::internal_error("failed to handle the request", None)));
            let size = answer.as_ref().map_or(0, size_of_value);
            self.answered(id, answer, size);
        }
        Poll::Ready(())
    }

    /// Sends the remaining answers after the last request, while they are useful. If the future is dropped, the rest is
    /// not sent.
    async fn finish(&mut self) {
        let patience = self.responder.limits().at_the_end;
        let answering = async {
            while !(self.tasks.is_empty() && self.leaving.is_empty()) {
                self.advance().await;
            }
        };
        let _ = timeout(patience, answering).await;
    }

    fn answered(&mut self, id: RequestId, outcome: Answer, size: usize) {
        let size = ENVELOPE.saturating_add(size);
        let session = self.session.clone();
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

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::rpc::{Outgoing, Sender, Sending};

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
        let mut questions = Questions::new(session.clone(), Arc::new(Nobody));
        for size in sizes {
            questions.answered(RequestId::Number(1), Ok(Value::Null), *size);
        }
        questions
    }

    #[tokio::test]
    async fn one_answer_may_be_large_and_many_pause_reading() {
        let session = session(&wire([left()]));
        assert!(questions(&session, &[MOST_UNREAD * 2]).full_since.is_none());
        let mut questions = questions(&session, &[MOST_UNREAD, 1]);
        assert!(questions.full_since.is_some());
        questions.advance().await;
        assert!(questions.full_since.is_none());
    }

    #[tokio::test]
    async fn sent_answers_make_way_for_others() {
        const ANSWERS: usize = 3 * MOST_ON_THEIR_WAY;
        let wire = wire((0..ANSWERS).map(|_| Box::pin(pending()) as Sending));
        let session = session(&wire);
        assert!(questions(&session, &[0; ANSWERS]).advance().now_or_never().is_none());
        assert_eq!(lock(&wire.0).len(), ANSWERS - MOST_ON_THEIR_WAY);
        *lock(&wire.0) = (0..ANSWERS).map(|_| left()).collect();
        let mut questions = questions(&session, &[0; ANSWERS]);
        questions.finish().await;
        assert!(questions.leaving.is_empty() && questions.unread == 0);
    }

    #[tokio::test]
    async fn panic_of_the_transport_loses_one_answer() {
        let session = session(&wire([Box::pin(async { panic!("on purpose") }), left()]));
        let mut questions = questions(&session, &[0; 2]);
        questions.finish().await;
        assert!(questions.leaving.is_empty() && questions.unread == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_restarts_only_after_an_answer_has_left() {
        let lost: Sending = Box::pin(ready(Err(Failure::lost("gone"))));
        let session = session(&wire([lost, left()]));
        let mut questions = questions(&session, &[MOST_UNREAD; 4]);
        let start = questions.full_since.expect("it is full");
        tokio::time::advance(PATIENCE / 2).await;
        questions.advance().await;
        assert_eq!(questions.full_since, Some(start));
        questions.advance().await;
        assert_eq!(questions.full_since, Some(start + PATIENCE / 2));
    }

    #[tokio::test]
    async fn requests_are_taken_up_to_their_limits_and_until_they_are_cancelled() {
        let session = session(&wire([]));
        let mut questions = questions(&session, &[]);
        let ask = |questions: &mut Questions, number, size| {
            let params = "x".repeat(size - 2).into();
            questions.ask(Question { id: RequestId::Number(number), method: "m".to_owned(), params });
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

    /// The other side asks without an end, and reads no response.
    struct Flood;

    impl Sender for Flood {
        fn send(self: Arc<Self>, _: Message, _: Outgoing) -> Sending {
            Box::pin(pending())
        }
    }

    impl Transport for Flood {
        fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
            let question = Question { id: RequestId::Number(1), method: "ping".to_owned(), params: Value::Null };
            Box::pin(ready(Some(Incoming::Question(question))))
        }

        fn close(&mut self) -> BoxFuture<'_, ()> {
            Box::pin(ready(()))
        }
    }

    impl Respond for Flood {
        fn limits(&self) -> OpenLimits {
            OpenLimits { requests: 0, bytes: 0, at_the_end: Duration::ZERO }
        }

        fn at_once(&self, _: &Question) -> Option<Result<Value, ErrorData>> {
            Some(Ok(Value::Null))
        }

        fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
            Box::pin(pending())
        }
    }

    fn flooded() -> (Session, Receiving) {
        let ledger = Ledger::new(Duration::MAX, Redactor::default());
        open((Arc::new(Flood), Box::new(Flood)), ledger, Arc::new(Flood), None)
    }

    #[tokio::test(start_paused = true)]
    async fn connection_ends_after_its_patience_with_unread_responses() {
        let (session, mut receiving) = flooded();
        let start = Instant::now();
        receiving.until_end().await;
        assert_eq!(start.elapsed().as_secs(), PATIENCE.as_secs());
        assert!(!session.ledger.is_open());
    }

    #[tokio::test]
    async fn dropped_receiving_side_ends_the_session() {
        let (session, receiving) = flooded();
        assert!(session.ledger.is_open() && !session.ended.is_cancelled());
        drop(receiving);
        assert!(!session.ledger.is_open() && session.ended.is_cancelled());
    }
}
