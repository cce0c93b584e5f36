//! How long things take: what bounds a call, a list, and a connection that is being opened.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::time::{Duration, Instant};

use common::{Mark, bad, good, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, Client, ClientOptions, ConnectErrorKind, Dispatched, ToolCall};
use serde_json::{Map, Value, json};

fn call(arguments: Value) -> ToolCall {
    ToolCall::new("fixture", "do", object(arguments))
}

fn progress(steps: u64, pause_ms: u64) -> Map<String, Value> {
    object(json!({ "do": "progress", "label": "done", "steps": steps, "pause_ms": pause_ms }))
}

#[tokio::test]
async fn one_nanosecond_timeout_always_expires_unsent() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("a connection");
    for _ in 0..200 {
        let add = ToolCall::new("fixture", "add", object(json!({ "a": 1, "b": 1 })));
        let error = client.call_tool_within(add, Duration::from_nanos(1)).await.expect_err("too short");
        assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::No, .. }), "{error:?}");
    }
    client.close().await;
}

#[tokio::test]
async fn maximum_duration_is_accepted_everywhere() {
    let mark = Mark::new();
    for options in [
        ClientOptions::new().timeout(Duration::MAX).connect_timeout(Duration::MAX),
        ClientOptions::new().timeout(Duration::MAX).max_total_timeout(Duration::MAX).protocol_version("2026-07-28"),
    ] {
        let client = Client::with_options(bad("obedient", &mark), options);
        client.call("do", object(json!({ "label": "a" }))).await.expect("the call");
        client.call_tool_within(call(json!({ "label": "b" })), Duration::MAX).await.expect("the call");
        assert_eq!(client.list_tools_raw().await.expect("the list").len(), 1);
        client.close().await;
    }
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn call_timeout_includes_connecting() {
    let mark = Mark::new();
    let client = Client::new(bad("slow-start", &mark));
    let start = Instant::now();
    let early = client.call_tool_within(call(json!({ "label": "early" })), Duration::from_millis(100)).await;
    let error = early.expect_err("the server is not up yet");
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::No, .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_millis(1000), "{:?}", start.elapsed());
    let pids = mark.processes();
    // The attempt went on.
    let result = client.call("do", object(json!({ "label": "later" }))).await.expect("the call");
    assert_eq!(result.text(), "later");
    assert_eq!(mark.processes(), pids, "one process served both");
    client.close().await;
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn configured_timeout_starts_after_connecting() {
    let mark = Mark::new();
    // Starting takes 1.2 seconds.
    let config = bad("slow-start", &mark).timeout(Duration::from_millis(600));
    let client = Client::new(config);
    let result = client.call("do", object(json!({ "label": "a" }))).await.expect("the call");
    assert_eq!(result.text(), "a");
    client.close().await;
}

#[tokio::test]
async fn connect_timeout_is_separate_from_the_call_timeout() {
    let mark = Mark::new();
    let config = bad("silent", &mark).connect_timeout(Duration::from_millis(150));
    let options = ClientOptions::new().connect_timeout(Duration::from_secs(30));
    let start = Instant::now();
    let error = Client::with_options(config, options).connect().await.expect_err("it is silent");
    assert_eq!(error.kind, ConnectErrorKind::Timeout);
    assert!(error.to_string().contains("within 150ms"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn slow_start_does_not_change_the_protocol_version() {
    let mark = Mark::new();
    // Longer than the time that the modern beginning has for itself.
    let options = ClientOptions::new().protocol_version("2026-07-28").connect_timeout(Duration::from_millis(2300));
    let client = Client::with_options(bad("slow-start", &mark), options);
    let snapshot = client.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.protocol_version.as_deref(), Some("2026-07-28"));
    assert_eq!(mark.processes().len(), usize::from(cfg!(target_os = "linux")), "the other attempt is over");
    client.close().await;
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn progress_extends_the_configured_timeout_up_to_the_maximum() {
    let mark = Mark::new();
    let options =
        ClientOptions::new().timeout(Duration::from_millis(400)).max_total_timeout(Duration::from_millis(1200));
    let client = Client::with_options(bad("obedient", &mark), options);
    client.connect().await.expect("a connection");
    let result = client.call("do", progress(6, 100)).await.expect("it gets on");
    assert_eq!(result.text(), "done");
    let start = Instant::now();
    let error = client.call("do", progress(30, 100)).await.expect_err("it takes too long in all");
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error:?}");
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(1100) && took < Duration::from_millis(2500), "{took:?}");
    // Progress does not extend the time limit of `call_tool_within`.
    let client = Client::new(bad("obedient", &mark));
    client.connect().await.expect("a connection");
    let call = ToolCall::new("fixture", "do", progress(10, 100));
    client.call_tool_within(call, Duration::from_millis(300)).await.expect_err("progress or not");
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn endless_tool_list_times_out() {
    let mark = Mark::new();
    let options =
        ClientOptions::new().timeout(Duration::from_millis(400)).max_total_timeout(Duration::from_millis(600));
    let client = Client::with_options(bad("endless-list", &mark), options);
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let error = client.list_tools_raw().await.expect_err("no end");
    assert_eq!(error.kind, ConnectErrorKind::Timeout);
    assert!(error.to_string().contains("no end after"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    client.close().await;
}

#[tokio::test]
async fn missing_program_fails_without_waiting_for_the_timeout() {
    let client = Client::new(ServerConfig::stdio("ghost", "no-such-program-at-all"));
    let error = client.call_tool_within(call(json!({})), Duration::from_secs(30)).await.expect_err("no program");
    assert!(matches!(error, CallError::NotConnected { .. }), "{error:?}");
}
