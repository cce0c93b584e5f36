//! Requests of a server to the program and its user, and their handlers.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::clock::{OpenRequests, ServerRequests};
use super::messages::is_of_protocol;
use super::receiving::{Answer, TOO_MANY};
use super::{OpenLimits, Question, Respond, Session};
use crate::ground::on_drop::OnDrop;
use crate::ground::recent::Moments;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::ground::task::Boxed;

/// The default time for an answer.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(300);
/// The default limit on answers to one server within a minute.
const DEFAULT_PER_MINUTE: usize = 60;
const ELICITATION: &str = "elicitation/create";
const SAMPLING: &str = "sampling/createMessage";
const MINUTE: Duration = Duration::from_secs(60);
/// The user rejected the request, in the words of the protocol.
const REJECTED: ErrorCode = ErrorCode(-1);
/// The maximum delay of one call by answers, as a multiple of the timeout of one answer.
const ANSWERS_IN_ALL: u32 = 10;
/// Requests that may wait for the program at once, and about how many bytes they may hold.
const MOST_OPEN: OpenLimits = OpenLimits { requests: 64, bytes: 4 * 1024 * 1024, at_the_end: Duration::ZERO };

/// A question of a server to the user during a call (`elicitation/create`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// The question, in the server's words.
    pub message: String,
    /// The JSON Schema of the answer, for a form.
    pub schema: Option<Value>,
    /// The parameters of the request, as sent.
    pub params: Value,
}

/// The answer to an [`ElicitationRequest`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationAnswer {
    /// The user gave this content.
    Accept(Map<String, Value>),
    /// The user declined.
    Decline,
    /// The user did not choose.
    Cancel,
    /// The result in the form of the protocol: `action`, `content`. It is for programs that pass on another client's
    /// answer.
    Result(Map<String, Value>),
}

/// A request of a server to the program's model (`sampling/createMessage`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The parameters of the request, as sent: `messages`, `systemPrompt`, `maxTokens` and more.
    pub params: Value,
}

/// The answer to a [`SamplingRequest`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingAnswer {
    /// The result as the protocol has it: `role`, `content`, `model`.
    Message(Map<String, Value>),
    /// The program will not ask its model.
    Decline,
}

impl SamplingAnswer {
    /// Creates a message of a model.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> Self {
        let content = json!({ "type": "text", "text": text.into() });
        let fields = [("role", Value::from("assistant")), ("content", content), ("model", Value::from(model.into()))];
        Self::Message(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(crate) fn print(self) -> Answer {
        if let Self::Message(message) = self { Ok(Value::Object(message)) } else { Err(declined()) }
    }
}

/// A folder that a server may use (`roots/list`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Root {
    /// Its URI: `file:///home/me/project`.
    pub uri: String,
    /// Its name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// Creates a folder by its URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None }
    }

    /// Sets its name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Answers a request with this method and these parameters.
pub(crate) type Answerer = Arc<dyn Fn(String, Value) -> Boxed<Answer> + Send + Sync>;

/// Boxes a handler for a field of [`Handlers`], with the functions that read its request and print its answer.
pub(crate) fn answerer<Q: 'static, A: Future + Send + 'static>(
    read: fn(String, Value) -> Q,
    answer: impl Fn(Q) -> A + Send + Sync + 'static,
    print: fn(A::Output) -> Answer,
) -> Option<Answerer> {
    Some(Arc::new(move |method, params| {
        let answer = answer(read(method, params));
        Box::pin(async move { print(answer.await) })
    }))
}

impl ElicitationRequest {
    pub(crate) fn read(_: String, params: Value) -> Self {
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { message, schema: params.get("requestedSchema").cloned(), params }
    }
}

impl ElicitationAnswer {
    pub(crate) fn print(self) -> Answer {
        Ok(match self {
            Self::Accept(content) => json!({ "action": "accept", "content": content }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
            Self::Result(result) => Value::Object(result),
        })
    }
}

fn declined() -> ErrorData {
    ErrorData::new(REJECTED, "the user declined", None)
}

/// The handlers. By default elicitation is declined, sampling rejected, and there are no roots.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub(crate) elicitation: Option<Answerer>,
    pub(crate) sampling: Option<Answerer>,
    pub(crate) roots: Option<Answerer>,
    /// For methods that are not the protocol's.
    pub(crate) own: Option<Answerer>,
    pub(crate) patience: Option<Duration>,
    pub(crate) per_minute: Option<usize>,
    /// The times of the server's latest `elicitation/create` and `sampling/createMessage` requests, over all
    /// connections.
    admitted: Arc<Mutex<[Moments; 2]>>,
}

impl Handlers {
    /// Counts a request that may disturb a user or cost money.
    fn admit(&self, method: &str) -> Result<(), ErrorData> {
        let [elicitations, samplings] = &mut *lock(&self.admitted);
        let admitted = if method == ELICITATION { elicitations } else { samplings };
        let outcome = admitted.note_within(self.per_minute.unwrap_or(DEFAULT_PER_MINUTE), MINUTE);
        outcome.map_err(|_| ErrorData::new(TOO_MANY, format!("too many {method} requests within a minute"), None))
    }

    /// Returns the maximum time for one answer.
    pub(crate) fn longest_answer(&self) -> Duration {
        self.patience.unwrap_or(DEFAULT_PATIENCE)
    }

    /// Adds the supported requests to the client capabilities.
    pub(crate) fn declare(&self, capabilities: &mut Map<String, Value>) {
        for (capability, handler) in
            [("elicitation", &self.elicitation), ("sampling", &self.sampling), ("roots", &self.roots)]
        {
            if handler.is_some() {
                capabilities.entry(capability).or_insert_with(|| json!({}));
            }
        }
    }

    /// Returns the result of a server's request, or its error. A request whose handler panics or takes too long is
    /// declined. Dropping the future aborts the handler; the request still counts for the limit of its minute.
    pub(crate) async fn answer(&self, method: &str, params: Value) -> Answer {
        let unsupported =
            || Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client does not support {method}"), None));
        let (handler, default) = match method {
            ELICITATION => (self.elicitation.clone(), Ok(json!({ "action": "decline" }))),
            SAMPLING => (self.sampling.clone(), unsupported()),
            "roots/list" => (self.roots.clone(), Ok(json!({ "roots": [] }))),
            _ => (self.own.clone().filter(|_| !is_of_protocol(method)), unsupported()),
        };
        if method == ELICITATION || method == SAMPLING && handler.is_some() {
            self.admit(method)?;
        }
        let Some(handler) = handler else { return default };
        let name = method.to_owned();
        // The handler runs on its own task, so a panic does not end the connection, and blocking does not delay it.
        let answering: Boxed<Answer> = Box::pin(async move { handler(name, params).await });
        let mut tasks = JoinSet::new();
        tasks.spawn(answering);
        match timeout(self.longest_answer(), tasks.join_next()).await {
            Ok(Some(Ok(answer))) => answer,
            _ if method == ELICITATION => ElicitationAnswer::Cancel.print(),
            _ => Err(declined()),
        }
    }
}

debug_as!(Handlers, "Handlers(..)");

/// Answers the server's requests and tracks the open ones, which pause the timeouts of calls.
pub(crate) struct Answers {
    handlers: Handlers,
    open: Arc<OpenRequests>,
}

impl Answers {
    pub(crate) fn new(handlers: Handlers) -> Self {
        Self { handlers, open: Arc::default() }
    }

    /// Returns the questions that pause the timeout of a call that begins now.
    pub(crate) fn questions(&self) -> ServerRequests {
        ServerRequests::new(self.open.clone(), self.longest_in_all())
    }

    /// Returns the maximum time that answers may delay one call.
    pub(crate) fn longest_in_all(&self) -> Duration {
        self.handlers.longest_answer().saturating_mul(ANSWERS_IN_ALL)
    }

    /// Answers a question. Dropping the future aborts the handler and closes the question.
    pub(crate) async fn answer(&self, method: &str, params: Value) -> Answer {
        // Before the handler is spawned: the clocks of calls may stop before it blocks its thread.
        let number = self.open.ask();
        let _asked = OnDrop::new(|| self.open.close(number));
        self.handlers.answer(method, params).await
    }
}

impl Respond for Answers {
    fn limits(&self) -> OpenLimits {
        MOST_OPEN
    }

    fn at_once(&self, question: &Question) -> Option<Answer> {
        (question.method == "ping").then(|| Ok(json!({})))
    }

    fn respond(self: Arc<Self>, _: Session, question: Question) -> Boxed<Answer> {
        Box::pin(async move { self.answer(&question.method, question.params).await })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use rmcp::model::RequestId;
    use tokio::time::Instant;

    use super::*;
    use crate::ground::deadline::Patience;
    use crate::rpc::request::Terms;
    use crate::rpc::ticket::Ticket;

    fn eliciting<A: Future<Output = ElicitationAnswer> + Send + 'static>(
        answer: impl Fn(ElicitationRequest) -> A + Send + Sync + 'static,
    ) -> Option<Answerer> {
        answerer(ElicitationRequest::read, answer, ElicitationAnswer::print)
    }

    fn sampling<A: Future<Output = SamplingAnswer> + Send + 'static>(
        answer: impl Fn(SamplingRequest) -> A + Send + Sync + 'static,
    ) -> Option<Answerer> {
        answerer(|_, params| SamplingRequest { params }, answer, SamplingAnswer::print)
    }

    fn rooting<A: Future<Output = Vec<Root>> + Send + 'static>(
        answer: impl Fn(()) -> A + Send + Sync + 'static,
    ) -> Option<Answerer> {
        answerer(|_, _| (), answer, |roots| Ok(json!({ "roots": roots })))
    }

    #[tokio::test]
    async fn default_handlers_decline_all_requests() {
        let handlers = Handlers::default();
        assert_eq!(handlers.answer("elicitation/create", json!({})).await, Ok(json!({ "action": "decline" })));
        assert_eq!(
            handlers.answer("sampling/createMessage", json!({})).await.map_err(|error| error.code),
            Err(ErrorCode::METHOD_NOT_FOUND)
        );
        assert_eq!(handlers.answer("roots/list", json!({})).await, Ok(json!({ "roots": [] })));
        assert_eq!(
            handlers.answer("wallet/open", json!({})).await.map_err(|error| error.code),
            Err(ErrorCode::METHOD_NOT_FOUND)
        );
        let mut declared = Map::new();
        handlers.declare(&mut declared);
        assert!(declared.is_empty());
    }

    #[tokio::test]
    async fn handler_that_hangs_or_panics_is_declined() {
        let handlers = Handlers {
            patience: Some(Duration::from_millis(20)),
            elicitation: eliciting(|_| pending()),
            sampling: sampling(async |_| panic!("broken")),
            ..Handlers::default()
        };
        assert_eq!(handlers.answer("elicitation/create", json!({})).await, Ok(json!({ "action": "cancel" })));
        assert_eq!(
            handlers.answer("sampling/createMessage", json!({})).await.map_err(|error| error.code),
            Err(ErrorCode(-1))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_of_request_is_answered_so_often_within_a_minute() {
        let handlers = Handlers {
            per_minute: Some(2),
            elicitation: eliciting(async |_| ElicitationAnswer::Cancel),
            sampling: sampling(async |_| SamplingAnswer::Decline),
            ..Handlers::default()
        };
        let elicited = async || handlers.answer("elicitation/create", json!({})).await.is_ok();
        assert!(elicited().await);
        tokio::time::advance(MINUTE / 2).await;
        assert!(elicited().await && !elicited().await);
        for expected in [REJECTED, REJECTED, TOO_MANY] {
            assert_eq!(
                handlers.answer("sampling/createMessage", json!({})).await.map_err(|error| error.code),
                Err(expected)
            );
        }
        tokio::time::advance(MINUTE / 2).await;
        assert!(elicited().await && !elicited().await, "the second answer is less than a minute old");
    }

    #[tokio::test]
    async fn handler_that_panics_before_its_first_poll_is_declined() {
        let handlers = Handlers {
            elicitation: eliciting(|_| -> std::future::Ready<ElicitationAnswer> { panic!("broken") }),
            sampling: sampling(|_| -> std::future::Ready<SamplingAnswer> { panic!("broken") }),
            ..Handlers::default()
        };
        assert_eq!(handlers.answer("elicitation/create", json!({})).await, Ok(json!({ "action": "cancel" })));
        assert_eq!(
            handlers.answer("sampling/createMessage", json!({})).await.map_err(|error| error.code),
            Err(REJECTED)
        );
    }

    #[tokio::test]
    async fn roots_are_computed_for_each_request() {
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let roots = rooting(move |()| {
            let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move { vec![Root::new(format!("file:///{number}"))] }
        });
        let mut handlers = Handlers { roots, ..Handlers::default() };
        for number in 0..2 {
            let roots = json!({ "roots": [{ "uri": format!("file:///{number}") }] });
            assert_eq!(handlers.answer("roots/list", json!({})).await, Ok(roots));
        }
        handlers.roots = rooting(async |()| panic!("broken"));
        assert_eq!(handlers.answer("roots/list", json!({})).await.map_err(|error| error.code), Err(REJECTED));
    }

    #[tokio::test]
    async fn passed_on_response_is_unchanged() {
        let answer = json!({ "action": "accept", "_meta": { "k": 1 } });
        let given = answer.as_object().cloned().expect("an object");
        let elicitation = eliciting(move |_| std::future::ready(ElicitationAnswer::Result(given.clone())));
        let handlers = Handlers { elicitation, ..Handlers::default() };
        assert_eq!(handlers.answer("elicitation/create", json!({})).await, Ok(answer));
    }

    #[tokio::test]
    async fn set_handlers_are_declared_and_answer() {
        let roots = vec![Root::new("file:///a").name("a"), Root::new("file:///b")];
        let handlers = Handlers {
            sampling: sampling(async |_| SamplingAnswer::text("m", "hello")),
            roots: rooting(move |()| std::future::ready(roots.clone())),
            ..Handlers::default()
        };
        let mut declared = Map::new();
        handlers.declare(&mut declared);
        assert_eq!(Value::Object(declared), json!({ "sampling": {}, "roots": {} }));
        let message = handlers.answer("sampling/createMessage", json!({})).await.expect("an answer");
        assert_eq!(
            message,
            json!({ "role": "assistant", "content": { "type": "text", "text": "hello" }, "model": "m" })
        );
        let roots = handlers.answer("roots/list", json!({})).await.expect("an answer");
        assert_eq!(roots, json!({ "roots": [{ "uri": "file:///a", "name": "a" }, { "uri": "file:///b" }] }));
    }

    #[test]
    fn only_ping_is_answered_at_once() {
        let answers = Answers::new(Handlers::default());
        let at_once = |method: &str| {
            answers.at_once(&Question { id: RequestId::Number(1), method: method.to_owned(), params: Value::Null })
        };
        assert_eq!((at_once("ping"), at_once("roots/list")), (Some(Ok(json!({}))), None));
    }

    #[tokio::test]
    async fn handler_that_blocks_its_thread_pauses_the_timeout_of_a_call() {
        const TIMEOUT: Duration = Duration::from_millis(200);
        let elicitation = eliciting(async |_| {
            std::thread::sleep(2 * TIMEOUT);
            ElicitationAnswer::Decline
        });
        let answers = Answers::new(Handlers { elicitation, ..Handlers::default() });
        let start = Instant::now();
        let terms = Terms { questions: Some(answers.questions()), ..Patience::strictly(TIMEOUT).into() };
        let ticket = Ticket::new(0, 1, 0, terms);
        let call = tokio::spawn(async move { ticket.runs_out().await });
        tokio::task::yield_now().await;
        assert_eq!(answers.answer("elicitation/create", Value::Null).await, Ok(json!({ "action": "decline" })));
        call.await.expect("no panic");
        assert!(start.elapsed() >= 3 * TIMEOUT, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn questions_pause_a_call_for_at_most_ten_times_the_time_of_an_answer() {
        let answers = Answers::new(Handlers { elicitation: eliciting(|_| pending()), ..Handlers::default() });
        for (questions, seconds) in [(0, 1), (1, 301), (2, 601), (12, 3001)] {
            let (start, patience) = (Instant::now(), Patience::strictly(Duration::from_secs(1)));
            let terms = Terms { questions: Some(answers.questions()), ..patience.into() };
            let ticket = Ticket::new(0, 1, 0, terms);
            let asking = async {
                for _ in 0..questions {
                    let _ = answers.answer("elicitation/create", Value::Null).await;
                }
                pending().await
            };
            tokio::select! {
                () = asking => {}
                () = ticket.runs_out() => {}
            }
            assert_eq!(start.elapsed().as_secs(), seconds, "{questions} questions");
        }
    }
}
