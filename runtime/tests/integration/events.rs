//! Tests the events of calls and connections, and their cost without a listener.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Mark, bad, good, named, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::events::{CallOutcome, CallSource, Event, Events, ToolInvoked};
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, Policy, Stack, Verdict};
use mcp_bindgen_runtime::{
    CallErrorKind, CallOptions, CallTool, Client, ClientOptions, ConnectionState, Dispatched, Fake, Servers, ToolCall,
    ToolSpec,
};
use serde_json::json;

const ADD: ToolSpec = ToolSpec::new("add", "{}");
const SECRET: &str = "unique-5a7c9e1b3d5f7091";

fn add(a: u64) -> ToolCall {
    ToolCall::new("fixture", "add", object(json!({ "a": a, "b": 2 })))
}

fn typed(a: u64) -> ToolCall {
    let mut call = add(a);
    call.spec = Some(const { &ADD });
    call
}

async fn next(events: &mut Events) -> Event {
    tokio::time::timeout(Duration::from_secs(20), events.next()).await.expect("an event").expect("not the end")
}

/// Returns the events received so far.
async fn told(events: &mut Events) -> Vec<Event> {
    let mut told = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(50), events.next()).await {
        told.push(event);
    }
    told
}

fn calls(events: &[Event]) -> Vec<&ToolInvoked> {
    let mut calls = Vec::new();
    for event in events {
        if let Event::ToolInvoked(call) = event {
            calls.push(call);
        }
    }
    calls
}

fn outcomes(events: &[Event]) -> Vec<(&str, &str)> {
    calls(events).iter().map(|call| (call.tool.as_str(), call.outcome.as_str())).collect()
}

fn states(events: &[Event], of: &str) -> Vec<ConnectionState> {
    let state = |event: &Event| match event {
        Event::ServerStateChanged(changed) if changed.server == of => Some(changed.state),
        _ => None,
    };
    events.iter().filter_map(state).collect()
}

fn reason(event: &Event) -> Option<Option<&str>> {
    match event {
        Event::ServerStateChanged(changed) => Some(changed.error.as_deref()),
        _ => None,
    }
}

fn failed(kind: CallErrorKind, dispatched: Dispatched) -> impl Fn(CallOutcome) -> bool {
    move |outcome| matches!(outcome, CallOutcome::Failed { kind: k, dispatched: d, .. } if k == kind && d == dispatched)
}

#[tokio::test]
async fn every_call_emits_one_event_with_source_and_outcome() {
    let mark = Mark::new();
    let client = Client::new(good(&mark).exclude(["save_*"]));
    let mut events = client.events();
    let start = Instant::now();
    client.call_tool(add(1)).await.expect("the sum");
    client.call_tool(typed(1)).await.expect("the sum");
    let by_agent = CallOptions::new().source("triage agent");
    client.call_tool(typed(1).with(by_agent.clone())).await.expect("the sum");
    client.clone().with_call_options(by_agent).call_tool(add(1)).await.expect("the sum");
    client.call("always_fails", object(json!({ "reason": SECRET }))).await.expect("a result that is an error");
    client.call("save_settings", object(json!({ "settings": SECRET }))).await.expect_err("it is excluded");
    client.call("no_such_tool", Default::default()).await.expect_err("there is none");
    let took = start.elapsed();

    let told = told(&mut events).await;
    assert_eq!(
        outcomes(&told),
        [
            ("add", "success"),
            ("add", "success"),
            ("add", "success"),
            ("add", "success"),
            ("always_fails", "tool_error"),
            ("save_settings", "denied"),
            ("no_such_tool", "tool_not_found"),
        ]
    );
    let sources: Vec<&str> = calls(&told).iter().map(|call| call.source.as_str()).collect();
    let agent = "triage agent";
    assert_eq!(sources, ["untyped", "bindings", agent, agent, "untyped", "untyped", "untyped"]);
    assert_eq!(calls(&told)[2].source, CallSource::Named(agent.to_owned()));
    assert!(calls(&told)[0].outcome.is_success() && calls(&told)[4].outcome == CallOutcome::ToolError);
    assert!(failed(CallErrorKind::Denied, Dispatched::No)(calls(&told)[5].outcome), "{told:?}");
    let sum: Duration = calls(&told).iter().map(|call| call.duration).sum();
    assert!(sum <= took && calls(&told)[0].duration > Duration::ZERO, "{sum:?} of {took:?}");
    assert!(calls(&told).iter().all(|call| call.server == "fixture"));
    assert!(calls(&told).iter().all(|call| call.arguments.is_none() && call.result.is_none()), "nobody asked for them");
    assert!(!format!("{told:?}").contains(SECRET));
    client.close().await;
}

#[tokio::test]
async fn failure_event_contains_kind_and_dispatched() {
    let mark = Mark::new();
    let client = Client::new(bad("exit-on-call", &mark));
    let mut events = client.events();
    client.call_tool(add(1)).await.expect_err("the server ends");
    let told = told(&mut events).await;
    let outcome = calls(&told)[0].outcome;
    assert!(failed(CallErrorKind::OutcomeUnknown, Dispatched::Unknown)(outcome), "{told:?}");

    let nowhere = Client::new(mcp_bindgen_model::ServerConfig::stdio("nowhere", "/no/such/program"));
    let mut events = nowhere.events();
    nowhere.call("add", Default::default()).await.expect_err("there is no program");
    let told = self::told(&mut events).await;
    assert!(failed(CallErrorKind::NotConnected, Dispatched::No)(calls(&told)[0].outcome), "{told:?}");
    assert_eq!(states(&told, "nowhere"), [ConnectionState::Connecting, ConnectionState::Disconnected]);
    let reasons: Vec<Option<&str>> = told.iter().filter_map(reason).collect();
    assert!(matches!(reasons[..], [None, Some(reason)] if reason.starts_with("failed to start")), "{reasons:?}");
    client.close().await;
}

#[tokio::test]
async fn dropped_call_emits_an_event() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("the connection");
    let mut events = client.events();
    let slow = ToolCall::new("fixture", "count_slowly", object(json!({ "steps": 100, "pause_ms": 100 })));
    let dropped = tokio::time::timeout(Duration::from_millis(100), client.call_tool(slow.clone())).await;
    assert!(dropped.is_err());
    let stack = Stack::new(client.clone());
    assert!(tokio::time::timeout(Duration::from_millis(100), stack.call_tool(slow)).await.is_err());
    let told = told(&mut events).await;
    assert_eq!(outcomes(&told), [("count_slowly", "dropped"), ("count_slowly", "dropped")]);
    client.close().await;
}

#[tokio::test]
async fn connection_states_are_reported_in_order_for_all_servers() {
    let mark = Mark::new();
    let added = Client::new(named("added", &mark));
    let servers = Servers::new().with(named("one", &mark)).with_client(added.clone());
    let mut events = servers.events();
    assert!(servers.connect_all().await.is_complete());
    added.call("add", object(json!({ "a": 1, "b": 2 }))).await.expect("the sum");
    servers.shutdown().await;
    let told = told(&mut events).await;
    use ConnectionState::{Connected, Connecting, Disconnected, ShutDown};
    for server in ["one", "added"] {
        assert_eq!(states(&told, server), [Connecting, Connected, Disconnected, ShutDown], "{told:?}");
    }
    assert_eq!(outcomes(&told), [("add", "success")]);
    assert_eq!(calls(&told)[0].server, "added");
    drop((servers, added));
    assert_eq!(events.next().await, None, "nobody is left who could tell");
}

#[tokio::test]
async fn tool_list_change_emits_an_event_in_every_protocol_version() {
    for mode in ["changing-list", "modern-changing-list"] {
        let mark = Mark::new();
        let client = Client::new(bad(mode, &mark));
        let mut events = client.events();
        client.list_tools_raw().await.expect("the list");
        while !matches!(next(&mut events).await, Event::ToolsChanged(changed) if changed.server == "fixture") {}
        client.close().await;
    }
}

fn nothing_but(tool: &'static str) -> Policy {
    Policy::new(move |call| if call.tool == tool { Verdict::Allow } else { Verdict::deny("not this one") })
}

#[tokio::test]
async fn reason_of_a_denied_call_is_redacted_and_bounded() {
    let client = Client::new(ServerConfig::stdio("fixture", "never-started").env("SOME_TOKEN", SECRET));
    let mut events = client.events();
    let reason = format!("no {SECRET}\n\u{1b}[2J{}", "x".repeat(9000));
    let stack = Stack::new(client).policy(Policy::new(move |_| Verdict::deny(reason.clone())));
    stack.call_tool(add(1)).await.expect_err("it is denied");
    let told = told(&mut events).await;
    let reason = calls(&told)[0].reason.clone().expect("a reason");
    assert!(reason.starts_with("no [redacted] ") && reason.len() < 3000, "{reason}");
    assert!(!reason.contains(['\n', '\u{1b}']), "{reason}");
}

#[tokio::test]
async fn stack_emits_one_event_per_call_even_if_denied() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let stack = Stack::new(client.clone()).policy(nothing_but("add"));
    let (mut of_stack, mut of_client) = (stack.events(), client.events());
    stack.call_tool(typed(1)).await.expect("the sum");
    stack.call_tool(ToolCall::new("fixture", "make_report", Default::default())).await.expect_err("it is denied");
    client.call_tool(add(1)).await.expect("the sum");
    for events in [&mut of_stack, &mut of_client] {
        let told = told(events).await;
        assert_eq!(outcomes(&told), [("add", "success"), ("make_report", "denied"), ("add", "success")]);
        let reasons: Vec<_> = calls(&told).iter().map(|call| call.reason.as_deref()).collect();
        assert_eq!(reasons, [None, Some("not this one"), None]);
    }

    let around = Stack::new(stack.clone());
    let mut of_all = around.events();
    around.call_tool(typed(1)).await.expect("the sum");
    assert_eq!(outcomes(&told(&mut of_all).await), [("add", "success")], "the one around has events of its own");
    assert_eq!(outcomes(&told(&mut of_client).await), [("add", "success")], "and the client's listeners hear once");
    client.close().await;
}

#[tokio::test]
async fn stack_without_a_client_emits_its_own_events() {
    let fake = Fake::new();
    let stack = Stack::new(fake.clone());
    let mut events = stack.events();
    stack.call_tool(typed(1)).await.expect_err("nobody expects it");
    drop(stack);
    let Event::ToolInvoked(call) = next(&mut events).await else { panic!("no call") };
    assert_eq!((call.server.as_str(), call.tool.as_str(), call.source), ("fixture", "add", CallSource::Bindings));
    assert!(failed(CallErrorKind::Denied, Dispatched::No)(call.outcome));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn approval_request_emits_an_event() {
    let mark = Mark::new();
    let approving = |records: bool| {
        let options = ClientOptions::new().on_approval(async |request| match request.arguments["a"].as_u64() {
            Some(1) => ApprovalAnswer::Approve,
            _ => ApprovalAnswer::Decline("no".to_owned()),
        });
        Client::with_options(good(&mark).approve(["add"]), options.record_content(records))
    };
    let kinds = |events: &[Event]| -> Vec<String> {
        let kind = |event: &Event| match event {
            Event::ApprovalAsked(asked) => Some(format!("asked {:?}", asked.arguments)),
            Event::ToolInvoked(call) => Some(call.outcome.to_string()),
            _ => None,
        };
        events.iter().filter_map(kind).collect()
    };
    let client = approving(false);
    let mut events = client.events();
    client.call_tool(add(1)).await.expect("it is approved");
    client.call_tool(add(2)).await.expect_err("it is not");
    Stack::new(client.clone()).call_tool(add(1)).await.expect("it is approved");
    let expected = ["asked None", "success", "asked None", "denied", "asked None", "success"];
    assert_eq!(kinds(&told(&mut events).await), expected);

    let client = approving(true);
    let mut events = client.events();
    client.call_tool(add(2)).await.expect_err("it is not");
    let told = told(&mut events).await;
    let Event::ApprovalAsked(asked) = &told[0] else { panic!("{told:?}") };
    assert_eq!(asked.arguments, Some(object(json!({ "a": 2, "b": 2 }))));
    client.close().await;
}

#[tokio::test]
async fn arguments_and_results_are_recorded_only_on_request_and_redacted() {
    let mark = Mark::new();
    let token = format!("{}_{}", "ghp", "a1B2".repeat(9));
    let arguments = json!({ "text": format!("from {SECRET}"), "api_key": "hunter", "note": token, "ok": 1 });
    let options = ClientOptions::new().record_content(true);
    let client = Client::with_options(good(&mark).env("SOME_TOKEN", SECRET), options);
    let mut events = client.events();
    let exact = client.call("echo_arguments", object(arguments.clone())).await.expect("the echo");
    assert_eq!(exact.structured(), Some(&json!({ "arguments": arguments })), "the program's own result is whole");
    let told = told(&mut events).await;
    let call = calls(&told)[0];
    let hidden = json!({ "text": "from [redacted]", "api_key": "[redacted]", "note": "[redacted]", "ok": 1 });
    assert_eq!(call.arguments, Some(object(hidden.clone())));
    assert_eq!(call.result.as_ref().unwrap()["structuredContent"], json!({ "arguments": hidden }));
    let shown = format!("{told:?}");
    assert!(!shown.contains(SECRET) && !shown.contains("hunter") && !shown.contains(&token), "{shown}");
    client.close().await;
}

#[tokio::test]
async fn content_is_recorded_only_after_secrets_are_resolved() {
    let mark = Mark::new();
    let options = ClientOptions::new().record_content(true);
    let client = Client::with_options(good(&mark).env("KEY", "${PATH}").exclude(["save_*"]), options);
    let mut events = client.events();
    let settings = || object(json!({ "settings": std::env::var("PATH").unwrap() }));
    client.call("save_settings", settings()).await.expect_err("it is excluded");
    client.connect().await.expect("the connection");
    client.call("save_settings", settings()).await.expect_err("it is excluded");
    let told = told(&mut events).await;
    assert_eq!(calls(&told)[0].arguments, None, "no placeholder has a value yet");
    assert!(calls(&told)[1].arguments.is_some());
    client.close().await;
}

#[tokio::test]
async fn concurrent_listeners_lose_only_the_reported_missed_events() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    client.connect().await.expect("the connection");
    let (mut slow, mut quick) = (client.events(), client.events());
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    let reading = tokio::spawn(async move {
        while let Some(event) = quick.next().await {
            match event {
                Event::ToolInvoked(_) => HEARD.fetch_add(1, Ordering::Relaxed),
                Event::Lagged(lag) => HEARD.fetch_add(lag.missed as usize, Ordering::Relaxed),
                _ => 0,
            };
        }
    });
    let callers = (0..16).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..100 {
                let sum = client.call_tool(add(number)).await.expect("the sum");
                assert_eq!(sum.structured().and_then(|sum| sum["result"].as_u64()), Some(number + 2));
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("no caller fails");
    }
    let mut heard = 0;
    for event in told(&mut slow).await {
        match event {
            Event::ToolInvoked(_) => heard += 1,
            Event::Lagged(lag) => heard += lag.missed,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, 1600);
    client.close().await;
    drop((client, slow));
    reading.await.expect("the other listener ends with the client");
    assert!(HEARD.load(Ordering::Relaxed) >= 1600);
}

#[test]
fn events_are_send_and_sync() {
    fn sendable<T: Send + Sync + 'static>() {}
    sendable::<Events>();
    sendable::<Event>();
}
