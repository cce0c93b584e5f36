//! Servers in the same process, at the other end of a pair of streams: rmcp's, and some by hand that end, fall silent or
//! begin in another way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_bindgen::{
    CallError, CallTool, Client, ClientOptions, ConnectErrorKind, ConnectionState, Dispatched, ToolCall,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
use fixture::*;

const SOON: Duration = Duration::from_secs(20);

fn over(near: DuplexStream) -> Client {
    over_with(near, ClientOptions::new())
}

fn over_with(near: DuplexStream, options: ClientOptions) -> Client {
    let (read, write) = split(near);
    Client::over_with_options("fixture", read, write, options)
}

/// A client of rmcp's server, and the server.
fn with_rmcp(buffer: usize) -> (Client, JoinHandle<std::io::Result<()>>) {
    let (near, far) = duplex(buffer);
    (over(near), tokio::spawn(mcp_fixture_server::serve_over(far)))
}

/// A server that answers each request with the lines that it is told; `None` ends it.
fn by_hand(
    far: DuplexStream,
    mut answer: impl FnMut(&str, &Value) -> Option<Vec<String>> + Send + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (read, mut write) = split(far);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let Some(id) = message.get("id") else { continue };
            let Some(lines) = answer(message["method"].as_str().unwrap_or_default(), id) else { return };
            for line in lines {
                write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            }
        }
    })
}

fn result(id: &Value, result: Value) -> Vec<String> {
    vec![json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()]
}

fn initialized(id: &Value) -> Vec<String> {
    let version = "2025-11-25";
    result(
        id,
        json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
    )
}

fn unknown(id: &Value) -> Vec<String> {
    vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}).to_string()]
}

fn text(id: &Value, text: &str) -> Vec<String> {
    result(id, json!({"content": [{"type": "text", "text": text}]}))
}

fn any_call() -> ToolCall {
    ToolCall::new("fixture", "any", Default::default())
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it ends soon")
}

/// Checks a client whose streams have ended: calls fail at once, and nothing is sent.
async fn assert_over(client: &Client) {
    let start = Instant::now();
    for _ in 0..3 {
        let error = soon(client.call_tool(any_call())).await.unwrap_err();
        assert!(matches!(error, CallError::NotConnected { .. }), "{error}");
        assert_eq!(error.dispatched(), Dispatched::No);
        assert!(error.to_string().contains("create a new client"), "{error}");
    }
    let error = soon(client.connect()).await.unwrap_err();
    assert_eq!(error.kind, ConnectErrorKind::Transport);
    assert_eq!(client.state(), ConnectionState::Disconnected);
    // Three tries with pauses would take longer, even for one of them.
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn bindings_call_an_rmcp_server_in_process() {
    let (client, server) = with_rmcp(64 * 1024);
    let fixture = Fixture::with(client.clone());
    assert_eq!(fixture.add(FixtureAddParams::new(1, 2)).await.unwrap(), 3);
    assert_eq!(client.state(), ConnectionState::Connected);
    assert_eq!(client.list_tools_raw().await.unwrap().len(), 10);
    let snapshot = client.snapshot().await.unwrap();
    assert_eq!(snapshot.server.as_deref(), Some("fixture"));
    soon(client.close()).await;
    soon(server).await.unwrap().unwrap();
    assert_over(&client).await;
}

#[tokio::test]
async fn messages_larger_than_the_pipe_are_sent() {
    let (client, _server) = with_rmcp(1024);
    let fixture = Fixture::with(client);
    let large = "é\"\n".repeat(150_000);
    let echoed = fixture.echo_arguments(FixtureEchoArgumentsParams::new(large.clone(), None)).await.unwrap();
    assert_eq!(echoed.arguments["text"], large);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_callers_share_one_connection() {
    let (client, _server) = with_rmcp(4096);
    let mut callers = JoinSet::new();
    for number in 0..64 {
        let fixture = Fixture::with(client.clone());
        callers.spawn(async move {
            for other in 0..10 {
                assert_eq!(fixture.add(FixtureAddParams::new(number, other)).await.unwrap(), number + other);
            }
        });
    }
    callers.join_all().await;
}

#[tokio::test]
async fn server_lost_during_a_call_leaves_an_unknown_outcome() {
    let (near, far) = duplex(1024);
    let server = by_hand(far, |method, id| match method {
        "initialize" => Some(initialized(id)),
        _ => None,
    });
    let client = over(near);
    let mut watch = client.watch_state();
    let error = soon(client.call_tool(any_call())).await.unwrap_err();
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error}");
    assert_eq!((error.server(), error.dispatched()), ("fixture", Dispatched::Unknown));
    soon(server).await.unwrap();
    soon(async {
        while watch.current() != ConnectionState::Disconnected {
            assert_ne!(watch.changed().await, Some(ConnectionState::Reconnecting));
        }
    })
    .await;
    assert_over(&client).await;
}

#[tokio::test]
async fn server_lost_before_the_first_call_is_a_connect_error() {
    let (near, far) = duplex(1024);
    drop(far);
    let (read, write) = split(near);
    let client = Client::over(read, write);
    assert_eq!(client.name(), "in-process");
    let error = soon(client.call_tool(any_call())).await.unwrap_err();
    assert!(matches!(error, CallError::NotConnected { .. }), "{error}");
    assert_over(&client).await;
}

#[tokio::test]
async fn modern_server_is_detected_over_the_same_streams() {
    for hint in ["2025-11-25", "2026-07-28"] {
        let (near, far) = duplex(1024);
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let _server = by_hand(far, move |method, id| {
            counted.fetch_add(1, Ordering::Relaxed);
            Some(match method {
                "server/discover" => result(
                    id,
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                           "ttlMs": 0, "cacheScope": "private"}),
                ),
                "tools/call" => text(id, "modern"),
                _ => unknown(id),
            })
        });
        let client = over_with(near, ClientOptions::new().protocol_version(hint));
        assert_eq!(soon(client.call_tool(any_call())).await.unwrap().text(), "modern");
        assert_eq!(asked.load(Ordering::Relaxed), if hint == "2025-11-25" { 3 } else { 2 }, "{hint}");
    }
}

#[tokio::test]
async fn legacy_server_is_detected_after_a_modern_hint() {
    let (near, far) = duplex(1024);
    let _server = by_hand(far, |method, id| {
        Some(match method {
            "initialize" => initialized(id),
            "tools/call" => text(id, "legacy"),
            _ => unknown(id),
        })
    });
    let client = over_with(near, ClientOptions::new().protocol_version("2026-07-28"));
    assert_eq!(soon(client.call_tool(any_call())).await.unwrap().text(), "legacy");
}

#[tokio::test]
async fn server_without_a_known_handshake_is_an_error() {
    let (near, far) = duplex(1024);
    let server = by_hand(far, |_, id| Some(unknown(id)));
    let client = over(near);
    let error = soon(client.connect()).await.unwrap_err();
    assert_eq!(error.kind, ConnectErrorKind::Protocol, "{error}");
    assert!(error.message.contains("`initialize` failed with JSON-RPC error -32601"), "{error}");
    soon(server).await.expect("it reads the end of the stream");
    assert_over(&client).await;
}

#[tokio::test]
async fn silent_server_is_a_connect_timeout() {
    let (near, mut far) = duplex(64 * 1024);
    let client = over_with(near, ClientOptions::new().connect_timeout(Duration::from_millis(100)));
    let error = soon(client.connect()).await.unwrap_err();
    assert_eq!(error.kind, ConnectErrorKind::Timeout, "{error}");
    let mut sent = String::new();
    soon(far.read_to_string(&mut sent)).await.expect("the stream ends");
    assert_eq!(sent.lines().count(), 1, "{sent}");
    assert_over(&client).await;
}

#[tokio::test]
async fn timeouts_banners_batches_and_pretty_json_work_in_process() {
    let (near, far) = duplex(1024);
    let mut calls = 0;
    let _server = by_hand(far, move |method, id| {
        if method == "initialize" {
            return Some([vec!["{ Server v1 }".to_owned(), "listening".to_owned()], initialized(id)].concat());
        }
        calls += 1;
        let answer: Value = serde_json::from_str(&text(id, "done")[0]).unwrap();
        Some(match calls {
            1 => vec![],
            2 => vec![format!("{answer:#}")],
            3 => vec![json!([answer]).to_string()],
            _ => vec![r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":1e999}}"#.replace("ID", &id.to_string())],
        })
    });
    let client = over(near);
    client.connect().await.unwrap();
    let late = soon((&client).within(Duration::from_millis(50)).call_tool(any_call())).await.unwrap_err();
    assert!(matches!(late, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{late}");
    assert_eq!(soon(client.call_tool(any_call())).await.unwrap().text(), "done");
    assert_eq!(soon(client.call_tool(any_call())).await.unwrap().text(), "done");
    let unreadable = soon(client.call_tool(any_call())).await.unwrap_err();
    assert!(matches!(unreadable, CallError::InvalidResponse { .. }), "{unreadable}");
    assert!(client.is_connected());
}

#[tokio::test]
async fn call_abandoned_before_its_turn_is_never_written() {
    let (near, mut far) = duplex(64);
    let greeting = tokio::spawn(async move {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.push(far.read_u8().await.unwrap());
        }
        let id = serde_json::from_slice::<Value>(&line).unwrap()["id"].clone();
        far.write_all(format!("{}\n", initialized(&id)[0]).as_bytes()).await.unwrap();
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.push(far.read_u8().await.unwrap());
        }
        far
    });
    let client = over(near);
    client.connect().await.unwrap();
    let mut far = soon(greeting).await.unwrap();
    // The first one fills the pipe, the other has to wait for it.
    let impatient = (&client).within(Duration::from_millis(50));
    let (first, second) = tokio::join!(
        impatient.call_tool(any_call()),
        impatient.call_tool(ToolCall::new("fixture", "second", Default::default()))
    );
    assert_eq!(first.unwrap_err().dispatched(), Dispatched::Unknown);
    assert_eq!(second.unwrap_err().dispatched(), Dispatched::No);
    let reading = tokio::spawn(async move {
        let mut sent = String::new();
        far.read_to_string(&mut sent).await.unwrap();
        sent
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    soon(client.close()).await;
    let sent = soon(reading).await.unwrap();
    assert!(!sent.contains("second"), "{sent}");
}

#[tokio::test]
async fn server_reads_the_end_after_the_last_client_is_dropped() {
    let (client, server) = with_rmcp(4096);
    client.connect().await.unwrap();
    let other = client.clone();
    drop(client);
    assert!(other.is_connected());
    drop(other);
    soon(server).await.unwrap().unwrap();
}
