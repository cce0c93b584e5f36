//! Clients and servers that misbehave.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_bindgen_proxy::{HttpOptions, ServeError};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, ToolCall};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Asking, Desk, LEGACY, Lines, MODERN, eventually, initialize, session};

const FLOOD: u64 = 1000;

fn wait(id: u64, ms: u64) -> Asking {
    Asking::modern(id, "tools/call", json!({ "name": "desk_wait", "arguments": { "ms": ms } }))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "two thousand connections take seconds"]
async fn http_flood_is_answered_or_refused() {
    let desk = Desk::default();
    for (most, all_pass) in [(FLOOD as usize, true), (8, false)] {
        let server = desk.proxy().serve_http(HttpOptions::new().max_requests(most)).await.unwrap();
        let address = server.address();
        let mut flood = tokio::task::JoinSet::new();
        for id in 0..FLOOD {
            flood.spawn(async move { (id, wait(id, 20).to(address).await) });
        }
        let (mut answered, mut refused) = (0, 0);
        while let Some(one) = flood.join_next().await {
            let (id, one) = one.unwrap();
            match one.status {
                200 => {
                    assert_eq!(one.json()["id"], id, "{one:?}");
                    answered += 1;
                }
                503 => refused += 1,
                _ => panic!("{one:?}"),
            }
        }
        assert_eq!(refused == 0, all_pass, "{refused} refused");
        assert_eq!(wait(1, 0).of(&server).await.status, 200, "it is over");
        println!("{FLOOD} requests at once, at most {most}: {answered} answered, {refused} refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_oversized_lines_do_not_affect_a_session() {
    let desk = Desk::default();
    let proxy = desk.proxy();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(async move { proxy.serve_over(far).await });
    let mut client = Lines::over(near);
    for garbage in [
        "",
        "garbage",
        "{",
        "\u{0}\u{1}",
        "[[[[",
        "\"text\"",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}",
    ] {
        client.tell(garbage).await;
    }
    client.tell(json!({ "jsonrpc": "2.0", "id": 7, "result": {} })).await;
    // Longer than a message may be.
    for _ in 0..17 {
        client.write.write_all(&vec![b'x'; 1024 * 1024]).await.unwrap();
    }
    client.tell("").await;
    client.tell(initialize()).await;
    let mut answer = client.hear().await;
    // A JSON value that is not a message gets an error without an id.
    while answer["id"].is_null() {
        assert!(answer["error"].is_object(), "{answer}");
        answer = client.hear().await;
    }
    assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
    client.tell(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;

    let Lines { mut read, mut write } = client;
    let telling = tokio::spawn(async move {
        for id in 1..=FLOOD {
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "desk_wait", "arguments": { "ms": 1 } } });
            write.write_all(format!("garbage\n{call}\n").as_bytes()).await.unwrap();
        }
        write
    });
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < FLOOD as usize {
        let mut line = String::new();
        tokio::io::AsyncBufReadExt::read_line(&mut read, &mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "waited", "{answer}");
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "answered twice: {answer}");
    }
    let write = telling.await.unwrap();
    drop((read, write));
    let served =
        tokio::time::timeout(Duration::from_secs(10), serving).await.expect("it ends with its stream").unwrap();
    served.unwrap();
    eventually("its server is left", || desk.ended.load(Ordering::SeqCst) == desk.begun.load(Ordering::SeqCst)).await;
    println!("{} calls answered between garbage", answered.len());
}

fn hold(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": { "name": "desk_hold" } })
}

/// One who speaks to a proxy over a stream, and has said who it is.
async fn over_a_stream(desk: &Desk) -> (Lines, tokio::task::JoinHandle<Result<(), ServeError>>) {
    let proxy = desk.proxy();
    let (near, far) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(async move { proxy.serve_over(far).await });
    let mut client = Lines::over(near);
    client.tell(initialize()).await;
    client.hear().await;
    client.tell(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    (client, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn excess_concurrent_requests_are_refused() {
    let desk = Desk::default();
    let (Lines { mut read, mut write }, serving) = over_a_stream(&desk).await;
    let telling = tokio::spawn(async move {
        for id in 0..1100 {
            write.write_all(format!("{}\n", hold(id)).as_bytes()).await.unwrap();
        }
        write
    });
    for number in 0..1100 {
        // All that may be made are under way before one of them is answered.
        if number == 1100 - 1024 {
            desk.release();
        }
        let mut line = String::new();
        tokio::io::AsyncBufReadExt::read_line(&mut read, &mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        if number < 1100 - 1024 {
            assert!(answer["error"]["message"].as_str().unwrap().contains("too many concurrent requests"), "{answer}");
        } else {
            assert_eq!(answer["result"]["content"][0]["text"], "held", "{answer}");
        }
    }
    println!("1100 requests on one stream: 1024 answered, {} refused", 1100 - 1024);
    drop((read, telling.await.unwrap()));
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_request_id_is_refused_and_the_first_request_continues() {
    let desk = Desk::default();
    let held = || desk.seen().iter().filter(|line| line.contains("\"hold\"")).count();
    let (mut client, serving) = over_a_stream(&desk).await;
    client.tell(hold("same")).await;
    desk.sees("\"hold\"").await;
    for _ in 0..3 {
        client.tell(hold("same")).await;
        let refused = client.hear().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("same"), &json!(-32600)), "{refused}");
    }
    let server = desk.proxy().serve_http(HttpOptions::new()).await.unwrap();
    let session = session(&server).await;
    let asking = || Asking::new(hold("same")).with("Mcp-Session-Id", &session);
    let stream = asking().begin(server.address()).await;
    eventually("it is held", || held() == 2).await;
    let refused = asking().of(&server).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32600)), "{refused:?}");
    assert_eq!(held(), 2, "what was refused is not made");
    desk.release();
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "held");
    // It is free again.
    client.tell(hold("same")).await;
    assert_eq!(client.hear().await["result"]["content"][0]["text"], "held");
    drop((client, stream));
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn session_request_counts_until_it_is_answered() {
    let desk = Desk::default();
    // A quarter of the places is for one session.
    let server = desk.proxy().serve_http(HttpOptions::new().max_requests(16)).await.unwrap();
    let session = session(&server).await;
    let asking = |id: u64| Asking::new(hold(id)).with("Mcp-Session-Id", &session);
    for id in 1..=4_u64 {
        let stream = asking(id).begin(server.address()).await;
        let held = || desk.seen().iter().filter(|line| line.contains("\"hold\"")).count();
        eventually("it is held", || held() as u64 == id).await;
        // The call goes on: whoever asked may come back to it.
        drop(stream);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(asking(5).of(&server).await.status, 503, "as many are under way as may be");
    desk.release();
    let mut answered = asking(6).of(&server).await;
    for _ in 0..100 {
        if answered.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        answered = asking(6).of(&server).await;
    }
    assert_eq!(answered.json()["result"]["content"][0]["text"], "held", "{answered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_do_not_speak_mcp_are_disconnected() {
    let proxy = Desk::default().proxy();
    // It looks in and leaves.
    let (near, far) = tokio::io::duplex(1024);
    drop(near);
    assert_eq!(proxy.serve_over(far).await, Ok(()));
    // It says hello in a way that nobody knows, and leaves.
    let (near, far) = tokio::io::duplex(1024);
    let serving = tokio::spawn(async move { proxy.serve_over(far).await });
    let mut client = Lines::over(near);
    client.tell(json!({ "jsonrpc": "2.0", "id": 1, "method": "hello" })).await;
    assert!(client.hear().await["error"].is_object());
    drop(client);
    let served = serving.await.unwrap();
    assert!(matches!(served, Ok(()) | Err(ServeError::Connection { .. })), "{served:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_client_cancels_its_call_on_the_server() {
    let desk = Desk::default();
    let server = desk.proxy().serve_http(HttpOptions::new()).await.unwrap();
    let mut cancelled = 0;
    let mut is_cancelled = async |how: &str| {
        cancelled += 1;
        let count = || desk.seen().iter().filter(|line| line.contains("notifications/cancelled")).count();
        eventually(how, || count() == cancelled).await;
    };
    // A request that stands for itself ends with its connection.
    let stream = wait(1, 600_000).begin(server.address()).await;
    desk.sees("600000").await;
    drop(stream);
    is_cancelled("a request alone").await;

    // A session ends when its client says so,
    let session = session(&server).await;
    // An id is used once in a session.
    let call = |id: u64, ms: u64| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "desk_wait", "arguments": { "ms": ms } } });
        Asking::new(call).with("Mcp-Session-Id", &session)
    };
    let stream = call(5, 700_000).begin(server.address()).await;
    desk.sees("700000").await;
    // or takes back the call alone,
    let back = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } });
    assert_eq!(Asking::new(back).with("Mcp-Session-Id", &session).of(&server).await.status, 202);
    is_cancelled("a call that is taken back").await;
    drop(stream);
    let stream = call(6, 800_000).begin(server.address()).await;
    desk.sees("800000").await;
    Asking::new("").by("DELETE").with("Mcp-Session-Id", &session).of(&server).await;
    is_cancelled("a session").await;
    drop(stream);
    println!("3 ways to vanish, 3 calls cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_expires_only_while_idle() {
    let desk = Desk::default();
    let options = HttpOptions::new().idle_sessions(Duration::from_millis(700));
    let server = desk.proxy().serve_http(options).await.unwrap();
    let session = session(&server).await;
    let call = |id: u64, ms: u64| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "desk_wait", "arguments": { "ms": ms } } });
        Asking::new(call).with("Mcp-Session-Id", &session)
    };
    // Longer than a session lives without anybody.
    assert_eq!(call(1, 1000).of(&server).await.status, 200);
    // A client that disconnects during a call can return for a while. Then the proxy cancels the call and ends the
    // session.
    let stream = call(2, 900_000).begin(server.address()).await;
    desk.sees("900000").await;
    drop(stream);
    desk.sees("notifications/cancelled").await;
    eventually("its connection ends", || desk.ended.load(Ordering::SeqCst) == desk.begun.load(Ordering::SeqCst)).await;
    assert_eq!(call(3, 0).of(&server).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_server_fails_only_its_own_call() {
    let (desk, other) = (Desk::default(), Desk::default());
    let there = other.clone();
    let proxy = desk.builder().connecting("other", move |options| there.connect(options), |client| client);
    let server = proxy.build().unwrap().serve_http(HttpOptions::new()).await.unwrap();
    for version in [LEGACY, MODERN] {
        let options = ClientOptions::new().protocol_version(version);
        let client = Client::with_options(mcp_bindgen_model::ServerConfig::http("proxy", server.url()), options);
        let call = |tool: &str, ms: u64| {
            let arguments = json!({ "ms": ms });
            let arguments = arguments.as_object().unwrap().clone();
            client.call_tool(ToolCall::new("proxy".to_owned(), tool.to_owned(), arguments))
        };
        let (waited, died) = tokio::join!(call("other_wait", 300), call("desk_die", 0));
        let waited = waited.unwrap();
        assert_eq!(waited.text(), "waited", "{version}");
        let died = died.unwrap();
        assert!(died.is_error && died.text().contains("was lost during `desk_die`"), "{version}: {died:?}");
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_requests_time_out() {
    let server =
        Desk::default().proxy().serve_http(HttpOptions::new().read_timeout(Duration::from_millis(200))).await.unwrap();
    // Neither the head nor the body ever ends.
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    let body = "Accept: */*\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    for (text, status) in [(head.to_owned(), None), (format!("{head}{body}"), Some("HTTP/1.1 408 "))] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answered = String::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut answered)).await;
        assert!(read.is_ok(), "it is not left");
        match status {
            Some(status) => assert!(answered.starts_with(status), "{answered}"),
            None => assert_eq!(answered, "", "there is no request to answer"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_closed_for_new_ones() {
    let options = HttpOptions::new().max_connections(4);
    let server = Desk::default().proxy().serve_http(options).await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..12 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(b"P").await.unwrap();
        silent.push(stream);
    }
    for id in 0..4 {
        let answered = tokio::time::timeout(Duration::from_secs(2), wait(id, 0).of(&server)).await;
        assert_eq!(answered.expect("it does not wait for those that are silent").status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn longest_idle_session_is_closed_for_a_new_one() {
    let desk = Desk::default();
    let server = desk.proxy().serve_http(HttpOptions::new().max_sessions(2)).await.unwrap();
    let sessions = [session(&server).await, session(&server).await];
    let call = |session: &str, ms: u64| {
        let call = json!({ "jsonrpc": "2.0", "id": ms, "method": "tools/call", "params": { "name": "desk_wait", "arguments": { "ms": ms } } });
        Asking::new(call).with("Mcp-Session-Id", session)
    };
    // The first was used after the second.
    assert_eq!(call(&sessions[0], 0).of(&server).await.status, 200);
    let third = session(&server).await;
    assert_eq!(call(&sessions[1], 1).of(&server).await.status, 404);
    assert_eq!(call(&sessions[0], 1).of(&server).await.status, 200);
    // A session with a call under way does not give way.
    let first = call(&sessions[0], 600_000).begin(server.address()).await;
    let other = call(&third, 700_000).begin(server.address()).await;
    desk.sees("600000").await;
    desk.sees("700000").await;
    assert_eq!(Asking::new(initialize()).of(&server).await.status, 503);
    drop((first, other));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_session_cannot_use_all_requests() {
    let desk = Desk::default();
    let server = desk.proxy().serve_http(HttpOptions::new().max_requests(8)).await.unwrap();
    let session = session(&server).await;
    let hold = |id: u64| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "desk_wait", "arguments": { "ms": 600_000 + id } } });
        Asking::new(call).with("Mcp-Session-Id", &session)
    };
    let mut held = Vec::new();
    for id in 0..2 {
        held.push(hold(id).begin(server.address()).await);
        desk.sees(&(600_000 + id).to_string()).await;
    }
    assert_eq!(hold(2).of(&server).await.status, 503, "a session has a quarter of the places");
    assert_eq!(wait(1, 0).of(&server).await.status, 200, "others have theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn body_with_too_many_values_is_refused() {
    let server = Desk::default().proxy().serve_http(HttpOptions::new()).await.unwrap();
    let asking = |values: usize| {
        let arguments = json!({ "ms": 0, "many": vec![0; values] });
        Asking::modern(1, "tools/call", json!({ "name": "desk_wait", "arguments": arguments }))
    };
    assert_eq!(asking(100_000).of(&server).await.status, 200);
    let refused = asking(500_000).of(&server).await;
    assert_eq!(refused.status, 413, "{refused:?}");
}
