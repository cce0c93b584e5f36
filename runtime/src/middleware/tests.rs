use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::{Approval, Cache, Calls, Policy, Retry, SequentialDependency, Stack, Transaction, Verdict};
use crate::{
    Annotations, CallError, CallOptions, CallTool, Cause, Client, ConnectError, ConnectErrorKind, Dispatched, ToolCall,
    ToolResult,
};

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
async fn answered_call_is_never_retried() {
    let error = retried([Err(timeout(Dispatched::Yes)), Err(timeout(Dispatched::No))]).await.unwrap_err();
    assert_eq!(error.dispatched(), Dispatched::Yes);
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
async fn unknown_outcome_is_retried_for_read_only_or_idempotent_tools_alone() {
    let is_retried = async |annotations| {
        let outcomes = [Err(timeout(Dispatched::Unknown)), Ok(ToolResult::new("s", "t"))];
        let stack = Stack::new(scripted(outcomes)).retry(Retry::new().pauses(SHORT, SHORT));
        stack.call_tool(call().described(Annotations::listed(&annotations))).await.is_ok()
    };
    assert!(is_retried(json!({ "readOnlyHint": true })).await);
    assert!(is_retried(json!({ "idempotentHint": true })).await);
    assert!(!is_retried(json!({ "readOnlyHint": false, "idempotentHint": false })).await);
    assert!(!is_retried(json!({})).await);
}

#[tokio::test(start_paused = true)]
async fn retries_pause_for_longer_each_time() {
    let outcomes = [0, 1, 2].map(|_| Err(timeout(Dispatched::No)));
    let begun = tokio::time::Instant::now();
    let stack = Stack::new(scripted(outcomes)).retry(Retry::new().pauses(LONG, 4 * LONG));
    stack.call_tool(call()).await.unwrap_err();
    assert!((3 * LONG..5 * LONG).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

/// Returns the error of a server that cannot be reached, and asks for a pause of a second.
fn not_connected(kind: ConnectErrorKind) -> CallError {
    let source = ConnectError::new("s", kind, "no").with_retry_after(Some(Duration::from_secs(1)));
    let (server, tool, message) = ("s".to_owned(), "t".to_owned(), "no".to_owned());
    CallError::NotConnected { server, tool, message, source: Some(Cause::new(source)) }
}

#[tokio::test(start_paused = true)]
async fn missing_connection_is_retried_if_another_attempt_may_find_the_server() {
    let is_retried = async |error| retried([Err(error), Ok(ToolResult::new("s", "t"))]).await.is_ok();
    assert!(is_retried(CallError::not_connected("s", "t", "no")).await);
    let is_retried = async |kind| {
        let stack = Stack::new(scripted([Err(not_connected(kind)), Ok(ToolResult::new("s", "t"))])).retry(Retry::new());
        stack.call_tool(call()).await.is_ok()
    };
    assert!(is_retried(ConnectErrorKind::Transport).await && is_retried(ConnectErrorKind::Timeout).await);
    assert!(!is_retried(ConnectErrorKind::Config).await && !is_retried(ConnectErrorKind::Auth).await);
}

#[tokio::test(start_paused = true)]
async fn wanted_pause_is_made_if_it_leaves_time_for_another_attempt() {
    let is_retried = async |timeout: Option<u64>, cap: Option<u64>, longest: Duration| {
        let outcomes = [Err(not_connected(ConnectErrorKind::Transport)), Ok(ToolResult::new("s", "t"))];
        let stack = Stack::new(scripted(outcomes)).retry(Retry::new().pauses(SHORT, longest));
        let stack = cap.map(Duration::from_secs).into_iter().fold(stack, Stack::total_cap);
        let options = timeout.map(|timeout| CallOptions::new().timeout(Duration::from_secs(timeout)));
        stack.call_tool(call().with(options.unwrap_or_default())).await.is_ok()
    };
    assert!(is_retried(None, None, LONG).await);
    assert!(is_retried(Some(2), None, LONG).await && !is_retried(Some(1), None, LONG).await);
    assert!(is_retried(None, Some(2), LONG).await && !is_retried(None, Some(1), LONG).await);
    assert!(!is_retried(None, None, Duration::from_millis(500)).await, "it is longer than the longest pause");
}

/// A client whose first call takes `0` and then times out, and whose other calls succeed.
struct FirstTimesOut(Duration, AtomicBool);

impl CallTool for FirstTimesOut {
    async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
        if self.1.swap(true, Ordering::Relaxed) {
            return Ok(ToolResult::new("s", "t"));
        }
        tokio::time::sleep(self.0).await;
        Err(timeout(Dispatched::Unknown))
    }
}

#[tokio::test(start_paused = true)]
async fn timeout_by_the_limit_of_a_call_is_not_shared_with_equal_calls() {
    let outcomes = async |first: CallOptions, cap: Option<Duration>| {
        let cache = Cache::new(LONG).tools(["t"]);
        let stack = Stack::new(FirstTimesOut(10 * SHORT, AtomicBool::new(false))).cache(cache);
        let stack = cap.into_iter().fold(stack, Stack::total_cap);
        let (first, second) = tokio::join!(stack.call_tool(call().with(first)), async {
            tokio::time::sleep(5 * SHORT).await;
            stack.call_tool(call()).await
        });
        (first.is_ok(), second.is_ok())
    };
    let none = CallOptions::new;
    assert_eq!(outcomes(none().timeout(10 * SHORT), None).await, (false, true));
    assert_eq!(outcomes(none(), Some(10 * SHORT)).await, (false, true));
    assert_eq!(outcomes(none(), None).await, (false, false), "the server's own timeout is that of all");
}

/// A client that counts its calls, which take 50 seconds.
struct Slow(AtomicUsize);

impl CallTool for Slow {
    async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(50)).await;
        Ok(ToolResult::new("s", "t"))
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_call_that_is_not_polled_delays_no_equal_ones() {
    let stack = Stack::new(Slow(AtomicUsize::new(0))).cache(Cache::new(LONG).tools(["t"]));
    let begun = tokio::time::Instant::now();
    let (mut first, mut parked) = (pin!(stack.call_tool(call())), pin!(stack.call_tool(call())));
    assert!(first.as_mut().now_or_never().is_none() && parked.as_mut().now_or_never().is_none());
    let (first, other) = tokio::join!(first, stack.call_tool(call()));
    assert!(first.is_ok() && other.is_ok());
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    parked.await.expect("the outcome of the first");
    assert_eq!(stack.inner().0.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn dropped_read_is_repeated_once_however_long_others_waited() {
    let stack = Stack::new(Slow(AtomicUsize::new(0))).cache(Cache::new(LONG).tools(["t"]));
    let dropped = tokio::time::timeout(Duration::from_secs(40), stack.call_tool(call()));
    let (dropped, second, third) = tokio::join!(dropped, stack.call_tool(call()), stack.call_tool(call()));
    assert!(dropped.is_err() && second.is_ok() && third.is_ok());
    assert_eq!(stack.inner().0.load(Ordering::Relaxed), 2, "one that was dropped, and one for all others");
}

#[cfg(feature = "validation")]
mod validation {
    use super::super::Validate;
    use super::*;
    use crate::{ServerSpec, ToolSpec};

    static SERVER: ServerSpec = ServerSpec::new("s");
    static SPEC: ToolSpec =
        ToolSpec::new("t", r#"{"properties": {"n": {"maximum": 9}}, "additionalProperties": false}"#)
            .output_schema(r#"{"required": ["total"]}"#)
            .viewed(r#"{"fixed": {"owner": "ada"}}"#, "{}");

    async fn validated(arguments: Value, answer: Option<Value>) -> Result<ToolResult, CallError> {
        let outcome = answer.map(|answer| Ok(ToolResult::from_json("s", "t", answer)));
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let stack = Stack::new(scripted(outcome)).validate(Validate::new());
        stack.call_tool(ToolCall::bound(&SERVER, &SPEC, arguments)).await
    }

    #[tokio::test]
    async fn invalid_arguments_are_not_sent() {
        let error = validated(json!({ "n": 10 }), None).await.unwrap_err();
        assert!(matches!(&error, CallError::InvalidArguments { pointer, .. } if pointer == "/n"), "{error:?}");
    }

    #[tokio::test]
    async fn validation_keeps_the_other_layers() {
        let stack = Stack::new(Stuck).policy(Policy::deny(["t"])).validate(Validate::new());
        let error = stack.call_tool(call()).await.unwrap_err();
        assert!(matches!(error, CallError::Denied { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn arguments_that_a_view_sets_are_not_validated() {
        let answer = json!({ "structuredContent": { "total": 1 } });
        validated(json!({ "n": 9, "owner": "ada" }), Some(answer.clone())).await.unwrap();
        validated(json!({ "n": 9, "other": "ada" }), Some(answer)).await.unwrap_err();
    }

    #[tokio::test]
    async fn invalid_result_is_a_decode_error_and_a_request_for_input_is_not_validated() {
        let error = validated(json!({}), Some(json!({ "structuredContent": {} }))).await.unwrap_err();
        assert!(matches!(error, CallError::Decode { .. }), "{error:?}");
        let request = json!({ "resultType": "input_required", "inputRequests": {} });
        assert!(validated(json!({}), Some(request)).await.unwrap().needs_input());
    }
}

#[tokio::test]
async fn inner_timeout_reports_its_own_limit() {
    let stack = Stack::new(scripted([Err(timeout(Dispatched::No))])).try_timeout(LONG);
    let error = stack.call_tool(call()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after: SHORT, .. }), "{error:?}");
}

/// A client whose tool `stuck` never ends, and whose other tools succeed.
#[derive(Debug)]
struct Stuck;

impl CallTool for Stuck {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        if call.tool == "stuck" {
            std::future::pending::<()>().await;
        }
        Ok(ToolResult::new(call.server, call.tool))
    }
}

#[tokio::test]
async fn denial_of_a_sequential_call_states_whether_its_predecessor_runs() {
    let stack = Stack::new(Stuck).sequential(SequentialDependency::new("t", ["stuck"]));
    let denial = async || stack.call_tool(call()).await.unwrap_err().to_string();
    assert!(denial().await.contains("it has not run yet"));
    let mut running = Box::pin(stack.call_tool(ToolCall::new("s", "stuck", Map::new())));
    assert!(running.as_mut().now_or_never().is_none());
    assert!(denial().await.contains("it is still running"));
    drop(running);
    assert!(denial().await.contains("it has not run yet"));
}

#[tokio::test]
async fn sequential_call_requires_all_predecessors_at_the_same_server() {
    let stack = Stack::new(Stuck).sequential(SequentialDependency::new("t", ["one", "two"]));
    let is_allowed = async |server: &'static str| stack.call_tool(ToolCall::new(server, "t", Map::new())).await.is_ok();
    for (tool, expected) in [("one", false), ("two", true)] {
        stack.call_tool(ToolCall::new("s", tool, Map::new())).await.unwrap();
        assert_eq!((is_allowed("s").await, is_allowed("other").await), (expected, false), "after `{tool}`");
    }
}

#[test]
fn debug_output_of_a_stack_shows_the_client_inside() {
    assert_eq!(format!("{:?}", Stack::new(Stuck)), "Stack { inner: Stuck, .. }");
}

#[track_caller]
fn denied(outcome: Result<ToolResult, CallError>) -> String {
    match outcome {
        Err(CallError::Denied { reason, .. }) => reason,
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test]
async fn layers_around_a_client_see_calls_of_its_server() {
    let client = Client::new(ServerConfig::stdio("s", "x"));
    let stack = Stack::new(client).policy(Policy::new(|call| Verdict::deny(call.server)));
    for server in ["s", "other"] {
        assert_eq!(denied(stack.call_tool(ToolCall::new(server, "t", Map::new())).await), "s");
    }
}

#[tokio::test]
async fn denial_by_a_policy_lists_its_globs() {
    let reason = async |policy| denied(Stack::new(Stuck).policy(policy).call_tool(call()).await);
    assert_eq!(reason(Policy::deny(["t", "set_*"])).await, "the policy denies `t`, `set_*`");
    assert_eq!(reason(Policy::allow(["get_*"])).await, "the policy only allows `get_*`");
}

#[tokio::test]
async fn transaction_restores_the_state_for_its_tools_alone() {
    /// A client that changes the state, and fails.
    struct Changing(Arc<Mutex<i32>>);

    impl CallTool for Changing {
        async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
            *self.0.lock().unwrap() = 7;
            Err(timeout(Dispatched::Yes))
        }
    }

    for (tools, expected) in [("t", 0), ("other", 7)] {
        let state = Arc::new(Mutex::new(0));
        let transaction = Transaction::over(&state).tools([tools]);
        Stack::new(Changing(state.clone())).transaction(transaction).call_tool(call()).await.unwrap_err();
        assert_eq!(*state.lock().unwrap(), expected, "{tools}");
    }
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

#[tokio::test]
async fn order_of_capabilities_does_not_distinguish_calls_for_a_cache() {
    let stack = Stack::new(scripted([Ok(ToolResult::new("s", "t"))])).cache(Cache::new(LONG).tools(["t"]));
    for capabilities in [json!({ "roots": {}, "sampling": {} }), json!({ "sampling": {}, "roots": {} })] {
        stack.call_tool(call().with(CallOptions::new().client_capabilities(capabilities))).await.unwrap();
    }
}

#[test]
fn transaction_whose_turn_is_free_needs_no_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let transaction = Transaction::over(&Arc::new(Mutex::new(0)));
    let stack = Stack::new(scripted([Ok(ToolResult::new("s", "t"))])).transaction(transaction);
    runtime.block_on(stack.call_tool(call())).unwrap();
}

/// A client whose calls in scope 0 wait, except those of `publish`.
struct Held(Notify);

impl CallTool for Held {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        if call.arguments["scope"] == 0 && call.tool != "publish" {
            self.0.notified().await;
        }
        Ok(ToolResult::new("s", "t"))
    }
}

#[tokio::test]
async fn success_counts_in_a_scope_that_was_forgotten_during_the_call() {
    let dependency = SequentialDependency::new("publish", ["build"]);
    let dependency = dependency.scope(|call| call.arguments["scope"].to_string());
    let stack = Stack::new(Held(Notify::new())).sequential(dependency);
    let call = |tool: &'static str, scope: usize| {
        stack.call_tool(ToolCall::new("s", tool, Map::from_iter([("scope".to_owned(), json!(scope))])))
    };
    let mut again = pin!(call("build", 0));
    let others = async {
        for scope in 1..=10_000 {
            call("build", scope).await.unwrap();
        }
        assert!(again.as_mut().now_or_never().is_none());
        stack.inner().0.notify_one();
    };
    let (built, ()) = tokio::join!(call("build", 0), others);
    built.unwrap();
    call("publish", 0).await.expect("its prerequisite has succeeded");
}

#[tokio::test]
async fn late_or_panicking_approval_reads_as_not_approved() {
    let reason = async |approval: Approval| {
        let stack = Stack::new(scripted([])).approval(approval.patience(SHORT));
        denied(stack.call_tool(call()).await)
    };
    let late = Approval::of(["*"], |_| std::future::pending());
    assert_eq!(reason(late).await, "not approved: no answer within 1ms");
    let broken = Approval::of(["*"], async |_| panic!("on purpose"));
    assert_eq!(reason(broken).await, "not approved: the approval handler panicked");
}

#[test]
fn stack_offers_the_tools_that_its_policies_may_allow() {
    let policies = [Policy::allow(["get_*"]), Policy::deny(["get_secret"]), Policy::read_only()];
    let stack = policies.into_iter().fold(Stack::new(scripted([])), Stack::policy);
    let offered = ["get_repo", "get_secret", "set_repo"].map(|tool| stack.offer().admits(tool));
    assert_eq!(offered, [true, false, false]);
}
