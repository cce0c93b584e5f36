//! State that is as it was where a call fails.

use std::time::Duration;

use mcp_bindgen::middleware::{Stack, Transaction};
use mcp_bindgen::{CallError, CallOptions, CallTool, Dispatched};
use tokio::task::JoinSet;

use super::*;

type State = Arc<Mutex<Vec<String>>>;

/// Changes the state before it calls, as a program would.
#[derive(Clone)]
struct Changing<C> {
    inner: C,
    state: State,
}

impl<C: CallTool> CallTool for Changing<C> {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.state.lock().unwrap().push(call.tool.to_string());
        self.inner.call_tool(call).await
    }
}

fn changing<C: CallTool + 'static>(inner: C) -> (State, Stack<Changing<C>>) {
    let state = State::default();
    let stack = Stack::new(Changing { inner, state: state.clone() }).transaction(Transaction::over(&state));
    (state, stack)
}

fn now(state: &State) -> Vec<String> {
    state.lock().unwrap().clone()
}

#[tokio::test]
async fn failed_call_is_rolled_back() {
    let (server, client) = served();
    let (state, stack) = changing(client);
    stack.call_tool(set("a", 1)).await.unwrap();
    assert_eq!(now(&state), ["set"]);
    // The tool says that it failed.
    assert!(stack.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
    assert_eq!(now(&state), ["set"]);
    // The outcome of the call is unknown.
    server.answer_nothing("put", 1);
    let short = CallOptions::new().timeout(Duration::from_millis(300));
    let error = stack.call_tool(put("a", 2).with(short)).await.unwrap_err();
    assert_eq!((error.dispatched(), now(&state)), (Dispatched::Unknown, vec!["set".to_owned()]));
    // It is dropped half-way.
    server.answer_nothing("get", 1);
    let (waiting, executions) = (stack.clone(), server.executions("get"));
    let waiting = tokio::spawn(async move { waiting.call_tool(get("a")).await });
    while server.executions("get") == executions {
        tokio::task::yield_now().await;
    }
    assert_eq!(now(&state), ["set", "get"]);
    waiting.abort();
    waiting.await.unwrap_err();
    assert_eq!(now(&state), ["set"]);
    stack.call_tool(get("a")).await.unwrap();
    assert_eq!(now(&state), ["set", "get"]);
    assert_eq!(["set", "fail", "put", "get"].map(|tool| server.executions(tool)), [1, 1, 1, 2]);
}

#[tokio::test]
async fn concurrent_transactions_are_serialized() {
    let (server, client) = served();
    let (state, stack) = changing(client);
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let stack = stack.clone();
        callers.spawn(async move {
            let call = if number % 2 == 0 { set("a", 1) } else { untyped("fail", json!({})) };
            stack.call_tool(call).await.unwrap()
        });
    }
    callers.join_all().await;
    assert_eq!(now(&state), vec!["set"; CALLERS / 2]);
    assert_eq!((server.executions("set"), server.executions("fail")), (CALLERS / 2, CALLERS / 2));
}

#[tokio::test]
async fn wait_for_a_transaction_counts_toward_the_call_timeout() {
    let (server, client) = served();
    let state = State::default();
    let stack = Stack::new(client).transaction(Transaction::over(&state).tools(["set", "put"]));
    let slow = ToolCall::of(&StoreSetParams { pause_ms: Some(300), ..StoreSetParams::new("a", 1) }).unwrap();
    let holding = tokio::spawn({
        let stack = stack.clone();
        async move { stack.call_tool(slow).await }
    });
    while server.executions("set") == 0 {
        tokio::task::yield_now().await;
    }
    stack.call_tool(get("a")).await.expect("it is for two tools alone");
    let short = CallOptions::new().timeout(Duration::from_millis(20));
    let error = stack.call_tool(put("a", 2).with(short)).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::No, .. }), "{error}");
    let token = tokio_util::sync::CancellationToken::new();
    token.cancel();
    let error = stack.call_tool(put("a", 2).with(CallOptions::new().cancelled_by(token))).await.unwrap_err();
    assert!(matches!(error, CallError::Cancelled { dispatched: Dispatched::No, .. }), "{error}");
    holding.await.unwrap().unwrap();
    assert_eq!((server.executions("put"), server.executions("set")), (0, 1));
}

#[tokio::test]
async fn panicking_closures_affect_only_their_call() {
    let (server, client) = served();
    let blind = Stack::new(client.clone()).transaction(Transaction::new(|| -> u8 { panic!("on purpose") }, |_| {}));
    assert!(denied(blind.call_tool(set("a", 1)).await).contains("snapshot"));
    assert_eq!(server.all_executions(), 0);
    let clumsy = Stack::new(client).transaction(Transaction::new(|| (), |()| panic!("on purpose")));
    for _ in 0..2 {
        assert!(clumsy.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
    }
    clumsy.call_tool(set("a", 1)).await.unwrap();
}

/// As where two sections of a prompt bring the same transaction to one server.
#[tokio::test]
async fn repeated_transaction_layer_applies_to_the_tools_of_both() {
    let (server, client) = served();
    let state = State::default();
    let transaction = Transaction::over(&state);
    let stack = Stack::new(Changing { inner: client, state: state.clone() })
        .transaction(transaction.clone().tools(["set"]))
        .transaction(transaction.tools(["fail"]));
    stack.call_tool(set("a", 1)).await.unwrap();
    assert!(stack.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
    assert_eq!(now(&state), ["set"]);
    stack.call_tool(get("a")).await.unwrap();
    assert_eq!(now(&state), ["set", "get"]);
    assert_eq!(server.executions("fail"), 1);
}
