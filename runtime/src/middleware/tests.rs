use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, json};

use super::{Cache, Calls, Policy, Retry, SequentialDependency, Stack};
use crate::{Annotations, CallError, CallTool, Dispatched, ToolCall, ToolResult};

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

/// Returns the outcome of a call whose tries end as listed.
async fn retried(outcomes: impl IntoIterator<Item = Result<ToolResult, CallError>>) -> Result<ToolResult, CallError> {
    let retry = Retry::new().tries(2).pauses(SHORT, SHORT).repeatable(["t"]);
    Stack::new(scripted(outcomes)).retry(retry).call_tool(call()).await
}

#[tokio::test]
async fn timeout_is_retried_if_the_call_was_not_dispatched() {
    retried([Err(timeout(Dispatched::No)), Ok(ToolResult::new("s", "t"))]).await.expect("the second try");
}

#[tokio::test]
async fn unsent_last_attempt_leaves_earlier_outcomes_unknown() {
    let earlier = || Err(CallError::outcome_unknown("s", "t", "the connection ended"));
    let error = retried([earlier(), Err(CallError::transport("s", "t", "refused"))]).await.unwrap_err();
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error:?}");
    let error = retried([earlier(), Err(timeout(Dispatched::No))]).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error:?}");
    let error = retried([earlier(), Err(CallError::rpc("s", "t", -32603, "no"))]).await.unwrap_err();
    assert!(matches!(error, CallError::Rpc { .. }), "the server answered: {error:?}");
}

#[tokio::test]
async fn inner_timeout_reports_its_own_limit() {
    let stack = Stack::new(scripted([Err(timeout(Dispatched::No))])).try_timeout(LONG);
    let error = stack.call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after: SHORT, .. }), "{error:?}");
}

#[tokio::test]
async fn denial_of_a_sequential_call_states_whether_its_predecessor_ran() {
    let stack = Stack::new(scripted([])).sequential(SequentialDependency::new("t", ["before"]));
    let error = stack.call_tool(call()).await.unwrap_err().to_string();
    assert!(error.contains("it has not run yet"), "{error}");
}

#[tokio::test]
async fn calls_through_a_service_reach_the_service() {
    let calls = Calls::through(Stack::new(scripted([Err(CallError::rpc("s", "t", 7, "seven"))])));
    let error = calls.call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Rpc { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn timeout_from_below_after_the_end_of_a_limit_is_that_of_the_limit() {
    /// A client that takes a moment to report that nothing was sent.
    struct Late;

    impl CallTool for Late {
        async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
            tokio::time::sleep(2 * SHORT).await;
            Err(CallError::timeout("s", "t", LONG, Dispatched::No))
        }
    }

    let error = Stack::new(Late).try_timeout(SHORT).call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after: SHORT, dispatched: Dispatched::No, .. }), "{error:?}");
}

#[tokio::test]
async fn results_of_read_only_tools_are_cached_and_of_no_others() {
    let kept = async |annotations| {
        let result = |text| ToolResult::from_json("s", "t", json!({ "content": [{ "type": "text", "text": text }] }));
        let outcomes = ["first", "second"].map(|text| Ok(result(text)));
        let stack = Stack::new(scripted(outcomes)).cache(Cache::new(LONG));
        let call = || call().described(Annotations::listed(&annotations));
        let first = stack.call_tool(call()).await.unwrap().text();
        first == stack.call_tool(call()).await.unwrap().text()
    };
    assert!(kept(json!({ "readOnlyHint": true })).await);
    assert!(!kept(json!({ "readOnlyHint": false })).await);
    assert!(!kept(json!({})).await);
}

#[test]
fn stack_offers_the_tools_that_its_policies_may_allow() {
    let policies = [Policy::allow(["get_*"]), Policy::deny(["get_secret"]), Policy::read_only()];
    let stack = policies.into_iter().fold(Stack::new(scripted([])), Stack::policy);
    let offered = ["get_repo", "get_secret", "set_repo"].map(|tool| stack.offer().admits(tool));
    assert_eq!(offered, [true, false, false]);
}
