//! Tests the configuration's rules for calls, with and without a stack; the server counts the calls that reach it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Mark, good, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, ApprovalRequest, Cache, Policy, Retry, Stack};
use mcp_bindgen_runtime::{CallError, CallTool, Client, ClientOptions, ToolCall, ToolSpec};
use serde_json::json;

static REMOVE: ToolSpec = ToolSpec::new("remove", r#"{"type": "object"}"#).destructive(true);

fn store(mark: &Mark) -> ServerConfig {
    good(mark).args(["--store"])
}

fn bound() -> ToolCall {
    let mut call = ToolCall::new("fixture", "remove", object(json!({ "key": "a" })));
    call.spec = Some(&REMOVE);
    call
}

async fn executions(client: &Client) -> String {
    client.call("executions", object(json!({ "tool": "remove" }))).await.expect("it counts").text()
}

#[track_caller]
fn denied(outcome: Result<impl std::fmt::Debug, CallError>) -> String {
    match outcome {
        Err(CallError::Denied { reason, .. }) => reason,
        other => panic!("it was not denied: {other:?}"),
    }
}

#[tokio::test]
async fn unselected_tool_is_denied_with_and_without_bindings() {
    let mark = Mark::new();
    let configs = [store(&mark).exclude(["rem*"]), store(&mark).tools(["get", "executions"])];
    for config in configs {
        let client = Client::new(config);
        let reason = denied(client.call("remove", object(json!({ "key": "a" }))).await);
        assert!(reason.contains("`exclude`") || reason.contains("`tools`"), "{reason}");
        denied(client.call_tool(bound()).await);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let stack = Stack::new(client.clone()).retry(Retry::new()).approval(Approval::of(["*"], move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { ApprovalAnswer::Approve }
        }));
        denied(stack.call_tool(bound()).await);
        assert_eq!(asked.load(Ordering::Relaxed), 0, "what is denied asks nobody");
        assert_eq!(executions(&client).await, "0");
        client.close().await;
    }
}

/// A client whose tool has to be approved, and how often somebody was asked.
fn approving(
    mark: &Mark,
    answer: impl Fn(ApprovalRequest) -> ApprovalAnswer + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let options = ClientOptions::new().on_approval(move |request| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(answer(request))
    });
    (Client::with_options(store(mark).approve(["rem*"]), options), asked)
}

#[tokio::test]
async fn unapproved_call_never_reaches_the_server() {
    let mark = Mark::new();
    let nobody = Client::new(store(&mark).approve(["rem*"]));
    let error = nobody.call_tool(bound()).await.expect_err("nobody can be asked");
    assert!(error.to_string().ends_with("or add an `Approval` layer"), "{error}");
    assert_eq!(denied(Err::<mcp_bindgen_runtime::ToolResult, _>(error)), "it requires an approval that was not given");
    let (client, asked) = approving(&mark, |_| ApprovalAnswer::Decline("no".to_owned()));
    denied(client.call("remove", object(json!({ "key": "a" }))).await);
    denied(client.call_tool(bound()).await);
    denied(Stack::new(client.clone()).policy(Policy::allow(["*"])).call_tool(bound()).await);
    assert_eq!((asked.load(Ordering::Relaxed), executions(&client).await), (3, "0".to_owned()));
    let (client, _) = approving(&mark, |_| panic!("on purpose"));
    assert!(denied(client.call_tool(bound()).await).contains("panicked"));
    let cap = Duration::from_millis(30);
    let silent = ClientOptions::new().on_approval(|_| pending());
    let silent = Stack::new(Client::with_options(store(&mark).approve(["*"]), silent)).total_cap(cap);
    let error = silent.call_tool(bound()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { after, .. } if after == cap), "{error}");
}

#[tokio::test]
async fn negated_globs_exclude_tools() {
    let mark = Mark::new();
    for approve in [&["*", "!rem*"][..], &["!remove"], &["rem*", "!*"]] {
        let client = Client::new(store(&mark).approve(approve.iter().copied()));
        client.call_tool(bound()).await.expect("no approval is needed");
    }
    for approve in [&["*", "!add"][..], &["!add"], &["!*", "rem*"]] {
        denied(Client::new(store(&mark).approve(approve.iter().copied())).call_tool(bound()).await);
    }
    let stack = |policy| Stack::new(Client::new(store(&mark))).policy(policy);
    denied(stack(Policy::deny(["*", "!add"])).call_tool(bound()).await);
    denied(stack(Policy::allow(["*", "!rem*"])).call_tool(bound()).await);
    stack(Policy::deny(["*", "!remove"])).call_tool(bound()).await.expect("it is not denied");
    stack(Policy::allow(["!add"])).call_tool(bound()).await.expect("it is allowed");
}

#[tokio::test]
async fn approval_by_a_layer_satisfies_the_configuration() {
    let mark = Mark::new();
    let yes = || Approval::of(["remove"], async |_| ApprovalAnswer::Approve);
    let no = Approval::of(["remove"], async |_| ApprovalAnswer::Decline("no".to_owned()));
    // This client has no approval handler of its own.
    let nobody = Client::new(store(&mark).approve(["rem*"]));
    Stack::new(nobody.clone()).approval(yes()).call_tool(bound()).await.expect("the layer approved it");
    denied(Stack::new(nobody.clone()).approval(no).call_tool(bound()).await);
    let other = Approval::of(["add"], async |_| ApprovalAnswer::Approve);
    denied(Stack::new(nobody.clone()).approval(other.clone()).call_tool(bound()).await);
    // The next call through the same stack is another one.
    denied(nobody.call_tool(bound()).await);
    // An approval by the layer is not requested again from the client.
    let (client, asked) = approving(&mark, |_| ApprovalAnswer::Approve);
    Stack::new(client.clone()).approval(yes()).call_tool(bound()).await.expect("the layer approved it");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    Stack::new(client).approval(other).call_tool(bound()).await.expect("the program approved it");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn approval_applies_to_one_call_in_any_layer_order() {
    let mark = Mark::new();
    let (client, asked) = approving(&mark, |_| ApprovalAnswer::Approve);
    let asked = || asked.swap(0, Ordering::Relaxed);
    client.call_tool(bound()).await.unwrap();
    client.call("remove", object(json!({ "key": "a" }))).await.unwrap();
    assert_eq!(asked(), 2);
    let stack = Stack::new(client.clone()).retry(Retry::new()).cache(Cache::new(Duration::from_secs(9)));
    stack.call_tool(bound()).await.unwrap();
    assert_eq!(asked(), 1);
    let around = Stack::new(client.clone()).policy(Policy::allow(["*"]));
    Stack::new(around).retry(Retry::new()).call_tool(bound()).await.unwrap();
    assert_eq!(asked(), 1);
    assert_eq!(executions(&client).await, "4");
    // A cache would bypass the approval.
    let cached = Stack::new(Stack::new(client.clone())).cache(Cache::new(Duration::from_secs(9)));
    assert!(denied(cached.call_tool(bound()).await).contains("cache"));
    assert_eq!((asked(), executions(&client).await), (0, "4".to_owned()));
}
