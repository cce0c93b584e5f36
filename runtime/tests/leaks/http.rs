//! HTTP servers that fail in every way and repeat what they know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::common::http::receive;

pub(crate) const HEADER: &str = "written out e4f6a8b0c2d13579 \"&<";
const PASSWORD: &str = "f5a7b9c1d3e02468/é";
const SEGMENT: &str = "a6b8c0d2e4f13579ZzYyXxWw";
const ASKED: &str = "b7c9d1e3f5a02468+é\"";
/// The session id; anyone who knows it can take over the session.
pub(crate) const SESSION: &str = "session-c8d0e2f4a6b13579XxWwVvUu";
/// Those of the URL and the headers.
pub(crate) const SECRETS: [&str; 4] = [HEADER, PASSWORD, SEGMENT, ASKED];

pub(crate) const FAULTS: [&str; 24] = [
    "302",
    "307",
    "400",
    "400-rpc",
    "401",
    "403",
    "404",
    "429",
    "500",
    "503-html",
    "202",
    "html",
    "empty",
    "garbage",
    "close",
    "rpc-error",
    "wrong-result",
    "old-version",
    "events",
    "events-error",
    "events-cut",
    "echo",
    "hang",
    "cut",
];

/// The URL with secrets in all of its parts.
pub(crate) fn with_secrets(url: &str) -> String {
    let url = url.replace("http://", &format!("http://user:{}@", percent(PASSWORD)));
    format!("{url}/{SEGMENT}/mcp?asked={}", percent(ASKED))
}

fn percent(text: &str) -> String {
    let one = |b: u8| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") };
    text.bytes().map(one).collect()
}

/// A server that fails like this where it is asked for `method`, and gives its URL.
pub(crate) async fn scripted(fault: &'static str, method: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let count = count.clone();
            tokio::spawn(async move {
                while let Some((head, body)) = receive(&mut stream).await {
                    let leak = leak(&head, count.fetch_add(1, Ordering::Relaxed));
                    let asked = body["method"].as_str().unwrap_or_default();
                    let answer =
                        if asked == method { failing(fault, &body, &leak) } else { usual(asked, &body, &leak) };
                    if fault == "hang" && asked == method {
                        std::future::pending::<()>().await;
                    }
                    let is_over = asked == method && matches!(fault, "close" | "cut" | "events-cut");
                    if stream.write_all(answer.as_bytes()).await.is_err() || is_over {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// The request as it came, and every secret in every form, each time beginning with another.
fn leak(head: &str, count: usize) -> String {
    let mut secrets = super::secrets();
    secrets.retain(|secret| SECRETS.contains(secret) || *secret == super::HANDED[2].1);
    let mut forms: Vec<String> = secrets
        .iter()
        .flat_map(|secret| {
            let json = Value::from(*secret).to_string();
            [
                (*secret).to_owned(),
                Value::from(json.as_str()).to_string(),
                json,
                format!("{secret:?}"),
                percent(secret),
                BASE64_STANDARD.encode(secret),
                BASE64_STANDARD.encode(format!("user:{secret}")),
            ]
        })
        .collect();
    let first = count * 5 % forms.len();
    forms.rotate_left(first);
    forms.push(head.to_owned());
    format!("{}{}", "x".repeat(count % 11), forms.join(" | "))
}

fn response(status: &str, kind: &str, more: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}content-length: {}\r\n\r\n{body}", body.len())
}

fn as_json(body: &Value) -> String {
    response("200 OK", "application/json", "", &body.to_string())
}

fn result(to: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": to["id"], "result": result })
}

fn usual(asked: &str, body: &Value, leak: &str) -> String {
    match asked {
        "initialize" => {
            let begun = result(
                body,
                &json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": leak, "version": "1" }, "instructions": format!("{leak} {SESSION}") }),
            );
            let session = format!("mcp-session-id: {SESSION}\r\n");
            response("200 OK", "application/json", &session, &begun.to_string())
        }
        "tools/list" => {
            let schema = json!({ "type": "object", "properties": { leak: { "default": leak } } });
            as_json(&result(
                body,
                &json!({ "tools": [{ "name": "good", "description": leak, "inputSchema": schema }] }),
            ))
        }
        "tools/call" => as_json(&result(
            body,
            &json!({ "content": [{ "type": "text", "text": leak }], "structuredContent": { leak: leak }, "isError": true }),
        )),
        _ if asked.starts_with("notifications/") => response("202 Accepted", "text/plain", "", ""),
        _ => response("405 Method Not Allowed", "text/plain", "", leak),
    }
}

fn failing(fault: &str, body: &Value, leak: &str) -> String {
    let error = json!({ "jsonrpc": "2.0", "id": body["id"],
        "error": { "code": -32000, "message": leak, "data": { leak: [leak] } } });
    let note =
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "error", "data": leak } });
    let header: String = leak.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).collect();
    match fault {
        "302" => response("302 Found", "text/plain", &format!("location: /{header}\r\n"), leak),
        "307" => response("307 Temporary Redirect", "text/plain", "location: http://127.0.0.1:9/x\r\n", leak),
        "400" => response("400 Bad Request", "text/plain", "", leak),
        "400-rpc" => response("400 Bad Request", "application/json", "", &error.to_string()),
        "401" => response("401 Unauthorized", "text/plain", &format!("www-authenticate: Bearer {header}\r\n"), leak),
        "403" => response("403 Forbidden", "text/plain", &format!("www-authenticate: Bearer {header}\r\n"), leak),
        "404" => response("404 Not Found", "text/plain", "", leak),
        "429" => response("429 Too Many Requests", "text/plain", "retry-after: 0\r\n", leak),
        "500" => response("500 Internal Server Error", "text/plain", "", leak),
        "503-html" => response("503 Service Unavailable", "text/html", "", &format!("<p>{leak}</p>")),
        "202" => response("202 Accepted", "text/plain", "", leak),
        "html" => response("200 OK", "text/html", "", &format!("<p>{leak}</p>")),
        "garbage" => response("200 OK", "application/json", "", leak),
        "rpc-error" => as_json(&error),
        "wrong-result" => as_json(&result(body, &json!({ "content": leak, leak: leak }))),
        "old-version" => as_json(&result(
            body,
            &json!({ "protocolVersion": leak, "capabilities": {}, "serverInfo": { "name": leak, "version": leak } }),
        )),
        "events" => response("200 OK", "text/event-stream", "", &format!("data: {note}\n\ndata: {leak}\n\n")),
        "events-error" => response("200 OK", "text/event-stream", "", &format!("data: {note}\n\ndata: {error}\n\n")),
        "echo" => as_json(&json!({ "jsonrpc": "2.0", "id": leak, "method": leak, "params": { leak: leak } })),
        "cut" | "events-cut" => {
            let kind = if fault == "cut" { "application/json" } else { "text/event-stream" };
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 99999\r\n\r\ndata: {note}\n\n{leak}")
        }
        "close" => String::new(),
        _ => response("200 OK", "application/json", "", ""),
    }
}
