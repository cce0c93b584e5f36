//! A server behind the proxy that notes all it sees, and requests of clients written by hand.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_proxy::{HttpServer, Proxy, ProxyBuilder};
use mcp_bindgen_runtime::{Client, ClientOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::sync::watch;

pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";
const SOON: Duration = Duration::from_secs(20);

/// A server in the same process, one connection for each client that is made of it. It knows no version without a handshake.
#[derive(Clone, Default)]
pub(crate) struct Desk {
    seen: Arc<Mutex<Vec<String>>>,
    pub(crate) begun: Arc<AtomicUsize>,
    pub(crate) ended: Arc<AtomicUsize>,
    /// `true` once calls of `hold` are answered.
    released: Arc<watch::Sender<bool>>,
    /// `true` once there is another tool. The server notifies only the connection that called `learn`.
    learned: Arc<AtomicBool>,
}

impl Desk {
    /// A proxy in front of it, called `desk`.
    pub(crate) fn proxy(&self) -> Proxy {
        self.builder().build().expect("a proxy")
    }

    pub(crate) fn builder(&self) -> ProxyBuilder {
        let desk = self.clone();
        Proxy::builder().connecting("desk", move |options| desk.connect(options), |client| client)
    }

    /// A stream to it.
    pub(crate) fn stream(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let desk = self.clone();
        tokio::spawn(async move {
            desk.begun.fetch_add(1, Ordering::SeqCst);
            desk.serve(far).await;
            desk.ended.fetch_add(1, Ordering::SeqCst);
        });
        near
    }

    pub(crate) fn connect(&self, options: ClientOptions) -> Client {
        let (read, write) = split(self.stream());
        Client::over_with_options("desk", read, write, options)
    }

    /// Answers all calls of `hold`, now and from now on.
    pub(crate) fn release(&self) {
        self.released.send_replace(true);
    }

    /// All lines that it got.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until it got a line with this text.
    pub(crate) async fn sees(&self, text: &str) {
        eventually(&format!("the server sees {text}"), || self.seen().iter().any(|line| line.contains(text))).await;
    }

    async fn serve(&self, stream: DuplexStream) {
        let (read, write) = split(stream);
        let connection = Connection {
            write: Arc::new(tokio::sync::Mutex::new(Some(write))),
            state: Arc::default(),
            released: self.released.subscribe(),
            learned: self.learned.clone(),
            answered: Arc::default(),
        };
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("a client writes JSON");
            self.seen.lock().unwrap().push(line);
            if message.get("method").is_none() {
                let name = message.pointer("/result/content/name").cloned().unwrap_or_default();
                connection.answered.send_replace(Some(name));
            }
            if message.get("id").is_none() || message.get("method").is_none() {
                continue;
            }
            let dies = message.pointer("/params/name") == Some(&json!("die"));
            if dies {
                return;
            }
            tokio::spawn(connection.clone().answer(message));
        }
    }
}

/// The state of a connection: its owner, and its number of calls.
#[derive(Clone)]
struct Connection {
    write: Arc<tokio::sync::Mutex<Option<WriteHalf<DuplexStream>>>>,
    state: Arc<Mutex<(Option<String>, usize)>>,
    released: watch::Receiver<bool>,
    learned: Arc<AtomicBool>,
    /// The name that the user gave, when asked.
    answered: Arc<watch::Sender<Option<Value>>>,
}

impl Connection {
    async fn answer(mut self, message: Value) {
        let arguments = message.pointer("/params/arguments").cloned().unwrap_or_default();
        let result = match (
            message["method"].as_str().unwrap(),
            message.pointer("/params/name").and_then(Value::as_str),
        ) {
            ("initialize", _) => Some(json!({
                "protocolVersion": message.pointer("/params/protocolVersion"), "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "desk", "version": "1" },
            })),
            ("tools/list", _) => {
                let learned = self.learned.load(Ordering::SeqCst).then_some("learned");
                let tools = ["mark", "wait", "hold", "die", "ask", "learn"].into_iter().chain(learned);
                let tools: Vec<Value> =
                    tools.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
                Some(json!({ "tools": tools }))
            }
            ("tools/call", Some("mark")) => {
                let mut state = self.state.lock().unwrap();
                state.1 += 1;
                let said = arguments["marker"].as_str().unwrap_or_default().to_owned();
                let marker = state.0.get_or_insert(said).clone();
                Some(json!({ "content": [], "structuredContent": { "marker": marker, "calls": state.1 } }))
            }
            ("tools/call", Some("wait")) => {
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))).await;
                Some(json!({ "content": [{ "type": "text", "text": "waited" }] }))
            }
            ("tools/call", Some("hold")) => {
                let _ = self.released.wait_for(|is_released| *is_released).await;
                Some(json!({ "content": [{ "type": "text", "text": "held" }] }))
            }
            ("tools/call", Some("learn")) => {
                self.learned.store(true, Ordering::SeqCst);
                self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
                Some(json!({ "content": [] }))
            }
            ("tools/call", Some("ask")) => {
                let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                let params = json!({ "message": "Who are you?", "requestedSchema": schema });
                let asked =
                    json!({ "jsonrpc": "2.0", "id": "asked", "method": "elicitation/create", "params": params });
                self.write(&asked).await;
                let mut answered = self.answered.subscribe();
                let name = answered.wait_for(Option::is_some).await.expect("an answer").clone();
                Some(json!({ "content": [], "structuredContent": { "name": name } }))
            }
            ("ping", _) => Some(json!({})),
            _ => None,
        };
        let answer = match result {
            Some(result) => json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
            None => json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "unknown" } }),
        };
        self.write(&answer).await;
    }

    async fn write(&self, message: &Value) {
        if let Some(write) = self.write.lock().await.as_mut() {
            let _ = write.write_all(format!("{message}\n").as_bytes()).await;
        }
    }
}

pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(SOON, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("in vain: {what}"));
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answered {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }

    /// The message, whether it came as JSON or as the last event.
    pub(crate) fn json(&self) -> Value {
        let mut data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: ").or_else(|| line.starts_with('{').then_some(line)));
        serde_json::from_str(data.next_back().unwrap_or_default()).unwrap_or_default()
    }
}

/// A request of a client that does all as it should, and what is to be otherwise.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asking {
    pub(crate) fn new(body: impl ToString) -> Self {
        let headers = [
            ("Host", "localhost"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { method: "POST", path: "/mcp".to_owned(), headers, body: body.to_string() }
    }

    /// A request of the era without sessions, with the headers that go with it.
    pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Self {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map(str::to_owned);
        let asking = Self::new(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .with("MCP-Protocol-Version", MODERN)
            .with("Mcp-Method", method);
        match name {
            Some(name) => asking.with("Mcp-Name", &name),
            None => asking,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn instead(self, name: &str, value: &str) -> Self {
        self.without(name).with(name, value)
    }

    pub(crate) fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Sends it, and gives the connection.
    pub(crate) async fn begin(&self, address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("the proxy is there");
        let headers: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let Self { method, path, body, .. } = self;
        let text = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        // It may be refused before all of it was read.
        let _ = stream.write_all(text.as_bytes()).await;
        stream
    }

    pub(crate) async fn of(&self, server: &HttpServer) -> Answered {
        self.to(server.address()).await
    }

    pub(crate) async fn to(&self, address: SocketAddr) -> Answered {
        let mut stream = self.begin(address).await;
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(SOON, stream.read_to_end(&mut bytes)).await;
        assert!(read.is_ok(), "no end: {}", String::from_utf8_lossy(&bytes));
        Answered::parse(&bytes)
    }
}

pub(crate) fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

/// Begins a session by hand, and gives its name.
pub(crate) async fn session(server: &HttpServer) -> String {
    let answered = Asking::new(initialize()).of(server).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let session = answered.headers["mcp-session-id"].clone();
    let told = Asking::new(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(told.with("Mcp-Session-Id", &session).of(server).await.status, 202);
    session
}

/// A client on one line of text each.
pub(crate) struct Lines {
    pub(crate) read: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) write: WriteHalf<DuplexStream>,
}

impl Lines {
    pub(crate) fn over(stream: DuplexStream) -> Self {
        let (read, write) = split(stream);
        Self { read: BufReader::new(read), write }
    }

    /// A client of a proxy that has said nothing yet.
    pub(crate) fn to(proxy: Proxy) -> Self {
        let (near, far) = tokio::io::duplex(1 << 20);
        tokio::spawn(async move { proxy.serve_over(far).await });
        Self::over(near)
    }

    /// A client with a session that answers elicitations.
    pub(crate) async fn answering(proxy: Proxy) -> Self {
        let mut lines = Self::to(proxy);
        let mut hello = initialize();
        hello["params"]["capabilities"] = json!({ "elicitation": {} });
        lines.tell(hello).await;
        lines.hear().await;
        lines
    }

    pub(crate) async fn tell(&mut self, line: impl ToString) {
        self.write.write_all(format!("{}\n", line.to_string()).as_bytes()).await.expect("the proxy reads");
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(SOON, self.read.read_line(&mut line)).await.expect("an answer in time").expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}
