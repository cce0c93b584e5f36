//! Extensions: requests, notifications and capabilities that the protocol does not have, and the name of the program.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::time::Duration;

use mcp_bindgen_runtime::{CallError, CallOptions, Client, ClientOptions, Dispatched};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::task::JoinHandle;

use crate::common::object;

/// A server that answers `locks/take`, asks for the owner in between, and returns all messages that it received.
fn server(stream: DuplexStream) -> JoinHandle<Vec<Value>> {
    tokio::spawn(async move {
        let (read, mut write) = split(stream);
        let (mut lines, mut received) = (BufReader::new(read).lines(), Vec::new());
        let mut pending = Value::Null;
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("JSON");
            let id = message["id"].clone();
            let answers = match (message["method"].as_str(), id.as_str()) {
                (Some("initialize"), _) => vec![json!({ "jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "serverInfo": { "name": "locks", "version": "1" },
                }})],
                (Some("locks/take"), _) => {
                    pending = id;
                    vec![
                        json!({ "jsonrpc": "2.0", "method": "notifications/locks/waiting", "params": { "for": "a" } }),
                        json!({ "jsonrpc": "2.0", "id": "q1", "method": "locks/owner", "params": { "lock": "a" } }),
                        json!({ "jsonrpc": "2.0", "id": "q2", "method": "locks/unknown" }),
                    ]
                }
                (None, Some("q2")) => vec![json!({ "jsonrpc": "2.0", "id": pending, "result": { "taken": true } })],
                (Some("locks/fail"), _) => {
                    vec![json!({ "jsonrpc": "2.0", "id": id, "error": { "code": 7, "message": "locked" } })]
                }
                _ => Vec::new(),
            };
            received.push(message);
            for answer in answers {
                write.write_all(format!("{answer}\n").as_bytes()).await.expect("the client reads");
            }
        }
        received
    })
}

fn client(stream: DuplexStream) -> Client {
    let (read, write) = split(stream);
    let options = ClientOptions::new()
        .client_info("my-agent", "3.1")
        .extension("com.example/locks", json!({ "version": 2 }))
        .capabilities(json!({ "extensions": { "com.example/other": {} } }))
        .on_request(async |method, params| match method.as_str() {
            "locks/owner" => Ok(json!({ "owner": format!("me, of {}", params["lock"]) })),
            _ => Err((-32601, format!("no such method: {method}"))),
        });
    Client::over_with_options("locks", read, write, options)
}

#[tokio::test]
async fn extension_requests_and_notifications_work_in_both_directions() {
    let (near, far) = duplex(1 << 16);
    let (server, client) = (server(far), client(near));
    let mut told = client.notifications();
    let taken = client.request("locks/take", object(json!({ "lock": "a" })), CallOptions::new()).await;
    assert_eq!(taken.expect("the lock"), json!({ "taken": true }));
    let heard = told.next().await.expect("a notification");
    assert_eq!((heard.method.as_str(), &heard.params["for"]), ("notifications/locks/waiting", &json!("a")));
    let error = client.request("locks/fail", Map::new(), CallOptions::new()).await.expect_err("it is locked");
    assert!(matches!(&error, CallError::Rpc { code: 7, .. }), "{error:?}");
    client
        .notify("notifications/locks/released", object(json!({ "lock": "a" })), CallOptions::new())
        .await
        .expect("sent");
    client.notify("notifications/roots/list_changed", Map::new(), CallOptions::new()).await.expect("sent");
    client.close().await;
    drop(client);
    let received = server.await.expect("no panic");
    let of = |method: &str| received.iter().find(|message| message["method"] == method).expect(method);
    let params = &of("initialize")["params"];
    assert_eq!(params["clientInfo"], json!({ "name": "my-agent", "version": "3.1" }));
    let extensions = json!({ "com.example/other": {}, "com.example/locks": { "version": 2 } });
    assert_eq!(params["capabilities"]["extensions"], extensions);
    assert_eq!(of("notifications/locks/released")["params"]["lock"], "a");
    assert!(of("notifications/roots/list_changed").get("id").is_none());
    let answer = |id: &str| received.iter().find(|message| message["id"] == id && message.get("method").is_none());
    assert_eq!(answer("q1").expect("an answer")["result"]["owner"], "me, of \"a\"");
    assert_eq!(answer("q2").expect("an answer")["error"]["code"], -32601);
}

#[tokio::test]
async fn governed_protocol_methods_are_refused_as_extensions() {
    let (near, far) = duplex(1 << 16);
    let (server, client) = (server(far), client(near));
    for method in
        ["tools/call", "initialize", "server/discover", "tasks/cancel", "tools/unheard_of", "sampling/createMessage"]
    {
        let error = client.request(method, Map::new(), CallOptions::new()).await.expect_err(method);
        assert!(matches!(&error, CallError::InvalidArguments { .. }), "{method}: {error:?}");
        assert_eq!(error.dispatched(), Dispatched::No);
    }
    for method in ["notifications/cancelled", "notifications/initialized", "notifications/progress", "tools/call"] {
        let error = client.notify(method, Map::new(), CallOptions::new()).await.expect_err(method);
        assert!(matches!(&error, CallError::InvalidArguments { .. }), "{method}: {error:?}");
    }
    client.close().await;
    drop(client);
    assert_eq!(server.await.expect("no panic"), Vec::<Value>::new(), "nothing was sent");
}

#[tokio::test]
async fn extension_request_times_out_with_an_unknown_outcome() {
    let (near, far) = duplex(1 << 16);
    let (server, client) = (server(far), client(near));
    let within = CallOptions::new().timeout(Duration::from_millis(100));
    let error = client.request("locks/silent", Map::new(), within).await.expect_err("nobody answers");
    assert!(matches!(&error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error:?}");
    client.close().await;
    drop(client);
    let received = server.await.expect("no panic");
    assert_eq!(received.iter().filter(|message| message["method"] == "locks/silent").count(), 1);
}
