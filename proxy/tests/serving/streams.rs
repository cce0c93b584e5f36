//! The streams of a session: what a client gets that comes back for it.

use mcp_bindgen_proxy::HttpOptions;
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::{Asking, Desk, eventually, session};

#[tokio::test]
async fn an_answer_waits_for_a_client_that_was_away() {
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
