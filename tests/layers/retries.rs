//! Calls that are tried again.

use std::time::{Duration, Instant};

use mcp_bindgen::middleware::{Retry, Stack};
use mcp_bindgen::{CallError, CallOptions, CallTool, Dispatched};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

const SHORT: Duration = Duration::from_millis(1);
/// Answers come well within it on a busy machine too.
const TRY: Duration = Duration::from_millis(250);

fn retry() -> Retry {
    Retry::new().pauses(SHORT, 4 * SHORT)
}

#[tokio::test]
async fn unknown_outcomes_are_retried_only_for_repeatable_tools() {
    let (server, client) = served();
    let stack = Stack::new(client).retry(retry()).try_timeout(TRY);
    for tool in ["get", "put", "set"] {
        server.answer_nothing(tool, 1);
    }
    assert!(stack.call_tool(get("a")).await.is_ok(), "it is read-only");
    assert!(stack.call_tool(put("a", 1)).await.is_ok(), "it is idempotent");
    let error = stack.call_tool(set("a", 1)).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error}");
    assert_eq!(["get", "put", "set"].map(|tool| server.executions(tool)), [2, 2, 1]);
    // Nothing is known of the tool of a call without bindings, unless the program says so.
    server.answer_nothing("get", 1);
    stack.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap_err();
    server.answer_nothing("get", 1);
    let knowing = stack.retry(retry().repeatable(["g*"]));
    knowing.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap();
    assert_eq!(server.executions("get"), 5);
}

#[tokio::test]
async fn retry_attempts_are_bounded() {
    let (server, client) = served();
    server.answer_nothing("get", 100);
    let stack = Stack::new(client).retry(retry().tries(4)).try_timeout(TRY);
    let error = stack.call_tool(get("a")).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after: TRY, .. }), "{error}");
    assert_eq!(server.executions("get"), 4);
}

#[tokio::test]
async fn retries_of_64_callers_run_no_call_twice() {
    let (server, client) = served();
    let down = By::new(
        move |number, _| {
            if number <= CALLERS { Err(CallError::transport("store", "set", "refused")) } else { done() }
        },
    );
    #[derive(Clone)]
    struct First<A, B>(A, B);
    impl<A: CallTool, B: CallTool> CallTool for First<A, B> {
        async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
            self.0.call_tool(call.clone()).await?;
            self.1.call_tool(call).await
        }
    }
    let stack = Stack::new(First(down.clone(), client)).retry(retry().tries(10));
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let stack = stack.clone();
        callers.spawn(async move { stack.call_tool(set(&number.to_string(), 1)).await.is_ok() });
    }
    assert!(callers.join_all().await.into_iter().all(|succeeded| succeeded));
    assert_eq!((server.executions("set"), down.calls()), (CALLERS, 2 * CALLERS));
}

fn errors() -> Vec<(CallError, usize)> {
    let timeout = |dispatched| CallError::timeout("store", "set", TRY, dispatched);
    vec![
        (CallError::not_connected("store", "set", "no route"), 3),
        (CallError::transport("store", "set", "refused"), 3),
        (timeout(Dispatched::No), 3),
        (timeout(Dispatched::Unknown), 1),
        (CallError::outcome_unknown("store", "set", "gone"), 1),
        (CallError::denied("store", "set", "no"), 1),
        (CallError::tool_not_found("store", "set"), 1),
        (CallError::rpc("store", "set", -32000, "no"), 1),
    ]
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    for (error, tries) in errors() {
        let failing = error.clone();
        let bottom = By::new(move |_, _| Err(failing.clone()));
        let met = Stack::new(bottom.clone()).retry(retry()).call_tool(set("a", 1)).await.unwrap_err();
        assert_eq!((met.to_string(), met.dispatched()), (error.to_string(), error.dispatched()));
        assert_eq!(bottom.calls(), tries, "{error}");
    }
    let bottom = By::new(|_, _| Ok(ToolResult::error("no")));
    assert!(Stack::new(bottom.clone()).retry(retry()).call_tool(get("a")).await.unwrap().is_error);
    assert_eq!(bottom.calls(), 1);
}

#[tokio::test]
async fn final_error_reflects_every_attempt() {
    let bottom = By::new(|number, _| match number {
        1 => Err(CallError::outcome_unknown("store", "put", "gone")),
        _ => Err(CallError::transport("store", "put", "refused")),
    });
    let error = Stack::new(bottom.clone()).retry(retry()).call_tool(put("a", 1)).await.unwrap_err();
    assert!(matches!(&error, CallError::OutcomeUnknown { message, .. } if message.contains("refused")), "{error}");
    assert_eq!(bottom.calls(), 3);
}

#[tokio::test]
async fn call_timeout_bounds_all_attempts() {
    let (server, client) = served();
    server.answer_nothing("get", 100);
    let stack = Stack::new(client).retry(retry().tries(100)).try_timeout(TRY);
    let start = Instant::now();
    let given = Duration::from_millis(600);
    let error = stack.call_tool(get("a").with(CallOptions::new().timeout(given))).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error}");
    assert!(start.elapsed() < SOON / 2, "{:?}", start.elapsed());
    let start = Instant::now();
    let error = stack.total_cap(given).call_tool(get("a")).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after, .. } if after <= given), "{error}");
    assert!(start.elapsed() < SOON / 2, "{:?}", start.elapsed());
}

#[tokio::test]
async fn retry_respects_retry_after() {
    fn busy(wanted: Duration) -> By {
        By::new(move |number, _| {
            let mut error = CallError::transport("store", "set", "too many requests");
            if let CallError::Transport { retry_after, .. } = &mut error {
                *retry_after = Some(wanted);
            }
            if number == 1 { Err(error) } else { done() }
        })
    }
    let wanted = Duration::from_millis(60);
    let start = Instant::now();
    let patient = Stack::new(busy(wanted)).retry(Retry::new().pauses(SHORT, 2 * wanted));
    assert!(patient.call_tool(set("a", 1)).await.is_ok());
    assert!(start.elapsed() >= wanted, "{:?}", start.elapsed());
    let bottom = busy(2 * wanted);
    let error = Stack::new(bottom.clone()).retry(Retry::new().pauses(SHORT, wanted)).call_tool(set("a", 1)).await;
    assert_eq!((error.unwrap_err().retry_after(), bottom.calls()), (Some(2 * wanted), 1));
}

#[tokio::test]
async fn call_cancelled_between_attempts_ends_immediately() {
    let (server, client) = served();
    server.answer_nothing("put", 1);
    let token = CancellationToken::new();
    let stack = Stack::new(client).retry(Retry::new().pauses(SOON, SOON)).try_timeout(TRY);
    let call = put("a", 1).with(CallOptions::new().cancelled_by(token.clone()));
    let calling = tokio::spawn(async move { stack.call_tool(call).await });
    tokio::time::sleep(3 * TRY).await;
    token.cancel();
    let error = tokio::time::timeout(SOON / 2, calling).await.expect("it ends at once").unwrap().unwrap_err();
    assert!(matches!(error, CallError::Cancelled { dispatched: Dispatched::Unknown, .. }), "{error}");
    assert_eq!(server.executions("put"), 1);
    // Also where what is below does not look at the token.
    let refusing = By::new(|_, _| Err(CallError::transport("store", "put", "refused")));
    let call = put("a", 1).with(CallOptions::new().cancelled_by(token));
    let error = Stack::new(refusing.clone()).retry(retry()).call_tool(call).await.unwrap_err();
    assert!(matches!(error, CallError::Cancelled { dispatched: Dispatched::No, .. }), "{error}");
    assert_eq!(refusing.calls(), 1);
}
