//! Tests the interface for programs between clients and a server. They forward the server's requests, send raw
//! requests, and receive its notifications.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::events::{CallOutcome, Event};
use mcp_bindgen_runtime::middleware::{Cache, SequentialDependency, Stack, Transaction};
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Client, ClientOptions, ElicitationAnswer, PassedInput, ToolCall, ToolResult,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::sync::mpsc;

const SOON: Duration = Duration::from_secs(20);
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A server that answers by hand in one era, and keeps what it was asked.
struct Server {
    client: Client,
    asked: Arc<Mutex<Vec<Value>>>,
    tell: mpsc::UnboundedSender<Value>,
}

impl Server {
    fn start(version: &'static str, options: ClientOptions) -> Self {
        let (near, far) = duplex(64 * 1024);
        let (tell, told) = mpsc::unbounded_channel();
        let asked = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(far, version, asked.clone(), told));
        let (read, write) = split(near);
        let client = Client::over_with_options("hand", read, write, options.protocol_version(version));
        Self { client, asked, tell }
    }

    /// The parameters of the requests of a method.
    fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
    }

    async fn book(&self, options: CallOptions) -> Result<ToolResult, CallError> {
        self.client.call_tool(book(options)).await
    }
}

fn book(options: CallOptions) -> ToolCall {
    let arguments = json!({ "to": "Oslo" }).as_object().unwrap().clone();
    ToolCall::new("hand", "book", arguments).with(options)
}

async fn serve(
    far: DuplexStream,
    version: &'static str,
    asked: Arc<Mutex<Vec<Value>>>,
    mut told: mpsc::UnboundedReceiver<Value>,
) {
    let (read, mut write) = split(far);
    let mut lines = BufReader::new(read).lines();
    loop {
        let answers = tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let message: Value = serde_json::from_str(&line).unwrap();
                let answers = answers(version, &message);
                asked.lock().unwrap().push(message);
                answers
            }
            Some(message) = told.recv() => vec![message],
        };
        for answer in answers {
            write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    }
}

fn answers(version: &str, message: &Value) -> Vec<Value> {
    let Some(id) = message.get("id") else { return Vec::new() };
    let capabilities = json!({
        "tools": {}, "prompts": { "listChanged": true }, "resources": { "listChanged": true }, "logging": {}, "completions": {},
    });
    let params = &message["params"];
    let is_modern = version == MODERN;
    let result = match message["method"].as_str().unwrap() {
        "server/discover" if is_modern => json!({
            "resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities, "ttlMs": 0,
            "cacheScope": "private", "instructions": "be kind",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "hand", "version": "1" } },
        }),
        "initialize" if !is_modern => json!({
            "protocolVersion": LEGACY, "capabilities": capabilities, "serverInfo": { "name": "hand", "version": "1" },
            "instructions": "be kind",
        }),
        "subscriptions/listen" => {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            let mut params = params.clone();
            params["_meta"] = meta;
            return vec![
                json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params }),
            ];
        }
        "tools/call" | "prompts/get" if params.get("inputResponses").is_none() && params["name"] != "rest" => json!({
            "resultType": "input_required", "requestState": "opaque",
            "inputRequests": { "who": { "method": "elicitation/create", "params": { "mode": "form", "message": "Who?", "requestedSchema": {} } } },
        }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "booked" }], "resultType": "complete" }),
        "prompts/get" => json!({ "messages": [], "resultType": "complete" }),
        "completion/complete" => json!({ "completion": { "values": ["rust"], "odd": 1 }, "odd": null }),
        "logging/setLevel" => json!({}),
        "resources/list" => json!({ "resources": [{ "uri": "a:b", "odd": [] }], "nextCursor": "2" }),
        method => {
            let error = json!({ "code": -32601, "message": format!("no {method}"), "data": { "odd": 1 } });
            return vec![json!({ "jsonrpc": "2.0", "id": id, "error": error })];
        }
    };
    vec![json!({ "jsonrpc": "2.0", "id": id, "result": result })]
}

fn passing() -> CallOptions {
    CallOptions::new().pass_input(PassedInput::new())
}

fn answered() -> CallOptions {
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    CallOptions::new().pass_input(PassedInput::new().responses(answers.as_object().cloned()).state("opaque".to_owned()))
}

#[tokio::test]
async fn input_request_is_returned_and_answered_with_the_next_call() {
    let options = ClientOptions::new().on_elicitation(|_| async { panic!("the caller is asked, not the client") });
    let server = Server::start(MODERN, options);
    let mut events = server.client.events();
    let asked = server.book(passing()).await.expect("what is asked is a result");
    assert!(asked.needs_input());
    let sent = asked.to_json();
    assert_eq!(sent["requestState"], "opaque");
    assert_eq!(sent["inputRequests"]["who"]["params"]["message"], "Who?");
    assert!(sent.get("content").is_none(), "as it was sent: {sent}");
    let done = server.book(answered()).await.expect("it is answered");
    assert_eq!(done.text(), "booked");
    let calls = server.asked("tools/call");
    assert_eq!(calls.len(), 2, "nobody else answered");
    assert!(calls[0].get("inputResponses").is_none() && calls[0].get("requestState").is_none());
    assert_eq!(calls[1]["inputResponses"]["who"]["content"]["name"], "Ada");
    assert_eq!(calls[1]["requestState"], "opaque");
    assert_eq!(calls[1]["arguments"], json!({ "to": "Oslo" }));
    let mut outcomes = Vec::new();
    while outcomes.len() < 2 {
        if let Event::ToolInvoked(call) = events.next().await.expect("an event") {
            outcomes.push(call.outcome);
        }
    }
    assert_eq!(outcomes, [CallOutcome::InputRequired, CallOutcome::Success]);
}

#[tokio::test]
async fn client_answers_input_requests_unless_they_are_passed_on() {
    let accept = async |_| ElicitationAnswer::Accept(json!({ "name": "Grace" }).as_object().unwrap().clone());
    let server = Server::start(MODERN, ClientOptions::new().on_elicitation(accept));
    assert_eq!(server.book(CallOptions::new()).await.expect("it is answered").text(), "booked");
    assert_eq!(server.asked("tools/call")[1]["inputResponses"]["who"]["content"]["name"], "Grace");
}

#[tokio::test]
async fn layers_do_not_treat_an_input_request_as_a_success() {
    let server = Server::start(MODERN, ClientOptions::new());
    let state = Arc::new(Mutex::new(0));
    let counted = state.clone();
    let stack = Stack::new(server.client.clone())
        .sequential(SequentialDependency::new("rest", ["book"]))
        .transaction(
            Transaction::new(move || *counted.lock().unwrap(), {
                let state = state.clone();
                move |before: i32| *state.lock().unwrap() = before - 1
            })
            .tools(["book"]),
        )
        .cache(Cache::new(SOON).tools(["*"]));
    for _ in 0..2 {
        assert!(stack.call_tool(book(passing())).await.expect("what is asked").needs_input());
    }
    assert_eq!(server.asked("tools/call").len(), 2, "no cache keeps it");
    assert_eq!(*state.lock().unwrap(), -2, "each is rolled back");
    let rest = || ToolCall::new("hand", "rest", Map::new());
    let denied = stack.call_tool(rest()).await.expect_err("`book` has not succeeded");
    assert!(matches!(&denied, CallError::Denied { .. }), "{denied}");
    assert_eq!(stack.call_tool(book(answered())).await.expect("it is answered").text(), "booked");
    stack.call_tool(rest()).await.expect("now it has");
    assert_eq!(*state.lock().unwrap(), -2, "a success stays");
}

#[tokio::test]
async fn older_protocol_versions_refuse_input_responses() {
    let server = Server::start(LEGACY, ClientOptions::new());
    let error = server.book(answered()).await.expect_err("nobody asked");
    assert!(matches!(&error, CallError::InvalidArguments { .. }), "{error}");
    assert!(error.to_string().contains("speaks 2025-11-25"), "{error}");
    assert_eq!(server.asked("tools/call").len(), 0);
    server.book(passing()).await.expect("its result is one whatever it says");
}

#[tokio::test]
async fn capabilities_can_be_declared_for_a_single_call() {
    const KEY: &str = "io.modelcontextprotocol/clientCapabilities";
    let declared = json!({ "elicitation": { "form": {} } });
    for version in [MODERN, LEGACY] {
        let server = Server::start(version, ClientOptions::new());
        let own = passing().client_capabilities(declared.clone());
        server.book(own.clone()).await.expect("the call");
        server.client.request("resources/list", Map::new(), own).await.expect("the list");
        server.book(passing()).await.expect("the call");
        let calls = server.asked("tools/call");
        let listed = &server.asked("resources/list")[0];
        if version == MODERN {
            assert_eq!((&calls[0]["_meta"][KEY], &listed["_meta"][KEY]), (&declared, &declared));
            assert_eq!(calls[1]["_meta"][KEY]["elicitation"], Value::Null);
            assert_eq!(calls[0]["_meta"]["io.modelcontextprotocol/protocolVersion"], MODERN);
        } else {
            assert_eq!(calls[0]["_meta"].get(KEY), None);
        }
        let error = server.book(CallOptions::new().client_capabilities(5)).await.expect_err("no object");
        assert!(matches!(error, CallError::InvalidArguments { .. }));
    }
}

#[tokio::test]
async fn raw_requests_and_responses_are_unchanged() {
    for version in [MODERN, LEGACY] {
        let server = Server::start(version, ClientOptions::new());
        let client = &server.client;
        let request = async |method: &str, params: Value| {
            client.request(method, params.as_object().unwrap().clone(), CallOptions::new()).await
        };
        let params =
            json!({ "ref": { "type": "ref/prompt", "name": "r" }, "odd": 1, "_meta": { "traceparent": "00-1" } });
        let completed = request("completion/complete", params).await.expect("a completion");
        assert_eq!(completed, json!({ "completion": { "values": ["rust"], "odd": 1 }, "odd": null }));
        let sent = &server.asked("completion/complete")[0];
        assert_eq!((&sent["odd"], &sent["_meta"]["traceparent"]), (&json!(1), &json!("00-1")));
        let page = request("resources/list", json!({ "cursor": "1" })).await.expect("a page");
        assert_eq!(page, json!({ "resources": [{ "uri": "a:b", "odd": [] }], "nextCursor": "2" }));
        assert_eq!(server.asked("resources/list")[0]["cursor"], "1");
        request("logging/setLevel", json!({ "level": "debug" })).await.expect("a level");
        match request("resources/read", json!({ "uri": "a:b" })).await.expect_err("there are none") {
            CallError::Rpc { code, message, data, .. } => {
                assert_eq!((code, message.as_str()), (-32601, "no resources/read"));
                assert_eq!(data.as_deref(), Some(&json!({ "odd": 1 })));
            }
            other => panic!("{other}"),
        }
        for (method, params, why) in [
            ("tools/call", json!({ "name": "book" }), "`CallTool::call_tool`, which applies policies"),
            ("initialize", json!({}), "unsupported method"),
            ("tasks/get", json!({}), "unsupported method"),
            ("ping", json!({ "_meta": { "progressToken": 1 } }), "`progressToken` in `_meta` is set by the client"),
        ] {
            let error = request(method, params).await.expect_err(method);
            assert!(matches!(&error, CallError::InvalidArguments { .. }) && error.to_string().contains(why), "{error}");
            assert_eq!(server.asked(method).iter().filter(|params| params["name"] == "book").count(), 0, "{method}");
        }
    }
}

#[tokio::test]
async fn input_request_of_a_prompt_is_passed_on() {
    let server = Server::start(MODERN, ClientOptions::new());
    let get = async |options| {
        server.client.request("prompts/get", json!({ "name": "p" }).as_object().unwrap().clone(), options).await
    };
    let asked = get(passing()).await.expect("what is asked");
    assert_eq!((&asked["resultType"], &asked["requestState"]), (&json!("input_required"), &json!("opaque")));
    assert_eq!(get(answered()).await.expect("it is answered")["resultType"], "complete");
    assert_eq!(server.asked("prompts/get")[1]["requestState"], "opaque");
}

#[tokio::test]
async fn log_level_of_the_caller_is_sent_with_the_call() {
    const KEY: &str = "io.modelcontextprotocol/logLevel";
    let server = Server::start(MODERN, ClientOptions::new());
    server.book(passing().meta(KEY, "debug")).await.expect("the call");
    assert_eq!(server.asked("tools/call")[0]["_meta"][KEY], "debug");
}

#[tokio::test]
async fn notifications_are_received_in_both_protocol_versions() {
    for version in [MODERN, LEGACY] {
        let server = Server::start(version, ClientOptions::new());
        let mut heard = server.client.notifications();
        server.client.connect().await.expect("a connection");
        if version == MODERN {
            tokio::time::timeout(SOON, async {
                while server.asked("subscriptions/listen").is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await
            .expect("it is asked to tell");
            let wanted = &server.asked("subscriptions/listen")[0]["notifications"];
            assert_eq!(wanted, &json!({ "promptsListChanged": true, "resourcesListChanged": true }));
        }
        let log = json!({ "level": "info", "logger": "l", "data": { "n": 1 }, "odd": 1 });
        let told = [
            ("notifications/message", log.clone()),
            ("notifications/progress", json!({ "progressToken": 9, "progress": 1 })),
            ("notifications/prompts/list_changed", json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": 1 } })),
            ("notifications/resources/list_changed", Value::Null),
            ("notifications/resources/updated", json!({ "uri": "a:b" })),
        ];
        for (method, params) in &told {
            let mut message = json!({ "jsonrpc": "2.0", "method": method });
            if !params.is_null() {
                message["params"] = params.clone();
            }
            server.tell.send(message).unwrap();
        }
        let expected = [
            ("notifications/message", log),
            ("notifications/prompts/list_changed", json!({})),
            ("notifications/resources/list_changed", json!({})),
            ("notifications/resources/updated", json!({ "uri": "a:b" })),
        ];
        for (method, params) in expected {
            let told =
                tokio::time::timeout(SOON, heard.next()).await.expect("it is heard").expect("the client is there");
            assert_eq!(
                (told.method.as_str(), Value::Object(told.params), told.missed),
                (method, params, 0),
                "{version}"
            );
        }
        drop(server.client);
        assert!(tokio::time::timeout(SOON, heard.next()).await.expect("it ends").is_none());
    }
}

#[tokio::test]
async fn slow_notification_reader_sees_the_number_of_missed_ones() {
    let server = Server::start(LEGACY, ClientOptions::new());
    let mut heard = server.client.notifications();
    server.client.connect().await.expect("a connection");
    for number in 0..1030 {
        let params = json!({ "level": "info", "data": number });
        server.tell.send(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })).unwrap();
    }
    server.client.request("ping", Map::new(), CallOptions::new()).await.expect_err("it knows no `ping`");
    let until_last = async {
        let first = heard.next().await.expect("one");
        let mut last = first.clone();
        while last.params["data"] != 1029 {
            last = heard.next().await.expect("one more");
        }
        first
    };
    // Pending notifications may arrive after the first was taken.
    let first = tokio::time::timeout(SOON, until_last).await.expect("the last one is heard");
    assert_eq!(first.params["data"], first.missed);
}

#[tokio::test]
async fn server_information_is_available() {
    for version in [MODERN, LEGACY] {
        let server = Server::start(version, ClientOptions::new());
        let declared = server.client.declared().await.expect("it connects");
        assert_eq!(declared.protocol_version, version);
        assert_eq!(declared.server_info, Some(json!({ "name": "hand", "version": "1" })));
        assert_eq!(declared.instructions.as_deref(), Some("be kind"));
        assert_eq!(declared.capabilities.unwrap()["prompts"]["listChanged"], true);
    }
}

/// A cache shares results only between callers with the same capabilities.
#[tokio::test]
async fn cache_key_includes_declared_capabilities() {
    let server = Server::start(MODERN, ClientOptions::new());
    let stack = Stack::new(server.client.clone()).cache(Cache::new(SOON).tools(["*"]));
    let rest = |options| ToolCall::new("hand", "rest", Map::new()).with(options);
    let declaring = |capabilities: Value| passing().client_capabilities(capabilities);
    for (options, calls) in [
        (declaring(json!({ "elicitation": {} })), 1),
        (declaring(json!({ "elicitation": {} })), 1),
        (declaring(json!({})), 2),
        (passing(), 3),
        (CallOptions::new(), 4),
        (CallOptions::new(), 4),
        (answered(), 5),
    ] {
        stack.call_tool(rest(options)).await.expect("the call");
        assert_eq!(server.asked("tools/call").len(), calls);
    }
    // Two callers that wait for the same result each get their own request for input.
    let (one, other) = tokio::join!(stack.call_tool(book(passing())), stack.call_tool(book(passing())));
    assert!(one.expect("what is asked").needs_input() && other.expect("what is asked").needs_input());
    assert_eq!(server.asked("tools/call").len(), 7);
}

/// A client whose server cannot be started: what is denied never gets so far.
fn unreachable(remote_use: &[&str]) -> Client {
    let config = ServerConfig::stdio("hub", "/there/is/no/such/program").exclude(["drop"]);
    Client::new(config.remote_use(remote_use.iter().copied()))
}

#[tokio::test]
async fn remote_calls_are_limited_to_the_tools_in_remote_use() {
    let remote = |tool: &'static str| ToolCall::new("hub", tool, Map::new()).with(CallOptions::new().remote());
    let is_denied = |outcome: Result<ToolResult, CallError>, why: &str| {
        let error = outcome.expect_err(why);
        matches!(&error, CallError::Denied { .. }) && error.to_string().contains(why)
    };
    let is_made = |outcome| matches!(outcome, Err(CallError::NotConnected { .. }));
    let why = "`remote_use` of the server does not allow this tool";
    let client = unreachable(&["list_*", "drop"]);
    assert!(is_made(client.call_tool(remote("list_all")).await));
    assert!(is_denied(client.call_tool(remote("merge")).await, why));
    assert!(is_made(client.call("merge", Map::new()).await), "a call of the program");
    assert!(is_denied(client.call_tool(remote("drop")).await, "`exclude` of the server"));
    assert!(is_denied(unreachable(&[]).call_tool(remote("list_all")).await, why), "none by default");
    let stack = Stack::new(client.clone());
    assert!(is_denied(stack.call_tool(remote("merge")).await, why));
    assert!(is_made(stack.call_tool(remote("list_all")).await));
    // The mark is put between the stack and the client.
    let marked = Stack::new(client.clone().with_call_options(CallOptions::new().remote()));
    assert!(is_denied(marked.call_tool(ToolCall::new("hub", "merge", Map::new())).await, why));
    let offer = stack.offer();
    let offered = ["list_all", "merge", "drop"].map(|tool| (offer.admits(tool), offer.admits_remote(tool)));
    assert_eq!(offered, [(true, true), (true, false), (false, false)]);
}

/// A cache outside of a stack returns results only to callers that may make the call.
#[tokio::test]
async fn cached_result_is_not_returned_to_a_denied_remote_call() {
    let server = Server::start(MODERN, ClientOptions::new());
    let calls = Stack::new(server.client.clone());
    let cached = Stack::new(calls).cache(Cache::new(SOON).tools(["rest"]));
    let rest = |options| ToolCall::new("hand", "rest", Map::new()).with(options);
    cached.call_tool(rest(CallOptions::new())).await.expect("a call of the program");
    cached.call_tool(rest(CallOptions::new())).await.expect("it is kept");
    assert_eq!(server.asked("tools/call").len(), 1);
    let error = cached.call_tool(rest(CallOptions::new().remote())).await.expect_err("nothing names it");
    assert!(matches!(error, CallError::Denied { .. }));
}
