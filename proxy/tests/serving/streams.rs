//! Sessions over HTTP and over a stream: what a client gets that comes back for it, and what it takes back.

use mcp_bindgen_proxy::HttpOptions;
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::{Asking, Desk, Lines, eventually, initialize, session};

#[tokio::test]
async fn response_is_stored_for_a_disconnected_client() {
    let desk = Desk::default();
    let proxy = desk.proxy();
    let server = proxy.serve_http(HttpOptions::new().address(([127, 0, 0, 1], 0))).await.unwrap();
    let session = session(&server).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "desk_hold" } });
    let mut stream = Asking::new(call).with("Mcp-Session-Id", &session).begin(server.address()).await;
    let mut text = String::new();
    let mut buffer = vec![0; 64 * 1024];
    while !text.contains("id: ") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    desk.sees("\"hold\"").await;
    drop(stream);
    desk.release();
    // The call goes on without its client, and is not made again.
    let answered = || desk.seen().iter().filter(|line| line.contains("\"hold\"")).count() == 1;
    eventually("the call is made once", answered).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;

    let last = text.lines().find_map(|line| line.strip_prefix("id: ")).expect("the first event has an id");
    let resume = |last: &str| Asking::new("").by("GET").with("Mcp-Session-Id", &session).with("Last-Event-ID", last);
    let rest = resume(last).of(&server).await;
    assert_eq!((rest.status, &rest.json()["result"]["content"][0]["text"]), (200, &json!("held")), "{rest:?}");
    assert!(answered(), "it was called again");
    // An id that never was is the end of a stream, not an error.
    for gone in ["7/0", "7/77", "nonsense"] {
        let nothing = resume(gone).of(&server).await;
        assert_eq!((nothing.status, nothing.body.contains("data: {")), (200, false), "{gone}: {nothing:?}");
    }
}

/// Older clients parse the data of each event as JSON.
#[tokio::test]
async fn empty_first_event_is_only_in_sessions_since_2025_11_25() {
    let server = Desk::default().proxy().serve_http(HttpOptions::new().address(([127, 0, 0, 1], 0))).await.unwrap();
    for (asked, is_primed) in
        [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true), ("2026-07-28", true), ("1.0", true)]
    {
        let mut initialize = initialize();
        initialize["params"]["protocolVersion"] = asked.into();
        let begun = Asking::new(initialize).of(&server).await;
        let session = &begun.headers["mcp-session-id"];
        let ping = Asking::new(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
        let answered = ping.with("Mcp-Session-Id", session).of(&server).await;
        assert_eq!(answered.json()["result"], json!({}), "{asked}: {answered:?}");
        let is_empty = |line: &str| line.strip_prefix("data:").is_some_and(|data| data.trim().is_empty());
        assert_eq!(answered.body.lines().any(is_empty), is_primed, "{asked}: {answered:?}");
        assert!(answered.body.contains("id: "), "{asked}: {answered:?}");
    }
}

#[tokio::test]
async fn cancelled_request_is_not_answered_and_its_id_is_reusable() {
    let desk = Desk::default();
    let mut lines = Lines::to(desk.proxy());
    lines.tell(initialize()).await;
    lines.hear().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "desk_hold" } });
    lines.tell(&call).await;
    desk.sees("\"hold\"").await;
    lines.tell(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })).await;
    lines.tell(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await;
    assert_eq!(lines.hear().await, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    desk.sees("notifications/cancelled").await;
    desk.release();
    lines.tell(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).await;
    assert_eq!(lines.hear().await["id"], 2, "nothing comes of the call");
}

#[tokio::test]
async fn oversized_message_does_not_answer_a_server_request() {
    let mut lines = Lines::answering(Desk::default().proxy()).await;
    lines.tell(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "desk_ask" } })).await;
    let mut asked = lines.hear().await;
    while asked["method"] != "elicitation/create" {
        asked = lines.hear().await;
    }
    // A request of the client with the same id as the question.
    let long = "x".repeat(17 * 1024 * 1024);
    let params = json!({ "name": "desk_mark", "arguments": { "marker": long } });
    lines.tell(json!({ "jsonrpc": "2.0", "id": asked["id"], "method": "tools/call", "params": params })).await;
    let answer = json!({ "action": "accept", "content": { "name": "Ann" } });
    lines.tell(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
    let mut answered = lines.hear().await;
    while answered["id"] != 1 {
        answered = lines.hear().await;
    }
    assert_eq!(answered["result"]["structuredContent"]["name"], "Ann", "{answered}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_may_follow_an_unanswered_initialize() {
    for _ in 0..20 {
        let mut lines = Lines::to(Desk::default().proxy());
        lines.tell(initialize()).await;
        lines.tell(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        lines.tell(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
        let (first, second) = (lines.hear().await, lines.hear().await);
        assert_eq!((&first["id"], first["result"].is_object()), (&json!(0), true), "{first}");
        assert!(second["result"]["tools"].is_array(), "{second}");
    }
}
