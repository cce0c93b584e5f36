//! Servers that misbehave: a clear error in time, and no process left.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::time::{Duration, Instant};

use common::{Mark, bad, good, impatient, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    CallError, Client, ClientOptions, ConnectError, ConnectErrorKind as Kind, Content, Dispatched,
};
use serde_json::{Map, Value, json};

/// Connecting fails in time, and leaves nothing behind.
async fn refused(mode: &str, client: fn(ServerConfig) -> Client) -> ConnectError {
    let mark = Mark::new();
    let client = client(bad(mode, &mark));
    let start = Instant::now();
    let error = client.connect().await.expect_err("no connection");
    assert!(start.elapsed() < Duration::from_secs(20), "{mode}: {:?}", start.elapsed());
    assert!(!client.is_connected());
    mark.gone_within(Duration::from_secs(20)).await;
    let text = error.to_string();
    assert!(text.starts_with("fixture: "), "{text}");
    error
}

#[tokio::test]
async fn missing_program_is_a_spawn_error() {
    let config = ServerConfig::stdio("ghost", "no-such-program-at-all");
    let error = Client::new(config).connect().await.expect_err("no program");
    assert_eq!(error.kind, Kind::Spawn);
    let text = error.to_string();
    assert!(text.contains("ghost: failed to start `no-such-program-at-all`: not found"), "{text}");
}

#[tokio::test]
async fn missing_working_directory_is_an_error() {
    let config = ServerConfig::stdio("ghost", "sh").cwd("/no/such/folder");
    let error = Client::new(config).connect().await.expect_err("no folder");
    assert!(error.to_string().contains("the folder `/no/such/folder` (cwd) does not exist"), "{error}");
}

#[tokio::test]
async fn error_of_an_exited_server_quotes_stderr_without_secrets() {
    let mark = Mark::new();
    let client = Client::new(bad("exit", &mark).env("FIXTURE_SECRET", "sk-very-secret"));
    let error = client.connect().await.expect_err("it exits");
    let text = error.to_string();
    assert!(text.contains("exit status: 3"), "{text}");
    assert!(text.contains("cannot start: the key [redacted] was refused"), "{text}");
    let evidence = error.evidence();
    assert_eq!(evidence.exit_status.as_deref(), Some("exit status: 3"));
    assert!(evidence.stderr.iter().any(|line| line.contains("the key [redacted] was refused")), "{evidence:?}");
    assert!(!text.contains("sk-very-secret") && !format!("{client:?}{error:?}").contains("sk-very-secret"), "{text}");
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn snapshot_redacts_secrets_repeated_by_the_server() {
    let mark = Mark::new();
    let client = Client::new(bad("tells-all", &mark).env("FIXTURE_SECRET", "hunter2hunter2"));
    let snapshot = client.snapshot().await.expect("a snapshot");
    let text = format!("{} {snapshot:?}", snapshot.to_text());
    assert!(text.contains("calls with [redacted]") && text.contains("The key is [redacted]."), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    client.close().await;
}

#[tokio::test]
async fn error_redacts_secrets_of_the_command_line() {
    let config = ServerConfig::stdio("fixture", "sh")
        .args(["-c", "echo refused: $0 >&2; exit 3", "--token=hunter2"])
        .args(["postgres://u:swordfish@h/db"]);
    let error = Client::new(config).connect().await.expect_err("it exits");
    let text = format!("{error} {error:?}");
    assert!(text.contains("refused: --token=[redacted]") && !text.contains("hunter2"), "{text}");
    let ghost = ServerConfig::stdio("ghost", "no-such-program --token hunter2");
    let text = Client::new(ghost).connect().await.expect_err("no program").to_string();
    assert!(text.contains("failed to start `no-such-program --token [redacted]`"), "{text}");
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn silent_server_is_a_connect_timeout() {
    let error = refused("silent", impatient).await;
    assert_eq!(error.kind, Kind::Timeout);
    assert!(error.to_string().contains("no answer to `initialize` within 2.5s"), "{error}");
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn program_that_only_prints_is_a_timeout_with_its_output() {
    let error = refused("banner-only", impatient).await;
    assert_eq!(error.kind, Kind::Timeout);
    assert!(error.to_string().contains("Fixture server v1"), "{error}");
}

#[tokio::test]
async fn error_without_an_id_fails_the_handshake() {
    let error = refused("error-without-id", Client::new).await;
    assert_eq!(error.kind, Kind::Protocol);
    assert!(error.to_string().contains("JSON-RPC error -32603: database is locked"), "{error}");
}

#[tokio::test]
async fn unsupported_protocol_version_is_an_error() {
    let error = refused("old-version", Client::new).await;
    assert_eq!(error.kind, Kind::Protocol);
    assert!(error.to_string().contains("`1999-01-01`; supported are 2024-11-05"), "{error}");
}

#[tokio::test]
async fn malformed_handshake_is_an_error() {
    let error = refused("wrong-handshake", Client::new).await;
    assert_eq!(error.kind, Kind::Protocol);
    assert!(error.to_string().contains("`initialize` failed: the response has no `protocolVersion`"), "{error}");
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn endless_line_is_an_error() {
    let error = refused("endless-line", impatient).await;
    assert!(error.to_string().contains("more than 64 MiB") || error.kind == Kind::Timeout, "{error}");
}

#[tokio::test]
async fn harmless_faults_are_tolerated() {
    for mode in [
        "banner",
        "batch",
        "json-banner",
        "malformed-capabilities",
        "modern-only",
        "no-server-info",
        "pretty",
        "string-id",
    ] {
        let mark = Mark::new();
        let client = Client::new(bad(mode, &mark));
        let tools = client.list_tools_raw().await.unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert_eq!(tools.len(), 2, "{mode}");
        let result = client.call("good", Map::new()).await.unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert_eq!(result.text(), "done", "{mode}");
        client.close().await;
        assert!(mark.processes().is_empty(), "{mode}");
    }
}

#[tokio::test]
async fn unreadable_response_fails_only_its_own_call() {
    let mark = Mark::new();
    let options = ClientOptions::new().timeout(Duration::from_secs(30));
    let client = Client::with_options(bad("large-answer", &mark), options);
    assert_eq!(client.call("good", Map::new()).await.expect("17 MiB are no trouble").text().len(), 17 << 20);
    client.close().await;
    costs_its_own_call("unreadable-answer", "cannot be read").await;
}

#[tokio::test]
#[ignore = "takes seconds; a suite of its own: .ci/run faults"]
async fn oversized_response_fails_only_its_own_call() {
    costs_its_own_call("too-large-answer", "a message of more than 64 MiB").await;
    println!("1 fault over stdio ended in time with the right error");
}

async fn costs_its_own_call(mode: &str, expected: &str) {
    let mark = Mark::new();
    let options = ClientOptions::new().timeout(Duration::from_secs(30));
    let client = Client::with_options(bad(mode, &mark), options);
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let error = client.call("good", Map::new()).await.expect_err(mode);
    assert!(matches!(error, CallError::InvalidResponse { .. }), "{mode}: {error:?}");
    assert!(error.to_string().contains(expected), "{mode}: {error}");
    assert!(start.elapsed() < Duration::from_secs(15), "{mode}: {:?}", start.elapsed());
    assert!(client.is_connected() && client.list_tools_raw().await.is_ok(), "{mode}: the connection goes on");
    client.close().await;
    assert!(mark.processes().is_empty());
}

#[cfg(unix)]
#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn closed_stdout_of_a_running_server_fails_pending_calls() {
    let mark = Mark::new();
    let script = r#"read line
        echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
        read line; read line; exec >&-; sleep 1000"#;
    let config = ServerConfig::stdio("shell", "sh").args(["-c", script]).env("FIXTURE_MARK", mark.value());
    let options = ClientOptions::new().timeout(Duration::from_secs(30));
    let client = Client::with_options(config, options);
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let error = client.call("good", Map::new()).await.expect_err("no answer can come");
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error:?}");
    assert!(error.to_string().contains("closed its stdout"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    client.close().await;
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn snapshot_preserves_tools_unchanged() {
    let mark = Mark::new();
    let client = Client::new(bad("banner", &mark));
    let snapshot = client.snapshot().await.expect("a snapshot");
    let names: Vec<&Value> = snapshot.tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["another", "good"]);
    let expected = r#"{"name":"good","inputSchema":{"type":"object","z":1,"a":2},"execution":{"taskSupport":"optional"},"x-vendor":{"b":1,"a":2}}"#;
    assert_eq!(snapshot.tools[1].to_string(), expected);
    assert_eq!(snapshot.server_info.expect("server info")["vendorKey"], json!([1]));
    assert_eq!(snapshot.instructions.as_deref(), Some("Be careful."));
    assert_eq!(snapshot.capabilities, Some(json!({"tools": {"listChanged": true}})));
    client.close().await;
}

#[tokio::test]
async fn unreadable_value_in_a_tool_list_affects_only_itself() {
    let mark = Mark::new();
    let client = Client::new(bad("unreadable-places", &mark));
    let snapshot = client.snapshot().await.expect("the list");
    let names: Vec<&str> = snapshot.tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["deep", "good", "half \u{fffd}", "number"]);
    let maximum = &snapshot.tools[3]["inputSchema"]["properties"]["n"]["maximum"];
    assert!(mcp_bindgen_model::is_beyond_doubles(maximum), "{maximum}");
    let text = snapshot.to_text();
    assert_eq!(
        mcp_bindgen_model::Snapshot::parse(&text).expect("a snapshot").to_text(),
        text,
        "what sync writes stays"
    );
    client.close().await;
}

#[tokio::test]
async fn malformed_tool_does_not_affect_other_tools() {
    let mark = Mark::new();
    let client = Client::new(bad("malformed-tool", &mark));
    let tools = client.list_tools_raw().await.expect("the list");
    assert_eq!(tools.len(), 7);
    assert_eq!(tools[1], json!({"name": "no-schema"}));
    assert_eq!(tools[3]["outputSchema"], json!(true));
    assert_eq!(tools[6], json!("not even an object"));
    client.close().await;
}

#[tokio::test]
async fn list_without_tools_is_an_error_and_a_repeated_cursor_ends_it() {
    let mark = Mark::new();
    let client = Client::new(bad("no-tools-array", &mark));
    let error = client.list_tools_raw().await.expect_err("no list");
    assert!(error.to_string().contains("the response to `tools/list` has no array `tools`"), "{error}");
    client.close().await;

    let client = Client::new(bad("circular-cursor", &mark));
    assert_eq!(client.list_tools_raw().await.expect("a list that ends at the repeated cursor").len(), 1);
    client.close().await;
    assert!(mark.processes().is_empty());
}

#[tokio::test]
async fn tool_list_is_read_again_after_an_immediate_change() {
    let mark = Mark::new();
    let client = Client::new(bad("changing-list", &mark));
    let snapshot = client.snapshot().await.expect("a snapshot");
    let names: Vec<&Value> = snapshot.tools.iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("late")), "{names:?}");
    client.close().await;
}

#[tokio::test]
async fn unusual_results_are_read() {
    let mark = Mark::new();
    let client = Client::new(bad("extra-key", &mark));
    let result = client.call("good", Map::new()).await.expect("the call");
    assert_eq!((result.text().as_str(), result.structured()), ("done", Some(&json!({"n": 1}))));
    client.close().await;

    let client = Client::new(bad("unknown-content", &mark));
    let result = client.call("good", Map::new()).await.expect("the call");
    assert_eq!(result.content[0], Content::Other(json!({"type": "hologram", "depth": 3})));
    assert_eq!(result.text(), "done");
    client.close().await;
}

#[tokio::test]
async fn server_exit_during_a_call_leaves_an_unknown_outcome() {
    let mark = Mark::new();
    let client = Client::new(bad("exit-on-call", &mark));
    client.connect().await.expect("a connection");
    let error = client.call("good", Map::new()).await.expect_err("it dies");
    assert!(matches!(&error, CallError::OutcomeUnknown { tool, .. } if tool == "good"), "{error:?}");
    assert!(error.to_string().contains("exit status: 4"), "{error}");
    // The next call starts another process, which dies as well.
    let error = client.call("good", Map::new()).await.expect_err("it dies again");
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error:?}");
    client.close().await;
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn unanswered_call_times_out() {
    let mark = Mark::new();
    let client = impatient(bad("silent-on-call", &mark));
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let error = client.call("good", Map::new()).await.expect_err("a timeout");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    client.close().await;
    assert!(mark.processes().is_empty());
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn call_times_out_if_the_server_stops_reading() {
    let mark = Mark::new();
    let client = impatient(bad("deaf", &mark));
    let error = client.list_tools_raw().await.map(|_| ()).expect_err("one page and no more");
    assert_eq!(error.kind, Kind::Timeout);
    let large = object(json!({"text": "x".repeat(1_000_000)}));
    let start = Instant::now();
    let (a, b) = tokio::join!(client.call("good", large), client.call("good", Map::new()));
    assert!(matches!(a, Err(CallError::Timeout { .. })) && matches!(b, Err(CallError::Timeout { .. })), "{a:?} {b:?}");
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    let start = Instant::now();
    client.close().await;
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn killed_server_process_is_replaced() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("a connection");
    let Some(pid) = mark.counts(1).await.first().copied() else { return };
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
    assert!(killed.success());
    while mark.processes().contains(&pid) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let start = Instant::now();
    let result = loop {
        match client.call("add", object(json!({"a": 1, "b": 1}))).await {
            Ok(result) => break result,
            // It may not have been noticed yet: the process may still be there without its memory, and its pipe with it.
            Err(error) => assert_ne!(error.dispatched(), Dispatched::Yes, "{error}"),
        }
        assert!(start.elapsed() < Duration::from_secs(20), "there is no new process");
    };
    assert_eq!(result.structured(), Some(&json!({"result": 2})));
    client.close().await;
}

#[tokio::test]
async fn close_kills_grandchildren_of_the_server() {
    let mark = Mark::new();
    let client = Client::new(bad("grandchild", &mark));
    let result = client.call("good", Map::new()).await.expect("the call");
    assert!(result.structured().expect("structured")["pid"].as_u64().is_some());
    mark.counts(2).await;
    let start = Instant::now();
    client.close().await;
    assert_eq!(mark.processes(), Vec::<u32>::new());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    let client = Client::new(bad("grandchild", &mark));
    client.connect().await.expect("a connection");
    drop(client);
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn close_ends_a_server_that_ignores_the_end_of_stdin() {
    let mark = Mark::new();
    let client = Client::new(bad("stubborn", &mark));
    client.connect().await.expect("a connection");
    let start = Instant::now();
    client.close().await;
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[cfg(unix)]
#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn close_kills_a_server_that_ignores_sigterm() {
    let mark = Mark::new();
    let script = r#"trap "" TERM; read line
        echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
        while :; do sleep 0.2; done"#;
    let config = ServerConfig::stdio("shell", "sh").args(["-c", script]).env("FIXTURE_MARK", mark.value());
    let client = Client::new(config);
    client.connect().await.expect("a connection");
    let start = Instant::now();
    client.close().await;
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn concurrent_callers_share_the_same_connect_error() {
    let mark = Mark::new();
    let client = impatient(bad("silent", &mark));
    let start = Instant::now();
    let (a, b, c) = tokio::join!(client.connect(), client.call("good", Map::new()), client.list_tools_raw());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(a.is_err() && c.is_err());
    assert!(
        matches!(&b, Err(CallError::NotConnected { message, .. }) if message.contains("no answer to `initialize`")),
        "{b:?}"
    );
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn cancelled_connect_leaves_no_process() {
    let mark = Mark::new();
    let client = Client::new(bad("silent", &mark));
    let gave_up = tokio::time::timeout(Duration::from_millis(500), client.connect()).await;
    assert!(gave_up.is_err());
    drop(client);
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn missing_variable_error_names_the_server() {
    let config = ServerConfig::stdio("github", "true").env("TOKEN", "${MCP_BINDGEN_TEST_NEVER_SET}");
    let error = Client::new(config).connect().await.expect_err("no variable");
    assert_eq!(error.kind, Kind::Config);
    let text = error.to_string();
    assert!(text.contains("MCP_BINDGEN_TEST_NEVER_SET") && text.contains("github"), "{text}");
}

#[tokio::test]
async fn client_falls_back_to_the_other_handshake() {
    for mode in ["banner", "silent-on-call", "dies-on-discover", "empty-discover"] {
        guesses_wrong(mode, Duration::from_secs(60)).await;
    }
}

#[tokio::test]
#[ignore = "waits for an answer: .ci/run patience"]
async fn ignored_discover_falls_back_to_initialize() {
    guesses_wrong("ignores-discover", Duration::from_secs(6)).await;
}

async fn guesses_wrong(mode: &str, patience: Duration) {
    let mark = Mark::new();
    let options = ClientOptions::new().protocol_version("2026-07-28").timeout(Duration::from_secs(4));
    let client = Client::with_options(bad(mode, &mark), options.connect_timeout(patience));
    let snapshot = client.snapshot().await.unwrap_or_else(|error| panic!("{mode}: {error}"));
    assert_eq!(snapshot.protocol_version.as_deref(), Some("2025-11-25"), "{mode}");
    client.close().await;
    assert!(mark.processes().is_empty(), "{mode}");
}
