//! Verdicts on lists that changed before the call left.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{Drift, ServerConfig};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, ServerSpec, ToolSpec};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use super::server::{soon, spec_of};
use super::{WORDS, assert_refused, bound, small};
use crate::common::http::receive;
use crate::common::scripted::{Received, result, usual};

/// Longer than a message takes.
const WHILE: Duration = Duration::from_millis(100);

/// A server with a stream of its own messages, which holds back its answers to calls of `stays`.
struct Server {
    list: Mutex<Vec<Value>>,
    lists: AtomicUsize,
    /// How often each of the tools was called: `grows`, `stays`.
    calls: [AtomicUsize; 2],
    streams: AtomicUsize,
    stream: Mutex<Option<mpsc::UnboundedSender<String>>>,
    answers: Semaphore,
    /// The beginning of each stream: when it is to be opened again.
    greeting: &'static str,
}

impl Server {
    async fn start(greeting: &'static str) -> (Arc<Self>, Client, &'static [ToolSpec]) {
        let (before, _) = small();
        let tools: &'static [ToolSpec] = before.iter().map(spec_of).collect::<Vec<_>>().leak();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let server = Arc::new(Self {
            list: Mutex::new(before),
            lists: AtomicUsize::new(0),
            calls: Default::default(),
            streams: AtomicUsize::new(0),
            stream: Mutex::default(),
            answers: Semaphore::new(0),
            greeting,
        });
        let shared = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(shared.clone().serve(stream));
            }
        });
        let config = ServerConfig::http("changing", &url).drift(Drift::Deny).to_json().to_string();
        let spec: &'static ServerSpec =
            Box::leak(Box::new(ServerSpec::new("changing").config(config.leak()).tools(tools)));
        let options = ClientOptions::new().max_concurrent_requests(1);
        let client = Client::for_spec_with(spec, options).expect("it is configured");
        client.connect().await.expect("a connection");
        server.has_opened(1).await;
        (server, client, tools)
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        while let Some((head, body)) = receive(&mut stream).await {
            let received = Received { connection: 0, head: head.to_ascii_lowercase(), body };
            if received.head.starts_with("get ") {
                return self.tell(stream).await;
            }
            let answer = self.answer(&received).await;
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn tell(&self, mut stream: TcpStream) {
        let (sender, mut told) = mpsc::unbounded_channel();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{}", self.greeting);
        let _ = stream.write_all(head.as_bytes()).await;
        *self.stream.lock().unwrap() = Some(sender);
        self.streams.fetch_add(1, Ordering::SeqCst);
        while let Some(text) = told.recv().await {
            let _ = stream.write_all(text.as_bytes()).await;
        }
    }

    async fn answer(&self, received: &Received) -> String {
        match received.method() {
            "initialize" => usual(received).replacen("\r\n", "\r\nmcp-session-id: session-1\r\n", 1),
            "tools/list" => {
                self.lists.fetch_add(1, Ordering::SeqCst);
                result(received, json!({ "tools": *self.list.lock().unwrap() }))
            }
            "tools/call" => {
                let stays = usize::from(received.body["params"]["name"] == "stays");
                self.calls[stays].fetch_add(1, Ordering::SeqCst);
                if stays == 1 {
                    self.answers.acquire().await.expect("it is open").forget();
                }
                usual(received)
            }
            _ => usual(received),
        }
    }

    async fn has_opened(&self, streams: usize) {
        soon(async {
            while self.streams.load(Ordering::SeqCst) < streams {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        tokio::time::sleep(WHILE).await;
    }

    async fn closes_the_stream(&self) {
        drop(self.stream.lock().unwrap().take());
        tokio::time::sleep(WHILE).await;
    }

    async fn tells_of_a_change(&self) {
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let stream = self.stream.lock().unwrap().clone().expect("it is open");
        stream.send(format!("data: {changed}\n\n")).expect("it is open");
        tokio::time::sleep(WHILE).await;
    }

    fn becomes(&self, list: Vec<Value>) {
        *self.list.lock().unwrap() = list;
    }

    fn calls_of_grows(&self) -> usize {
        self.calls[0].load(Ordering::SeqCst)
    }
}

/// Calls `grows`, which waits for the only slot, and then has the list change.
async fn change_while_a_call_waits(
    list: Vec<Value>,
) -> (Arc<Server>, Result<mcp_bindgen_runtime::ToolResult, mcp_bindgen_runtime::CallError>) {
    let (server, client, tools) = Server::start("").await;
    client.call_tool(bound(&tools[0])).await.expect("it is as it was bound");
    let spawn = |spec| {
        let client = client.clone();
        tokio::spawn(async move { client.call_tool(bound(spec)).await })
    };
    let first = spawn(&tools[1]);
    tokio::time::sleep(WHILE).await;
    let second = spawn(&tools[0]);
    tokio::time::sleep(WHILE).await;
    assert_eq!((server.calls_of_grows(), second.is_finished()), (1, false), "it waits");
    server.becomes(list);
    server.tells_of_a_change().await;
    server.answers.add_permits(1);
    first.await.expect("the task").expect("the call");
    let outcome = soon(second).await.expect("the task");
    client.close().await;
    (server, outcome)
}

#[tokio::test]
async fn tool_changed_while_its_call_waits_is_refused() {
    let (server, outcome) = change_while_a_call_waits(small().1).await;
    assert_refused(outcome, "grows", WORDS);
    assert_eq!(server.calls_of_grows(), 1);
}

#[tokio::test]
async fn unchanged_tool_is_called_even_if_the_list_changes_meanwhile() {
    let (before, mut now) = small();
    now[0] = before[0].clone();
    now.push(json!({"name": "new", "inputSchema": {}}));
    let (server, outcome) = change_while_a_call_waits(now).await;
    outcome.expect("it is as it was bound");
    assert_eq!(server.calls_of_grows(), 2);
}

#[tokio::test]
async fn tool_list_is_stale_after_the_event_stream_ends() {
    let (server, client, tools) = Server::start("retry: 60000\n\n").await;
    client.call_tool(bound(&tools[0])).await.expect("it is as it was bound");
    server.closes_the_stream().await;
    server.becomes(small().1);
    assert_refused(client.call_tool(bound(&tools[0])).await, "grows", WORDS);
    assert_eq!(server.calls_of_grows(), 1);
    client.close().await;
}

#[tokio::test]
async fn tool_list_is_stale_after_the_event_stream_reopens() {
    let (server, client, tools) = Server::start("retry: 1000\n\n").await;
    client.call_tool(bound(&tools[0])).await.expect("it is as it was bound");
    server.closes_the_stream().await;
    client.call_tool(bound(&tools[0])).await.expect("it is as it was bound");
    let lists = server.lists.load(Ordering::SeqCst);
    client.call_tool(bound(&tools[0])).await.expect("it is as it was bound");
    assert_eq!(server.lists.load(Ordering::SeqCst), lists, "once while it is closed");
    server.becomes(small().1);
    server.has_opened(2).await;
    assert_refused(client.call_tool(bound(&tools[0])).await, "grows", WORDS);
    client.close().await;
}
