//! Requests over an open connection that may need several rounds, with the server's requests for input and its tasks:
//! calls of tools, prompts, resources, and requests by method.
//!
//! Dropping `ask` ends everything that runs for it. The open request is given up, the handler is aborted (`answers_to`,
//! `answer`), and a task is cancelled (`finished`, `pause`).

use std::borrow::Cow;
use std::mem::take;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::connection::Connection;
use crate::call::INPUT_REQUIRED;
use crate::ground::deadline::{Deadline, Patience};
use crate::ground::on_drop::OnDrop;
use crate::rpc::messages::error_data;
use crate::rpc::request::{RequestError, Terms};
use crate::rpc::sent::{CLIENT_CAPABILITIES, MethodCall};
use crate::{CallOptions, Dispatched};

const MAX_INPUT_ROUNDS: usize = 10;
const PAUSE_BEFORE_ASKING_AGAIN: Duration = Duration::from_millis(100);
/// The default and the shortest interval between polls of a task.
const POLL: Duration = Duration::from_millis(500);
const SHORTEST_POLL: Duration = Duration::from_millis(5);
const PATIENCE_FOR_CANCELLING: Duration = Duration::from_secs(5);

/// The time limits of one call: those of its requests, and the rest of the time for answers to the server's questions.
struct Time {
    patience: Patience,
    for_answers: Duration,
}

/// One request to a server, which is sent again with the answers to the server's questions.
pub(crate) struct Ask {
    call: MethodCall,
    /// The count of changes to the list of tools for which the call was allowed.
    pub(crate) list: Option<u64>,
    /// The server has given a result, and may have begun to work on it.
    pub(crate) is_answered: bool,
}

impl Ask {
    pub(crate) fn new(method: impl Into<Cow<'static, str>>, params: Map<String, Value>) -> Self {
        Self { call: MethodCall::new(method, params), list: None, is_answered: false }
    }

    pub(crate) fn tool(name: &str, arguments: Map<String, Value>) -> Self {
        Self::new("tools/call", named(name, Some(arguments)))
    }

    pub(crate) fn prompt(name: &str, arguments: Map<String, Value>) -> Self {
        Self::new("prompts/get", named(name, (!arguments.is_empty()).then_some(arguments)))
    }

    pub(crate) fn resource(uri: &str) -> Self {
        Self::new("resources/read", Map::from_iter([("uri".to_owned(), Value::from(uri))]))
    }

    /// Adds the answers to the server's questions, and the state to return to it.
    fn go_on(&mut self, state: Option<String>, answers: Option<Map<String, Value>>) {
        // A call that the server has begun continues, even if the server changes its list.
        self.list = None;
        let params = &mut self.call.params;
        for (key, value) in [("inputResponses", answers.map(Value::from)), ("requestState", state.map(Value::from))] {
            params.remove(key);
            params.extend(value.map(|value| (key.to_owned(), value)));
        }
    }
}

fn named(name: &str, arguments: Option<Map<String, Value>>) -> Map<String, Value> {
    let mut params = Map::from_iter([("name".to_owned(), name.into())]);
    params.extend(arguments.map(|arguments| ("arguments".to_owned(), arguments.into())));
    params
}

impl Connection {
    /// Sends a request, answers the server's questions, and returns the raw result.
    pub(crate) async fn ask(
        &self,
        ask: &mut Ask,
        options: &CallOptions,
        patience: Patience,
    ) -> Result<Value, RequestError> {
        if let Some(meta) = options.given().meta.as_deref() {
            ask.call.stamp(meta.clone());
        }
        let passed = options.given().input.as_ref();
        // Older servers do not ask in results, so passed input is ignored for them.
        if let Some(input) = passed.filter(|input| self.is_modern() && !input.is_empty()) {
            ask.go_on(input.state.clone(), input.responses.clone());
        }
        let mut time = Time { patience, for_answers: self.answers.longest_in_all() };
        for round in 0..MAX_INPUT_ROUNDS {
            let terms = self.terms(options, time.patience, ask.list);
            let outcome = self.session.request(ask.call.clone(), terms).await;
            let mut result = if round == 0 { outcome? } else { outcome.map_err(RequestError::after_a_round)? };
            ask.is_answered = true;
            if !result.is_object() {
                return Err(RequestError::invalid("the result is not an object"));
            }
            match result.get("resultType").and_then(Value::as_str).filter(|_| self.is_modern()) {
                Some(INPUT_REQUIRED) if passed.is_some() => return Ok(result),
                Some(INPUT_REQUIRED) => {}
                Some("task") => return Box::pin(self.finished(result, options, time)).await,
                _ => return Ok(result),
            }
            let state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
            let questions = questions(&mut result);
            let answers = if questions.is_empty() {
                tokio::time::sleep(PAUSE_BEFORE_ASKING_AGAIN.min(time.patience.cap.left())).await;
                None
            } else {
                Some(Box::pin(self.answers_to(questions, options, &mut time)).await?)
            };
            ask.go_on(state, answers);
            time.patience = time.patience.renewed();
        }
        Err(RequestError::invalid(format!("the server asked for input more than {MAX_INPUT_ROUNDS} times")))
    }

    fn terms(&self, options: &CallOptions, patience: Patience, list: Option<u64>) -> Terms {
        // A request that is made for another client has its capabilities.
        let capabilities = options.given().capabilities.as_deref().filter(|_| self.is_modern());
        let stamp = capabilities.map(|declared| Map::from_iter([(CLIENT_CAPABILITIES.to_owned(), declared.clone())]));
        Terms {
            listener: options.given().progress.clone(),
            cancellation: options.cancellation().cloned(),
            // Modern servers ask in results, so each of their questions belongs to a known call.
            questions: (!self.is_modern()).then(|| self.answers.questions()),
            list,
            stamp,
            ..patience.into()
        }
    }

    /// Returns the answers to the server's questions; the time for them does not count.
    async fn answers_to(
        &self,
        questions: Map<String, Value>,
        options: &CallOptions,
        time: &mut Time,
    ) -> Result<Map<String, Value>, RequestError> {
        let start = Instant::now();
        let answering = Deadline::after(time.for_answers).bound(self.answer(questions));
        let answered = options.unless_cancelled(answering).await;
        time.for_answers = time.for_answers.saturating_sub(start.elapsed());
        time.patience = time.patience.without(start.elapsed());
        let answered = answered.ok_or(RequestError::Cancelled(Dispatched::Unknown))?;
        answered.ok_or(RequestError::Timeout(Dispatched::Unknown))?
    }

    async fn answer(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, RequestError> {
        let mut answers = Map::new();
        for (key, mut question) in questions {
            let params = question.get_mut("params").map(Value::take).unwrap_or_default();
            let method = question.get("method").and_then(Value::as_str).unwrap_or_default();
            let answer =
                self.answers.answer(method, params).await.map_err(|error| {
                    RequestError::invalid(format!("the server asks for `{method}`: {}", error.message))
                })?;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    /// Waits for the result of a task. If the call is given up, the task is cancelled.
    async fn finished(&self, mut task: Value, options: &CallOptions, mut time: Time) -> Result<Value, RequestError> {
        let Some(id) = task.get("taskId").and_then(Value::as_str).map(str::to_owned) else {
            return Err(RequestError::invalid("the server created a task without `taskId`"));
        };
        let abandoned = OnDrop::new(|| {
            let session = self.session.clone();
            let cancel = MethodCall::with("tasks/cancel", json!({ "taskId": id }));
            let patience = Patience::strictly(PATIENCE_FOR_CANCELLING);
            self.session.in_background(Box::pin(async move {
                // A server that does not answer it keeps nothing alive here.
                let _ = session.request(cancel, patience.into()).await;
            }));
        });
        // A task shows a question until it has looked at the answer.
        let mut answered = Map::new();
        let outcome = async {
            loop {
                match task.get("status").and_then(Value::as_str) {
                    Some("completed") => {
                        let result = task.get_mut("result").map(Value::take).filter(Value::is_object);
                        return result.ok_or_else(|| RequestError::invalid("the task has ended without a result"));
                    }
                    Some("failed") => {
                        let error = task.get("error").filter(|error| error.is_object()).unwrap_or(&Value::Null);
                        return Err(RequestError::Rpc(error_data(error, "the task failed")));
                    }
                    Some("cancelled") => {
                        return Err(RequestError::invalid("the server cancelled the task"));
                    }
                    Some(INPUT_REQUIRED) => {
                        let mut questions = questions(&mut task);
                        questions.retain(|key, question| answered.get(key) != Some(question));
                        answered.extend(questions.clone());
                        if !questions.is_empty() {
                            let answers = self.answers_to(questions, options, &mut time).await?;
                            let update =
                                MethodCall::with("tasks/update", json!({ "taskId": id, "inputResponses": answers }));
                            let terms = self.terms(options, time.patience.renewed(), None);
                            self.session.request(update, terms).await?;
                        }
                    }
                    _ => {}
                }
                pause(&task, options, time.patience).await?;
                let poll = MethodCall::with("tasks/get", json!({ "taskId": id }));
                task = self.session.request(poll, self.terms(options, time.patience.renewed(), None)).await?;
            }
        };
        let outcome = outcome.await;
        if !matches!(outcome, Err(RequestError::Timeout(_) | RequestError::Cancelled(_))) {
            abandoned.disarm();
        }
        outcome.map_err(RequestError::after_a_round)
    }
}

/// Takes the server's questions out of a result.
fn questions(result: &mut Value) -> Map<String, Value> {
    if let Some(Value::Object(questions)) = result.get_mut("inputRequests") { take(questions) } else { Map::new() }
}

/// Waits for the server's poll interval.
async fn pause(task: &Value, options: &CallOptions, patience: Patience) -> Result<(), RequestError> {
    let wanted = task.get("pollIntervalMs").and_then(Value::as_u64).map_or(POLL, Duration::from_millis);
    let pause = patience.cap.bound(tokio::time::sleep(wanted.max(SHORTEST_POLL)));
    let waited = options.unless_cancelled(pause).await.ok_or(RequestError::Cancelled(Dispatched::Unknown))?;
    waited.ok_or(RequestError::Timeout(Dispatched::Unknown))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::pause;
    use crate::CallOptions;
    use crate::ground::deadline::Patience;

    #[tokio::test(start_paused = true)]
    async fn task_is_polled_after_its_poll_interval() {
        let start = tokio::time::Instant::now();
        let patience = Patience::strictly(Duration::from_secs(60));
        pause(&json!({"pollIntervalMs": 5_000}), &CallOptions::new(), patience).await.expect("there is time");
        assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
    }

    #[cfg(feature = "stdio")]
    mod over_a_connection {
        use std::sync::{Arc, Mutex};

        use serde_json::{Map, Value};

        use super::super::Ask;
        use super::*;
        use crate::PassedInput;
        use crate::connect::connection::Connection;
        use crate::connect::tests::{LEGACY, MODERN, PATIENCE, method, open, result, served, usual};
        use crate::ground::sync::lock;
        use crate::rpc::request::RequestError;

        /// Returns the outcome of a call that becomes a task with this status, within a time, and whether the client
        /// cancelled the task.
        async fn task(status: &'static str, time: Duration) -> (Result<Value, RequestError>, bool) {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let record = seen.clone();
            let options = served(move |message| {
                lock(&record).push(method(message).to_owned());
                let task = json!({ "resultType": "task", "taskId": "1", "status": status, "result": { "done": true } });
                let polled = json!({ "status": "failed", "error": { "code": -32000, "message": "it was polled" } });
                Some(match method(message) {
                    "tools/call" => vec![result(message, task)],
                    "tasks/get" => vec![result(message, polled)],
                    _ => usual(message),
                })
            });
            let (connection, _serving) = open(&options.protocol_version(MODERN)).await;
            let patience = Patience::strictly(time);
            let outcome = connection.ask(&mut Ask::tool("t", Map::new()), &CallOptions::new(), patience).await;
            // By the second answer the server has read all that was sent before.
            for _ in 0..2 {
                assert!(connection.answers(PATIENCE).await);
            }
            let is_cancelled = lock(&seen).iter().any(|method| method == "tasks/cancel");
            (outcome, is_cancelled)
        }

        #[tokio::test(start_paused = true)]
        async fn task_is_cancelled_only_if_the_call_is_given_up() {
            let (outcome, is_cancelled) = task("completed", PATIENCE).await;
            assert_eq!((outcome.expect("a result"), is_cancelled), (json!({ "done": true }), false));
            let (outcome, is_cancelled) = task("working", Duration::from_millis(100)).await;
            assert!(matches!(outcome, Err(RequestError::Timeout(_))) && is_cancelled, "{outcome:?}");
        }

        #[tokio::test(start_paused = true)]
        async fn task_that_the_server_cancels_is_not_polled() {
            let (outcome, is_cancelled) = task("cancelled", PATIENCE).await;
            let error = outcome.expect_err("it has no result").to_string();
            assert!(error.contains("the server cancelled the task") && !is_cancelled, "{error}");
        }

        #[tokio::test]
        async fn passed_input_is_sent_to_modern_servers_unless_it_is_empty() {
            let state = async |version: &str, input: PassedInput| {
                let seen = Arc::new(Mutex::new(Value::Null));
                let record = seen.clone();
                let options = served(move |message| {
                    if method(message) != "tools/call" {
                        return Some(usual(message));
                    }
                    *lock(&record) = message["params"]["requestState"].clone();
                    Some(vec![result(message, json!({}))])
                });
                let (connection, _serving) = open(&options.protocol_version(version)).await;
                let mut ask = Ask::new("tools/call", Map::from_iter([("requestState".to_owned(), json!("own"))]));
                let options = CallOptions::new().pass_input(input);
                connection.ask(&mut ask, &options, Patience::strictly(PATIENCE)).await.expect("a result");
                lock(&seen).clone()
            };
            let passed = || PassedInput::new().state("passed".to_owned());
            assert_eq!(state(MODERN, passed()).await, "passed");
            assert_eq!(state(MODERN, PassedInput::new()).await, "own");
            assert_eq!(state(LEGACY, passed()).await, "own");
        }

        #[tokio::test]
        async fn questions_stop_the_clock_of_calls_to_older_servers_alone() {
            for (version, stops) in [(LEGACY, true), (MODERN, false)] {
                let options = served(|message| Some(usual(message))).protocol_version(version);
                let (connection, _serving): (Connection, _) = open(&options).await;
                let terms = connection.terms(&CallOptions::new(), Patience::strictly(PATIENCE), None);
                assert_eq!(terms.questions.is_some(), stops, "{version}");
            }
        }
    }
}
