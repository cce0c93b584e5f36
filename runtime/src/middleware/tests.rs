use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Map;

use super::{Calls, Retry, SequentialDependency, Stack};
use crate::{CallError, CallTool, Dispatched, ToolCall, ToolResult};

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(60);

/// A client that ends its calls as listed.
#[derive(Clone)]
struct Scripted(Arc<Mutex<VecDeque<Result<ToolResult, CallError>>>>);

impl CallTool for Scripted {
    async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
        self.0.lock().unwrap().pop_front().expect("a call more than listed")
    }
}

fn scripted(outcomes: impl IntoIterator<Item = Result<ToolResult, CallError>>) -> Scripted {
    Scripted(Arc::new(Mutex::new(outcomes.into_iter().collect())))
}

fn call() -> ToolCall {
    ToolCall::new("s", "t", Map::new())
}

fn timeout(dispatched: Dispatched) -> CallError {
    CallError::timeout("s", "t", SHORT, dispatched)
}

/// The outcome of a call whose tries end as listed.
async fn retried(outcomes: impl IntoIterator<Item = Result<ToolResult, CallError>>) -> Result<ToolResult, CallError> {
    let retry = Retry::new().tries(2).pauses(SHORT, SHORT).repeatable(["t"]);
    Stack::new(scripted(outcomes)).retry(retry).call_tool(call()).await
}

#[tokio::test]
async fn timeout_is_retried_if_nothing_ran() {
    retried([Err(timeout(Dispatched::No)), Ok(ToolResult::new("s", "t"))]).await.expect("the second try");
}

#[tokio::test]
async fn unsent_last_try_leaves_the_outcome_of_earlier_ones_unknown() {
    let earlier = || Err(CallError::outcome_unknown("s", "t", "the connection ended"));
    let error = retried([earlier(), Err(CallError::transport("s", "t", "refused"))]).await.unwrap_err();
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error:?}");
    let error = retried([earlier(), Err(timeout(Dispatched::No))]).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error:?}");
    let error = retried([earlier(), Err(CallError::rpc("s", "t", -32603, "no"))]).await.unwrap_err();
    assert!(matches!(error, CallError::Rpc { .. }), "the server answered: {error:?}");
}

#[tokio::test]
async fn timeout_from_below_keeps_its_own_limit() {
    let stack = Stack::new(scripted([Err(timeout(Dispatched::No))])).try_timeout(LONG);
    let error = stack.call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after: SHORT, .. }), "{error:?}");
}

#[tokio::test]
async fn denied_successor_is_told_whether_its_predecessor_runs() {
    let stack = Stack::new(scripted([])).sequential(SequentialDependency::new("t", ["before"]));
    let error = stack.call_tool(call()).await.unwrap_err().to_string();
    assert!(error.contains("it has not run yet"), "{error}");
}

#[tokio::test]
async fn calls_through_a_service_reach_it() {
    let calls = Calls::through(Stack::new(scripted([Err(CallError::rpc("s", "t", 7, "seven"))])));
    let error = calls.call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Rpc { .. }), "{error:?}");
}
