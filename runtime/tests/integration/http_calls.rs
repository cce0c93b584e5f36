//! Tests single calls over HTTP: cancelled, answered oddly, or made from another runtime.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::http::receive;
use common::scripted::{Received, discovered, json_response, response, result, scripted, usual};
use mcp_bindgen_model::{Drift, ServerConfig};
use mcp_bindgen_runtime::{CallError, CallTool, Cassette, Client, ClientOptions, Dispatched, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, mpsc};

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn dropped_call_is_cancelled_on_the_server() {
    let (cancelled, mut told) = mpsc::unbounded_channel();
    let called = Arc::new(Notify::new());
    let has_come = called.clone();
    let url = scripted(move |received| match received.method() {
        "tools/call" => {
            has_come.notify_one();
            let _ = cancelled.send(received.body["id"].clone());
            None
        }
        "notifications/cancelled" => {
            let _ = cancelled.send(received.body["params"]["requestId"].clone());
            Some(usual(received))
        }
        _ => Some(usual(received)),
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url));
    client.connect().await.expect("a connection");
    tokio::select! {
        outcome = client.call("t", Map::new()) => panic!("nothing answers: {outcome:?}"),
        () = called.notified() => {}
    }
    let id = told.recv().await.expect("the call");
    let withdrawn = tokio::time::timeout(SOON, told.recv()).await.expect("the server is told");
    assert_eq!(withdrawn, Some(id));
    client.close().await;
}

#[tokio::test]
async fn first_response_in_a_batch_counts_after_notifications() {
    let url = scripted(|received| {
        let result = match received.method() {
            "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
            "tools/list" => json!({"tools": []}),
            _ => return Some(usual(received)),
        };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
        let answer = json!({"jsonrpc": "2.0", "id": received.body["id"], "result": result});
        let late = json!({"jsonrpc": "2.0", "id": received.body["id"], "error": {"code": -1, "message": "late"}});
        Some(json_response(&json!([note, answer, late])))
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url));
    assert_eq!(client.call("t", Map::new()).await.expect("the call").text(), "done");
    assert_eq!(client.list_tools_raw().await.expect("the list"), [] as [Value; 0]);
    client.close().await;
}

#[tokio::test]
async fn error_with_an_http_status_does_not_affect_other_calls() {
    let url = scripted(move |received| {
        let error = json!({"jsonrpc": "2.0", "id": received.body["id"], "error": {"code": -32602, "message": "wrong arguments"}});
        match (received.method(), received.body["params"]["name"].as_str()) {
            ("tools/call", Some("later")) => Some(response("202 Accepted", "text/plain", "")),
            ("tools/call", _) => Some(response("400 Bad Request", "application/json", &error.to_string())),
            _ => Some(usual(received)),
        }
    })
    .await;
    let client = Client::with_options(ServerConfig::http("remote", url), ClientOptions::new().timeout(SOON));
    client.connect().await.expect("a connection");
    let other = async {
        let error = client.call("t", Map::new()).await.expect_err("an error").to_string();
        assert!(error.contains("wrong arguments"), "{error}");
        client.shutdown().await;
    };
    let (later, ()) = tokio::join!(client.call("later", Map::new()), other);
    let error = later.expect_err("it was closed").to_string();
    assert!(error.contains("closed") && !error.contains("HTTP 400"), "{error}");
}

/// A connection's own runtime drives its sockets, also for calls from another runtime.
#[test]
fn calls_do_not_bind_sockets_to_the_runtime_of_the_caller() {
    const SIDE_BY_SIDE: usize = 6;
    let here = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let elsewhere = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let gate = Arc::new(tokio::sync::Barrier::new(SIDE_BY_SIDE));
    let client = here.block_on(async {
        let url = held_until_all_are_there(gate).await;
        let client = Client::new(ServerConfig::http("remote", url));
        client.connect().await.expect("a connection");
        client
    });
    let all = || async {
        let calls = (0..SIDE_BY_SIDE).map(|_| client.call("t", Map::new()));
        futures_util::future::join_all(calls).await
    };
    for outcome in elsewhere.block_on(all()) {
        outcome.expect("from elsewhere");
    }
    for outcome in here.block_on(all()) {
        outcome.expect("from here, while the other rests");
    }
    here.block_on(client.close());
    drop(elsewhere);
}

/// A server that answers calls when as many as the gate wants are under way.
async fn held_until_all_are_there(gate: Arc<tokio::sync::Barrier>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let gate = gate.clone();
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut stream).await {
                    let received = Received { connection: 0, head, body };
                    if received.method() == "tools/call" {
                        gate.wait().await;
                    }
                    let _ = stream.write_all(usual(&received).as_bytes()).await;
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn request_limit_covers_calls_and_other_requests() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (counted, highest) = (now.clone(), most.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (now, most) = (counted.clone(), highest.clone());
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut stream).await {
                    let received = Received { connection: 0, head, body };
                    if matches!(received.method(), "tools/call" | "tools/list") {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                    let _ = stream.write_all(usual(&received).as_bytes()).await;
                }
            });
        }
    });
    let options = ClientOptions::new().max_concurrent_requests(1).timeout(SOON);
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.connect().await.expect("a connection");
    let (call, list, other) =
        tokio::join!(client.call("t", Map::new()), client.list_tools_raw(), client.call("t", Map::new()));
    assert!(call.is_ok() && list.is_ok() && other.is_ok(), "{call:?} {list:?} {other:?}");
    assert_eq!(most.load(Ordering::SeqCst), 1);
    client.close().await;
}

#[tokio::test]
async fn cassette_records_notifications_of_a_renewed_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    let sessions = Arc::new(AtomicUsize::new(0));
    let url = scripted(move |received| {
        let current = format!("session-{}", sessions.load(Ordering::SeqCst));
        Some(match received.method() {
            "initialize" => {
                let session = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                usual(received).replacen("\r\n", &format!("\r\nmcp-session-id: session-{session}\r\n"), 1)
            }
            "tools/call" if current == "session-1" => response("404 Not Found", "text/plain", "gone"),
            "tools/call" => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                let answer = json!({"jsonrpc": "2.0", "id": received.body["id"], "result": {"content": []}});
                response("200 OK", "text/event-stream", &format!("data: {note}\n\ndata: {answer}\n\n"))
            }
            _ => usual(received),
        })
    })
    .await;
    let cassette = Cassette::record(&path).expect("it can be recorded");
    let options = ClientOptions::new().timeout(SOON).cassette(cassette.clone());
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.call("t", Map::new()).await.expect("the session is renewed");
    client.close().await;
    cassette.save().expect("it is written");
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.contains("list_changed"), "{text}");
}

#[tokio::test]
async fn renewed_session_compares_tools_before_any_call() {
    const SPEC: ToolSpec = ToolSpec::new("t", r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    let sessions = Arc::new(AtomicUsize::new(0));
    let executed = Arc::new(AtomicUsize::new(0));
    let count = executed.clone();
    let url = scripted(move |received| {
        let is_first = received.head.contains("mcp-session-id: session-1");
        Some(match received.method() {
            "initialize" => {
                let session = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                usual(received).replacen("\r\n", &format!("\r\nmcp-session-id: session-{session}\r\n"), 1)
            }
            "tools/list" => {
                let kind = if is_first { "string" } else { "integer" };
                let schema = json!({"type": "object", "properties": {"a": {"type": kind}}});
                let result = json!({"tools": [{"name": "t", "inputSchema": schema}]});
                json_response(&json!({"jsonrpc": "2.0", "id": received.body["id"], "result": result}))
            }
            "tools/call" if is_first => response("404 Not Found", "text/plain", "gone"),
            "tools/call" => {
                count.fetch_add(1, Ordering::SeqCst);
                json_response(&json!({"jsonrpc": "2.0", "id": received.body["id"], "result": {"content": []}}))
            }
            _ => usual(received),
        })
    })
    .await;
    let mut config = ServerConfig::http("remote", url);
    config.drift = Some(Drift::Deny);
    let client = Client::with_options(config, ClientOptions::new().timeout(SOON));
    let call = || {
        let mut call = ToolCall::new("remote", "t", Map::new());
        call.spec = Some(const { &SPEC });
        client.call_tool(call)
    };
    let lost = call().await.expect_err("its session is gone");
    assert_eq!(lost.dispatched(), Dispatched::No, "{lost}");
    // Until the session is renewed, calls end as the first one did.
    let refused = loop {
        let error = call().await.expect_err("the tool is another");
        assert_eq!(error.dispatched(), Dispatched::No, "{error}");
        if !matches!(error, CallError::Transport { .. }) {
            break error;
        }
    };
    assert!(matches!(refused, CallError::Incompatible { .. }), "{refused}");
    assert_eq!(executed.load(Ordering::SeqCst), 0);
    client.close().await;
}

/// One that never has the answer, and is asked for the rest at once.
#[tokio::test]
async fn zero_retry_interval_is_rate_limited() {
    let asked = Arc::new(Mutex::new(0_usize));
    let count = asked.clone();
    let url = scripted(move |received| {
        Some(match (received.method(), received.head.starts_with("get")) {
            ("tools/call", _) => response("200 OK", "text/event-stream", "id: 1\nretry: 0\ndata:\n\n"),
            (_, true) if received.head.contains("last-event-id") => {
                let mut asked = count.lock().expect("no panic");
                *asked += 1;
                response("200 OK", "text/event-stream", &format!("id: {asked}\nretry: 0\ndata:\n\n"))
            }
            _ => usual(received),
        })
    })
    .await;
    let client = Client::with_options(
        ServerConfig::http("remote", url),
        ClientOptions::new().timeout(Duration::from_millis(600)),
    );
    client.connect().await.expect("a connection");
    client.call("t", Map::new()).await.expect_err("no answer");
    let asked = *asked.lock().expect("no panic");
    assert!((1..=61).contains(&asked), "{asked}");
    client.close().await;
}

/// Only an event with an id is a sign of progress.
#[tokio::test]
async fn response_without_progress_is_resumed_five_times() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let url = scripted(move |received| {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
        Some(match received.method() {
            "tools/call" => response("200 OK", "text/event-stream", "id: 1\nretry: 10\ndata:\n\n"),
            _ if received.head.contains("last-event-id") => {
                count.fetch_add(1, Ordering::Relaxed);
                response("200 OK", "text/event-stream", &format!("retry: 10\n\ndata: {note}\n\n"))
            }
            _ => usual(received),
        })
    })
    .await;
    let client = Client::with_options(ServerConfig::http("remote", url), ClientOptions::new().timeout(SOON));
    let error = client.call("t", Map::new()).await.expect_err("no answer");
    assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{error:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 5, "{error}");
    client.close().await;
}

#[tokio::test]
async fn broken_answer_to_initialize_is_resumed_in_its_session() {
    let id = AtomicI64::new(0);
    let url = scripted(move |received| {
        let is_of_session = received.head.contains("mcp-session-id: session-1");
        Some(match received.method() {
            "initialize" => {
                id.store(received.body["id"].as_i64().expect("a number"), Ordering::Relaxed);
                response("200 OK", "text/event-stream", "id: 1\nretry: 10\ndata:\n\n").replacen(
                    "\r\n",
                    "\r\nmcp-session-id: session-1\r\n",
                    1,
                )
            }
            _ if received.head.contains("last-event-id: 1") && is_of_session => {
                let body = json!({"method": "initialize", "id": id.load(Ordering::Relaxed)});
                let answer = usual(&Received { connection: 0, head: String::new(), body });
                let (_, answer) = answer.split_once("\r\n\r\n").expect("a body");
                response("200 OK", "text/event-stream", &format!("data: {answer}\n\n"))
            }
            _ => usual(received),
        })
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url));
    assert_eq!(client.call("t", Map::new()).await.expect("the call").text(), "done");
    client.close().await;
}

#[tokio::test]
async fn event_above_the_limit_is_an_invalid_response() {
    let url = scripted(|received| {
        Some(match received.method() {
            "tools/call" => {
                let text = format!("data: {}\n\n", "x".repeat(64 * 1024 * 1024));
                response("200 OK", "text/event-stream", &text)
            }
            _ => usual(received),
        })
    })
    .await;
    let client = Client::with_options(ServerConfig::http("remote", url), ClientOptions::new().timeout(SOON));
    let error = client.call("t", Map::new()).await.expect_err("no answer");
    assert!(matches!(error, CallError::InvalidResponse { .. }), "{error:?}");
    assert!(error.to_string().contains("more than 64 MiB"), "{error}");
    client.close().await;
}

#[tokio::test]
async fn server_that_refuses_a_health_check_is_alive() {
    let (checks, handshakes) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, begun) = (checks.clone(), handshakes.clone());
    let url = scripted(move |received| {
        Some(match received.method() {
            "server/discover" if counted.fetch_add(1, Ordering::Relaxed) == 0 => result(received, discovered()),
            "server/discover" => response("429 Too Many Requests", "text/plain", "slow down"),
            "initialize" => {
                begun.fetch_add(1, Ordering::Relaxed);
                usual(received)
            }
            _ => usual(received),
        })
    })
    .await;
    let options = ClientOptions::new().health_check(Duration::from_millis(10)).protocol_version("2026-07-28");
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.connect().await.expect("a connection");
    while checks.load(Ordering::Relaxed) < 5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(handshakes.load(Ordering::Relaxed), 0, "it was connected again");
    }
    client.close().await;
}

/// A scripted answer of a session, if it has one.
fn in_session(received: &Received, session: Option<String>) -> String {
    match session {
        Some(session) => usual(received).replacen("\r\n", &format!("\r\nmcp-session-id: {session}\r\n"), 1),
        None => usual(received),
    }
}

#[tokio::test]
async fn refused_call_keeps_the_connection_unless_the_session_is_lost() {
    for (has_session, status, body) in [
        (true, "400 Bad Request", "no such tenant"),
        (true, "500 Internal Server Error", "no such session"),
        (false, "400 Bad Request", "no such session"),
    ] {
        let (begun, calls) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let counted = begun.clone();
        let url = scripted(move |received| {
            Some(match received.method() {
                "initialize" => {
                    let number = counted.fetch_add(1, Ordering::Relaxed);
                    in_session(received, has_session.then(|| format!("session-{number}")))
                }
                "tools/call" if calls.fetch_add(1, Ordering::Relaxed) == 0 => response(status, "text/plain", body),
                _ => usual(received),
            })
        })
        .await;
        let client = Client::new(ServerConfig::http("remote", url));
        client.call("t", Map::new()).await.expect_err(status);
        assert_eq!(client.call("t", Map::new()).await.expect("another call").text(), "done");
        assert_eq!(begun.load(Ordering::Relaxed), 1, "{status} {body}");
        client.close().await;
    }
}

#[tokio::test]
async fn closed_client_deletes_its_session_if_it_has_one() {
    for session in [Some("session-1".to_owned()), None] {
        let deleted = Arc::new(Mutex::new(Vec::new()));
        let (seen, own) = (deleted.clone(), session.clone());
        let url = scripted(move |received| {
            if received.head.starts_with("delete ") {
                let id = received.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
                seen.lock().expect("no panic").push(id.unwrap_or_default().to_owned());
            }
            Some(match received.method() {
                "initialize" => in_session(received, own.clone()),
                _ => usual(received),
            })
        })
        .await;
        let client = Client::new(ServerConfig::http("remote", url));
        client.connect().await.expect("a connection");
        client.close().await;
        assert_eq!(*deleted.lock().expect("no panic"), Vec::from_iter(session));
    }
}

#[tokio::test]
async fn handshake_outlasts_the_end_of_its_sse_stream() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
    let handshakes = Arc::new(AtomicUsize::new(0));
    let begun = handshakes.clone();
    tokio::spawn(async move {
        let events = Arc::new(tokio::sync::Mutex::new(None));
        while let Ok((mut stream, _)) = listener.accept().await {
            let (events, begun) = (events.clone(), begun.clone());
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut stream).await {
                    if head.starts_with("GET") {
                        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                                    event: endpoint\ndata: /messages\n\n";
                        stream.write_all(head.as_bytes()).await.expect("it is sent");
                        *events.lock().await = Some(stream);
                        return;
                    }
                    let received = Received { connection: 0, head, body };
                    if received.method() == "notifications/initialized" {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    stream.write_all(response("202 Accepted", "text/plain", "").as_bytes()).await.expect("it is sent");
                    let answer = usual(&received);
                    let (_, answer) = answer.split_once("\r\n\r\n").expect("a body");
                    let mut events = events.lock().await;
                    if let Some(open) = &mut *events {
                        open.write_all(format!("data: {answer}\n\n").as_bytes()).await.expect("it is sent");
                    }
                    // The first stream ends with the answer to its handshake.
                    if received.method() == "initialize" && begun.fetch_add(1, Ordering::Relaxed) == 0 {
                        *events = None;
                    }
                }
            });
        }
    });
    let client = Client::with_options(ServerConfig::sse("remote", url), ClientOptions::new().timeout(SOON));
    assert_eq!(client.call("t", Map::new()).await.expect("the call").text(), "done");
    assert_eq!(handshakes.load(Ordering::Relaxed), 2);
    client.close().await;
}

#[tokio::test]
async fn sse_events_of_other_types_are_not_messages() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("the stream");
        receive(&mut stream).await.expect("a request");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                    event: log\ndata: /wrong\n\nevent: endpoint\ndata: /messages\n\n";
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        let events = Arc::new(tokio::sync::Mutex::new(stream));
        while let Ok((mut post, _)) = listener.accept().await {
            let events = events.clone();
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut post).await {
                    assert!(head.starts_with("POST /messages "), "{head}");
                    let received = Received { connection: 0, head, body };
                    let accepted = response("202 Accepted", "text/plain", "");
                    post.write_all(accepted.as_bytes()).await.expect("it is sent");
                    let wrong = json!({"id": received.body["id"], "error": {"code": -1, "message": "another type"}});
                    let answer = usual(&received);
                    let (_, answer) = answer.split_once("\r\n\r\n").expect("a body");
                    let text = format!("event: log\ndata: {wrong}\n\nevent: message\ndata: {answer}\n\n");
                    events.lock().await.write_all(text.as_bytes()).await.expect("it is sent");
                }
            });
        }
    });
    let client = Client::with_options(ServerConfig::sse("remote", url), ClientOptions::new().timeout(SOON));
    assert_eq!(client.call("t", Map::new()).await.expect("the call").text(), "done");
    client.close().await;
}
