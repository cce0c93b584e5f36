//! Answers requests of the server, concurrently and within limits.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ClientResult, CustomResult, EmptyResult, ErrorCode, ErrorData, RequestId};
use serde_json::Value;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::messages::Question;
use super::server_requests::Answers;
use super::transports::Sending;
use crate::ground::task::Boxed;
use crate::ground::wire::size_of_value;
use crate::rpc::handlers::Unanswered;

/// Requests that may wait for the program at once; each further one is refused.
const MOST_OPEN: usize = 64;
/// About how many bytes they may hold together; one alone may hold more.
const MOST_OPEN_BYTES: usize = 4 * 1024 * 1024;
/// Answers that are on their way at once: over HTTP each needs a connection.
const MOST_ON_THEIR_WAY: usize = 16;
/// About how many bytes of answers may wait for the server to read them; one alone may have more. Beyond that nothing of it
/// is read.
const MOST_UNREAD: usize = 1024 * 1024;
/// How long nothing is read and no answer leaves before the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a waiting answer takes besides its content.
const ENVELOPE: usize = 2048;

/// The user rejected the request, in the words of the protocol.
const REJECTED: i32 = -1;
const TOO_MANY: i32 = -32000;

/// The requests of one server that are open. Dropping it gives them up.
pub(super) struct Questions {
    answers: Arc<Answers>,
    tasks: JoinSet<Done>,
    /// The requests that tasks answer; all other tasks send.
    open: HashMap<Id, Open>,
    ready: VecDeque<(ClientJsonRpcMessage, usize)>,
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
    pub(super) fn new(answers: Arc<Answers>) -> Self {
        Self {
            answers,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            ready: VecDeque::new(),
            on_their_way: 0,
            unread: 0,
            full_since: None,
        }
    }

    /// Takes in a request. One whose id is in use already is left alone: which of them an answer was for, nobody could tell.
    pub(super) fn ask(&mut self, Question { id, method, params }: Question) {
        if method == "ping" {
            return self.answered(id, Ok(ClientResult::EmptyResult(EmptyResult {})), 0);
        }
        if self.open.values().any(|open| open.id == id) {
            tracing::debug!("ignoring a request whose id is in use");
            return;
        }
        let size = size_of_value(&params);
        let bytes: usize = self.open.values().map(|open| open.size).sum();
        if self.open.len() >= MOST_OPEN || !self.open.is_empty() && bytes.saturating_add(size) > MOST_OPEN_BYTES {
            let message = format!("{} requests are already waiting for this client", self.open.len());
            return self.answered(id, Err(ErrorData::new(ErrorCode(TOO_MANY), message, None)), 0);
        }
        let answers = self.answers.clone();
        let answer: Boxed<_> = Box::pin(async move {
            Done::Answered(answers.answer(&method, params).await.map_err(|reason| refusal(&method, &reason)))
        });
        let task = self.tasks.spawn(answer);
        self.open.insert(task.id(), Open { id, size, task });
    }

    /// The server wants no answer any more.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        if let Some(open) = self.open.values().find(|open| open.id == *id) {
            open.task.abort();
        }
    }

    /// The next answer to send, as soon as there is one; none where one has left that reading waited for. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<(ClientJsonRpcMessage, usize)> {
        loop {
            if self.on_their_way < MOST_ON_THEIR_WAY
                && let Some(ready) = self.ready.pop_front()
            {
                return Some(ready);
            }
            let Some(ended) = self.tasks.join_next_with_id().await else { return pending().await };
            let task = ended.as_ref().map_or_else(JoinError::id, |(task, _)| *task);
            match (self.open.remove(&task), ended) {
                (Some(Open { id, .. }), Ok((_, Done::Answered(answer)))) => {
                    let size = answer.as_ref().map_or(0, |answer| answer.to_string().len());
                    let answer = answer.map(|answer| ClientResult::CustomResult(CustomResult::new(answer)));
                    self.answered(id, answer, size);
                }
                // The server has cancelled it.
                (Some(_), _) => {}
                (None, ended) => {
                    let had_room = self.has_room();
                    let (size, has_left) = match ended {
                        Ok((_, Done::Sent { size, has_left })) => (size, has_left),
                        _ => (0, false),
                    };
                    self.sent(size, has_left);
                    if !had_room {
                        return None;
                    }
                }
            }
        }
    }

    /// Notes that an answer is on its way.
    pub(super) fn send(&mut self, size: usize, sending: Sending) {
        let sending: Boxed<_> = Box::pin(async move { Done::Sent { size, has_left: sending.await.is_ok() } });
        self.tasks.spawn(sending);
        self.on_their_way += 1;
    }

    /// Returns `true` if more may be read of the server.
    pub(super) fn has_room(&self) -> bool {
        self.full_since.is_none()
    }

    /// Waits until the server has read none of its answers for too long.
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

    fn answered(&mut self, id: RequestId, answer: Result<ClientResult, ErrorData>, size: usize) {
        let message = match answer {
            Ok(result) => ClientJsonRpcMessage::response(result, id),
            Err(error) => ClientJsonRpcMessage::error(error, Some(id)),
        };
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

fn refusal(method: &str, reason: &Unanswered) -> ErrorData {
    match reason {
        Unanswered::Unknown => {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client does not support {method}"), None)
        }
        Unanswered::Declined => ErrorData::new(ErrorCode(REJECTED), "the user declined", None),
        Unanswered::Error(code, message) => ErrorData::new(ErrorCode(*code), message.clone(), None),
        Unanswered::TooMany => {
            ErrorData::new(ErrorCode(TOO_MANY), format!("too many {method} requests within a minute"), None)
        }
    }
}
