//! Tests the options of one call: timeout, progress, cancellation and `_meta`; and requests from the server.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Mark, fixture_server, good, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Client, ClientOptions, Dispatched, DynCallTool, ElicitationAnswer, Root,
    SamplingAnswer, ToolCall, ToolReply, ToolResult,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

fn converse(options: ClientOptions) -> Client {
    let server = ServerConfig::stdio("converse", fixture_server().to_string_lossy()).args(["--converse"]);
    Client::with_options(server, options)
}

fn call(tool: &'static str) -> ToolCall {
    ToolCall::new("converse", tool, Default::default())
}

fn counting(steps: u64, pause_ms: u64) -> ToolCall {
    ToolCall::new("fixture", "count_slowly", object(json!({ "steps": steps, "pause_ms": pause_ms })))
}

async fn structured(client: &Client, tool: &'static str) -> Value {
    let result = client.call_tool(call(tool)).await.expect("the call");
    result.structured.expect("structured content")
}

#[tokio::test]
async fn progress_is_reported_in_order_and_ends_with_the_call() {
    let client = converse(ClientOptions::new());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let record = heard.clone();
    let listened = CallOptions::new().on_progress(move |progress| record.lock().unwrap().push(progress));
    client.call_tool(call("report").with(listened)).await.expect("the call");
    let steps: Vec<(f64, Option<f64>, Option<String>)> =
        heard.lock().unwrap().iter().map(|one| (one.progress, one.total, one.message.clone())).collect();
    let step = |step: f64| (step, Some(3.0), Some(format!("step {step}")));
    assert_eq!(steps, [step(1.0), step(2.0), step(3.0)]);

    let (options, mut progress) = CallOptions::new().progress_stream();
    client.call_tool(call("report").with(options)).await.expect("the call");
    let mut streamed = Vec::new();
    while let Some(one) = progress.next().await {
        streamed.push(one.progress);
    }
    assert_eq!(streamed, [1.0, 2.0, 3.0], "the stream ends");

    let (options, _unread) = CallOptions::new().progress_stream();
    let many = ToolCall::new("converse", "report", object(json!({ "steps": 1000 })));
    client.call_tool(many.with(options)).await.expect("a stream that nobody reads holds nothing up");
    client.call_tool(call("stray_report")).await.expect("what belongs to no call harms none");
    let broken = CallOptions::new().on_progress(|_| panic!("broken"));
    client.call_tool(call("report").with(broken)).await.expect("a listener that panics harms nothing");
    client.close().await;
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn progress_extends_the_timeout_only_with_a_cap() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("the connection");
    let short = Duration::from_millis(400);
    let error = client.call_tool(counting(20, 100).with(CallOptions::new().timeout(short))).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "progress alone is no reason to wait: {error}");

    let patient = CallOptions::new().timeout(short).cap(Duration::from_secs(30));
    client.call_tool(counting(8, 100).with(patient)).await.expect("each report gives it time");

    let capped = CallOptions::new().timeout(short).cap(Duration::from_millis(700));
    let start = Instant::now();
    let error = client.call_tool(counting(50, 100).with(capped)).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    client.close().await;
}

#[tokio::test]
async fn client_wide_options_apply_to_every_call() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("the connection");
    let hasty = (&client).within(Duration::from_millis(300));
    let error = hasty.call_tool(counting(50, 100)).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    let own = counting(5, 100).with(CallOptions::new().timeout(Duration::from_secs(20)));
    hasty.call_tool(own).await.expect("a call's own options go first");
    let dynamic: Box<dyn DynCallTool> = Box::new(client.clone());
    dynamic.call_tool(counting(1, 0)).await.expect("the call");
    client.close().await;
}

#[tokio::test]
async fn cancellation_token_cancels_a_call_immediately() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("the connection");
    let token = CancellationToken::new();
    let cancelled = client.call_tool(counting(1000, 100).with(CallOptions::new().cancelled_by(token.clone())));
    let start = Instant::now();
    let (outcome, ()) = tokio::join!(cancelled, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        token.cancel();
    });
    assert!(matches!(outcome, Err(CallError::Cancelled { .. })), "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let already = client.call_tool(counting(1, 0).with(CallOptions::new().cancelled_by(token))).await;
    assert!(matches!(already, Err(CallError::Cancelled { .. })), "{already:?}");
    client.call_tool(counting(1, 0)).await.expect("the connection goes on");
    client.close().await;
}

#[tokio::test]
async fn meta_is_sent_to_the_server_and_reserved_keys_are_refused() {
    for version in [LEGACY, MODERN] {
        let client = converse(ClientOptions::new().protocol_version(version));
        let options = CallOptions::new().meta("traceparent", "00-1").meta("com.example/n", json!({ "a": [1] }));
        let result = client.call_tool(call("show_meta").with(options)).await.expect("the call");
        let meta = result.structured().expect("the meta");
        assert_eq!((&meta["traceparent"], &meta["com.example/n"]), (&json!("00-1"), &json!({ "a": [1] })), "{version}");
        assert!(meta.get("progressToken").is_some());
        for key in ["progressToken", "io.modelcontextprotocol/protocolVersion"] {
            let taken = call("show_meta").with(CallOptions::new().meta(key, "mine"));
            let error = client.call_tool(taken).await.unwrap_err();
            let CallError::InvalidArguments { message, .. } = &error else { panic!("{error:?}") };
            assert!(message.contains(key), "{message}");
        }
        client.close().await;
    }
}

#[tokio::test]
async fn server_requests_are_passed_to_handlers() {
    let options = ClientOptions::new()
        .on_elicitation(async |request| {
            assert_eq!(request.message, "Who are you?");
            ElicitationAnswer::Accept(object(json!({ "name": "Ada" })))
        })
        .on_sampling(async |request| {
            assert_eq!(request.params["maxTokens"], 10);
            SamplingAnswer::text("tiny", "a test")
        })
        .roots([Root::new("file:///project").name("project")]);
    let client = converse(options);
    let said = structured(&client, "ask_user").await;
    assert_eq!(said["result"], json!({ "action": "accept", "content": { "name": "Ada" } }));
    let said = structured(&client, "ask_model").await;
    assert_eq!((&said["result"]["model"], &said["result"]["content"]["text"]), (&json!("tiny"), &json!("a test")));
    let said = structured(&client, "ask_roots").await;
    assert_eq!(said["result"]["roots"], json!([{ "uri": "file:///project", "name": "project" }]));
    client.close().await;
}

#[tokio::test]
async fn server_requests_without_a_handler_are_declined() {
    let client = converse(ClientOptions::new());
    assert_eq!(structured(&client, "ask_user").await["result"]["action"], "decline");
    assert_eq!(structured(&client, "ask_model").await["error"]["code"], -32601);
    assert_eq!(structured(&client, "ask_roots").await["result"]["roots"], json!([]));
    client.close().await;
}

#[tokio::test]
async fn call_timeout_pauses_during_elicitation() {
    let slow = ClientOptions::new().on_elicitation(async |_| {
        tokio::time::sleep(Duration::from_millis(900)).await;
        ElicitationAnswer::Decline
    });
    let client = converse(slow);
    client.connect().await.expect("the connection");
    let hasty = call("ask_user").with(CallOptions::new().timeout(Duration::from_millis(400)));
    let result = client.call_tool(hasty).await.expect("the user's time is not the call's");
    assert_eq!(result.structured().expect("an answer")["result"]["action"], "decline");
    client.close().await;

    let never = ClientOptions::new()
        .on_elicitation(|_| std::future::pending::<ElicitationAnswer>())
        .answer_timeout(Duration::from_millis(200));
    let client = converse(never);
    assert_eq!(structured(&client, "ask_user").await["result"]["action"], "cancel");
    client.close().await;
}

#[tokio::test]
async fn task_is_polled_until_it_completes() {
    let client = converse(ClientOptions::new().protocol_version(MODERN));
    let result = client.call_tool(call("task")).await.expect("the call");
    assert_eq!(result.text(), "done after 3 polls");
    client.close().await;
    let client = converse(ClientOptions::new().protocol_version(MODERN));
    let error = client.call_tool(call("bad_task")).await.unwrap_err();
    assert!(matches!(&error, CallError::Rpc { message, .. } if message.contains("disk is full")), "{error:?}");
    let reply = ToolReply::from(Err::<ToolResult, _>(error));
    assert!(!reply.success && reply.message.contains("disk is full"), "{reply:?}");
    client.close().await;
    let legacy = converse(ClientOptions::new().protocol_version(LEGACY));
    let result = legacy.call_tool(call("task")).await.expect("the call");
    assert_eq!(result.extra["taskId"], "task", "in an era without tasks it is a result like any other");
    legacy.close().await;
}

#[tokio::test]
async fn task_support_is_declared_but_absent_from_the_snapshot() {
    let declared = "io.modelcontextprotocol/clientCapabilities";
    let own = json!({ "extensions": { "com.example/maps": { "zoom": 3 } } });
    for (options, extensions) in [
        (ClientOptions::new(), json!({ "io.modelcontextprotocol/tasks": {} })),
        (
            ClientOptions::new().capabilities(own.clone()),
            json!({ "com.example/maps": { "zoom": 3 }, "io.modelcontextprotocol/tasks": {} }),
        ),
    ] {
        let client = converse(options.protocol_version(MODERN));
        assert_eq!(structured(&client, "show_meta").await[declared]["extensions"], extensions);
        let recorded = client.snapshot().await.expect("a snapshot").client_capabilities.expect("capabilities");
        assert!(
            recorded == json!({}) || recorded == own,
            "what every client declares is not the program's: {recorded}"
        );
        client.close().await;
    }
    let legacy = converse(ClientOptions::new().protocol_version(LEGACY));
    assert_eq!(structured(&legacy, "show_capabilities").await, json!({}), "older versions have no extensions");
    legacy.close().await;
}

#[tokio::test]
async fn repeated_input_request_of_a_task_is_answered_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = asked.clone();
    let options = ClientOptions::new().protocol_version(MODERN).on_elicitation(move |question| {
        record.lock().unwrap().push(question.message);
        async { ElicitationAnswer::Decline }
    });
    let client = converse(options);
    let result = client.call_tool(call("asking_task")).await.expect("the call");
    assert_eq!(result.text(), "name, age", "what the client sent, each time");
    assert_eq!(*asked.lock().unwrap(), ["Who are you?", "How old are you?"]);
    client.close().await;
}

#[tokio::test]
async fn cancellation_token_cancels_a_call_during_elicitation() {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let asked = ClientOptions::new().protocol_version(MODERN).on_elicitation(move |_| {
        cancel.cancel();
        std::future::pending::<ElicitationAnswer>()
    });
    let client = converse(asked);
    let cancelled = client.call_tool(call("need_input").with(CallOptions::new().cancelled_by(token)));
    let cancelled =
        tokio::time::timeout(Duration::from_secs(20), cancelled).await.expect("it does not wait for the user");
    let error = cancelled.unwrap_err();
    assert!(matches!(error, CallError::Cancelled { .. }), "{error:?}");
    assert_eq!(error.dispatched(), Dispatched::Unknown, "the server has begun");
    client.close().await;
}

#[tokio::test]
async fn call_ends_if_input_requests_are_never_answered() {
    let asked = ClientOptions::new()
        .protocol_version(MODERN)
        .answer_timeout(Duration::from_millis(20))
        .on_elicitation(|_| std::future::pending::<ElicitationAnswer>());
    let client = converse(asked);
    let asking = client.call_tool(call("need_input"));
    let error = tokio::time::timeout(Duration::from_secs(20), asking).await.expect("it ends").unwrap_err();
    assert_ne!(error.dispatched(), Dispatched::No, "{error:?}");
    client.close().await;
}

/// A value for layers around the client.
#[derive(Debug, PartialEq)]
struct Tenant(u32);

#[test]
fn call_carries_extensions_for_layers() {
    let call = call("task").with_extension(Tenant(7)).with_extension("text");
    let copy = call.clone();
    assert_eq!((copy.extension::<Tenant>(), copy.extension::<&str>()), (Some(&Tenant(7)), Some(&"text")));
    assert_eq!(copy.extension::<u8>(), None);
    assert!(!format!("{copy:?}").contains('7'));
}
