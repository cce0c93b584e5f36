//! A proxy between clients and servers in the same process.

mod approvals;
mod asking;
mod calls;
mod changes;
mod lists;
mod offers;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_runtime::{CallError, CallTool, Client, ClientOptions, ToolCall, ToolResult};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Proxy;

pub(super) const SOON: Duration = Duration::from_secs(20);
pub(super) const MODERN: &str = "2026-07-28";

pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it ends soon")
}

/// Waits until something holds.
pub(super) async fn until(holds: impl Fn() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Returns a client of a proxy.
pub(super) fn client(proxy: &Proxy, options: ClientOptions) -> Client {
    let (near, far) = duplex(64 * 1024);
    let served = proxy.clone();
    tokio::spawn(async move { served.serve_over(far).await });
    let (read, write) = split(near);
    Client::over_with_options("proxy", read, write, options)
}

/// Returns a client with a session.
pub(super) fn legacy(proxy: &Proxy) -> Client {
    client(proxy, ClientOptions::new())
}

/// Returns a client without a session.
pub(super) fn modern(proxy: &Proxy) -> Client {
    client(proxy, ClientOptions::new().protocol_version(MODERN))
}

pub(super) async fn call(client: &Client, tool: &str, arguments: Value) -> Result<ToolResult, CallError> {
    soon(client.call_tool(ToolCall::new("proxy", tool.to_owned(), object(arguments)))).await
}

pub(super) async fn names(client: &Client) -> Vec<String> {
    let tools = soon(client.list_tools_raw()).await.expect("a list");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

pub(super) fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// The output of a server.
#[derive(Clone)]
pub(super) struct Out(UnboundedSender<Value>);

impl Out {
    pub(super) fn send(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let _ = self.0.send(message);
    }

    pub(super) fn result(&self, request: &Value, result: Value) {
        self.send(json!({ "id": request["id"], "result": result }));
    }

    pub(super) fn text(&self, request: &Value, text: &str) {
        self.result(request, json!({ "content": [{ "type": "text", "text": text }] }));
    }
}

type Answers = dyn Fn(&Server, &Value, &Out) + Send + Sync;

/// A test server: it answers the usual requests, and the test answers the rest.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) name: &'static str,
    era: &'static str,
    capabilities: Value,
    answers: Arc<Answers>,
    pub(super) tools: Arc<Mutex<Vec<Value>>>,
    /// All that came in.
    pub(super) heard: Arc<Mutex<Vec<Value>>>,
    pub(super) outs: Arc<Mutex<Vec<Out>>>,
    pub(super) opened: Arc<AtomicUsize>,
    pub(super) closed: Arc<AtomicUsize>,
    /// How often it still refuses to list its tools.
    pub(super) refusals: Arc<AtomicUsize>,
    /// Ends all of its connections.
    pub(super) end: Arc<tokio::sync::Notify>,
}

impl Server {
    pub(super) fn new(
        name: &'static str,
        tools: &[&str],
        answers: impl Fn(&Server, &Value, &Out) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            era: "",
            capabilities: json!({ "tools": { "listChanged": true } }),
            answers: Arc::new(answers),
            tools: Arc::new(Mutex::new(tools.iter().map(|name| tool(name)).collect())),
            heard: Arc::default(),
            outs: Arc::default(),
            opened: Arc::default(),
            closed: Arc::default(),
            refusals: Arc::default(),
            end: Arc::default(),
        }
    }

    /// Creates a server that returns its name and its input.
    pub(super) fn echo(name: &'static str, tools: &[&str]) -> Self {
        Self::new(name, tools, move |_, request, out| {
            out.text(request, &format!("{name}: {} {}", request["params"]["name"], request["params"]["arguments"]));
        })
    }

    pub(super) fn modern(self) -> Self {
        Self { era: MODERN, ..self }
    }

    /// Makes the server silent.
    pub(super) fn silent(self) -> Self {
        Self { era: "silent", ..self }
    }

    /// Makes the first listing of tools fail.
    pub(super) fn late(self) -> Self {
        self.refusals.store(1, Ordering::SeqCst);
        self
    }

    pub(super) fn offering(self, capabilities: Value) -> Self {
        Self { capabilities, ..self }
    }

    pub(super) fn heard(&self, method: &str) -> Vec<Value> {
        self.heard.lock().unwrap().iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Tells all connections something.
    pub(super) fn tell(&self, message: &Value) {
        self.outs.lock().unwrap().iter().for_each(|out| out.send(message.clone()));
    }

    fn answer(&self, message: &Value, out: &Out) {
        let is_modern = self.era == MODERN;
        match message["method"].as_str().unwrap_or_default() {
            _ if message.get("id").is_none() || self.era == "silent" => {}
            // An answer.
            "" => (self.answers)(self, message, out),
            "initialize" if is_modern => out.send(json!({
                "id": message["id"], "error": { "code": -32022, "message": "Unsupported protocol version" }
            })),
            "initialize" => out.result(
                message,
                json!({
                    "protocolVersion": message["params"]["protocolVersion"], "capabilities": self.capabilities,
                    "serverInfo": { "name": self.name, "version": "1" }
                }),
            ),
            "server/discover" if is_modern => out.result(
                message,
                json!({
                    "resultType": "complete", "supportedVersions": [MODERN], "capabilities": self.capabilities,
                    "ttlMs": 0, "cacheScope": "private"
                }),
            ),
            // Servers answer unknown methods like this.
            "server/discover" => {
                out.send(json!({ "id": message["id"], "error": { "code": -32601, "message": "Method not found" } }));
            }
            "tools/list" if self.refusals.load(Ordering::SeqCst) > 0 => {
                self.refusals.fetch_sub(1, Ordering::SeqCst);
                out.send(json!({ "id": message["id"], "error": { "code": -32603, "message": "not yet" } }));
            }
            "tools/list" => out.result(message, json!({ "tools": *self.tools.lock().unwrap() })),
            "ping" => out.result(message, json!({})),
            _ => (self.answers)(self, message, out),
        }
    }

    pub(super) fn connect(&self) -> impl Fn(ClientOptions) -> Client + Send + Sync + 'static {
        let server = self.clone();
        move |options| {
            let (near, far) = duplex(64 * 1024);
            tokio::spawn(server.clone().serve(far));
            let (read, write) = split(near);
            let options = if server.era == MODERN { options.protocol_version(MODERN) } else { options };
            Client::over_with_options(server.name, read, write, options)
        }
    }

    async fn serve(self, far: tokio::io::DuplexStream) {
        let (read, mut write) = split(far);
        let (sender, mut messages) = unbounded_channel::<Value>();
        let out = Out(sender);
        let writing = tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if write.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let mut is_first = true;
        let mut lines = BufReader::new(read).lines();
        loop {
            let line = tokio::select! {
                line = lines.next_line() => line,
                () = self.end.notified() => break,
            };
            let Ok(Some(line)) = line else { break };
            if std::mem::take(&mut is_first) {
                self.opened.fetch_add(1, Ordering::SeqCst);
                self.outs.lock().unwrap().push(out.clone());
            }
            let message: Value = serde_json::from_str(&line).expect("JSON");
            self.heard.lock().unwrap().push(message.clone());
            self.answer(&message, &out);
        }
        writing.abort();
        if !is_first {
            self.closed.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns a proxy of servers without layers.
pub(super) fn proxy(servers: &[&Server]) -> Proxy {
    let builder = servers
        .iter()
        .fold(Proxy::builder(), |builder, server| builder.connecting(server.name, server.connect(), |client| client));
    builder.build().expect("it is sound")
}

/// Returns the fixture server in this process.
pub(super) fn fixture() -> impl Fn(ClientOptions) -> Client + Send + Sync + 'static {
    |options| {
        let (near, far) = duplex(64 * 1024);
        tokio::spawn(mcp_fixture_server::serve_over(far));
        let (read, write) = split(near);
        Client::over_with_options("fixture", read, write, options)
    }
}
