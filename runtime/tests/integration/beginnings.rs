//! Servers that accept one of the two handshake methods.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ClientOptions, ConnectErrorKind};
use serde_json::{Map, json};
use tokio::io::AsyncReadExt;

use crate::common::scripted::{Received, discovered, json_response, response, result, scripted, usual};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
/// `sh` as a server that answers what it reads by these lines.
const ANSWERS: &str = r#"answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":$(echo "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'),$2}"; }
result='"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}'
"#;

fn options(version: &str) -> ClientOptions {
    ClientOptions::new().protocol_version(version).connect_timeout(Duration::from_secs(8))
}

fn shell(script: &str) -> ServerConfig {
    ServerConfig::stdio("s", "sh").args(["-c".to_owned(), format!("{ANSWERS}{script}")])
}

fn refusal(received: &Received) -> String {
    let error = json!({ "code": -32601, "message": "method not found" });
    json_response(&json!({ "jsonrpc": "2.0", "id": received.body["id"], "error": error }))
}

/// A server over HTTP with sessions, which answers `server/discover` like this.
async fn with_sessions(
    discover: impl Fn(&Received) -> Option<String> + Send + Sync + 'static,
) -> (ServerConfig, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heads = seen.clone();
    let url = scripted(move |received| {
        if received.method() == "server/discover" {
            return discover(received);
        }
        heads.lock().unwrap().push(format!("{} {}", received.method(), received.head));
        let answer = usual(received);
        Some(match received.method() {
            "initialize" => answer.replacen("\r\n", "\r\nmcp-session-id: session-of-this-test\r\n", 1),
            _ => answer,
        })
    })
    .await;
    (ServerConfig::http("remote", url), seen)
}

#[tokio::test]
async fn refused_discover_falls_back_to_initialize() {
    type Discover = fn(&Received) -> Option<String>;
    let unspoken: Discover =
        |received| Some(result(received, json!({ "resultType": "complete", "supportedVersions": [LEGACY] })));
    let refused: Discover = |received| Some(refusal(received));
    for discover in [refused, unspoken] {
        let (config, seen) = with_sessions(discover).await;
        let client = Client::with_options(config, options(MODERN));
        client.call("t", Map::new()).await.unwrap();
        let seen = seen.lock().unwrap();
        assert!(!seen[0].contains("mcp-protocol-version"), "{}", seen[0]);
        for request in seen.iter().skip(1) {
            assert!(request.contains("mcp-session-id: session-of-this-test"), "{request}");
            assert!(request.contains(&format!("mcp-protocol-version: {LEGACY}")), "{request}");
        }
        assert!(seen.iter().any(|request| request.starts_with("tools/call")));
    }
}

#[tokio::test]
async fn discover_refused_for_a_supported_version_is_sent_once_more() {
    let discovers = Mutex::new(0);
    let url = scripted(move |received| {
        let mut discovers = discovers.lock().unwrap();
        Some(match received.method() {
            "server/discover" if *discovers == 0 => {
                *discovers += 1;
                let error = json!({ "code": -32022, "message": "unsupported", "data": { "supported": [MODERN] } });
                let body = json!({ "jsonrpc": "2.0", "id": received.body["id"], "error": error });
                response("400 Bad Request", "application/json", &body.to_string())
            }
            "server/discover" => result(received, discovered()),
            "initialize" => refusal(received),
            _ => usual(received),
        })
    })
    .await;
    let client = Client::with_options(ServerConfig::http("remote", url), options(MODERN));
    client.call("t", Map::new()).await.unwrap();
}

#[tokio::test]
async fn unanswered_discover_does_not_delay_initialize() {
    let (config, _) = with_sessions(|_| None).await;
    let client = Client::with_options(config, options(MODERN).connect_timeout(Duration::from_secs(2)));
    client.call("t", Map::new()).await.unwrap();
}

#[tokio::test]
async fn refused_initialize_falls_back_to_discover() {
    let url = scripted(|received| {
        Some(match received.method() {
            "initialize" => refusal(received),
            "server/discover" => result(received, discovered()),
            _ => {
                assert!(received.head.contains(&format!("mcp-protocol-version: {MODERN}")), "{}", received.head);
                usual(received)
            }
        })
    })
    .await;
    let client = Client::with_options(ServerConfig::http("remote", url), options(LEGACY));
    client.call("t", Map::new()).await.unwrap();
}

#[tokio::test]
async fn initialize_answer_falls_back_to_discover_only_without_a_version() {
    type Initialize = fn(&Received) -> String;
    let without: Initialize = |received| result(received, json!({ "capabilities": {} }));
    let unknown: Initialize = |received| result(received, json!({ "protocolVersion": "1", "capabilities": {} }));
    let unreadable: Initialize = |received| json_response(&json!({ "jsonrpc": "2.0", "id": received.body["id"] }));
    for (initialize, refused) in [
        (without, None),
        (unknown, Some("`initialize` failed: the server speaks protocol version `1`; supported are ")),
        (unreadable, Some("`initialize` failed: ")),
    ] {
        let url = scripted(move |received| {
            Some(match received.method() {
                "initialize" => initialize(received),
                "server/discover" => result(received, discovered()),
                _ => usual(received),
            })
        })
        .await;
        let client = Client::with_options(ServerConfig::http("remote", url), options(LEGACY));
        match (client.connect().await, refused) {
            (Ok(()), None) => {}
            (Err(error), Some(part)) => assert!(error.message.contains(part), "{error}"),
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn server_that_exits_after_one_handshake_is_restarted_for_the_other() {
    // The second start knows that it is one by a file.
    let folder = tempfile::tempdir().unwrap();
    let script = r#"read -r line
        case "$line" in
          *'"server/discover"'*) answer "$line" '"error":{"code":-32601,"message":"unknown"}'; exit 0;;
        esac
        answer "$line" "$result"; while read -r line; do :; done"#;
    let client = Client::with_options(shell(script), options(MODERN));
    client.connect().await.unwrap();
    client.close().await;
    let script = r#"echo start >>"$STARTS"
        read -r line
        case "$line" in
          *'"initialize"'*) answer "$line" '"error":{"code":-32000,"message":"no key"}'; exit 0;;
        esac
        answer "$line" '"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}'
        while read -r line; do :; done"#;
    let starts = folder.path().join("starts");
    let config = shell(script).env("STARTS", starts.to_string_lossy());
    let client = Client::with_options(config, options(LEGACY));
    client.connect().await.unwrap();
    client.close().await;
    assert_eq!(std::fs::read_to_string(starts).unwrap(), "start\nstart\n");
}

#[cfg(unix)]
#[tokio::test]
async fn refused_handshake_is_the_reported_error() {
    let refuse = r#"answer "$line" '"error":{"code":-32000,"message":"no key"}'"#;
    let read_on = "while read -r line; do :; done";
    for (what, script) in [
        ("it ends", format!("read -r line; {refuse}; exit 1")),
        ("it ignores the other", format!("read -r line; {refuse}; {read_on}")),
        ("it ends at the other", format!("read -r line; {refuse}; read -r line; exit 1")),
        ("it names a variable", format!("echo CARGO_MANIFEST_DIR >&2; read -r line; {refuse}; {read_on}")),
    ] {
        let client = Client::with_options(shell(&script), options(LEGACY).connect_timeout(Duration::from_secs(2)));
        let error = client.connect().await.unwrap_err();
        assert!(error.message.contains("`initialize` failed with JSON-RPC error -32000: no key"), "{what}: {error}");
        assert_eq!(error.kind, ConnectErrorKind::Protocol, "{what}");
        assert!(!error.message.contains("not passed to the server"), "{what}: {error}");
    }
}

#[tokio::test]
async fn streams_are_closed_if_the_handshake_is_never_read() {
    let (near, mut far) = tokio::io::duplex(16);
    let (read, write) = tokio::io::split(near);
    let options = options(LEGACY).connect_timeout(Duration::from_millis(100));
    let client = Client::over_with_options("s", read, write, options);
    client.connect().await.unwrap_err();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), far.read_to_end(&mut rest));
    ended.await.expect("the other side sees the end").unwrap();
}
