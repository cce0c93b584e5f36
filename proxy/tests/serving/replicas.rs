//! Several instances of a proxy on one store.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_bindgen_model::{PolicyRule, Rate, ServerConfig};
use mcp_bindgen_proxy::{HttpOptions, HttpServer, Proxy, ProxyBuilder, RedisState, ask_client};
use mcp_bindgen_runtime::middleware::{Approval, Stack};
use mcp_bindgen_runtime::{Client, ClientOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Asking, Desk, eventually, initialize};

const KEY: [u8; 32] = [7; 32];

/// A store that this test can stop and start again.
struct Store {
    port: u16,
    process: Child,
}

impl Store {
    async fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Self::process(port);
        let store = Self { port, process };
        store.is_up().await;
        store
    }

    fn process(port: u16) -> Child {
        Self::process_with(port, &[])
    }

    fn process_with(port: u16, more: &[&str]) -> Child {
        let program = ["valkey-server", "redis-server"].into_iter().find(|program| {
            Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
        });
        let mut command = Command::new(program.expect("valkey-server or redis-server"));
        command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]).args(more);
        command.stdout(Stdio::null()).spawn().expect("it starts")
    }

    async fn is_up(&self) {
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(since.elapsed() < Duration::from_secs(20), "the store does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    async fn start_again(&mut self) {
        self.process = Self::process(self.port);
        self.is_up().await;
    }

    /// Makes it a cluster of one node, whose nodes file is in a folder.
    async fn start_cluster(folder: &tempfile::TempDir) -> Self {
        // The bus of a cluster has a port of its own, which is this one and 10,000. Below 32,768 no test gets one by chance.
        let is_free = |port: &u16| [0, 10_000].iter().all(|more| TcpListener::bind(("127.0.0.1", port + more)).is_ok());
        let first = 10_000 + u16::try_from(std::process::id() % 10_000).unwrap();
        let port = (first..first + 2_000).find(is_free).expect("a free port");
        let folder = folder.path().to_string_lossy();
        let process = Self::process_with(port, &["--cluster-enabled", "yes", "--dir", &folder]);
        let store = Self { port, process };
        store.is_up().await;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(b"CLUSTER ADDSLOTSRANGE 0 16383\r\n").await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"+OK\r\n");
        let since = Instant::now();
        while RedisState::connect(&store.url("redis+cluster")).await.is_err() {
            assert!(since.elapsed() < Duration::from_secs(20), "the cluster does not work");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        store
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Another instance of a proxy.
    async fn instance(&self, builder: ProxyBuilder) -> HttpServer {
        self.instance_by(builder, "redis").await
    }

    async fn instance_by(&self, builder: ProxyBuilder, scheme: &str) -> HttpServer {
        let state = RedisState::connect(&self.url(scheme)).await.unwrap();
        let proxy = builder.state(state).key(KEY).build().unwrap();
        proxy.serve_http(HttpOptions::new()).await.unwrap()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A proxy that asks for an approval of `mark`, in front of a server that keeps something of sessions.
fn asking(desk: &Desk) -> ProxyBuilder {
    let own = desk.clone();
    let layers = |client: Client| Stack::new(client).approval(Approval::of(["mark"], ask_client));
    Proxy::builder().connecting("desk", move |options| own.connect(options), layers)
}

/// One in front of a server that keeps nothing.
fn shared(desk: &Desk) -> ProxyBuilder {
    Proxy::builder().shared(desk.connect(ClientOptions::new()))
}

async fn begin(server: &HttpServer) -> String {
    let mut initialize = initialize();
    initialize["params"]["capabilities"] = json!({ "elicitation": {} });
    let session = Asking::new(&initialize).of(server).await.headers["mcp-session-id"].clone();
    let told = Asking::new(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(told.with("Mcp-Session-Id", &session).of(server).await.status, 202);
    session
}

fn request(session: &str, id: u64, method: &str, params: Value) -> Asking {
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    Asking::new(message).with("Mcp-Session-Id", session)
}

fn call(session: &str, id: u64, tool: &str, arguments: Value) -> Asking {
    request(session, id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The next event with a message on a stream.
async fn event(stream: &mut TcpStream, text: &mut String) -> Value {
    let mut buffer = vec![0; 64 * 1024];
    let since = Instant::now();
    loop {
        let data = text.lines().find_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        if let Some(message) = data {
            let end = text.find(&format!("data: {}", "{")).unwrap();
            let rest = text[end..].find("\n\n").map_or(text.len(), |at| end + at + 2);
            text.drain(..rest);
            return message;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "no event: {text}");
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut buffer)).await.expect(text).unwrap();
        assert!(read > 0, "the stream has ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn approval_is_answered_at_any_instance_and_used_once() {
    let (store, desk) = (Store::start().await, Desk::default());
    let (first, second) = (store.instance(asking(&desk)).await, store.instance(asking(&desk)).await);
    let ask = |state: Option<&Value>| {
        let mut params = json!({ "name": "desk_mark", "arguments": { "marker": "x" } });
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({ "approval": { "action": "accept", "content": { "approve": true } } });
        }
        let mut asking = Asking::modern(1, "tools/call", params);
        asking.body = asking.body.replace("clientCapabilities\":{}", "clientCapabilities\":{\"elicitation\":{}}");
        asking
    };
    let asked = ask(None).of(&first).await.json();
    let state = asked["result"]["requestState"].clone();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let done = ask(Some(&state)).of(&second).await.json();
    assert_eq!(done["result"]["structuredContent"]["marker"], "x", "{done}");
    for server in [&first, &second] {
        let again = ask(Some(&state)).of(server).await.json();
        assert!(again["error"]["message"].as_str().unwrap().contains("already used"), "{again}");
    }
    assert_eq!(desk.seen().iter().filter(|line| line.contains("\"mark\"")).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn session_is_usable_at_any_instance() {
    let (store, desk) = (Store::start().await, Desk::default());
    let instances =
        [store.instance(asking(&desk)).await, store.instance(asking(&desk)).await, store.instance(asking(&desk)).await];
    let [first, second, third] = &instances;
    let session = begin(first).await;
    let listed = request(&session, 1, "tools/list", json!({})).of(second).await.json();
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(6), "{listed}");

    // The question comes where the call was made, and the answer goes somewhere else.
    let mut stream = call(&session, 2, "desk_mark", json!({ "marker": "x" })).begin(second.address()).await;
    let mut text = String::new();
    let asked = event(&mut stream, &mut text).await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    let answer = Asking::new(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": yes }));
    assert_eq!(answer.with("Mcp-Session-Id", &session).of(third).await.status, 202);
    let done = event(&mut stream, &mut text).await;
    assert_eq!(done["result"]["structuredContent"], json!({ "marker": "x", "calls": 1 }), "{done}");

    // A call is cancelled by way of another instance.
    let _held = call(&session, 3, "desk_hold", json!({})).begin(second.address()).await;
    desk.sees("\"hold\"").await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } });
    assert_eq!(Asking::new(cancel).with("Mcp-Session-Id", &session).of(third).await.status, 202);
    desk.sees("notifications/cancelled").await;

    // One connection to the server, whoever was asked.
    assert_eq!(desk.begun.load(std::sync::atomic::Ordering::SeqCst), 1);
    let ended = Asking::new("").by("DELETE").with("Mcp-Session-Id", &session).of(third).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    for server in &instances {
        assert_eq!(request(&session, 4, "tools/list", json!({})).of(server).await.status, 404);
    }
    assert_eq!(request("unknown", 4, "tools/list", json!({})).of(first).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn progress_and_resumed_streams_come_from_the_instance_of_the_call() {
    let store = Store::start().await;
    let connect = |options: ClientOptions| {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(mcp_fixture_server::serve_over(far));
        let (read, write) = tokio::io::split(near);
        Client::over_with_options("fixture", read, write, options)
    };
    let builder = || Proxy::builder().connecting("fixture", connect, |client| client);
    let (first, second) = (store.instance(builder()).await, store.instance(builder()).await);
    let session = begin(&first).await;
    let params = json!({ "name": "fixture_count_slowly", "arguments": { "steps": 5, "pause_ms": 200 },
        "_meta": { "progressToken": "p" } });
    let mut stream = request(&session, 1, "tools/call", params).begin(second.address()).await;
    let mut text = String::new();
    let mut buffer = vec![0; 64 * 1024];
    while !text.contains("notifications/progress") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    drop(stream);
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().expect("an event has an id");
    let resume = Asking::new("").by("GET").with("Mcp-Session-Id", &session).with("Last-Event-ID", last);
    let mut stream = resume.begin(second.address()).await;
    let mut text = String::new();
    let mut seen = Vec::new();
    loop {
        let message = event(&mut stream, &mut text).await;
        if message["id"] == 1 {
            assert!(message["result"].is_object(), "{message}");
            break;
        }
        seen.push(message["params"]["progress"].as_f64().unwrap());
    }
    assert!(!seen.is_empty() && seen.is_sorted(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn disconnected_client_of_another_instance_is_dropped_by_the_holder() {
    let (store, desk) = (Store::start().await, Desk::default());
    let (first, second) = (store.instance(desk.builder()).await, store.instance(desk.builder()).await);
    let session = begin(&first).await;
    let has_requests = async |count: usize| {
        let since = Instant::now();
        loop {
            let metrics = Asking::new("").by("GET").at("/metrics").of(&first).await;
            if metrics.body.lines().any(|line| line == format!("mcp_proxy_requests {count}")) {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "not {count}: {metrics:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let told = Asking::new("").by("GET").with("Mcp-Session-Id", &session).begin(second.address()).await;
    has_requests(1).await;
    drop(told);
    has_requests(0).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn instances_share_a_cluster_like_a_single_store() {
    let folder = tempfile::tempdir().unwrap();
    let (store, desk) = (Store::start_cluster(&folder).await, Desk::default());
    let builder = || desk.builder();
    let first = store.instance_by(builder(), "redis+cluster").await;
    let second = store.instance_by(builder(), "redis+cluster").await;
    let session = begin(&first).await;
    for (id, server) in [(1, &first), (2, &second)] {
        let answered = call(&session, id, "desk_mark", json!({ "marker": "m" })).of(server).await;
        let marked = answered.json()["result"]["structuredContent"].clone();
        assert_eq!(marked, json!({ "marker": "m", "calls": id }), "one session: {answered:?}");
    }
    let ended = Asking::new("").by("DELETE").with("Mcp-Session-Id", &session).of(&second).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    let gone = request(&session, 3, "tools/list", json!({})).of(&first).await;
    assert_eq!(gone.status, 404, "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn changed_list_is_announced_by_all_instances() {
    let (store, desk) = (Store::start().await, Desk::default());
    let (first, second) = (store.instance(desk.builder()).await, store.instance(desk.builder()).await);
    let (teacher, other) = (begin(&first).await, begin(&second).await);
    let listed = request(&other, 1, "tools/list", json!({})).of(&second).await;
    assert!(!listed.body.contains("desk_learned"), "{listed:?}");
    let mut told = Asking::new("").by("GET").with("Mcp-Session-Id", &other).begin(second.address()).await;
    call(&teacher, 1, "desk_learn", json!({})).of(&first).await;
    let changed = tokio::time::timeout(Duration::from_secs(20), event(&mut told, &mut String::new())).await;
    assert_eq!(changed.expect("it is told")["method"], "notifications/tools/list_changed");
    let listed = request(&other, 2, "tools/list", json!({})).of(&second).await;
    assert!(listed.body.contains("desk_learned"), "{listed:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn session_survives_its_instance_only_with_shared_servers() {
    let (store, desk) = (Store::start().await, Desk::default());
    for can_move in [true, false] {
        let builder = || if can_move { shared(&desk) } else { desk.builder() };
        let (first, second) = (store.instance(builder()).await, store.instance(builder()).await);
        let session = begin(&first).await;
        // This request is repeated where the session goes on, and its id is used again.
        let set = request(&session, 2, "logging/setLevel", json!({ "level": "error" })).of(&first).await;
        assert_eq!(set.status, 200, "{set:?}");
        let mut held = call(&session, 1, "desk_hold", json!({})).begin(second.address()).await;
        let before = desk.seen().len();
        eventually("the call arrives", || {
            desk.seen().iter().skip(before.saturating_sub(1)).any(|line| line.contains("\"hold\""))
        })
        .await;
        drop(first);
        // The call is not made again, and nobody says that it has not run.
        let mut text = String::new();
        let told = tokio::time::timeout(Duration::from_secs(20), held.read_to_string(&mut text)).await;
        told.expect("the stream ends").unwrap();
        assert!(text.contains("the call of `desk_hold` was lost: the outcome is unknown"), "{text}");
        let listed = request(&session, 2, "tools/list", json!({})).of(&second).await;
        if can_move {
            assert_eq!(listed.json()["result"]["tools"].as_array().map(Vec::len), Some(6), "{listed:?}");
            assert_eq!(call(&session, 3, "desk_mark", json!({})).of(&second).await.status, 200);
        } else {
            assert_eq!(listed.status, 404, "{listed:?}");
        }
    }
    let calls = desk.seen().iter().filter(|line| line.contains("\"hold\"")).count();
    assert_eq!(calls, 2, "one for each");
    desk.release();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn store_failure_affects_only_dependent_requests_until_it_returns() {
    let (mut store, desk) = (Store::start().await, Desk::default());
    let (first, second) = (store.instance(desk.builder()).await, store.instance(desk.builder()).await);
    let session = begin(&first).await;
    let call_there = async |server: &HttpServer| call(&session, 1, "desk_wait", json!({})).of(server).await;
    let modern = || Asking::modern(1, "tools/call", json!({ "name": "desk_wait", "arguments": {} }));
    assert_eq!((call_there(&first).await.status, call_there(&second).await.status), (200, 200));
    store.stop();
    assert_eq!(call_there(&first).await.status, 200, "it holds the session");
    assert_eq!((modern().of(&first).await.status, modern().of(&second).await.status), (200, 200));
    let refused = call_there(&second).await;
    assert_eq!((refused.status, refused.body.contains("shared state")), (503, true), "{refused:?}");
    assert_eq!(Asking::new(initialize()).of(&second).await.status, 503);
    store.start_again().await;
    // The store has lost everything, and is told again.
    let since = Instant::now();
    while call_there(&second).await.status != 200 {
        assert!(since.elapsed() < Duration::from_secs(40), "it does not come back");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(Asking::new(initialize()).of(&second).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server or valkey-server"]
async fn instances_share_one_rate_limit() {
    let (mut store, desk) = (Store::start().await, Desk::default());
    let config = ServerConfig::stdio("desk", "").policy(PolicyRule::new(["wait"]).rate(Rate::parse("3/h").unwrap()));
    let builder = || {
        let (desk, own) = (desk.clone(), config.clone());
        let connect = move |options: ClientOptions| {
            let desk = desk.clone();
            Client::with_options(
                own.clone(),
                options.connector(move || {
                    let desk = desk.clone();
                    async move { Ok(tokio::io::split(desk.stream())) }
                }),
            )
        };
        Proxy::builder().server_connecting(&config, None, connect, |client| client)
    };
    let (first, second) = (store.instance(builder()).await, store.instance(builder()).await);
    let wait = async |server: &HttpServer| {
        let answered =
            Asking::modern(1, "tools/call", json!({ "name": "desk_wait", "arguments": {} })).of(server).await;
        answered.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let mut texts = Vec::new();
    for server in [&first, &second, &first, &second, &first] {
        texts.push(wait(server).await);
    }
    assert!(texts[..3].iter().all(|text| text == "waited"), "{texts:?}");
    assert!(texts[3..].iter().all(|text| text.contains("allows 3/h")), "{texts:?}");
    store.stop();
    let text = wait(&first).await;
    assert!(text.contains("cannot be counted at the moment"), "{text}");
}
