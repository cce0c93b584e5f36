//! Rates and bounds of concurrent calls, over HTTP and over pipes, by the server's own count.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mcp_bindgen_model::{Rate, ServerConfig};
use mcp_bindgen_runtime::middleware::{RateLimit, Stack};
use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, Client, ClientOptions, Dispatched, ToolCall};
use serde_json::Map;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use super::servers::Server;

/// The clocks of client and server run side by side, but a call is not sent in the moment in which it may be.
const ON_THE_WAY: Duration = Duration::from_millis(300);

async fn call_all(caller: impl CallTool + Clone + 'static, callers: usize) {
    let tasks = (0..callers).map(|_| {
        let caller = caller.clone();
        tokio::spawn(async move { caller.call_tool(ToolCall::new("files", "work", Map::new())).await.map(drop) })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no panic").expect("it waits and is answered");
    }
}

/// The most calls that began within a second.
fn most_in_a_second(calls: &[Instant]) -> usize {
    let within = |start: &Instant| {
        let end = *start + Duration::from_secs(1) - ON_THE_WAY;
        calls.iter().filter(|call| (*start..end).contains(*call)).count()
    };
    calls.iter().map(within).max().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_rate_limit_holds_over_http_with_64_callers() {
    let server = Server::plain().await;
    let rate = Rate::parse("30/s").expect("a rate");
    let client = Client::new(ServerConfig::http("files", &server.url).limit(rate));
    let start = Instant::now();
    call_all(client, 64).await;
    let calls = server.seen.calls.lock().expect("no panic").clone();
    println!(
        "limit 30/s over HTTP: 64 calls in {:?}, at most {} in a second",
        start.elapsed(),
        most_in_a_second(&calls)
    );
    assert_eq!(calls.len(), 64);
    assert!(most_in_a_second(&calls) <= 30, "{}", most_in_a_second(&calls));
    assert!(start.elapsed() >= Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_layer_is_shared_by_its_clones() {
    let server = Server::plain().await;
    let limit = RateLimit::new(Rate::parse("30/s").expect("a rate"));
    let client = || Client::new(ServerConfig::http("files", &server.url));
    let (one, other) = (Stack::new(client()).rate_limit(limit.clone()), Stack::new(client()).rate_limit(limit));
    tokio::join!(call_all(one, 32), call_all(other, 32));
    let calls = server.seen.calls.lock().expect("no panic").clone();
    assert_eq!(calls.len(), 64);
    assert!(most_in_a_second(&calls) <= 30, "{}", most_in_a_second(&calls));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_limit_holds_over_http_with_64_callers() {
    let server = Server::plain().await;
    let options = ClientOptions::new().max_concurrent_requests(4);
    call_all(Client::with_options(ServerConfig::http("files", &server.url), options), 64).await;
    assert_eq!(server.seen.most_at_once.load(Ordering::SeqCst), 4);
}

/// A server that speaks lines; it says how many calls ran at once at most, and when each began.
async fn serve_lines(stream: DuplexStream) -> (usize, Vec<Instant>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    let (answers, mut ready) = tokio::sync::mpsc::unbounded_channel::<String>();
    let (mut running, mut most, mut calls) = (0, 0, Vec::new());
    loop {
        let message: serde_json::Value = tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => serde_json::from_str(&line).expect("JSON"),
                _ => return (most, calls),
            },
            Some(answer) = ready.recv() => {
                running -= 1;
                let _ = write.write_all(answer.as_bytes()).await;
                continue;
            }
        };
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => {
                let answer = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
                );
                let _ = write.write_all((answer + "\n").as_bytes()).await;
            }
            Some("tools/call") => {
                running += 1;
                most = most.max(running);
                calls.push(Instant::now());
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n");
                let answers = answers.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    let _ = answers.send(answer);
                });
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_and_request_limits_hold_over_pipes_with_64_callers() {
    let (ended, mut served) = tokio::sync::mpsc::unbounded_channel();
    let options = ClientOptions::new().max_concurrent_requests(4).connector(move || {
        let (near, far) = tokio::io::duplex(1 << 16);
        let ended = ended.clone();
        tokio::spawn(async move { ended.send(serve_lines(far).await) });
        std::future::ready(Ok(tokio::io::split(near)))
    });
    let config = ServerConfig::stdio("files", "").limit(Rate::parse("30/s").expect("a rate"));
    let client = Client::with_options(config, options);
    call_all(client.clone(), 64).await;
    client.close().await;
    let (most, calls) = served.recv().await.expect("the server ended");
    assert_eq!((most <= 4, calls.len()), (true, 64), "{most} at once");
    assert!(most_in_a_second(&calls) <= 30, "{}", most_in_a_second(&calls));
}

#[tokio::test]
async fn call_waiting_for_the_rate_limit_times_out_unsent() {
    let server = Server::plain().await;
    let client = Client::new(ServerConfig::http("files", &server.url).limit(Rate::parse("1/h").expect("a rate")));
    client.call("work", Map::new()).await.expect("the first one");
    let within = CallOptions::new().timeout(Duration::from_millis(50));
    let call = ToolCall::new("files", "work", Map::new()).with(within);
    let error = client.call_tool(call).await.expect_err("the next one is due in an hour");
    assert!(matches!(&error, CallError::Timeout { dispatched: Dispatched::No, .. }), "{error:?}");
    assert_eq!(server.seen.calls.lock().expect("no panic").len(), 1);
}
