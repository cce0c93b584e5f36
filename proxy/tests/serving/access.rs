//! Tests which HTTP requests are accepted, and the status of each refused one.

use std::io::ErrorKind;
use std::time::Duration;

use mcp_bindgen_proxy::{HttpOptions, ServeError};
use serde_json::json;

use crate::support::{Asking, Desk, MODERN, initialize, session};

fn list() -> Asking {
    Asking::modern(1, "tools/list", json!({}))
}

#[tokio::test(flavor = "multi_thread")]
async fn unauthorized_requests_are_refused_with_their_status() {
    let desk = Desk::default();
    let options = HttpOptions::new()
        .bearer("planted-token")
        .allow_host("mcp.example.com")
        .allow_origin("https://app.example.com")
        .max_body(2000);
    let server = desk.proxy().serve_http(options).await.unwrap();
    let new = || list().with("Authorization", "Bearer planted-token");
    let body = |text: String| {
        let mut asking = new();
        asking.body = text;
        asking
    };
    let own = server.address().to_string();
    let cases = [
        ("as it should be", new(), 200),
        ("the address itself", new().instead("Host", &own), 200),
        ("an allowed host", new().instead("Host", "MCP.example.com:8080"), 200),
        ("another host", new().instead("Host", "evil.example"), 403),
        ("a host that looks alike", new().instead("Host", "localhost.evil.example"), 403),
        ("another address", new().instead("Host", "192.0.2.1"), 403),
        ("no host", new().without("Host"), 403),
        ("two hosts", new().with("Host", "localhost"), 403),
        ("another host in the line", new().at("http://evil.example/mcp"), 403),
        ("a page of this machine", new().with("Origin", "http://localhost:6274"), 200),
        ("an allowed page", new().with("Origin", "https://app.example.com"), 200),
        ("another page", new().with("Origin", "https://evil.example"), 403),
        ("the allowed one without TLS", new().with("Origin", "http://app.example.com"), 403),
        ("a page that hides where it is from", new().with("Origin", "null"), 403),
        ("two origins", new().with("Origin", "http://localhost").with("Origin", "https://evil.example"), 403),
        ("another page without a token", list().with("Origin", "https://evil.example"), 403),
        ("no token", list(), 401),
        ("another token", list().with("Authorization", "Bearer planted"), 401),
        ("two tokens", new().with("Authorization", "Bearer planted-token"), 401),
        ("another scheme", list().with("Authorization", "Basic planted-token"), 401),
        ("no token, elsewhere", list().at("/"), 401),
        ("another path", new().at("/other"), 404),
        ("another method", new().by("PUT"), 405),
        ("a stream in the era without", new().by("GET"), 405),
        ("the end of a session in the era without", new().by("DELETE"), 405),
        ("nothing accepted", new().without("Accept"), 406),
        ("only JSON accepted", new().instead("Accept", "application/json"), 406),
        ("everything accepted", new().instead("Accept", "*/*"), 200),
        ("text", new().instead("Content-Type", "text/plain"), 415),
        ("a page's form", new().instead("Content-Type", "application/x-www-form-urlencoded"), 415),
        ("JSON in words of its own", new().instead("Content-Type", "application/json; charset=utf-8"), 200),
        ("too much", body(format!("\"{}\"", "x".repeat(2000))), 413),
        ("no JSON", body("{".to_owned()), 400),
        ("nothing", body(String::new()), 400),
        ("no text", body("\u{0}".to_owned()), 400),
        ("no message", body("{\"jsonrpc\":\"2.0\"}".to_owned()), 400),
        ("several messages", body("[]".to_owned()), 400),
        ("another method in the headers", new().instead("Mcp-Method", "tools/call"), 400),
        ("no method in the headers", new().without("Mcp-Method"), 400),
        ("another version in the headers", new().instead("MCP-Protocol-Version", "2025-11-25"), 400),
        ("no version in the headers", new().without("MCP-Protocol-Version"), 400),
        ("an unknown session", new().with("Mcp-Session-Id", "none"), 200),
    ];
    let asked = cases.len();
    for (what, asking, status) in cases {
        let answered = asking.of(&server).await;
        assert_eq!(answered.status, status, "{what}: {answered:?}");
        match status {
            401 => assert!(answered.headers["www-authenticate"].starts_with("Bearer"), "{what}: {answered:?}"),
            // A page that may not ask may not read the refusal either.
            403 => assert!(!answered.headers.contains_key("access-control-allow-origin"), "{what}: {answered:?}"),
            200 => assert!(answered.json()["result"]["tools"].is_array(), "{what}: {answered:?}"),
            _ => {}
        }
        assert!(!answered.body.contains("planted"), "{what}: {answered:?}");
    }
    let seen = desk.seen().join("\n");
    assert!(!seen.contains("planted"), "{seen}");
    assert!(!format!("{server:?}").contains("planted"));
    println!("{asked} requests answered as they should be");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_exist_only_in_the_legacy_era() {
    let server = Desk::default().proxy().serve_http(HttpOptions::new().max_sessions(1)).await.unwrap();
    let list = || Asking::new(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }));
    assert_eq!(list().of(&server).await.status, 400);
    assert_eq!(list().with("Mcp-Session-Id", "unknown").of(&server).await.status, 404);
    assert_eq!(list().by("GET").of(&server).await.status, 400);
    assert_eq!(Asking::new(initialize()).with("MCP-Protocol-Version", MODERN).of(&server).await.status, 400);

    let first = session(&server).await;
    let session = session(&server).await;
    assert_eq!(list().with("Mcp-Session-Id", &first).of(&server).await.status, 404, "there is room for one");
    let listed = list().with("Mcp-Session-Id", &session).of(&server).await;
    assert_eq!(listed.status, 200);
    assert!(listed.json()["result"]["tools"].is_array(), "{listed:?}");

    let end = || Asking::new("").by("DELETE").with("Mcp-Session-Id", &session);
    assert_eq!(end().of(&server).await.status, 204);
    assert_eq!(end().of(&server).await.status, 404);
    assert_eq!(list().with("Mcp-Session-Id", &session).of(&server).await.status, 404);
    assert_eq!(Asking::new(initialize()).of(&server).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_of_an_allowed_origin_requires_no_token() {
    let options = HttpOptions::new().bearer("planted-token").allow_origin("https://app.example.com");
    let server = Desk::default().proxy().serve_http(options).await.unwrap();
    let may = |origin: &str| {
        Asking::new("")
            .by("OPTIONS")
            .with("Origin", origin)
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "authorization, mcp-param-region")
    };
    let answered = may("https://app.example.com").of(&server).await;
    assert_eq!(answered.status, 204);
    assert_eq!(answered.headers["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(answered.headers["access-control-allow-headers"], "authorization, mcp-param-region");
    assert_eq!(may("https://evil.example").of(&server).await.status, 403);
    let refused = list().with("Origin", "https://app.example.com").of(&server).await;
    assert_eq!((refused.status, &*refused.headers["access-control-allow-origin"]), (401, "https://app.example.com"));
}

#[tokio::test(flavor = "multi_thread")]
async fn occupied_port_is_a_bind_error() {
    let proxy = Desk::default().proxy();
    let server = proxy.serve_http(HttpOptions::new()).await.unwrap();
    let error = proxy.serve_http(HttpOptions::new().address(server.address())).await.unwrap_err();
    assert!(matches!(&error, ServeError::Bind { kind: ErrorKind::AddrInUse, .. }), "{error:?}");
    assert!(error.to_string().contains(&server.address().to_string()), "{error}");
    let refused = proxy.serve_http(HttpOptions::new().address(([0, 0, 0, 0], 0))).await.unwrap_err();
    assert!(matches!(refused, ServeError::PublicAddress { .. }), "{refused:?}");
    // Dropping a server frees its port.
    let address = server.address();
    drop(server);
    crate::support::eventually("the port is free", || std::net::TcpListener::bind(address).is_ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn close_lets_calls_end_and_accepts_no_new_ones() {
    let desk = Desk::default();
    let server = desk.proxy().serve_http(HttpOptions::new()).await.unwrap();
    let address = server.address();
    let session = session(&server).await;
    let mut unasked = Asking::new("").by("GET").with("Mcp-Session-Id", &session).begin(address).await;
    let call = |ms: u64| Asking::modern(1, "tools/call", json!({ "name": "desk_wait", "arguments": { "ms": ms } }));
    let under_way = tokio::spawn(async move { call(500).to(address).await });
    desk.sees("\"wait\"").await;
    tokio::time::timeout(Duration::from_secs(4), server.close()).await.expect("closed before its time is over");
    let answered = under_way.await.unwrap();
    assert_eq!(answered.json()["result"]["content"][0]["text"], "waited", "{answered:?}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut unasked, &mut rest).await.expect("the stream ends");
}
