//! The runtime against a well-behaved child process.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::time::{Duration, Instant};

use common::{Mark, bad, call_concurrently, fixture_server, good, named, object};
use mcp_bindgen_model::{ServerConfig, Snapshot};
use mcp_bindgen_runtime::{
    CallError, CallTool, Client, ClientOptions, ConnectErrorKind, Content, ServerSpec, Servers, ToolCall,
};
use serde_json::{Map, Value, json};

#[tokio::test]
async fn arguments_and_results_round_trip_exactly() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    assert!(!client.is_connected());
    let arguments = object(json!({
        "z": null, "labels": [], "extra": {}, "count": 0, "text": "", "a": [{"b": 1.5}, 12345678901234567890u64]
    }));
    let result = client.call("echo_arguments", arguments.clone()).await.expect("the call");
    assert!(client.is_connected());
    assert_eq!(result.structured(), Some(&json!({ "arguments": arguments })));
    let keys = |value: &Value| value.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&result.structured.clone().unwrap()["arguments"]), keys(&Value::Object(arguments)));
    assert_eq!((result.server.as_str(), result.tool.as_str()), ("fixture", "echo_arguments"));
    assert!(!result.is_error);
    client.close().await;
    assert!(!client.is_connected());
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[tokio::test]
async fn closed_client_reconnects() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("a connection");
    let first = mark.processes();
    client.close().await;
    let result = client.call("add", object(json!({"a": 2, "b": 3}))).await.expect("the call");
    assert_eq!(result.structured(), Some(&json!({"result": 5})));
    if cfg!(target_os = "linux") {
        assert_eq!(first.len(), 1);
        assert_ne!(first, mark.processes());
    }
    client.close().await;
}

#[tokio::test]
async fn results_of_every_kind_are_read() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let report = client.call("make_report", Map::new()).await.expect("the report");
    assert_eq!(report.content.len(), 3);
    assert_eq!(report.text(), "All is well.");
    assert!(matches!(&report.content[1], Content::Image { mime_type, .. } if mime_type == "image/png"));
    assert!(
        matches!(&report.content[2], Content::ResourceLink { uri, link } if uri == "file:///report.txt" && link["name"] == "report")
    );
    assert_eq!(report.meta.as_ref().and_then(|meta| meta.get("pages")), Some(&json!(1)));
    assert_eq!(report.structured(), None);

    let failed = client.call("always_fails", object(json!({"reason": "tired"}))).await.expect("a result");
    assert!(failed.is_error);
    assert_eq!(failed.text(), "it failed: tired");

    let error = client.call("no_such_tool", Map::new()).await.expect_err("no such tool");
    assert!(matches!(&error, CallError::ToolNotFound { tool, .. } if tool == "no_such_tool"), "{error}");

    let error = client.call("add", object(json!({"a": "two"}))).await.expect_err("wrong arguments");
    assert!(matches!(&error, CallError::Rpc { code: -32602, .. }), "{error}");
    assert!(error.to_string().contains("fixture") && error.to_string().contains("add"), "{error}");
    client.close().await;
}

#[tokio::test]
async fn concurrent_callers_share_one_process() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let calls = (0..20).map(|n| {
        let client = client.clone();
        tokio::spawn(async move { client.call("add", object(json!({"a": n, "b": 1}))).await })
    });
    for (n, call) in calls.enumerate() {
        let result = call.await.expect("the task").expect("the call");
        assert_eq!(result.structured(), Some(&json!({"result": n + 1})));
    }
    if cfg!(target_os = "linux") {
        mark.counts(1).await;
    }
    drop(client);
    mark.gone_within(Duration::from_secs(20)).await;
}

#[tokio::test]
async fn calls_run_concurrently() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("a connection");
    call_concurrently(&client).await;
    client.close().await;
}

#[tokio::test]
async fn timed_out_call_does_not_affect_the_next_one() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let slow = ToolCall::new("fixture", "count_slowly", object(json!({"steps": 100, "pause_ms": 100})));
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let error = client.call_tool_within(slow, Duration::from_millis(300)).await.expect_err("a timeout");
    assert!(matches!(&error, CallError::Timeout { after, .. } if *after == Duration::from_millis(300)), "{error}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(client.call("add", object(json!({"a": 1, "b": 1}))).await.is_ok());
    client.close().await;
}

#[tokio::test]
async fn timeout_of_the_server_configuration_applies() {
    let mark = Mark::new();
    let client = Client::new(good(&mark).timeout(Duration::from_millis(900)));
    client.connect().await.expect("a connection");
    let error =
        client.call("count_slowly", object(json!({"steps": 1, "pause_ms": 1200}))).await.expect_err("a timeout");
    assert!(error.to_string().contains("900ms"), "{error}");
    client.close().await;
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_process() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("a connection");
    let other = client.clone();
    drop(client);
    assert!(other.call("add", object(json!({"a": 1, "b": 1}))).await.is_ok());
    drop(other);
    mark.gone_within(Duration::from_secs(20)).await;
}

#[test]
fn dropping_the_runtime_ends_the_process() {
    let mark = Mark::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = Client::new(good(&mark));
    runtime.block_on(client.connect()).expect("a connection");
    drop(runtime);
    let again = tokio::runtime::Runtime::new().expect("a runtime");
    again.block_on(mark.gone_within(Duration::from_secs(20)));
    let result = again.block_on(client.call("add", object(json!({"a": 1, "b": 1}))));
    assert!(result.is_ok(), "{result:?}");
    again.block_on(client.close());
    drop(client);
}

#[test]
fn message_is_written_completely_while_the_runtime_of_its_caller_is_idle() {
    let mark = Mark::new();
    let here = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = Client::new(good(&mark));
    here.block_on(client.connect()).expect("a connection");
    // More than a pipe holds.
    let long = object(json!({"text": "x".repeat(1 << 20), "a": 1}));
    elsewhere.block_on(async {
        tokio::select! {
            biased;
            outcome = client.call("echo_arguments", long) => panic!("it cannot be written at once: {outcome:?}"),
            () = std::future::ready(()) => {}
        }
    });
    let result = here.block_on(client.call("add", object(json!({"a": 1, "b": 1}))));
    assert!(result.is_ok(), "{result:?}");
    here.block_on(client.close());
    drop(elsewhere);
}

#[tokio::test]
async fn fixture_server_matches_its_checked_in_snapshot() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let live = client.snapshot().await.expect("a snapshot");
    client.close().await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/snapshots/fixture.json");
    let kept = Snapshot::load(std::path::Path::new(path)).expect("the file");
    assert_eq!(live.to_text(), kept.to_text());
    assert_eq!(live.protocol_version.as_deref(), Some("2025-11-25"));
    assert_eq!(live.client_capabilities, Some(json!({})));
    assert_eq!(live.instructions.as_deref(), Some("Tickets, shapes and trees, for tests."));
}

#[tokio::test]
async fn modern_connection_requires_no_handshake() {
    let mark = Mark::new();
    let client = Client::with_options(good(&mark), ClientOptions::new().protocol_version("2026-07-28"));
    let snapshot = client.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.protocol_version.as_deref(), Some("2026-07-28"));
    assert_eq!(snapshot.tools.len(), 10);
    assert_eq!(snapshot.server_info.and_then(|info| info.get("name").cloned()), Some(json!("mcp-fixture-server")));
    let result = client.call("add", object(json!({"a": 1, "b": 1}))).await.expect("the call");
    assert_eq!(result.structured(), Some(&json!({"result": 2})));
    client.close().await;
}

#[tokio::test]
async fn declared_capabilities_are_recorded() {
    let mark = Mark::new();
    let capabilities = json!({"roots": {"listChanged": true}});
    let client = Client::with_options(good(&mark), ClientOptions::new().capabilities(capabilities.clone()));
    assert_eq!(client.snapshot().await.expect("a snapshot").client_capabilities, Some(capabilities));
    client.close().await;
    // Unknown and null members are dropped, and the others are in the order of the protocol.
    let given = json!({"elicitation": {}, "own": {}, "sampling": null, "roots": {}, "extensions": {"b": {}, "a": {}}});
    let client = Client::with_options(good(&mark), ClientOptions::new().capabilities(given));
    let recorded = client.snapshot().await.expect("a snapshot").client_capabilities;
    let recorded = recorded.map(|recorded| recorded.to_string());
    assert_eq!(recorded.as_deref(), Some(r#"{"extensions":{"a":{},"b":{}},"roots":{},"elicitation":{}}"#));
    client.close().await;
    for wrong in [
        json!([1]),
        json!({"sampling": "yes"}),
        json!({"experimental": {"a": true}}),
        json!({"extensions": {"com.example/locks": 1}}),
    ] {
        let client = Client::with_options(good(&mark), ClientOptions::new().capabilities(wrong.clone()));
        let error = client.connect().await.expect_err("no capabilities");
        assert_eq!(error.kind, ConnectErrorKind::Config, "{wrong}");
        assert!(error.to_string().contains("invalid client capabilities: invalid "), "{error}");
    }
    assert!(mark.processes().is_empty());
}

#[tokio::test]
async fn server_environment_is_an_allow_list() {
    let mark = Mark::new();
    // The variables are those that cargo sets for every test.
    let config = bad("show-environment", &mark).inherit_env(["CARGO_PKG_NAME"]).env("OWN", "1");
    let client = Client::new(config);
    let result = client.call("any", Map::new()).await.expect("the call");
    let names = result.structured().expect("structured")["names"].to_string();
    assert!(std::env::var_os("CARGO_PKG_VERSION").is_some());
    assert!(!names.contains("CARGO_PKG_VERSION"), "{names}");
    for expected in ["\"PATH\"", "\"CARGO_PKG_NAME\"", "\"OWN\""] {
        assert!(names.contains(expected), "{names}");
    }
    client.close().await;
}

/// Checks the messages that the client writes to the pipe.
#[cfg(unix)]
#[tokio::test]
async fn messages_on_the_wire_match_the_protocol() {
    let mark = Mark::new();
    let log = std::env::temp_dir().join(format!("{}wire", mark.value()));
    let script = format!("tee '{}' | '{}' --misbehave silent-on-call", log.display(), fixture_server().display());
    let config = ServerConfig::stdio("shell", "sh").args(["-c", &script]).env("FIXTURE_MARK", mark.value());
    let client = Client::new(config);
    client.connect().await.expect("a connection");
    let call = ToolCall::new("shell", "good", Map::new());
    client.call_tool_within(call.clone(), Duration::from_millis(300)).await.expect_err("a timeout");
    let gave_up = tokio::time::timeout(Duration::from_millis(300), client.call_tool(call)).await;
    assert!(gave_up.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    client.close().await;
    let text = std::fs::read_to_string(&log).expect("the log");
    std::fs::remove_file(&log).expect("the log is removed");
    let sent: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a message a line")).collect();
    let of = |method: &str| sent.iter().filter(|message| message["method"] == method).collect::<Vec<_>>();
    let initialize = &of("initialize")[0]["params"];
    assert_eq!(initialize["protocolVersion"], "2025-11-25");
    assert_eq!(initialize["clientInfo"]["name"], "mcp-bindgen");
    assert_eq!(initialize["capabilities"], json!({}));
    assert_eq!(of("notifications/initialized").len(), 1);
    let calls = of("tools/call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["params"]["arguments"], json!({}));
    // A call that timed out and one whose future was dropped are both cancelled at the server.
    let cancelled: Vec<&Value> =
        of("notifications/cancelled").iter().map(|note| &note["params"]["requestId"]).collect();
    assert_eq!(cancelled, [&calls[0]["id"], &calls[1]["id"]]);
}

fn spec(config: Option<Value>) -> &'static ServerSpec {
    let spec = ServerSpec::new("fixture").protocol_version("2026-07-28").client_capabilities("{}");
    let spec = match config {
        Some(config) => spec.config(Box::leak(config.to_string().into_boxed_str())),
        None => spec,
    };
    Box::leak(Box::new(spec))
}

#[tokio::test]
async fn bindings_include_their_configuration() {
    let mark = Mark::new();
    let client = Client::for_spec(spec(Some(good(&mark).to_json()))).expect("a client");
    assert_eq!(client.name(), "fixture");
    let snapshot = client.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.protocol_version.as_deref(), Some("2026-07-28"));
    client.close().await;
    assert!(mark.processes().is_empty());
}

#[test]
fn bindings_ignore_the_working_directory_unless_it_is_trusted() {
    // The tests run in the crate's folder, whose workspace root has an mcp.toml.
    let untrusted = [Client::for_spec(spec(None)), Client::for_spec_with(spec(None), ClientOptions::new())];
    for error in untrusted.map(|client| client.expect_err("nobody asked for it")) {
        assert_eq!(error.kind, ConnectErrorKind::Config);
        let said = error.to_string();
        for part in
            ["fixture: no configuration", "mcp.toml` is only read with", "`Servers::load`", "trust_current_folder"]
        {
            assert!(said.contains(part), "{said}");
        }
    }
    let trusting = || ClientOptions::new().trust_current_folder();
    let client = Client::for_spec_with(spec(None), trusting()).expect("a client");
    assert_eq!(client.config().timeout, Some(Duration::from_secs(120)));
    let absent = Box::leak(Box::new(ServerSpec::new("fixtur")));
    let error = Client::for_spec_with(absent, trusting()).expect_err("no such server");
    assert_eq!(error.kind, ConnectErrorKind::Config);
    assert!(error.to_string().contains("fixtur") && error.to_string().contains("`fixture`"), "{error}");
    let error = Client::for_spec(spec(Some(json!({"comand": "x"})))).expect_err("a wrong configuration");
    assert_eq!(error.kind, ConnectErrorKind::Config);
}

#[cfg(unix)]
#[tokio::test]
async fn relative_paths_are_resolved_against_the_configuration_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink(fixture_server(), folder.path().join("bin/server")).expect("a link");
    let text = "[servers.fixture]\ncommand = \"./bin/server\"\ncwd = \"bin\"\n";
    std::fs::write(folder.path().join("mcp.toml"), text).expect("a file");
    let servers = Servers::load(folder.path().join("mcp.toml")).expect("the file can be read");
    assert!(servers.connect_all().await.is_complete());
    servers.close().await;

    let config: &str = r#"{"command":"./bin/server"}"#;
    let place: &str = Box::leak(folder.path().to_string_lossy().into_owned().into_boxed_str());
    let bound = |spec: ServerSpec| Client::for_spec(Box::leak(Box::new(spec))).expect("a client");
    let client = bound(ServerSpec::new("fixture").config(config).folder(place));
    client.connect().await.expect("the program is found");
    client.close().await;
    let error = bound(ServerSpec::new("fixture").config(config)).connect().await.expect_err("it is not here");
    assert_eq!(error.kind, ConnectErrorKind::Spawn);
}

#[tokio::test]
async fn servers_connect_concurrently_and_failures_are_listed() {
    let (one, two) = (Mark::new(), Mark::new());
    let servers = Servers::new()
        .with(named("one", &one))
        .with(ServerConfig::stdio("absent", "no-such-program-at-all"))
        .with_client(Client::new(good(&two)));
    let report = servers.connect_all().await;
    assert_eq!(report.active, ["fixture", "one"]);
    let failed = report.failed;
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].server.as_str(), failed[0].kind), ("absent", ConnectErrorKind::Spawn));
    let result = servers.client("fixture").expect("it is there").call("add", object(json!({"a": 1, "b": 2}))).await;
    assert_eq!(result.expect("the call").structured(), Some(&json!({"result": 3})));
    let error = servers.client("fixtur").expect_err("no such server");
    assert!(error.to_string().contains("did you mean `fixture`"), "{error}");
    servers.close().await;
    assert!(one.processes().is_empty() && two.processes().is_empty());
}

#[tokio::test]
async fn fake_replaces_a_client() {
    struct Fake;
    impl CallTool for Fake {
        async fn call_tool(&self, call: ToolCall) -> Result<mcp_bindgen_runtime::ToolResult, CallError> {
            Ok(mcp_bindgen_runtime::ToolResult::from_json(
                call.server,
                call.tool,
                json!({"structuredContent": call.arguments}),
            ))
        }
    }
    let call = ToolCall::new("s", "t", object(json!({"k": 1})));
    assert_eq!(Fake.call_tool(call).await.expect("it answers").structured(), Some(&json!({"k": 1})));
}
