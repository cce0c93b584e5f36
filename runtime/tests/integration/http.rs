//! The runtime against servers over streamable HTTP, well-behaved and not.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::http::HttpFixture;
use common::scripted::{discovered, json_response, response, result, scripted, usual};
use common::{call_concurrently, impatient, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::middleware::{Retry, Stack};
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Client, ClientOptions, ConnectErrorKind as Kind, Dispatched, ElicitationAnswer,
    ElicitationRequest, ToolCall, ToolSpec,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn calls_lists_and_snapshots_work_over_http() {
    let server = HttpFixture::start(&["--http", "127.0.0.1:0"]);
    for version in ["2025-11-25", "2026-07-28"] {
        let options = ClientOptions::new().protocol_version(version);
        let client = Client::with_options(ServerConfig::http("remote", &server.url), options);
        let arguments =
            object(json!({"z": null, "labels": [], "text": "é", "choice": null, "a": 12345678901234567890u64}));
        let result = client.call("echo_arguments", arguments.clone()).await.expect("the call");
        assert_eq!(result.structured(), Some(&json!({"arguments": arguments})), "{version}");
        let snapshot = client.snapshot().await.expect("a snapshot");
        assert_eq!(snapshot.protocol_version.as_deref(), Some(version));
        assert_eq!(snapshot.tools.len(), 10);
        let failed = client.call("always_fails", object(json!({"reason": "x"}))).await.expect("a result");
        assert!(failed.is_error);
        let error = client.call("no_such_tool", Map::new()).await.expect_err("no such tool");
        assert!(matches!(error, CallError::ToolNotFound { .. }), "{error:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn http_calls_run_concurrently_and_time_out() {
    let server = HttpFixture::start(&["--http", "127.0.0.1:0"]);
    let client = Client::new(ServerConfig::http("remote", &server.url));
    client.connect().await.expect("a connection");
    call_concurrently(&client).await;
    let slow = ToolCall::new("remote", "count_slowly", object(json!({"steps": 100, "pause_ms": 100})));
    let start = Instant::now();
    let error = client.call_tool_within(slow, Duration::from_millis(300)).await.expect_err("a timeout");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(client.call("add", object(json!({"a": 1, "b": 1}))).await.is_ok());
    client.close().await;
}

#[tokio::test]
async fn client_reconnects_to_a_restarted_server() {
    let first = HttpFixture::start(&["--http", "127.0.0.1:0"]);
    let url = first.url.clone();
    let client = Client::new(ServerConfig::http("remote", &url));
    client.connect().await.expect("a connection");
    drop(first);
    let error = client.call("add", object(json!({"a": 1, "b": 1}))).await.expect_err("nobody is there");
    assert!(matches!(error, CallError::Transport { .. } | CallError::OutcomeUnknown { .. }), "{error:?}");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let _second = HttpFixture::start(&["--http", address]);
    let result = client.call("add", object(json!({"a": 1, "b": 1}))).await.expect("the session is renewed");
    assert_eq!(result.structured(), Some(&json!({"result": 2})));
    client.close().await;
}

#[tokio::test]
async fn refused_connection_is_a_transport_error() {
    let url = "http://127.0.0.1:1/mcp?key=sk-very-secret";
    let error = Client::new(ServerConfig::http("remote", url)).connect().await.expect_err("nobody is there");
    assert_eq!(error.kind, Kind::Transport);
    let text = error.to_string();
    assert!(text.contains("remote: ") && text.contains("could not connect") && text.contains("refused"), "{text}");
    assert!(!text.contains("sk-very-secret"), "{text}");
}

#[tokio::test]
async fn unsupported_url_scheme_or_reserved_header_is_an_error() {
    let error = Client::new(ServerConfig::http("remote", "ftp://example.com")).connect().await.expect_err("no http");
    assert_eq!(error.kind, Kind::Config);
    let config = ServerConfig::http("remote", "http://127.0.0.1:9").header("Mcp-Session-Id", "x");
    let error = Client::new(config).connect().await.expect_err("a reserved header");
    assert!(error.to_string().contains("`Mcp-Session-Id` is set by the protocol"), "{error}");
}

#[tokio::test]
async fn http_error_status_is_reported_with_its_body() {
    let cases = [
        ("401 Unauthorized", "", Kind::Auth, "does not accept the `Authorization` header (HTTP 401"),
        ("403 Forbidden", "go away", Kind::Auth, "HTTP 403 Forbidden: go away"),
        ("404 Not Found", "<html>", Kind::Transport, "HTTP 404 Not Found: <html>"),
        ("404 Not Found", r#"{"error":"Not Found"}"#, Kind::Transport, r#"HTTP 404 Not Found: {"error":"Not Found"}"#),
        ("503 Service Unavailable", "later", Kind::Transport, "HTTP 503 Service Unavailable: later"),
        ("200 OK", "<html>hello</html>", Kind::Transport, "without a JSON-RPC response: <html>hello</html>"),
        ("200 OK", "{}", Kind::Transport, "without a JSON-RPC response: {}"),
        ("200 OK", "", Kind::Transport, "HTTP 200 OK without a JSON-RPC response; its body is empty"),
    ];
    for (status, body, kind, expected) in cases {
        let url = scripted(move |_| Some(response(status, "text/html", body))).await;
        let config = ServerConfig::http("remote", url).header("Authorization", "Bearer sk-very-secret");
        let error = Client::new(config).connect().await.expect_err(status);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.to_string().contains("an HTTP+SSE server requires"), status.starts_with("404"), "{error}");
        assert!(!error.to_string().contains("sk-very"), "{error}");
        let code: u16 = status.split_once(' ').map_or(status, |(code, _)| code).parse().expect("a code");
        assert_eq!(error.evidence().http_status, Some(code).filter(|code| *code != 200), "{error}");
    }
}

#[tokio::test]
async fn truncated_error_body_does_not_reveal_part_of_a_secret() {
    for filled in 270..300 {
        let url = scripted(move |received| {
            let secret = received.head.lines().find_map(|line| line.strip_prefix("x-key: ")).unwrap_or_default();
            Some(response("500 Oops", "text/plain", &format!("{}{secret}", "x".repeat(filled))))
        })
        .await;
        let config = ServerConfig::http("remote", url).header("X-Key", "sk-very-secret-0123456789");
        let error = Client::new(config).connect().await.expect_err("500");
        assert!(!error.to_string().contains("sk-v"), "{error}");
    }
}

#[tokio::test]
async fn error_without_an_id_fails_the_handshake() {
    for status in ["200 OK", "400 Bad Request", "500 Internal Server Error"] {
        let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no such tenant"}});
        let url = scripted(move |_| Some(response(status, "application/json", &body.to_string()))).await;
        let error = Client::new(ServerConfig::http("remote", url)).connect().await.expect_err(status);
        assert!(error.to_string().contains("JSON-RPC error -32000: no such tenant"), "{status}: {error}");
    }
}

#[tokio::test]
async fn silent_server_times_out() {
    let url = scripted(|_| None).await;
    let start = Instant::now();
    let error = impatient(ServerConfig::http("remote", url)).connect().await.expect_err("silence");
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    let url = scripted(|received| (received.method() != "tools/call").then(|| usual(received))).await;
    let client = impatient(ServerConfig::http("remote", url));
    let error = client.call("t", Map::new()).await.expect_err("silence");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    client.close().await;
}

#[tokio::test]
async fn result_is_unchanged_in_json_and_in_event_streams() {
    for events in [false, true] {
        let url = scripted(move |received| {
            let odd = json!({"content": [{"type": "hologram"}], "tools": [], "structuredContent": {"z": 1, "a": null}});
            Some(match received.method() {
                "tools/call" if events => {
                    let message = json!({"jsonrpc": "2.0", "id": received.body["id"], "result": odd});
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
                    response("200 OK", "text/event-stream", &format!("event: message\ndata: {note}\n\ndata: {message}\n\n"))
                }
                "tools/call" => result(received, odd),
                _ => usual(received),
            })
        })
        .await;
        let client = Client::new(ServerConfig::http("remote", url));
        assert_eq!(client.list_tools_raw().await.expect("the list"), [json!({"name": "t", "inputSchema": null})]);
        let found = client.call("t", Map::new()).await.expect("the call");
        assert_eq!(found.structured().map(Value::to_string).as_deref(), Some(r#"{"z":1,"a":null}"#), "{events}");
        assert_eq!(found.content.len(), 1);
        client.close().await;
    }
}

#[tokio::test]
async fn connections_are_reused_and_headers_are_sent() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let connections = Arc::new(AtomicUsize::new(0));
    let newest = connections.clone();
    let url = scripted(move |received| {
        newest.fetch_max(received.connection, Ordering::Relaxed);
        seen.lock().expect("no panic").push(received.head.clone());
        Some(usual(received))
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url).header("X-Team", "a b"));
    for _ in 0..10 {
        client.call("t", Map::new()).await.expect("the call");
    }
    client.close().await;
    let heads = heads.lock().expect("no panic");
    assert!(heads.iter().all(|head| head.contains("x-team: a b") && head.contains("user-agent: mcp-bindgen/")));
    assert!(heads.iter().filter(|head| head.contains("mcp-protocol-version: 2025-11-25")).count() >= 10);
    assert!(connections.load(Ordering::Relaxed) <= 3, "{connections:?} connections");
}

#[tokio::test]
async fn redirect_to_another_origin_is_not_followed() {
    let elsewhere = Arc::new(AtomicUsize::new(0));
    let count = elsewhere.clone();
    let other = scripted(move |received| {
        count.fetch_add(1, Ordering::Relaxed);
        Some(usual(received))
    })
    .await;
    let url = scripted(move |_| {
        Some(format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {other}\r\ncontent-length: 0\r\n\r\n"))
    })
    .await;
    let config = ServerConfig::http("remote", url).header("Authorization", "Bearer sk-very-secret");
    let error = Client::new(config).connect().await.expect_err("a redirect");
    assert!(error.to_string().contains("to another origin"), "{error}");
    assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn ambiguous_status_400_fails_one_call_and_drops_the_session() {
    let (sessions, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = calls.clone();
    let url = scripted(move |received| {
        Some(match received.method() {
            "initialize" => {
                let session = sessions.fetch_add(1, Ordering::Relaxed) + 1;
                usual(received).replacen("\r\n", &format!("\r\nmcp-session-id: session-{session}\r\n"), 1)
            }
            "tools/call" => {
                counted.fetch_add(1, Ordering::Relaxed);
                if received.head.contains("session-2") {
                    return Some(usual(received));
                }
                let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
                response("400 Bad Request", "application/json", &error.to_string())
            }
            _ => usual(received),
        })
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url));
    let error = client.call("t", Map::new()).await.expect_err("the call");
    assert_eq!((error.dispatched(), calls.load(Ordering::Relaxed)), (Dispatched::Unknown, 1), "{error}");
    let found = client.call("t", Map::new()).await.expect("a call in another session");
    assert_eq!((found.text().as_str(), calls.load(Ordering::Relaxed)), ("done", 2));
    client.close().await;
}

#[tokio::test]
async fn status_404_resends_the_call_once_in_a_new_session() {
    for (is_always, outcome) in [(false, Ok("done".to_owned())), (true, Err(Dispatched::No))] {
        let posts = Arc::new(Mutex::new(Vec::new()));
        let seen = posts.clone();
        let url = scripted(move |received| {
            let mut seen = seen.lock().expect("posts");
            let session = received.head.split_once("mcp-session-id: ").and_then(|(_, rest)| rest.split("\r\n").next());
            if received.head.starts_with("post") {
                seen.push(format!("{} {}", received.method(), session.unwrap_or("none")));
            }
            Some(match received.method() {
                "initialize" => {
                    let number = seen.iter().filter(|post| post.starts_with("initialize ")).count();
                    usual(received).replacen("\r\n", &format!("\r\nmcp-session-id: session-{number}\r\n"), 1)
                }
                "tools/call" if is_always || session == Some("session-1") => {
                    response("404 Not Found", "text/plain", "no such session")
                }
                _ => usual(received),
            })
        })
        .await;
        let client = Client::new(ServerConfig::http("remote", url));
        let found = client.call("t", Map::new()).await;
        assert_eq!(found.map(|result| result.text()).map_err(|error| error.dispatched()), outcome);
        let expected = [
            "initialize none",
            "notifications/initialized session-1",
            "tools/call session-1",
            "initialize none",
            "notifications/initialized session-2",
            "tools/call session-2",
        ];
        assert_eq!(*posts.lock().expect("posts"), expected);
        client.close().await;
    }
}

#[tokio::test]
async fn health_check_does_not_start_a_new_session() {
    let checks = Arc::new(AtomicUsize::new(0));
    let counted = checks.clone();
    let url = scripted(move |received| match received.method() {
        "server/discover" => {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(result(received, discovered()))
        }
        _ => Some(usual(received)),
    })
    .await;
    let options = ClientOptions::new().health_check(Duration::from_millis(20)).protocol_version("2026-07-28");
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.connect().await.expect("a connection");
    let mut changes = client.tool_changes();
    let changed = tokio::time::timeout(Duration::from_millis(500), changes.changed()).await;
    assert!(changed.is_err(), "another conversation makes lists stale: {changed:?}");
    assert!(checks.load(Ordering::Relaxed) > 3, "the server was asked");
    client.close().await;
}

/// A status, what became of the call, and how often it is sent without and with a hint that it can be repeated.
const STATUSES: [(u16, Dispatched, usize, usize); 22] = [
    (301, Dispatched::Unknown, 1, 1),
    (302, Dispatched::Unknown, 1, 1),
    (303, Dispatched::Unknown, 1, 1),
    (307, Dispatched::Unknown, 1, 1),
    (400, Dispatched::Unknown, 1, 1),
    (401, Dispatched::No, 1, 1),
    (403, Dispatched::No, 1, 1),
    (404, Dispatched::No, 3, 3),
    (405, Dispatched::No, 1, 1),
    (408, Dispatched::Unknown, 1, 3),
    (409, Dispatched::Unknown, 1, 3),
    (410, Dispatched::Unknown, 1, 1),
    (413, Dispatched::No, 1, 1),
    (415, Dispatched::No, 1, 1),
    (418, Dispatched::Unknown, 1, 1),
    (422, Dispatched::Unknown, 1, 1),
    (425, Dispatched::Unknown, 1, 3),
    (429, Dispatched::No, 3, 3),
    (500, Dispatched::Unknown, 1, 3),
    (502, Dispatched::Unknown, 1, 3),
    (503, Dispatched::Unknown, 1, 3),
    (504, Dispatched::Unknown, 1, 3),
];

#[tokio::test]
async fn http_status_determines_the_outcome_and_whether_to_retry() {
    for (status, dispatched, without, with) in STATUSES {
        for (repeatable, expected) in [(None, without), (Some("t"), with)] {
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = calls.clone();
            let url = scripted(move |received| {
                if received.method() != "tools/call" {
                    return Some(usual(received));
                }
                counted.fetch_add(1, Ordering::Relaxed);
                Some(format!(
                    "HTTP/1.1 {status} It\r\nlocation: http://localhost:9/\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nno"
                ))
            })
            .await;
            let client = Client::new(ServerConfig::http("remote", url));
            let retry = Retry::new().pauses(Duration::from_millis(1), Duration::from_millis(2)).repeatable(repeatable);
            let stack = Stack::new(client.clone()).retry(retry);
            let error = stack.call_tool(ToolCall::new("remote", "t", Map::new())).await.expect_err("a refusal");
            let sent = calls.load(Ordering::Relaxed);
            assert_eq!((error.dispatched(), sent), (dispatched, expected), "{status} {repeatable:?}: {error}");
            client.close().await;
        }
    }
}

#[tokio::test]
async fn call_refused_by_http_status_is_reported_as_not_run() {
    let error = r#"{"error":{"code":-32000,"message":"slow down"}}"#;
    for (after, body, expected) in [("7", "slow down", Some(Duration::from_secs(7))), ("soon", error, None)] {
        let url = scripted(move |received| {
            Some(match received.method() {
                "tools/call" => response("429 Too Many Requests", "text/plain", body).replacen(
                    "\r\n",
                    &format!("\r\nretry-after: {after}\r\n"),
                    1,
                ),
                _ => usual(received),
            })
        })
        .await;
        let client = Client::new(ServerConfig::http("remote", url));
        let error = client.call("t", Map::new()).await.expect_err("it is refused");
        assert!(matches!(error, CallError::Transport { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("remote: `t` did not run: HTTP 429 Too Many Requests: {body}"));
        assert_eq!((error.dispatched(), error.retry_after()), (Dispatched::No, expected));
        client.close().await;
    }
}

#[tokio::test]
async fn header_lookup_ends_with_the_call() {
    let lists = Arc::new(tokio::sync::Notify::new());
    let asked = lists.clone();
    let url = scripted(move |received| match received.method() {
        "server/discover" => Some(result(
            received,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        )),
        "tools/call" => Some(json_response(&json!({
            "jsonrpc": "2.0", "id": received.body["id"], "error": {"code": -32020, "message": "a header is missing"}
        }))),
        // Never answered.
        "tools/list" => {
            asked.notify_one();
            None
        }
        _ => Some(usual(received)),
    })
    .await;
    let options = ClientOptions::new().protocol_version("2026-07-28");
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.connect().await.expect("a connection");
    let call = || ToolCall::new("remote", "t", Map::new());
    let soon = Duration::from_secs(20);

    let token = CancellationToken::new();
    let cancelled = client.call_tool(call().with(CallOptions::new().cancelled_by(token.clone())));
    let cancelling = async {
        lists.notified().await;
        token.cancel();
    };
    let (outcome, ()) =
        tokio::time::timeout(soon, async { tokio::join!(cancelled, cancelling) }).await.expect("at once");
    let error = outcome.expect_err("it was cancelled");
    assert!(matches!(error, CallError::Cancelled { .. }) && error.dispatched() == Dispatched::No, "{error:?}");

    let late = tokio::time::timeout(soon, client.call_tool_within(call(), Duration::from_millis(200)));
    let error = late.await.expect("in time").expect_err("nothing is listed");
    assert!(matches!(error, CallError::Timeout { .. }) && error.dispatched() == Dispatched::No, "{error:?}");
    client.close().await;
}

#[tokio::test]
async fn task_is_not_restarted_for_missing_headers() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let url = scripted(move |received| {
        let refusal = json!({ "code": -32020, "message": "a header is missing" });
        Some(match received.method() {
            "server/discover" => result(
                received,
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            ),
            "tools/call" => {
                counted.fetch_add(1, Ordering::SeqCst);
                result(received, json!({"resultType": "task", "taskId": "1", "status": "working", "pollIntervalMs": 5}))
            }
            "tasks/get" => {
                result(received, json!({"resultType": "complete", "taskId": "1", "status": "failed", "error": refusal}))
            }
            "tools/list" => {
                result(received, json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}))
            }
            _ => usual(received),
        })
    })
    .await;
    let options = ClientOptions::new().protocol_version("2026-07-28");
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    let error = client.call("t", Map::new()).await.expect_err("the task failed");
    assert!(matches!(error, CallError::Rpc { code: -32020, .. }), "{error:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    client.close().await;
}

#[tokio::test]
async fn annotated_arguments_are_sent_as_headers() {
    const SCHEMA: &str = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    static SPEC: ToolSpec = ToolSpec::new("t", SCHEMA);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let url = scripted(move |received| {
        Some(match received.method() {
            "server/discover" => result(
                received,
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
            ),
            "tools/call" => {
                seen.lock().expect("no panic").push(received.head.clone());
                usual(received)
            }
            "tools/list" => {
                let schema: Value = serde_json::from_str(SCHEMA).expect("it is JSON");
                let bad = json!({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}});
                result(received, json!({"tools": [{"name": "t", "inputSchema": schema}, {"name": "bad", "inputSchema": bad}]}))
            }
            _ => usual(received),
        })
    })
    .await;
    let options = ClientOptions::new().protocol_version("2026-07-28").timeout(Duration::from_secs(2));
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    let mut call = ToolCall::new("remote", "t", object(json!({"region": "zürich"})));
    call.spec = Some(&SPEC);
    client.call_tool_within(call, Duration::from_secs(2)).await.expect("the call");
    let head = heads.lock().expect("no panic").pop().expect("a call");
    assert!(head.contains("mcp-param-region: =?base64?eso8cmljaa==?="), "{head}");
    assert!(head.contains("mcp-method: tools/call") && head.contains("mcp-name: t"), "{head}");
    let names: Vec<Value> =
        client.list_tools_raw().await.expect("the list").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, [json!("t")]);
    client.close().await;
}

#[tokio::test]
async fn input_required_result_is_completed_by_handlers() {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let seen = rounds.clone();
    let url = scripted(move |received| {
        Some(match (received.method(), received.body.pointer("/params/inputResponses")) {
            ("tools/call", None) => {
                let question = json!({"method": "elicitation/create", "params": {"message": "How many?", "requestedSchema": {"type": "object"}}});
                result(received, json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "opaque"}))
            }
            ("tools/call", Some(_)) => {
                seen.lock().expect("no panic").push(received.body["params"].clone());
                usual(received)
            }
            ("server/discover", _) => result(received, discovered()),
            _ => usual(received),
        })
    })
    .await;
    let modern = || ClientOptions::new().protocol_version("2026-07-28");
    let options = modern().on_elicitation(async |request: ElicitationRequest| {
        assert_eq!(request.message, "How many?");
        assert_eq!(request.schema, Some(json!({"type": "object"})));
        ElicitationAnswer::Accept(object(json!({"n": 3})))
    });
    let asked = Client::with_options(ServerConfig::http("remote", &url), options);
    assert_eq!(asked.call("t", object(json!({"k": 1}))).await.expect("the call").text(), "done");
    let silent = Client::with_options(ServerConfig::http("remote", &url), modern());
    assert_eq!(silent.call("t", Map::new()).await.expect("the call").text(), "done");
    let legacy = Client::new(ServerConfig::http("remote", &url));
    let unasked = legacy.call("t", Map::new()).await.expect("the call");
    assert_eq!(unasked.extra["resultType"], "input_required", "the era before knows no such rounds");
    let rounds = rounds.lock().expect("no panic");
    assert_eq!(rounds[0]["inputResponses"], json!({"q": {"action": "accept", "content": {"n": 3}}}));
    assert_eq!((&rounds[0]["requestState"], &rounds[0]["arguments"]), (&json!("opaque"), &json!({"k": 1})));
    assert_eq!(rounds[1]["inputResponses"], json!({"q": {"action": "decline"}}));
}

#[tokio::test]
async fn secret_headers_over_plain_http_are_warned_about_once() {
    let log = crate::drift::Log::start();
    // Addresses of documentation, where nobody answers.
    for (name, url) in [("exposed", "http://192.0.2.1/mcp"), ("encrypted", "https://192.0.2.1/mcp")] {
        let config = ServerConfig::http(name, url).header("Authorization", "Bearer 8d0f2a4c6e80");
        let options = ClientOptions::new().connect_timeout(Duration::from_millis(200));
        let client = Client::with_options(config, options);
        for _ in 0..2 {
            client.connect().await.expect_err("nobody answers");
        }
    }
    let lines = log.lines();
    assert!(lines.len() == 1 && lines[0].contains("exposed") && lines[0].contains("unencrypted HTTP"), "{lines:?}");
    assert!(!lines[0].contains("8d0f2a4c6e80"), "{lines:?}");
}
