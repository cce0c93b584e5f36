//! The cap on whole calls, and the timeout of tries.

use std::future::pending;
use std::time::{Duration, Instant};

use mcp_bindgen::middleware::{Approval, Policy, Stack};
use mcp_bindgen::{CallError, CallOptions, CallTool, Client, Dispatched};

use super::*;

/// Answers come well within it on a busy machine too.
const CAP: Duration = Duration::from_millis(300);

#[track_caller]
fn timed_out(outcome: Result<ToolResult, CallError>, after: Duration) -> Dispatched {
    match outcome {
        Err(CallError::Timeout { dispatched, after: said, .. }) => {
            assert_eq!(said, after);
            dispatched
        }
        other => panic!("no timeout: {other:?}"),
    }
}

/// Answers nothing, and knows no time.
#[derive(Clone)]
struct Silent;

impl CallTool for Silent {
    async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
        pending().await
    }
}

#[tokio::test]
async fn total_cap_reports_whether_the_call_was_dispatched() {
    let (server, client) = served();
    server.answer_nothing("set", 1);
    let stack = Stack::new(client.clone()).total_cap(CAP);
    let start = Instant::now();
    assert_eq!(timed_out(stack.call_tool(set("a", 1)).await, CAP), Dispatched::Unknown);
    assert!(start.elapsed() >= CAP && start.elapsed() < SOON / 2, "{:?}", start.elapsed());
    assert!(stack.call_tool(set("a", 1)).await.is_ok());
    assert_eq!(server.executions("set"), 2);
    // The policy or the approval never completes, so nothing was dispatched.
    let stack = Stack::new(client.clone()).policy(Policy::new_async(|_| pending())).total_cap(CAP);
    assert_eq!(timed_out(stack.call_tool(set("a", 1)).await, CAP), Dispatched::No);
    let stack = Stack::new(client).approval(Approval::of(["*"], |_| pending())).total_cap(CAP);
    assert_eq!(timed_out(stack.call_tool(set("a", 1)).await, CAP), Dispatched::No);
    assert_eq!(server.executions("set"), 2);
    // Of others nothing is known.
    assert_eq!(timed_out(Stack::new(Silent).total_cap(CAP).call_tool(set("a", 1)).await, CAP), Dispatched::Unknown);
    assert_eq!(timed_out(Stack::new(Silent).try_timeout(CAP).call_tool(set("a", 1)).await, CAP), Dispatched::Unknown);
}

#[tokio::test]
async fn call_that_times_out_while_connecting_is_not_dispatched() {
    let (near, _far) = duplex(1 << 10);
    let (read, write) = split(near);
    let client = Client::over(read, write);
    let stack = Stack::new(client);
    assert_eq!(timed_out(stack.clone().total_cap(CAP).call_tool(set("a", 1)).await, CAP), Dispatched::No);
    assert_eq!(timed_out(stack.try_timeout(CAP).call_tool(set("a", 1)).await, CAP), Dispatched::No);
}

#[tokio::test]
async fn shortest_timeout_applies() {
    let (server, client) = served();
    server.answer_nothing("get", 100);
    let stack = Stack::new(client);
    let given = get("a").with(CallOptions::new().timeout(CAP));
    assert_eq!(timed_out(stack.clone().total_cap(SOON).call_tool(given.clone()).await, CAP), Dispatched::Unknown);
    assert_eq!(timed_out(stack.clone().try_timeout(SOON).call_tool(given).await, CAP), Dispatched::Unknown);
    let given = get("a").with(CallOptions::new().timeout(SOON));
    assert_eq!(timed_out(stack.clone().total_cap(CAP).call_tool(given.clone()).await, CAP), Dispatched::Unknown);
    assert_eq!(timed_out(stack.clone().try_timeout(CAP).call_tool(given).await, CAP), Dispatched::Unknown);
    // The shortest of several is the stack's.
    let both = stack.total_cap(SOON).try_timeout(SOON).total_cap(CAP).try_timeout(2 * CAP);
    assert_eq!(timed_out(both.call_tool(get("a")).await, CAP), Dispatched::Unknown);
}
