//! Calls over HTTP that end before anything of them has left.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::scripted::{scripted, usual};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, Client, Dispatched, ToolCall};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

const SHORT: Duration = Duration::from_millis(300);

fn call(options: CallOptions) -> ToolCall {
    ToolCall::new("remote", "t", Map::new()).with(options)
}

async fn times_out(client: &Client) -> Dispatched {
    let error = client.call_tool(call(CallOptions::new().timeout(SHORT))).await.expect_err("no answer");
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    error.dispatched()
}

async fn is_cancelled(client: &Client) -> Dispatched {
    let token = CancellationToken::new();
    let calling = client.call_tool(call(CallOptions::new().cancelled_by(token.clone())));
    let cancelling = async {
        tokio::time::sleep(SHORT).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(calling, cancelling);
    let error = outcome.expect_err("no answer");
    assert!(matches!(error, CallError::Cancelled { .. }), "{error}");
    error.dispatched()
}

/// Servers that take one request per connection, and whose port is full once nobody accepts.
#[cfg(target_os = "linux")]
mod full {
    use super::*;
    use crate::common::http::receive;
    use crate::common::scripted::Received;
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpSocket, TcpStream};
    use tokio::task::JoinHandle;

    pub(super) struct Server {
        listener: Arc<TcpListener>,
        accepting: JoinHandle<()>,
        waiting: Vec<TcpStream>,
    }

    impl Server {
        /// It answers everything but calls.
        pub(super) fn start() -> Self {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
            let listener = Arc::new(socket.listen(1).expect("it listens"));
            let shared = listener.clone();
            let accepting = tokio::spawn(async move {
                while let Ok((mut stream, _)) = shared.accept().await {
                    tokio::spawn(async move {
                        let Some((head, body)) = receive(&mut stream).await else { return };
                        let received = Received { connection: 0, head, body };
                        if received.method() == "tools/call" {
                            return std::future::pending().await;
                        }
                        let answer = usual(&received).replacen("\r\n", "\r\nconnection: close\r\n", 1);
                        let _ = stream.write_all(answer.as_bytes()).await;
                    });
                }
            });
            Self { listener, accepting, waiting: Vec::new() }
        }

        pub(super) fn url(&self) -> String {
            format!("http://{}/mcp", self.listener.local_addr().expect("an address"))
        }

        /// From now on the system answers no connection.
        pub(super) async fn fill(&mut self) {
            self.accepting.abort();
            let address = self.listener.local_addr().expect("an address");
            while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
                self.waiting.push(stream.expect("it is taken"));
                assert!(self.waiting.len() < 100, "the port is never full");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn call_ended_while_connecting_is_not_dispatched() {
    let mut server = full::Server::start();
    let client = Client::new(ServerConfig::http("remote", server.url()));
    client.connect().await.expect("a connection");
    assert_eq!(times_out(&client).await, Dispatched::Unknown, "the server has it");
    assert_eq!(is_cancelled(&client).await, Dispatched::Unknown, "the server has it");
    server.fill().await;
    assert_eq!(times_out(&client).await, Dispatched::No);
    assert_eq!(is_cancelled(&client).await, Dispatched::No);
    client.close().await;
}

#[cfg(feature = "auth")]
#[tokio::test]
async fn call_ended_during_authorization_is_not_dispatched() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let url = scripted(move |received| match received.method() {
        "tools/call" => {
            counted.fetch_add(1, Ordering::SeqCst);
            Some("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n".to_owned())
        }
        // Its metadata never comes.
        _ if received.head.contains(".well-known") => None,
        _ => Some(usual(received)),
    })
    .await;
    let options = mcp_bindgen_runtime::ClientOptions::new().authorization(mcp_bindgen_runtime::OAuth::new());
    let client = Client::with_options(ServerConfig::http("remote", url), options);
    client.connect().await.expect("a connection");
    assert_eq!(times_out(&client).await, Dispatched::No);
    assert_eq!(is_cancelled(&client).await, Dispatched::No);
    assert_eq!(calls.load(Ordering::SeqCst), 2, "each was refused once");
    client.close().await;
}

#[tokio::test]
async fn messages_have_a_content_length_and_follow_same_origin_redirects() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let url = scripted(move |received| {
        seen.lock().expect("no panic").push(received.head.clone());
        if received.method() == "tools/call" && received.head.starts_with("post /mcp ") {
            let head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere?a=b\r\ncontent-length: 0\r\n\r\n";
            return Some(head.to_owned());
        }
        Some(usual(received))
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url).header("X-Team", "a"));
    let arguments = json!({ "text": "x".repeat(1_000_000) });
    let arguments = arguments.as_object().cloned().expect("an object");
    let result = client.call("t", arguments).await.expect("the call");
    assert_eq!(result.text(), "done");
    client.close().await;
    let heads = heads.lock().expect("no panic");
    let posts: Vec<&String> = heads.iter().filter(|head| head.starts_with("post ")).collect();
    assert!(posts.iter().all(|head| head.contains("content-length: ") && !head.contains("transfer-encoding")));
    let followed: Vec<_> = posts.iter().filter(|head| head.starts_with("post /elsewhere?a=b ")).collect();
    assert!(followed.len() == 1 && followed[0].contains("x-team: a"), "{posts:#?}");
}

#[tokio::test]
async fn redirects_are_limited_to_five() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let url = scripted(move |received| {
        if received.method() != "tools/call" {
            return Some(usual(received));
        }
        counted.fetch_add(1, Ordering::SeqCst);
        Some("HTTP/1.1 308 Permanent Redirect\r\nlocation: /mcp\r\ncontent-length: 0\r\n\r\n".to_owned())
    })
    .await;
    let client = Client::new(ServerConfig::http("remote", url));
    let error = client.call("t", Map::new()).await.expect_err("a circle");
    assert!(error.to_string().contains("the server redirects more than 5 times"), "{error}");
    assert_eq!((error.dispatched(), calls.load(Ordering::SeqCst)), (Dispatched::Unknown, 6));
    client.close().await;
}
