//! Tests that the secrets of servers and of clients stay on their own side, and that logs, events and `Debug` output
//! contain none.

#[path = "../../../runtime/tests/recorder/mod.rs"]
mod recorder;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_proxy::{HttpOptions, HttpServer, Proxy};
use recorder::Recorder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Asking, Desk, Lines, initialize};

/// Each is in no other text.
const HEADER: &str = "up-header-5a7c9e1b3d5f7091";
const TEAM: &str = "up-team-6b8d0f2a4c6e8013";
const ENV: &str = "up-env-7c9e1b3d5f709142";
const BEARER: &str = "down-bearer-8d0f2a4c6e801357";
const COOKIE: &str = "down-cookie-9e1b3d5f70914268";
const KEY: &str = "down-key-a0c2e4f6b8d01357";
/// The text that a user types.
const TYPED: &str = "typed-password-b1d3f5a7c9e02468";
/// The secrets that authenticate the proxy to servers.
const OF_SERVERS: [&str; 3] = [HEADER, TEAM, ENV];
/// The secrets that clients send to the proxy.
const OF_CLIENTS: [&str; 3] = [BEARER, COOKIE, KEY];

/// A server over HTTP that repeats the headers of each request wherever it can, but in results: they are data.
#[derive(Clone, Default)]
struct Repeating {
    seen: Arc<Mutex<String>>,
}

impl Repeating {
    async fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().converse(stream));
            }
        });
        address
    }

    async fn converse(self, mut stream: TcpStream) {
        let mut text = String::new();
        let mut buffer = vec![0; 64 * 1024];
        let (head, body) = loop {
            let Ok(read @ 1..) = stream.read(&mut buffer).await else { return };
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                break (head.to_owned(), body.to_owned());
            }
        };
        self.seen.lock().unwrap().push_str(&text);
        let message: Value = serde_json::from_str(&body).unwrap_or_default();
        let (status, said) = answer(&head, &message);
        let said = if said.is_null() { String::new() } else { said.to_string() };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Repeated: {}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{said}",
            head.replace("\r\n", " "),
            said.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

fn answer(head: &str, message: &Value) -> (&'static str, Value) {
    let id = &message["id"];
    let result = |result: Value| ("200 OK", json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    let error = |code: i32| {
        let error = json!({ "code": code, "message": format!("refused: {head}"), "data": { "all": head } });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    };
    match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (None, _) => ("405 Method Not Allowed", Value::Null),
        (Some(_), _) if id.is_null() => ("202 Accepted", Value::Null),
        (Some("initialize"), _) => result(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            "serverInfo": { "name": "repeating", "version": "1" },
        })),
        (Some("tools/list"), _) => {
            let tools = ["works", "fails", "refuses"];
            let tools = tools.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
            result(json!({ "tools": tools }))
        }
        (Some("tools/call"), Some("works")) => result(json!({ "content": [{ "type": "text", "text": "worked" }] })),
        (Some("tools/call"), Some("refuses")) => ("403 Forbidden", error(-32000)),
        (Some("server/discover"), _) => ("404 Not Found", error(-32601)),
        _ => ("200 OK", error(-32603)),
    }
}

/// Adds the credentials of a client to its HTTP request.
fn by_client(asking: Asking) -> Asking {
    asking
        .with("Authorization", &format!("Bearer {BEARER}"))
        .with("Cookie", &format!("session={COOKIE}"))
        .with("X-Api-Key", KEY)
}

/// Returns the requests that are made in each era.
fn requests() -> Vec<(&'static str, Value)> {
    let tools = ["repeating_works", "repeating_fails", "repeating_refuses", "dying_anything", "no_such_tool"];
    let calls = tools.map(|name| ("tools/call", json!({ "name": name, "arguments": {} })));
    let others = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "repeating_anything" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "test://anything" })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "test://anything" }, "argument": { "name": "a", "value": "" },
            }),
        ),
    ];
    others.into_iter().chain(calls).collect()
}

async fn asked_over_http(server: &HttpServer, said: &mut Vec<String>) {
    // The session begins with the same bearer token.
    let began = by_client(Asking::new(initialize())).of(server).await;
    let session = began.headers["mcp-session-id"].clone();
    let told = Asking::new(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    by_client(told).with("Mcp-Session-Id", &session).of(server).await;
    said.push(format!("{began:?}"));
    for (id, (method, params)) in (1..).zip(requests()) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let asking = Asking::new(request).with("Mcp-Session-Id", &session).with("MCP-Protocol-Version", "2025-11-25");
        said.push(format!("{:?}", by_client(asking).of(server).await));
        let asking = Asking::modern(id, method, params.clone());
        let asking = match params["uri"].as_str() {
            Some(uri) => asking.with("Mcp-Name", uri),
            None => asking,
        };
        said.push(format!("{:?}", by_client(asking).of(server).await));
    }
    for wrong in [format!("Bearer {BEARER}x"), format!("Basic {BEARER}"), BEARER.to_owned()] {
        let refused = Asking::new(initialize()).with("Authorization", &wrong).of(server).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        said.push(format!("{refused:?}"));
    }
}

async fn asked_over_a_stream(proxy: &Proxy, said: &mut Vec<String>) {
    let mut lines = Lines::to(proxy.clone());
    lines.tell(initialize()).await;
    said.push(lines.hear().await.to_string());
    lines.tell(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    for (id, (method, params)) in (1..).zip(requests()) {
        lines.tell(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        loop {
            let heard = lines.hear().await;
            said.push(heard.to_string());
            if heard["id"] == id {
                break;
            }
        }
    }
}

/// A client with a session answers what a server asks in the middle of a call.
async fn answered_over_a_stream() -> Value {
    let mut lines = Lines::answering(Desk::default().proxy()).await;
    let params = json!({ "name": "desk_ask", "arguments": { "note": TYPED } });
    lines.tell(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    loop {
        let heard = lines.hear().await;
        if heard["method"] == "elicitation/create" {
            let answer = json!({ "action": "accept", "content": { "name": TYPED } });
            lines.tell(json!({ "jsonrpc": "2.0", "id": heard["id"], "result": answer })).await;
        } else if heard["id"] == 1 {
            return heard;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_credentials_are_not_forwarded_and_no_secrets_are_shown() {
    let recorder = Recorder::global(|_| true);
    let repeating = Repeating::default();
    let address = repeating.serve().await;
    let remote = ServerConfig::http("repeating", format!("http://{address}/mcp"))
        .header("Authorization", format!("Bearer {HEADER}"))
        .header("X-Team", TEAM);
    // It tells its environment, and is gone.
    let local = ServerConfig::stdio("dying", "sh").args(["-c", "env >&2; env; exit 3"]).env("API_TOKEN", ENV);
    let builder = Proxy::builder().server(remote).server(local);
    let mut shown = vec![format!("{builder:?} {builder:#?}")];
    let proxy = builder.build().unwrap();
    let mut events = proxy.events();
    let options = HttpOptions::new().address(([127, 0, 0, 1], 0)).bearer(BEARER);
    shown.push(format!("{options:?} {options:#?}"));
    let server = proxy.serve_http(options).await.unwrap();
    let mut said = Vec::new();
    asked_over_http(&server, &mut said).await;
    asked_over_a_stream(&proxy, &mut said).await;
    let answered = answered_over_a_stream().await;
    assert!(answered.to_string().contains(TYPED), "{answered}");
    shown.push(format!("{proxy:?} {proxy:#?} {server:?} {server:#?}"));
    let mut told = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(200), events.next()).await {
        told.push(format!("{event:?}"));
    }
    proxy.close().await;
    let logged = recorder.lines();

    // The secrets are detectable, because each of them appears on its own side.
    let seen = repeating.seen.lock().unwrap().clone();
    assert!(seen.contains(HEADER) && seen.contains(TEAM), "{seen}");
    assert!(said.iter().filter(|text| text.contains("worked")).count() == 3, "{said:#?}");
    assert!(said.iter().filter(|text| text.contains("refused: ")).count() >= 3, "{said:#?}");
    assert!(told.len() > 10 && logged.len() > 20, "{} events, {} records", told.len(), logged.len());
    assert!(logged.iter().any(|line| line.contains("server_stderr")), "no stderr of servers");

    let found = |text: &str, secrets: &[&str]| secrets.iter().any(|secret| text.contains(secret));
    assert!(!found(&seen, &OF_CLIENTS), "a server has seen what a client is let in by: {seen}");
    let all = [&OF_SERVERS[..], &OF_CLIENTS[..], &[TYPED]].concat();
    let mut looked = 0;
    for (what, texts) in [("an answer", said), ("Debug", shown), ("an event", told), ("the log", logged)] {
        for text in texts {
            looked += 1;
            assert!(!found(&text, &all), "{what} shows a secret: {text}");
        }
    }
    println!("{looked} texts hold no secret of the proxy's sides");
}
