//! Calls that are denied never reach the server, however they are made; and only a yes is a yes.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_bindgen::middleware::{Approval, ApprovalAnswer, ApprovalRequest, Policy, Stack, Verdict};
use mcp_bindgen::{CallError, CallOptions, CallTool, Client, Dispatched, GetPrompt, ReadResource, ToolCall};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

const SHORT: Duration = Duration::from_millis(20);

/// Every way to make a call of `remove`.
async fn every_way(stack: &Stack<Client>) -> Vec<Result<(), CallError>> {
    let params = || StoreRemoveParams::new("a");
    let parsed = StoreCall::parse("store_remove", json!({ "key": "a" })).unwrap();
    vec![
        Store::with(stack.clone()).remove(params()).await.map(drop),
        store_remove(stack, params()).await.map(drop),
        StoreCall::Remove(params()).call(stack).await.map(drop),
        parsed.call(stack).await.map(drop),
        stack.call_tool(untyped("remove", json!({ "key": "a" }))).await.map(drop),
        stack.clone().within(SOON).call_tool(untyped("remove", json!({}))).await.map(drop),
    ]
}

#[tokio::test]
async fn denied_call_never_reaches_the_server() {
    let policies = [
        Policy::new(|call| if call.tool == "remove" { Verdict::deny("no") } else { Verdict::Allow }),
        Policy::new_async(async |call: ToolCall| match &*call.tool {
            "remove" => Verdict::deny("no"),
            _ => Verdict::Allow,
        }),
        Policy::deny(["rem*"]),
        Policy::allow(["get", "set"]),
        Policy::read_only(),
        Policy::new(|_| panic!("on purpose")),
        Policy::new_async(async |_| panic!("on purpose")),
        Policy::new_async(|_| pending()).patience(SHORT),
    ];
    let (server, client) = served();
    let decline = |_: ApprovalRequest| async { ApprovalAnswer::Decline("no".to_owned()) };
    let stacks = policies.into_iter().map(|policy| Stack::new(client.clone()).policy(policy)).chain([
        Stack::new(client.clone()).approval(Approval::of(["r*"], decline)),
        Stack::new(client.clone()).approval(Approval::of_destructive(decline)),
        Stack::new(client.clone()).approval(Approval::of_those(|_| panic!("on purpose"), decline)),
        Stack::new(client.clone()).approval(Approval::of(["*"], |_| -> std::future::Ready<_> { panic!("on purpose") })),
        Stack::new(client.clone()).approval(Approval::of(["*"], async |_| panic!("on purpose"))),
        Stack::new(client.clone()).approval(Approval::of(["*"], |_| pending()).patience(SHORT)),
    ]);
    for stack in stacks {
        for (way, outcome) in every_way(&stack).await.into_iter().enumerate() {
            let error = outcome.expect_err("it is denied");
            assert!(matches!(&error, CallError::Denied { .. }), "way {way}: {error}");
            assert_eq!((error.server(), error.tool(), error.dispatched()), ("store", "remove", Dispatched::No));
        }
    }
    assert_eq!(server.all_executions(), 0);
    assert!(every_way(&Stack::new(client)).await.iter().all(Result::is_ok));
    assert_eq!(server.executions("remove"), 6);
}

#[tokio::test]
async fn denial_reason_describes_the_policy_failure() {
    let (_, client) = served();
    let reason = async |policy| denied(Stack::new(client.clone()).policy(policy).call_tool(get("a")).await);
    assert!(reason(Policy::new(|_| panic!("hunter2"))).await.contains("panicked"));
    assert!(!reason(Policy::new(|_| panic!("hunter2"))).await.contains("hunter2"));
    assert!(reason(Policy::new_async(|_| pending()).patience(SHORT)).await.contains("20ms"));
    assert_eq!(reason(Policy::new(|call| Verdict::deny(format!("{}/{}", call.server, call.tool)))).await, "store/get");
    struct Tenant(u8);
    let of_tenant = Policy::new(|call| match call.extension::<Tenant>() {
        Some(Tenant(7)) => Verdict::Allow,
        _ => Verdict::deny("not yours"),
    });
    let stack = Stack::new(client.clone()).policy(of_tenant);
    assert!(stack.call_tool(get("a").with_extension(Tenant(7))).await.is_ok());
    assert_eq!(denied(stack.call_tool(get("a")).await), "not yours");
}

#[tokio::test]
async fn destructive_tools_require_approval_unless_idempotent() {
    let (server, client) = served();
    let log = Log::default();
    let asked = log.clone();
    let stack = Stack::new(client).approval(Approval::of_destructive(move |request| {
        asked.note(format!("{} {:?}", request.tool, request.arguments.get("key")));
        async { ApprovalAnswer::Approve }
    }));
    let store = Store::with(stack.clone());
    store.get(StoreGetParams::new("a")).await.unwrap();
    store.put(StorePutParams::new("a", 1)).await.unwrap();
    assert_eq!(log.take(), [""; 0], "it is read-only, or idempotent");
    store.set(StoreSetParams::new("a", 1)).await.unwrap();
    store.remove(StoreRemoveParams::new("a")).await.unwrap();
    // Nothing is known of the tool of a call without bindings.
    stack.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap();
    assert_eq!(log.take(), [r#"set Some(String("a"))"#, r#"remove Some(String("a"))"#, r#"get Some(String("a"))"#]);
    assert_eq!(server.all_executions(), 5);
}

#[tokio::test]
async fn approvals_are_requested_concurrently() {
    let (server, client) = served();
    let asking = Arc::new(AtomicUsize::new(0));
    let all = Arc::new(tokio::sync::Barrier::new(CALLERS));
    let count = asking.clone();
    let stack = Stack::new(client).approval(Approval::of(["*"], move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        let all = all.clone();
        async move {
            all.wait().await;
            ApprovalAnswer::Approve
        }
    }));
    let mut calls = JoinSet::new();
    for number in 0..CALLERS {
        let stack = stack.clone();
        calls.spawn(async move { stack.call_tool(set(&number.to_string(), 1)).await.unwrap() });
    }
    tokio::time::timeout(SOON, calls.join_all()).await.expect("none waits for another");
    assert_eq!((asking.load(Ordering::Relaxed), server.executions("set")), (CALLERS, CALLERS));
}

#[tokio::test]
async fn abandoned_approval_does_not_run_the_call() {
    let (server, client) = served();
    let (ask, mut asked) = tokio::sync::mpsc::unbounded_channel::<oneshot::Sender<ApprovalAnswer>>();
    let stack = Stack::new(client).approval(Approval::of(["*"], move |_| {
        let (answer, answered) = oneshot::channel();
        ask.send(answer).unwrap();
        async move { answered.await.unwrap() }
    }));
    let call = |call: ToolCall| {
        let stack = stack.clone();
        tokio::spawn(async move { stack.call_tool(call).await })
    };
    // The sender of the answer is dropped, so the approval handler panics.
    let waiting = call(set("a", 1));
    drop(asked.recv().await.unwrap());
    assert!(denied(waiting.await.unwrap()).contains("panicked"));
    // The call is dropped while it is asked about; a late yes changes nothing.
    let waiting = call(set("a", 1));
    let answer = asked.recv().await.unwrap();
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert!(answer.send(ApprovalAnswer::Approve).is_err(), "nobody listens");
    // It is cancelled while it is asked about.
    let token = CancellationToken::new();
    let waiting = call(set("a", 1).with(CallOptions::new().cancelled_by(token.clone())));
    let answer = asked.recv().await.unwrap();
    token.cancel();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, CallError::Cancelled { dispatched: Dispatched::No, .. }), "{error}");
    assert!(answer.send(ApprovalAnswer::Approve).is_err(), "nobody listens");
    assert_eq!(server.all_executions(), 0);
    // The time that an approval takes does not count towards the timeout of the call.
    let waiting = call(set("a", 1).with(CallOptions::new().timeout(Duration::from_millis(200))));
    let answer = asked.recv().await.unwrap();
    let start = Instant::now();
    tokio::time::sleep(Duration::from_millis(300)).await;
    answer.send(ApprovalAnswer::Approve).unwrap();
    assert!(waiting.await.unwrap().is_ok(), "after {:?}", start.elapsed());
    assert_eq!(server.all_executions(), 1);
}

#[tokio::test]
async fn prompts_and_resources_pass_through_a_stack() {
    fn has_all(_: impl CallTool + GetPrompt + ReadResource + Clone) {}
    let (_, client) = served();
    let stack = Stack::new(client).policy(Policy::deny(["*"]));
    has_all(stack.clone());
    let error = stack.get_prompt(mcp_bindgen::PromptRequest::new("store", "none", Default::default())).await;
    assert!(!matches!(error, Err(CallError::Denied { .. })), "{error:?}");
}
