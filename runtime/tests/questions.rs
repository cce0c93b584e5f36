//! Requests of a server cost bounded memory and a bounded number of answers, and stand in no log. A process of its own:
//! its memory and its log are nobody else's.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

mod common;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use common::object;
use common::usage::Usage;
use mcp_bindgen_runtime::{Client, ClientOptions, ElicitationAnswer, SamplingAnswer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::RwLock;
use tokio::time::timeout;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Held alone by the test that measures the memory of the process, and together by the others.
static MEMORY: RwLock<()> = RwLock::const_new(());

/// A server whose messages are written by hand.
struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Server {
    async fn next(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.lines.next_line()).await.expect("a line in time");
        serde_json::from_str(&line.expect("it can be read").expect("a line")).expect("JSON")
    }

    /// The next message that has an id, and is no request.
    async fn next_answer(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("id").is_some() && message.get("method").is_none() {
                return message;
            }
        }
    }

    async fn say(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.expect("it is written");
    }

    /// Answers everything before the first call, whose id it returns.
    async fn begin(&mut self) -> Value {
        loop {
            let message = self.next().await;
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" },
                }),
                "tools/list" => json!({ "tools": [{ "name": "t", "inputSchema": {} }] }),
                "tools/call" => return message["id"].clone(),
                _ => continue,
            };
            self.say(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).await;
        }
    }

    async fn ask(&mut self, id: &str, method: &str, params: Value) {
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    async fn finish(&mut self, call: Value) {
        let result = json!({ "content": [{ "type": "text", "text": "done" }] });
        self.say(json!({ "jsonrpc": "2.0", "id": call, "result": result })).await;
    }
}

fn client_and_server(options: ClientOptions) -> (Client, Server) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(near);
    let client = Client::over_with_options("asking", read, write, options.timeout(Duration::from_secs(60)));
    let (read, write) = tokio::io::split(far);
    (client, Server { lines: BufReader::new(read).lines(), write })
}

/// Calls the tool `t` beside the server's part.
async fn call_beside<T>(client: &Client, server: impl Future<Output = T>) -> T {
    let (called, outcome) = tokio::join!(client.call("t", object(json!({}))), server);
    assert_eq!(called.expect("the call ends well").text(), "done");
    outcome
}

#[tokio::test]
async fn flood_of_server_requests_is_read_in_bounded_memory() {
    let _memory = MEMORY.write().await;
    const WHILE: Duration = Duration::from_secs(3);
    const MOST: usize = 32 * 1024 * 1024;

    let (client, mut server) = client_and_server(ClientOptions::new());
    let flood = async {
        server.begin().await;
        let begun = Instant::now();
        let before = Usage::now().memory;
        let mut written = 0_u64;
        let ping = json!({ "jsonrpc": "2.0", "id": "one of many", "method": "ping" }).to_string() + "\n";
        let pings = ping.repeat(100);
        while begun.elapsed() < WHILE {
            // Once the client reads no more, it cannot be written either.
            if timeout(WHILE.saturating_sub(begun.elapsed()), server.write.write_all(pings.as_bytes())).await.is_ok() {
                written += 100;
            }
        }
        (Usage::now().memory.saturating_sub(before), written)
    };
    let (grown, written) = tokio::select! {
        figures = flood => figures,
        _ = client.call("t", object(json!({}))) => panic!("the call has no answer"),
    };
    println!("{written} pings, {} KiB more", grown / 1024);
    assert!(written > 100, "the server was heard at all");
    assert!(grown <= MOST, "{grown} bytes");
}

#[tokio::test]
async fn server_requests_beyond_the_open_limit_are_refused() {
    let _memory = MEMORY.read().await;
    let options = ClientOptions::new().on_elicitation(|_| std::future::pending()).answers_per_minute(1000);
    let (client, mut server) = client_and_server(options);
    call_beside(&client, async {
        let call = server.begin().await;
        for number in 0..100 {
            server.ask(&format!("q{number}"), "elicitation/create", json!({ "message": "?" })).await;
        }
        for _ in 64..100 {
            let refused = server.next_answer().await;
            assert_eq!(refused["error"]["code"], -32000, "{refused}");
        }
        server.finish(call).await;
    })
    .await;
    client.close().await;
}

#[tokio::test]
async fn server_requests_beyond_the_byte_limit_are_refused() {
    let _memory = MEMORY.read().await;
    let options = ClientOptions::new().on_elicitation(|_| std::future::pending()).answers_per_minute(1000);
    let (client, mut server) = client_and_server(options);
    call_beside(&client, async {
        let call = server.begin().await;
        let message = "x".repeat(1024 * 1024);
        for number in 0..10 {
            server.ask(&format!("q{number}"), "elicitation/create", json!({ "message": message })).await;
        }
        for _ in 3..10 {
            let refused = server.next_answer().await;
            assert_eq!(refused["error"]["code"], -32000, "{refused}");
        }
        // Answers would repeat the id.
        server.ask(&message, "ping", json!({})).await;
        server.ask("p", "ping", json!({})).await;
        assert_eq!(server.next_answer().await["id"], "p");
        server.finish(call).await;
    })
    .await;
    client.close().await;
}

#[tokio::test]
async fn reading_continues_after_large_responses_are_read() {
    let _memory = MEMORY.read().await;
    let options = ClientOptions::new().on_sampling(async |_| SamplingAnswer::text("m", "x".repeat(1024 * 1024)));
    let (client, mut server) = client_and_server(options);
    let begun = Instant::now();
    call_beside(&client, async {
        let call = server.begin().await;
        for number in 0..5 {
            server.ask(&format!("q{number}"), "sampling/createMessage", json!({ "messages": [] })).await;
        }
        for _ in 0..5 {
            server.next_answer().await;
        }
        server.finish(call).await;
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    client.close().await;
}

#[tokio::test]
async fn cancelled_server_request_no_longer_counts_as_open() {
    let _memory = MEMORY.read().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = asked.clone();
    let options = ClientOptions::new().on_elicitation(move |_| {
        let is_first = asked.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if is_first { std::future::pending().await } else { ElicitationAnswer::Decline } }
    });
    let (client, mut server) = client_and_server(options);
    call_beside(&client, async {
        let call = server.begin().await;
        server.ask("q", "elicitation/create", json!({ "message": "?" })).await;
        while seen.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let params = json!({ "requestId": "q" });
        server.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        // The same id is free once the first has ended.
        let answer = loop {
            server.ask("q", "elicitation/create", json!({ "message": "?" })).await;
            if let Ok(answer) = timeout(Duration::from_millis(100), server.next_answer()).await {
                break answer;
            }
        };
        assert_eq!((&answer["id"], &answer["result"]["action"]), (&json!("q"), &json!("decline")));
        server.finish(call).await;
    })
    .await;
    client.close().await;
}

#[tokio::test]
async fn sampling_and_elicitation_are_limited_per_minute() {
    let _memory = MEMORY.read().await;
    let options = ClientOptions::new()
        .on_sampling(async |_| SamplingAnswer::text("m", "expensive"))
        .on_elicitation(async |_| ElicitationAnswer::Decline)
        .answers_per_minute(5);
    let (client, mut server) = client_and_server(options);
    call_beside(&client, async {
        let call = server.begin().await;
        for method in ["sampling/createMessage", "elicitation/create"] {
            let mut answered = 0;
            for number in 0..8 {
                server.ask(&format!("{method} {number}"), method, json!({ "messages": [], "message": "?" })).await;
                let answer = server.next_answer().await;
                if answer.get("result").is_some() {
                    answered += 1;
                } else {
                    assert!(
                        answer["error"]["message"].as_str().unwrap().contains("requests within a minute"),
                        "{answer}"
                    );
                }
            }
            assert_eq!(answered, 5, "{method}");
        }
        server.ask("roots", "roots/list", json!({})).await;
        assert_eq!(server.next_answer().await["result"], json!({ "roots": [] }));
        server.ask("odd", "odd/method", json!({})).await;
        assert_eq!(server.next_answer().await["error"]["code"], -32601);
        server.finish(call).await;
    })
    .await;
    client.close().await;
}

/// Everything that is logged in this process, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Log {
    fn of_this_process() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Log::default();
            let subscriber = tracing_subscriber::Registry::default().with(log.clone());
            tracing::subscriber::set_global_default(subscriber).expect("there is no other");
            log
        })
    }
}

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        *self.0.lock().expect("no panic") += &format!("{field}={value:?}\n");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _: &tracing::Id, _: Context<'_, S>) {
        attributes.record(&mut self.clone());
    }

    fn on_record(&self, _: &tracing::Id, values: &tracing::span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

#[tokio::test]
async fn logs_contain_no_content_of_server_requests_or_responses() {
    let _memory = MEMORY.read().await;
    const ASKED: &str = "what-the-server-asks-8c1f";
    const TYPED: &str = "the-password-that-was-typed-77ab";

    let log = Log::of_this_process();
    let options = ClientOptions::new()
        .on_elicitation(async |_| ElicitationAnswer::Accept(object(json!({ "password": TYPED }))))
        .on_sampling(async |_| SamplingAnswer::text("m", TYPED))
        .record_content(true);
    let (client, mut server) = client_and_server(options);
    call_beside(&client, async {
        let call = server.begin().await;
        for (id, method) in [("1", "elicitation/create"), ("2", "sampling/createMessage"), ("3", ASKED)] {
            server.ask(id, method, json!({ "message": ASKED, "messages": [], "maxTokens": 1 })).await;
            let answer = server.next_answer().await;
            assert_eq!(answer.to_string().contains(TYPED), method != ASKED, "{answer}");
        }
        server.finish(call).await;
    })
    .await;
    client.close().await;
    let log = log.0.lock().expect("no panic").clone();
    assert!(!log.is_empty(), "something is logged");
    for secret in [ASKED, TYPED] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None);
    }
}
