//! Answers requests of the other side, concurrently and within limits.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::Value;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::handlers::TOO_MANY;
use super::messages::Question;
use super::sent::Message;
use super::session::Session;
use super::transports::Sending;
use crate::ground::task::Boxed;
use crate::ground::wire::size_of_value;

/// Answers that are on their way at once: over HTTP each needs a connection.
const MOST_ON_THEIR_WAY: usize = 16;
/// About how many bytes of answers may wait for the other side to read them; one alone may have more. Beyond that nothing
/// of it is read.
const MOST_UNREAD: usize = 1024 * 1024;
/// The time without reads and sent answers after which the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a waiting answer takes besides its content.
const ENVELOPE: usize = 2048;

/// The error for a request whose id another one has that is open.
pub const IN_USE: &str = "duplicate request id: a request with this id is pending";

/// Answers the requests of the other side.
pub trait Respond: Send + Sync {
    /// Returns the limits of requests that are open at once.
    fn limits(&self) -> OpenLimits;

    /// Returns the answer to a request that takes no time, if it is one. Requests after it see its effect.
    fn at_once(&self, question: &Question) -> Option<Result<Value, ErrorData>>;

    /// Answers a request. The future is dropped if the answer is no longer wanted.
    fn respond(self: Arc<Self>, session: Session, question: Question) -> Boxed<Result<Value, ErrorData>>;
}

/// The limits of requests that are open at once.
#[derive(Clone, Copy, Debug)]
pub struct OpenLimits {
    /// How many there are at most; each further one is refused.
    pub requests: usize,
    /// About how many bytes they may hold together; one alone may hold more.
    pub bytes: usize,
    /// How long those that are open when the other side has sent its last are still answered.
    pub at_the_end: Duration,
}

/// The requests of the other side that are open. Dropping it gives them up.
pub(super) struct Questions {
    responder: Arc<dyn Respond>,
    tasks: JoinSet<Done>,
    /// The requests that tasks answer; all other tasks send.
    open: HashMap<Id, Open>,
    ready: VecDeque<(Message, usize)>,
    on_their_way: usize,
    unread: usize,
    full_since: Option<Instant>,
}

/// The outcome of a task.
enum Done {
    Answered(Result<Value, ErrorData>),
    Sent { size: usize, has_left: bool },
}

struct Open {
    id: RequestId,
    size: usize,
    task: AbortHandle,
}

impl Questions {
    pub(super) fn new(responder: Arc<dyn Respond>) -> Self {
        Self {
            responder,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            ready: VecDeque::new(),
            on_their_way: 0,
            unread: 0,
            full_since: None,
        }
    }

    /// Takes in a request. One whose id is in use already is refused, and the other one goes on.
    pub(super) fn ask(&mut self, session: &Session, question: Question) {
        let id = question.id.clone();
        if let Some(answer) = self.responder.at_once(&question) {
            return self.answered(id, answer, 0);
        }
        if self.open.values().any(|open| open.id == id) {
            return self.answered(id, Err(ErrorData::new(ErrorCode::INVALID_REQUEST, IN_USE, None)), 0);
        }
        let size = size_of_value(&question.params);
        let bytes: usize = self.open.values().map(|open| open.size).sum();
        let limits = self.responder.limits();
        if self.open.len() >= limits.requests || !self.open.is_empty() && bytes.saturating_add(size) > limits.bytes {
            let message = format!("too many concurrent requests: {} are already open", self.open.len());
            return self.answered(id, Err(ErrorData::new(TOO_MANY, message, None)), 0);
        }
        let responding = self.responder.clone().respond(session.clone(), question);
        let answer: Boxed<_> = Box::pin(async move { Done::Answered(responding.await) });
        let task = self.tasks.spawn(answer);
        self.open.insert(task.id(), Open { id, size, task });
    }

    /// Cancels a request whose answer the other side no longer wants.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        self.open.retain(|_, open| {
            let stays = open.id != *id;
            if !stays {
                open.task.abort();
            }
            stays
        });
    }

    /// Waits for the next answer to send. Returns `None` if a task ended without an answer to send. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<(Message, usize)> {
        if let Some(ready) = self.next_ready() {
            return Some(ready);
        }
        let Some(ended) = self.tasks.join_next_with_id().await else { return pending().await };
        let task = ended.as_ref().map_or_else(JoinError::id, |(task, _)| *task);
        match (self.open.remove(&task), ended) {
            (Some(Open { id, .. }), Ok((_, Done::Answered(answer)))) => {
                let size = answer.as_ref().map_or(0, size_of_value);
                self.answered(id, answer, size);
                self.next_ready()
            }
            (Some(Open { id, .. }), _) => {
                self.answered(id, Err(ErrorData::internal_error("failed to handle the request", None)), 0);
                self.next_ready()
            }
            (None, Ok((_, Done::Sent { size, has_left }))) => {
                self.sent(size, has_left);
                None
            }
            (None, Err(error)) if error.is_panic() => {
                self.sent(0, false);
                None
            }
            // The task was cancelled, or its answer is no longer wanted.
            (None, _) => None,
        }
    }

    /// Sends the remaining answers after the last request, while they are useful. If the future is dropped, the rest is
    /// not sent.
    pub(super) async fn finish(&mut self, session: &Session) {
        let patience = self.responder.limits().at_the_end;
        let answering = async {
            while !(self.tasks.is_empty() && self.ready.is_empty()) {
                if let Some((answer, size)) = self.next().await {
                    self.send(size, session.respond(answer));
                }
            }
        };
        let _ = tokio::time::timeout(patience, answering).await;
    }

    fn next_ready(&mut self) -> Option<(Message, usize)> {
        if self.on_their_way < MOST_ON_THEIR_WAY { self.ready.pop_front() } else { None }
    }

    /// Notes that an answer is on its way.
    pub(super) fn send(&mut self, size: usize, mut sending: Sending) {
        self.on_their_way += 1;
        // Most have left already. The task that waits for another one polls again, and is woken then.
        if let Some(outcome) = sending.as_mut().now_or_never() {
            return self.sent(size, outcome.is_ok());
        }
        let sending: Boxed<_> = Box::pin(async move { Done::Sent { size, has_left: sending.await.is_ok() } });
        self.tasks.spawn(sending);
    }

    /// Returns `true` if more may be read of the server.
    pub(super) fn has_room(&self) -> bool {
        self.full_since.is_none()
    }

    /// Waits until the other side has read none of its answers for too long.
    /// Cancel safe: another call waits for the same moment.
    pub(super) fn stuck(&self) -> impl Future<Output = ()> + Send + 'static {
        let full_since = self.full_since;
        async move {
            match full_since {
                Some(since) => sleep_until(since + PATIENCE).await,
                None => pending().await,
            }
        }
    }

    fn answered(&mut self, id: RequestId, outcome: Result<Value, ErrorData>, size: usize) {
        let message = Message::Response { id, outcome };
        let size = ENVELOPE.saturating_add(size);
        self.ready.push_back((message, size));
        self.unread = self.unread.saturating_add(size);
        if self.is_full() {
            self.full_since.get_or_insert_with(Instant::now);
        }
    }

    fn is_full(&self) -> bool {
        self.unread >= MOST_UNREAD && self.ready.len() + self.on_their_way > 1
    }

    fn sent(&mut self, size: usize, has_left: bool) {
        self.on_their_way = self.on_their_way.saturating_sub(1);
        self.unread = self.unread.saturating_sub(size);
        let since = self.full_since.filter(|_| !has_left);
        self.full_since = self.is_full().then(|| since.unwrap_or_else(Instant::now));
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;
    use crate::rpc::failure::Failure;

    struct Nobody;

    impl Respond for Nobody {
        fn limits(&self) -> OpenLimits {
            OpenLimits { requests: 0, bytes: 0, at_the_end: Duration::ZERO }
        }

        fn at_once(&self, _: &Question) -> Option<Result<Value, ErrorData>> {
            None
        }

        fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
            Box::pin(pending())
        }
    }

    fn questions(sizes: &[usize]) -> Questions {
        let mut questions = Questions::new(Arc::new(Nobody));
        for size in sizes {
            questions.answered(RequestId::Number(1), Ok(Value::Null), *size);
        }
        questions
    }

    fn send_next(questions: &mut Questions, outcome: Result<(), Failure>) {
        let (_, size) = questions.next_ready().expect("an answer");
        questions.send(size, Box::pin(ready(outcome)));
    }

    #[test]
    fn one_answer_may_be_large_and_many_pause_reading() {
        assert!(questions(&[MOST_UNREAD * 2]).has_room());
        let mut questions = questions(&[MOST_UNREAD, 1]);
        assert!(!questions.has_room());
        send_next(&mut questions, Ok(()));
        assert!(questions.has_room());
    }

    #[test]
    fn sent_answers_make_way_for_others() {
        let mut questions = questions(&[0; 3 * MOST_ON_THEIR_WAY]);
        for _ in 0..3 * MOST_ON_THEIR_WAY {
            send_next(&mut questions, Ok(()));
        }
        assert!(questions.ready.is_empty() && questions.unread == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_restarts_only_after_an_answer_has_left() {
        let mut questions = questions(&[MOST_UNREAD; 4]);
        let start = questions.full_since.expect("it is full");
        tokio::time::advance(PATIENCE / 2).await;
        send_next(&mut questions, Err(Failure::lost("gone")));
        assert_eq!(questions.full_since, Some(start));
        send_next(&mut questions, Ok(()));
        assert_eq!(questions.full_since, Some(start + PATIENCE / 2));
    }
}
