//! Several callers with names: what each sees, what each may hold, and what is recorded of them.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::Config;
use mcp_bindgen_proxy::{CallLog, HttpOptions, HttpServer, Proxy, ProxyBuilder, ServeError, TokenFile, ask_client};
use mcp_bindgen_runtime::Client;
use mcp_bindgen_runtime::events::Event;
use mcp_bindgen_runtime::middleware::{Approval, Policy, SequentialDependency, Stack, Verdict};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::support::{Answered, Asking, Desk, LEGACY, eventually, initialize};

/// A file with tokens for two principals, which are their names.
fn tokens(folder: &tempfile::TempDir) -> TokenFile {
    let path = folder.path().join("tokens.json");
    for (name, groups) in [("ann", vec!["support".to_owned()]), ("bob", vec![])] {
        let text = TokenFile::changed(&path, name, Some((name, &groups, &[]))).unwrap();
        mcp_bindgen_model::write_private(&path, text.as_bytes()).unwrap();
    }
    TokenFile::load(path).unwrap()
}

async fn serve(builder: ProxyBuilder, change: impl FnOnce(HttpOptions) -> HttpOptions) -> HttpServer {
    let folder = tempfile::tempdir().unwrap();
    builder.build().unwrap().serve_http(change(HttpOptions::new().tokens(tokens(&folder)))).await.unwrap()
}

fn by(asking: Asking, token: &str) -> Asking {
    asking.with("Authorization", &format!("Bearer {token}"))
}

fn call(tool: &str, arguments: Value) -> Asking {
    Asking::modern(1, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn names(answered: &Answered) -> Vec<String> {
    let tools = answered.json().pointer("/result/tools").and_then(Value::as_array).cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn access(entries: &str) -> Config {
    let text = format!("[servers.desk]\ncommand = \"x\"\n[servers.other]\ncommand = \"x\"\n[access]\n{entries}");
    Config::parse_toml(&text, "mcp.toml".as_ref()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_token_ends_only_its_own_streams() {
    let folder = tempfile::tempdir().unwrap();
    let file = tokens(&folder);
    let desk = Desk::default();
    let server = desk.proxy().serve_http(HttpOptions::new().tokens(file)).await.unwrap();
    let listen = |name: &str| {
        let params = json!({ "notifications": { "toolsListChanged": true } });
        by(Asking::modern(1, "subscriptions/listen", params), name)
    };
    let began = by(Asking::new(initialize()), "ann").of(&server).await;
    let session = began.headers["mcp-session-id"].clone();
    let own = by(Asking::new("").by("GET").with("Mcp-Session-Id", &session), "ann");
    let mut streams = [own.begin(server.address()).await, listen("ann").begin(server.address()).await];
    let mut others = listen("bob").begin(server.address()).await;
    let path = folder.path().join("tokens.json");
    let without = TokenFile::changed(&path, "ann", None).unwrap();
    mcp_bindgen_model::write_private(&path, without.as_bytes()).unwrap();
    for stream in &mut streams {
        let mut text = String::new();
        let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text)).await;
        assert!(ended.is_ok() && text.starts_with("HTTP/1.1 200"), "{text}");
    }
    let mut text = String::new();
    let open = tokio::time::timeout(Duration::from_secs(1), others.read_to_string(&mut text)).await;
    assert!(open.is_err(), "bob's token is good: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_see_and_call_only_permitted_tools() {
    let (desk, other) = (Desk::default(), Desk::default());
    let own = other.clone();
    let access = access(
        "helpdesk = { groups = [\"support\"], tools = [\"desk/*\", \"!desk/die\"] }\nbob = { servers = [\"other\"] }\n",
    );
    let builder = desk.builder().connecting("other", move |options| own.connect(options), |client| client);
    let builder = builder.access(access.access.unwrap());
    let unnamed = desk.builder().access(self::access("bob = { servers = [\"desk\"] }").access.unwrap());
    let server = serve(builder, |options| options).await;

    let list = |token| by(Asking::modern(1, "tools/list", json!({})), token);
    assert_eq!(
        names(&list("ann").of(&server).await),
        ["desk_ask", "desk_hold", "desk_learn", "desk_mark", "desk_wait"]
    );
    let bobs = names(&list("bob").of(&server).await);
    assert!(bobs.len() == 6 && bobs.iter().all(|name| name.starts_with("other_")), "{bobs:?}");
    assert_eq!(list("eve").of(&server).await.status, 401);

    for (token, tool, may) in [
        ("ann", "desk_mark", true),
        ("ann", "desk_die", false),
        ("ann", "other_mark", false),
        ("bob", "desk_mark", false),
    ] {
        let answered = by(call(tool, json!({})), token).of(&server).await;
        let message = answered.json().pointer("/error/message").cloned();
        assert_eq!(message.is_none(), may, "{token} {tool}: {answered:?}");
        assert!(may || message == Some(json!(format!("Unknown tool: {tool}"))), "{token} {tool}: {answered:?}");
    }
    assert!(!desk.seen().iter().any(|line| line.contains("\"die\"")), "a hidden tool was called");

    // Without names nobody would see anything.
    let unnamed = unnamed.build().unwrap();
    let refused = unnamed.serve_http(HttpOptions::new().bearer("t")).await.map(drop);
    assert_eq!(refused, Err(ServeError::AccessWithoutNames));
    assert_eq!(unnamed.serve_over(tokio::io::duplex(64).0).await, Err(ServeError::AccessWithoutNames));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_belongs_to_its_principal() {
    let server = serve(Desk::default().builder(), |options| options).await;
    let begun = by(Asking::new(initialize()), "ann").of(&server).await;
    let session = begun.headers["mcp-session-id"].clone();
    let list =
        Asking::new(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).with("Mcp-Session-Id", &session);
    let told = Asking::new(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(by(told.with("Mcp-Session-Id", &session), "ann").of(&server).await.status, 202);
    assert_eq!(by(list.clone(), "bob").of(&server).await.status, 404);
    assert_eq!(by(list.clone().by("DELETE"), "bob").of(&server).await.status, 404);
    assert_eq!(names(&by(list, "ann").of(&server).await).len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_events_and_policies_distinguish_callers() {
    let desk = Desk::default();
    let own = desk.clone();
    let sequential = SequentialDependency::new("wait", ["mark"]);
    let proxy = Proxy::builder()
        .connecting(
            "desk",
            move |options| own.connect(options),
            move |client: Client| {
                Stack::new(client).sequential(sequential.clone()).policy(Policy::new(|call| {
                    match call.caller.and_then(|caller| caller.principal.as_deref()) {
                        Some("bob") if call.tool == "hold" => Verdict::deny("not for bob"),
                        _ => Verdict::Allow,
                    }
                }))
            },
        )
        .build()
        .unwrap();
    let mut events = proxy.events();
    let folder = tempfile::tempdir().unwrap();
    let server = proxy.serve_http(HttpOptions::new().tokens(tokens(&folder))).await.unwrap();
    desk.release();
    let text = |answered: &Answered| answered.json().pointer("/result/content/0/text").cloned().unwrap_or_default();
    assert_eq!(by(call("desk_mark", json!({})), "ann").of(&server).await.status, 200);
    // A successful call by one client does not satisfy the requirement for another.
    let denied = by(call("desk_wait", json!({})), "bob").of(&server).await;
    assert!(text(&denied).as_str().unwrap().contains("must succeed first"), "{denied:?}");
    assert_eq!(text(&by(call("desk_wait", json!({})), "ann").of(&server).await), "waited");
    assert_eq!(text(&by(call("desk_hold", json!({})), "ann").of(&server).await), "held");
    assert!(text(&by(call("desk_hold", json!({})), "bob").of(&server).await).as_str().unwrap().contains("not for bob"));
    let mut callers = Vec::new();
    while callers.len() < 5 {
        if let Some(Event::ToolInvoked(call)) = events.next().await {
            let caller = call.caller.expect("a caller");
            assert!(caller.address.is_some_and(|address| address.is_loopback()), "{caller:?}");
            callers.push(caller.principal.clone().unwrap());
        }
    }
    assert_eq!(callers, ["ann", "bob", "ann", "ann", "bob"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_principal_cannot_use_all_requests() {
    let desk = Desk::default();
    let server = serve(desk.builder(), |options| options.max_requests(8).max_sessions(8)).await;
    let held = [by(call("desk_hold", json!({})), "ann"), by(call("desk_hold", json!({})), "ann")];
    let _held = [held[0].begin(server.address()).await, held[1].begin(server.address()).await];
    eventually("both calls arrive", || desk.seen().iter().filter(|line| line.contains("\"hold\"")).count() == 2).await;
    assert_eq!(by(call("desk_mark", json!({})), "ann").of(&server).await.status, 503);
    assert_eq!(by(call("desk_mark", json!({})), "bob").of(&server).await.status, 200);
    desk.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_principal_cannot_use_all_sessions() {
    let server = serve(Desk::default().builder(), |options| options.max_sessions(8)).await;
    let begin = async |token| by(Asking::new(initialize()), token).of(&server).await;
    let session = async |token| begin(token).await.headers["mcp-session-id"].clone();
    let stream = |session: &str| by(Asking::new("").by("GET").with("Mcp-Session-Id", session), "ann");
    let status = async |session: &str| {
        let list = Asking::new(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
        by(list.with("Mcp-Session-Id", session), "ann").of(&server).await.status
    };
    // Of two sessions the one that is idle gives way, and where none is idle there is no other.
    let (first, second) = (session("ann").await, session("ann").await);
    let _used = stream(&first).begin(server.address()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let third = session("ann").await;
    assert_eq!(status(&second).await, 404);
    let _used_too = stream(&third).begin(server.address()).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(begin("ann").await.status, 503);
    assert_eq!(begin("bob").await.status, 200);
}

/// Approvals that nobody answers take the place of no request.
#[tokio::test(flavor = "multi_thread")]
async fn pending_approvals_do_not_count_as_requests() {
    let desk = Desk::default();
    let own = desk.clone();
    let layers = |client: Client| Stack::new(client).approval(Approval::of(["mark"], ask_client));
    let proxy = Proxy::builder().connecting("desk", move |options| own.connect(options), layers).build().unwrap();
    let mut events = proxy.events();
    let server = proxy.serve_http(HttpOptions::new().max_requests(8)).await.unwrap();
    let mut initialize = initialize();
    initialize["params"]["capabilities"] = json!({ "elicitation": {} });
    let mut open = Vec::new();
    for _ in 0..5 {
        let session = Asking::new(&initialize).of(&server).await.headers["mcp-session-id"].clone();
        let told = Asking::new(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(told.with("Mcp-Session-Id", &session).of(&server).await.status, 202);
        for id in 0..2 {
            let params = json!({ "name": "desk_mark", "arguments": {} });
            let asked = Asking::new(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
            let asked = asked.with("Mcp-Session-Id", &session).with("MCP-Protocol-Version", LEGACY);
            open.push(asked.begin(server.address()).await);
            while !matches!(events.next().await, Some(Event::ApprovalAsked(_))) {}
        }
    }
    // There are ten open approvals, and places for eight requests.
    assert_eq!(call("desk_wait", json!({})).of(&server).await.status, 200);
    drop(open);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_metrics_and_a_verifiable_log_are_available() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let desk = Desk::default();
    let server = serve(desk.builder().log(CallLog::open(&path).unwrap()), |options| options).await;
    let get = |path: &str| Asking::new("").by("GET").at(path);
    assert_eq!(get("/healthz").of(&server).await.body, "ok\n");
    assert_eq!(get("/readyz").of(&server).await.json(), json!({ "ready": true }));
    let ready = by(get("/readyz"), "ann").of(&server).await;
    assert_eq!((ready.status, ready.json()), (200, json!({ "ready": true, "servers": { "desk": "idle" } })));
    assert_eq!(get("/metrics").of(&server).await.status, 401);
    assert_eq!(get("/healthz").instead("Host", "evil.example").of(&server).await.status, 403);

    for (token, tool) in [("ann", "desk_mark"), ("bob", "desk_wait"), ("bob", "desk_nothing")] {
        by(call(tool, json!({ "secret": "hunter22" })), token).of(&server).await;
    }
    assert_eq!(by(get("/readyz"), "bob").of(&server).await.json()["servers"]["desk"], "connected");
    let metrics = by(get("/metrics"), "ann").of(&server).await;
    assert_eq!(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for line in [
        "mcp_proxy_calls_total{outcome=\"success\",server=\"desk\",tool=\"mark\"} 1",
        "mcp_proxy_call_duration_seconds_count{server=\"desk\"} 2",
        "mcp_proxy_sessions 0",
    ] {
        assert!(metrics.body.lines().any(|own| own == line), "{line}: {}", metrics.body);
    }

    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |line: &Value| (line["caller"]["principal"].clone(), line["tool"].clone(), line["outcome"].clone());
    assert_eq!(
        lines.iter().map(of).collect::<Vec<_>>(),
        [(json!("ann"), json!("mark"), json!("success")), (json!("bob"), json!("wait"), json!("success")),]
    );
    assert!(!text.contains("hunter22") && lines[0]["caller"]["address"] == "127.0.0.1");
    assert_eq!(CallLog::verify(&path), Ok(2));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reload_changes_the_servers_and_ends_no_session() {
    let (desk, other) = (Desk::default(), Desk::default());
    let proxy = desk.proxy();
    let server = proxy.serve_http(HttpOptions::new()).await.unwrap();
    let session = crate::support::session(&server).await;
    let list =
        Asking::new(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).with("Mcp-Session-Id", &session);
    assert_eq!(names(&list.of(&server).await).len(), 6);
    let mut stream = Asking::new("").by("GET").with("Mcp-Session-Id", &session).begin(server.address()).await;

    let own = Arc::new(other.clone());
    let both = || {
        let (desk, own) = (desk.clone(), own.clone());
        desk.builder().connecting("other", move |options| own.connect(options), |client| client)
    };
    assert_eq!(proxy.reload(both()).unwrap(), ["desk", "other"]);
    let all = names(&list.of(&server).await);
    assert!(all.len() == 12 && all.contains(&"other_mark".to_owned()), "{all:?}");
    assert!(proxy.reload(both().server(mcp_bindgen_model::ServerConfig::stdio("desk", "x"))).is_err());
    assert_eq!(names(&list.of(&server).await).len(), 12, "a fault changes nothing");
    let mut buffer = vec![0; 64 * 1024];
    let told = tokio::time::timeout(Duration::from_secs(20), async {
        let mut text = String::new();
        while !text.contains("notifications/tools/list_changed") {
            let read = tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await.unwrap();
            text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    });
    told.await.expect("the client is told");
}
