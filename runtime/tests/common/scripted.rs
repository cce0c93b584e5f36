//! Servers over HTTP whose answers are written by hand.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::http::receive;

/// A received request: the head as text, the body as JSON.
pub(crate) struct Received {
    pub(crate) connection: usize,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Received {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// An HTTP server that answers with whole responses written by hand, and none where there is none.
pub(crate) async fn scripted(answer: impl Fn(&Received) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        let mut connection = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            connection += 1;
            let answer = answer.clone();
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut stream).await {
                    let received = Received { connection, head: head.to_ascii_lowercase(), body };
                    match answer(&received) {
                        Some(response) => stream.write_all(response.as_bytes()).await.expect("it is sent"),
                        None => std::future::pending::<()>().await,
                    }
                }
            });
        }
    });
    url
}

pub(crate) fn response(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn json_response(body: &Value) -> String {
    response("200 OK", "application/json", &body.to_string())
}

pub(crate) fn result(to: &Received, result: Value) -> String {
    json_response(&json!({"jsonrpc": "2.0", "id": to.body["id"], "result": result}))
}

/// Answers everything that is no call as a server should.
pub(crate) fn usual(received: &Received) -> String {
    match received.method() {
        "initialize" => result(
            received,
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
        ),
        "tools/list" => result(received, json!({"tools": [{"name": "t", "inputSchema": null}]})),
        "tools/call" => result(received, json!({"content": [{"type": "text", "text": "done"}]})),
        notification if notification.starts_with("notifications/") => response("202 Accepted", "text/plain", ""),
        _ => response("405 Method Not Allowed", "text/plain", ""),
    }
}

/// Returns the discovery result of a server without a handshake.
pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0,
        "cacheScope": "private"
    })
}
