//! Requests of the server, answered side by side and within bounds.

use std::collections::{HashSet, VecDeque};
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientResult, CustomResult, EmptyResult, ErrorCode, ErrorData, RequestId};
use rmcp::service::TxJsonRpcMessage;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::client::handlers::Unanswered;
use crate::session::server_requests::Answers;
use crate::task::Boxed;

/// Requests that may wait for the program at once; each further one is refused.
const MOST_OPEN: usize = 64;
/// Answers that are on their way at once: over HTTP each needs a connection.
const MOST_ON_THEIR_WAY: usize = 16;
/// About how many bytes of answers may wait for the server to read them. Beyond that nothing of it is read.
const MOST_UNREAD: usize = 1024 * 1024;
/// How long nothing is read before the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a waiting answer takes besides its content.
const ENVELOPE: usize = 1024;

/// The user rejected the request, in the words of the protocol.
const REJECTED: i32 = -1;
const TOO_MANY: i32 = -32000;

/// A request of the server, as sent.
pub(crate) struct Question {
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// The requests of one server that are open. Dropping it gives them up.
pub(super) struct Questions {
    answers: Arc<Answers>,
    open: JoinSet<(RequestId, Result<Value, ErrorData>)>,
    open_ids: HashSet<RequestId>,
    ready: VecDeque<(TxJsonRpcMessage<RoleClient>, usize)>,
    /// Each gives the size of what it has sent.
    on_their_way: JoinSet<usize>,
    unread: usize,
    full_since: Option<Instant>,
}

impl Questions {
    pub(super) fn new(answers: Arc<Answers>) -> Self {
        Self {
            answers,
            open: JoinSet::new(),
            open_ids: HashSet::new(),
            ready: VecDeque::new(),
            on_their_way: JoinSet::new(),
            unread: 0,
            full_since: None,
        }
    }

    /// Takes in a request. One whose id is in use already is left alone: which of them an answer was for, nobody could tell.
    pub(super) fn ask(&mut self, Question { id, method, params }: Question) {
        if method == "ping" {
            return self.answered(id, Ok(ClientResult::EmptyResult(EmptyResult {})), 0);
        }
        if self.open.len() >= MOST_OPEN {
            let message = format!("{MOST_OPEN} requests wait for this client already");
            return self.answered(id, Err(ErrorData::new(ErrorCode(TOO_MANY), message, None)), 0);
        }
        if !self.open_ids.insert(id.clone()) {
            tracing::debug!("ignoring a request whose id is in use");
            return;
        }
        let answers = self.answers.clone();
        let answer: Boxed<_> = Box::pin(async move {
            let answer = answers.answer(&method, params).await.map_err(|reason| refusal(&method, &reason));
            (id, answer)
        });
        self.open.spawn(answer);
    }

    /// The next answer to send, as soon as there is one. Cancel safe.
    pub(super) async fn next(&mut self) -> (TxJsonRpcMessage<RoleClient>, usize) {
        loop {
            if self.on_their_way.len() < MOST_ON_THEIR_WAY
                && let Some(ready) = self.ready.pop_front()
            {
                return ready;
            }
            tokio::select! {
                biased;
                Some(sent) = self.on_their_way.join_next() => self.sent(sent.unwrap_or_default()),
                Some(answer) = self.open.join_next() => {
                    let Ok((id, answer)) = answer else { continue };
                    self.open_ids.remove(&id);
                    let size = answer.as_ref().map_or(0, |answer| answer.to_string().len());
                    let answer = answer.map(|answer| ClientResult::CustomResult(CustomResult::new(answer)));
                    self.answered(id, answer, size);
                }
                else => pending::<()>().await,
            }
        }
    }

    /// Notes that an answer is on its way.
    pub(super) fn send(&mut self, size: usize, sending: impl Future<Output = ()> + Send + 'static) {
        let sending: Boxed<usize> = Box::pin(async move {
            sending.await;
            size
        });
        self.on_their_way.spawn(sending);
    }

    /// Returns `true` if more may be read of the server.
    pub(super) fn has_room(&self) -> bool {
        self.full_since.is_none()
    }

    /// Waits until the server has not read its answers for too long.
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
        if self.unread >= MOST_UNREAD {
            self.full_since.get_or_insert_with(Instant::now);
        }
    }

    fn sent(&mut self, size: usize) {
        self.unread = self.unread.saturating_sub(size);
        if self.unread < MOST_UNREAD {
            self.full_since = None;
        }
    }
}

fn refusal(method: &str, reason: &Unanswered) -> ErrorData {
    match reason {
        Unanswered::Unknown => {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client does not answer {method}"), None)
        }
        Unanswered::Declined => ErrorData::new(ErrorCode(REJECTED), "the user declined", None),
        Unanswered::TooMany => {
            ErrorData::new(ErrorCode(TOO_MANY), format!("too many requests of {method} within a minute"), None)
        }
    }
}
