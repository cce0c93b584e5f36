//! Tools that come after others.

use mcp_bindgen::middleware::{SequentialDependency, Stack};
use mcp_bindgen::{CallTool, Client};
use tokio::task::JoinSet;

use super::*;

fn removing_after(client: &Client, after: &[&str]) -> Stack<Client> {
    Stack::new(client.clone()).sequential(SequentialDependency::new("remove", after.iter().copied()))
}

fn remove(key: &str) -> ToolCall {
    untyped("remove", json!({ "key": key }))
}

#[tokio::test]
async fn tool_requires_success_of_its_predecessors() {
    let (server, client) = served();
    let stack = removing_after(&client, &["get", "s?t"]);
    assert!(denied(stack.call_tool(remove("a")).await).contains("`get`"));
    stack.call_tool(get("a")).await.unwrap();
    assert!(denied(stack.call_tool(remove("a")).await).contains("`s?t`"));
    stack.call_tool(set("a", 1)).await.unwrap();
    assert_eq!(server.executions("remove"), 0);
    for _ in 0..2 {
        stack.call_tool(remove("a")).await.unwrap();
    }
    assert!(stack.clone().call_tool(remove("a")).await.is_ok(), "a clone is the same");
    denied(removing_after(&client, &["get"]).call_tool(remove("a")).await);
    let misnamed =
        |tool: &'static str| ToolCall::new("other", tool, json!({ "key": "a" }).as_object().unwrap().clone());
    assert!(stack.call_tool(misnamed("remove")).await.is_ok(), "a client has one server, whatever a caller calls it");
    let fresh = removing_after(&client, &["get"]);
    fresh.call_tool(misnamed("get")).await.unwrap();
    assert!(fresh.call_tool(remove("a")).await.is_ok());
    assert_eq!(server.executions("remove"), 5);
}

#[tokio::test]
async fn failed_or_running_predecessor_does_not_count() {
    let (server, client) = served();
    let stack = removing_after(&client, &["fail"]);
    assert!(stack.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
    denied(stack.call_tool(remove("a")).await);
    server.answer_nothing("fail", 1);
    let short = mcp_bindgen::CallOptions::new().timeout(std::time::Duration::from_millis(30));
    stack.call_tool(untyped("fail", json!({})).with(short)).await.unwrap_err();
    assert!(denied(stack.call_tool(remove("a")).await).contains("it has not run yet"));

    let stack = removing_after(&client, &["get"]);
    server.answer_nothing("get", 1);
    let running = tokio::spawn({
        let stack = stack.clone();
        async move { stack.call_tool(get("a")).await }
    });
    while server.executions("get") == 0 {
        tokio::task::yield_now().await;
    }
    assert!(denied(stack.call_tool(remove("a")).await).contains("still running"));
    running.abort();
    running.await.unwrap_err();
    assert!(denied(stack.call_tool(remove("a")).await).contains("it has not run yet"), "it was dropped");
    assert_eq!(server.executions("remove"), 0);
}

#[tokio::test]
async fn sequences_are_separate_for_each_scope() {
    let (server, client) = served();
    let key = |call: &mcp_bindgen::middleware::CallFacts<'_>| call.arguments["key"].to_string();
    let stack = Stack::new(client).sequential(SequentialDependency::new("remove", ["get"]).scope(key));
    stack.call_tool(get("a")).await.unwrap();
    stack.call_tool(remove("a")).await.unwrap();
    denied(stack.call_tool(remove("b")).await);
    assert!(denied(stack.call_tool(untyped("remove", json!({}))).await).contains("panicked"), "there is no key");
    assert_eq!(server.executions("remove"), 1);
}

#[tokio::test]
async fn denied_calls_do_not_evict_successful_scopes() {
    let (server, client) = served();
    let key = |call: &mcp_bindgen::middleware::CallFacts<'_>| call.arguments["key"].to_string();
    let stack = Stack::new(client).sequential(SequentialDependency::new("remove", ["get"]).scope(key));
    stack.call_tool(get("a")).await.unwrap();
    for scope in 0..10_001 {
        denied(stack.call_tool(remove(&scope.to_string())).await);
    }
    stack.call_tool(remove("a")).await.unwrap();
    assert_eq!(server.executions("remove"), 1);
}

#[tokio::test]
async fn concurrent_calls_run_only_after_their_predecessor() {
    let (server, client) = served();
    let stack = removing_after(&client, &["get"]);
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let stack = stack.clone();
        callers.spawn(async move {
            if number == CALLERS / 2 {
                stack.call_tool(get("a")).await.unwrap();
            }
            stack.call_tool(remove("a")).await.is_ok()
        });
    }
    let went = callers.join_all().await.into_iter().filter(|went| *went).count();
    assert_eq!(server.executions("remove"), went, "who was denied did not reach the server");
    assert!(went >= 1);
}
