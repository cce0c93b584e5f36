//! How long calls over HTTP take, and how many of them run at once.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::http::receive;
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, Client, ClientOptions, ToolCall};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const CALL_TAKES: Duration = Duration::from_millis(60);

/// A server whose calls take a while, or that asks for headers which its endless list does not tell of.
#[derive(Default)]
struct Server {
    wants_headers: bool,
    now: AtomicUsize,
    at_once: AtomicUsize,
}

impl Server {
    async fn start(self) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let server = Arc::new(self);
        let shared = server.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let server = shared.clone();
                tokio::spawn(async move {
                    while let Some((_, message)) = receive(&mut stream).await {
                        let response = server.respond(&message).await;
                        // A client that gives up closes the connection, so an error is ignored here.
                        let _ = stream.write_all(response.as_bytes()).await;
                    }
                });
            }
        });
        (url, server)
    }

    async fn respond(&self, message: &Value) -> String {
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "s", "version": "1" }
            } }),
            "tools/call" if self.wants_headers => {
                json!({ "error": { "code": -32020, "message": "a header is missing" } })
            }
            "tools/call" => {
                self.at_once.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(CALL_TAKES).await;
                self.now.fetch_sub(1, Ordering::SeqCst);
                json!({ "result": { "content": [] } })
            }
            "tools/list" => {
                tokio::time::sleep(CALL_TAKES).await;
                json!({ "result": { "tools": [], "nextCursor": message["id"].to_string() } })
            }
            _ => return "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        let body = answer.to_string();
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }
}

#[tokio::test]
async fn max_concurrent_requests_limits_concurrent_calls() {
    for (limit, calls, expected) in [(Some(2), 6, 2..=2), (None, 40, 16..=16), (Some(40), 40, 30..=40)] {
        let (url, server) = Server::default().start().await;
        let mut options = ClientOptions::new();
        if let Some(limit) = limit {
            options = options.max_concurrent_requests(limit);
        }
        let client = Client::with_options(ServerConfig::http("remote", url), options);
        client.connect().await.expect("a connection");
        let tasks: Vec<_> = (0..calls)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.call("t", Map::new()).await })
            })
            .collect();
        for task in tasks {
            task.await.expect("the task").expect("the call");
        }
        let at_once = server.at_once.load(Ordering::SeqCst);
        assert!(expected.contains(&at_once), "{at_once} with a limit of {limit:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn header_lookup_stays_within_the_call_timeout() {
    let (url, _server) = Server { wants_headers: true, ..Server::default() }.start().await;
    let client = Client::new(ServerConfig::http("remote", url));
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let call = ToolCall::new("remote", "t", Map::new());
    let error = client.call_tool_within(call, Duration::from_millis(300)).await.expect_err("its list has no end");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    client.close().await;
}
