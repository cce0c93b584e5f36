//! Tools that are not what they were when they were bound: who is told, and which calls are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod cases;
use crate::common;
mod server;
mod stale;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mcp_bindgen_model::{Drift, Pin, ServerConfig};
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, Client, Dispatched, Servers, ToolCall, ToolSpec};
use serde_json::{Value, json};

use cases::{CASES, Case, Said};
pub(crate) use server::Log;
use server::{Changing, SOON, soon, tool};

/// A call as bindings make it.
fn bound(spec: &'static ToolSpec) -> ToolCall {
    let mut call = ToolCall::new("changing", spec.name, Default::default());
    call.spec = Some(spec);
    call
}

fn unbound(name: &'static str) -> ToolCall {
    ToolCall::new("changing", name, Default::default())
}

#[track_caller]
fn assert_refused(outcome: Result<impl std::fmt::Debug, CallError>, tool: &str, words: &str) {
    let error = outcome.expect_err(tool);
    let CallError::Incompatible { server, tool: named, message, .. } = &error else { panic!("{tool}: {error}") };
    assert_eq!((server.as_str(), named.as_str()), ("changing", tool));
    assert!(message.contains(words), "{tool}: `{words}` is not in `{message}`");
    assert_eq!(error.dispatched(), Dispatched::No);
}

/// Calls the tool of every case, as bindings do and by its name alone.
async fn call_each(client: &Client, changing: &Changing, refuses: impl Fn(&Case) -> Option<&'static str>) {
    for case in CASES.iter() {
        for call in [bound(changing.spec(case.name)), unbound(case.name)] {
            let outcome = client.call_tool(call).await;
            match refuses(case) {
                Some(words) => assert_refused(outcome, case.name, words),
                None => drop(outcome.unwrap_or_else(|error| panic!("{}: {error}", case.name))),
            }
        }
        let expected = if refuses(case).is_some() { 0 } else { 2 };
        assert_eq!(changing.calls(case.name), expected, "{}", case.name);
    }
}

fn breaks(case: &Case) -> Option<&'static str> {
    match case.said {
        Said::Breaking(words) => Some(words),
        _ => None,
    }
}

#[tokio::test]
async fn deny_refuses_exactly_the_tools_with_breaking_changes() {
    assert!(CASES.len() >= 25 && CASES.iter().filter(|case| breaks(case).is_some()).count() >= 15);
    let changing = Changing::start(&CASES).await;
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    call_each(&client, &changing, breaks).await;
    assert_eq!(changing.lists(), 1, "once for all calls of a connection");
}

#[tokio::test]
async fn pin_all_refuses_every_textual_change() {
    let changing = Changing::start(&CASES).await;
    let client = changing.bindings(Drift::Deny, Pin::All);
    let refuses = |case: &Case| match case.said {
        Said::Nothing => None,
        Said::Breaking(words) | Said::Compatible(words) | Said::Worded(words) => Some(words),
    };
    call_each(&client, &changing, refuses).await;
}

#[tokio::test]
async fn warn_reports_each_change_once_and_refuses_no_call() {
    for pin in [Pin::Schema, Pin::All] {
        let log = Log::start();
        let changing = Changing::start(&CASES).await;
        let client = changing.bindings(Drift::Warn, pin);
        call_each(&client, &changing, |_| None).await;
        log.until(|lines| lines.len() >= CASES.iter().filter(|case| case.is_told(pin)).count()).await;
        // The background comparison is done after this pause.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let lines = log.lines();
        for case in CASES.iter() {
            let told: Vec<&String> =
                lines.iter().filter(|line| line.contains(&format!("tool={} ", case.name))).collect();
            if !case.is_told(pin) {
                assert!(told.is_empty(), "{}: {told:?}", case.name);
                continue;
            }
            let (words, consequence) = match case.said {
                Said::Breaking(words) => (words, "calls may fail"),
                Said::Compatible(words) | Said::Worded(words) if pin == Pin::All => (words, "calls may fail"),
                Said::Compatible(words) => (words, "its bindings still work"),
                Said::Worded(_) | Said::Nothing => unreachable!("nothing is told of it"),
            };
            let found = told.iter().filter(|line| line.contains(words)).count();
            assert_eq!(found, 1, "{}: `{words}` in {told:#?}", case.name);
            assert!(told.iter().any(|line| line.contains(consequence)), "{}: {told:#?}", case.name);
        }
        assert_eq!(changing.lists(), 1);
    }
}

#[tokio::test]
async fn ignore_compares_no_tools() {
    let log = Log::start();
    let changing = Changing::start(&CASES).await;
    let client = changing.bindings(Drift::Ignore, Pin::All);
    call_each(&client, &changing, |_| None).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!((changing.lists(), log.lines()), (0, Vec::new()));
}

/// One tool that takes nothing and, once it has changed, wants something; and one that stays.
fn small() -> (Vec<Value>, Vec<Value>) {
    let before = vec![tool("grows", r#"{"inputSchema": {"type": "object"}}"#), tool("stays", r#"{"inputSchema": {}}"#)];
    let mut now = before.clone();
    now[0] = tool("grows", r#"{"inputSchema": {"type": "object", "required": ["a"]}}"#);
    (before, now)
}

const WORDS: &str = "/inputSchema/properties/a: new required property; may be sent, and is refused now: {}";

#[tokio::test]
async fn change_during_a_connection_is_refused_from_the_next_call_on() {
    let (before, now) = small();
    let changing = Changing::between(&before, before.clone()).await;
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    let grows = || bound(changing.spec("grows"));
    for _ in 0..3 {
        client.call_tool(grows()).await.unwrap();
    }
    assert_eq!(changing.lists(), 1);
    // The server tells of it before it answers this one.
    changing.changes_with_the_next_call(now.clone());
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    for call in [grows(), unbound("grows")] {
        assert_refused(client.call_tool(call).await, "grows", WORDS);
    }
    assert_eq!((changing.lists(), changing.calls("grows")), (2, 3));
    // And back again.
    changing.changes_with_the_next_call(before);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    client.call_tool(grows()).await.unwrap();
    assert_eq!((changing.lists(), changing.calls("grows")), (3, 4));
    // Another connection is another list, told of or not.
    changing.becomes(now);
    client.call_tool(grows()).await.unwrap();
    client.close().await;
    assert_refused(client.call_tool(grows()).await, "grows", WORDS);
    assert_eq!((changing.lists(), changing.calls("grows")), (4, 5));
}

#[tokio::test]
async fn change_is_reported_again_only_after_another_change() {
    let (before, now) = small();
    let log = Log::start();
    let changing = Changing::between(&before, now.clone()).await;
    let client = changing.bindings(Drift::Warn, Pin::Schema);
    let stays = || bound(changing.spec("stays"));
    client.call_tool(stays()).await.unwrap();
    let told = |lines: &[String]| lines.iter().filter(|line| line.contains(WORDS)).count();
    log.until(|lines| told(lines) == 1).await;
    client.close().await;
    client.call_tool(stays()).await.unwrap();
    changing.has_listed(2).await;
    for list in [before, now] {
        let lists = changing.lists();
        changing.changes_with_the_next_call(list);
        client.call_tool(stays()).await.unwrap();
        changing.has_listed(lists + 1).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    log.until(|lines| told(lines) > 1).await;
    assert_eq!(told(&log.lines()), 2, "{:?}", log.lines());
}

#[tokio::test]
async fn concurrent_callers_share_one_tool_list_request() {
    let (before, now) = small();
    let changing = Changing::between(&before, now).await;
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (client, call) = (client.clone(), bound(changing.spec(["grows", "stays"][number % 2])));
        calls.spawn(async move { client.call_tool(call).await });
    }
    let outcomes = soon(calls.join_all()).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 32);
    assert_eq!((changing.lists(), changing.calls("grows"), changing.calls("stays")), (1, 0, 32));
}

#[tokio::test]
async fn tool_list_request_counts_towards_the_call_timeout() {
    let (before, _) = small();
    let changing = Changing::between(&before, before.clone()).await;
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    client.connect().await.unwrap();
    changing.state.silent.store(2, Ordering::SeqCst);
    let start = Instant::now();
    let call = bound(changing.spec("stays")).with(CallOptions::new().timeout(Duration::from_millis(600)));
    let error = client.call_tool(call.clone()).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    assert_eq!(error.dispatched(), Dispatched::No);
    assert!(start.elapsed() < Duration::from_millis(1150), "{:?}", start.elapsed());
    let token = tokio_util::sync::CancellationToken::new();
    let cancelled = client.call_tool(call.with(CallOptions::new().timeout(SOON).cancelled_by(token.clone())));
    let (outcome, ()) = tokio::join!(cancelled, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        token.cancel();
    });
    let error = outcome.unwrap_err();
    assert!(matches!(error, CallError::Cancelled { dispatched: Dispatched::No, .. }), "{error}");
    // The same through a stack: of its time, the call has what the list has left.
    changing.state.silent.store(1, Ordering::SeqCst);
    let start = Instant::now();
    let call = bound(changing.spec("stays")).with(CallOptions::new().timeout(Duration::from_millis(600)));
    let error = Stack::new(client.clone()).call_tool(call).await.unwrap_err();
    assert!(matches!(error, CallError::Timeout { dispatched: Dispatched::No, .. }), "{error}");
    assert!(start.elapsed() < Duration::from_millis(1150), "{:?}", start.elapsed());
    assert_eq!(changing.calls("stays"), 0);
    // A call that timed out does not block later calls.
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
}

#[tokio::test]
async fn deny_refuses_and_warn_allows_calls_if_listing_fails() {
    let (before, _) = small();
    let changing = Changing::between(&before, before.clone()).await;
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    changing.state.failing.store(1, Ordering::SeqCst);
    let error = client.call_tool(bound(changing.spec("stays"))).await.unwrap_err();
    let said = "changing: `stays` did not run: `drift = \"deny\"` requires a comparison with the bound tool, which failed: `tools/list` failed";
    assert!(error.to_string().starts_with(said), "{error}");
    assert_eq!((error.dispatched(), changing.calls("stays")), (Dispatched::No, 0));
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();

    let log = Log::start();
    let client = changing.bindings(Drift::Warn, Pin::Schema);
    changing.state.failing.store(1, Ordering::SeqCst);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    log.until(|lines| lines.iter().any(|line| line.contains("cannot compare its tools with the bindings"))).await;
    client.close().await;
    changing.state.silent.store(1, Ordering::SeqCst);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    changing.has_listed(4).await;
    // While the list is awaited, calls pass, and closing does not wait for it.
    soon(client.call_tool(bound(changing.spec("stays")))).await.unwrap();
    soon(client.close()).await;
    assert_eq!((log.lines().len(), changing.calls("stays")), (1, 4));
}

#[tokio::test]
async fn warn_compares_nothing_with_an_outdated_list() {
    let (before, now) = small();
    let log = Log::start();
    let changing = Changing::between(&before, now).await;
    // It knows only the tools that are called.
    let client = Client::new(changing.config(Drift::Warn, Pin::Schema));
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    changing.has_listed(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    changing.state.failing.store(2, Ordering::SeqCst);
    changing.changes_with_the_next_call(before);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    changing.has_listed(2).await;
    // A call meanwhile would wait for the same answer.
    soon(async {
        while log.lines().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    client.call_tool(bound(changing.spec("grows"))).await.unwrap();
    changing.has_listed(3).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let lines = log.lines();
    let failed = lines.iter().filter(|line| line.contains("cannot compare its tools with the bindings")).count();
    assert_eq!((failed, lines.len()), (2, 2), "{lines:?}");
}

#[tokio::test]
async fn deny_refuses_a_changed_tool_before_its_headers_are_learned() {
    const INVALID: &str =
        r#"{"inputSchema": {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}}"#;
    let now = vec![tool("grows", r#"{"inputSchema": {"type": "object", "required": ["a"]}}"#)];
    let changing = Changing::between(&[tool("grows", INVALID)], now).await;
    let grows = || bound(changing.spec("grows"));
    assert_refused(changing.bindings(Drift::Deny, Pin::Schema).call_tool(grows()).await, "grows", "/inputSchema");
    let error = changing.bindings(Drift::Warn, Pin::Schema).call_tool(grows()).await.unwrap_err();
    assert!(matches!(error, CallError::Transport { .. }), "{error}");
    assert_eq!(changing.calls("grows"), 0);
}

#[tokio::test]
async fn constant_list_changes_do_not_cause_endless_listing() {
    let (before, now) = small();
    let changing = Changing::between(&before, now).await;
    changing.state.is_restless.store(true, Ordering::SeqCst);
    let client = changing.bindings(Drift::Warn, Pin::Schema);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let lists = changing.lists();
    assert!((2..=8).contains(&lists), "{lists} lists");
    let client = changing.bindings(Drift::Deny, Pin::Schema);
    client.call_tool(bound(changing.spec("stays"))).await.unwrap();
    assert_refused(client.call_tool(bound(changing.spec("grows"))).await, "grows", WORDS);
}

#[tokio::test]
async fn stack_refuses_changed_tools() {
    let (before, now) = small();
    let changing = Changing::between(&before, now).await;
    let stack = Stack::new(changing.bindings(Drift::Deny, Pin::Schema));
    for call in [bound(changing.spec("grows")), unbound("grows")] {
        assert_refused(stack.call_tool(call).await, "grows", WORDS);
    }
    stack.call_tool(bound(changing.spec("stays"))).await.unwrap();
    assert_eq!((changing.lists(), changing.calls("grows"), changing.calls("stays")), (1, 0, 1));
}

#[tokio::test]
async fn deny_refuses_tools_without_bindings_or_snapshot() {
    let (before, mut now) = small();
    now.push(tool("late", r#"{"inputSchema": {"type": "object"}}"#));
    let changing = Changing::between(&before, now).await;
    let denied = async |client: &Client, tool| {
        let error = client.call_tool(unbound(tool)).await.unwrap_err();
        let CallError::Denied { reason, .. } = &error else { panic!("{error}") };
        assert!(reason.contains("`drift = \"deny\"`") && reason.contains("mcp-bindgen sync"), "{reason}");
    };
    denied(&changing.bindings(Drift::Deny, Pin::Schema), "late").await;
    let plain = Client::new(changing.config(Drift::Deny, Pin::Schema));
    denied(&plain, "stays").await;
    assert_eq!((changing.lists(), plain.is_connected()), (0, false));
    // Bindings bring what they know.
    plain.call_tool(bound(changing.spec("stays"))).await.unwrap();
    assert_refused(plain.call_tool(bound(changing.spec("grows"))).await, "grows", WORDS);
    changing.bindings(Drift::Warn, Pin::Schema).call_tool(unbound("late")).await.unwrap();
    assert_eq!((changing.calls("late"), changing.calls("grows"), changing.calls("stays")), (1, 0, 1));
}

#[tokio::test]
async fn servers_from_a_file_are_compared_with_their_snapshots() {
    let (before, now) = small();
    let changing = Changing::between(&before, now).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: String| std::fs::write(folder.path().join(file), text).unwrap();
    std::fs::create_dir(folder.path().join("mcp")).unwrap();
    let toml = |defaults: &str| format!("[defaults]\n{defaults}\n[servers.changing]\nurl = \"{}\"\n", changing.url);
    let servers = || Servers::load(folder.path().join("mcp.toml")).unwrap().client("changing").unwrap();
    write("mcp.toml", toml("drift = \"deny\""));
    let client = servers();
    assert!(matches!(client.call_tool(unbound("stays")).await, Err(CallError::Denied { .. })));
    let log = Log::start();
    write("mcp/changing.json", "{".to_owned());
    assert!(matches!(servers().call_tool(unbound("stays")).await, Err(CallError::Denied { .. })));
    assert!(log.lines()[0].contains("failed to read its snapshot: "), "{:?}", log.lines());
    write("mcp/changing.json", json!({ "tools": before }).to_string());
    let client = servers();
    assert_refused(client.call_tool(unbound("grows")).await, "grows", WORDS);
    client.call_tool(unbound("stays")).await.unwrap();
    write("mcp.toml", toml(""));
    servers().call_tool(unbound("grows")).await.unwrap();
    assert_eq!((changing.calls("grows"), changing.calls("stays")), (1, 1));
}

#[tokio::test]
async fn schema_overrides_are_not_drift() {
    let (before, _) = small();
    let changing = Changing::between(&before, before.clone()).await;
    let mended = ToolSpec::new("stays", r#"{"type": "object", "required": ["a"]}"#)
        .output_schema(r#"{"type": "object", "required": ["n"]}"#)
        .with_declared_input_schema("{}")
        .with_declared_output_schema(None);
    let client = changing.bindings(Drift::Deny, Pin::All);
    client.call_tool(bound(Box::leak(Box::new(mended)))).await.unwrap();
    let other = Box::leak(Box::new(mended.with_declared_input_schema("not JSON")));
    assert_refused(client.call_tool(bound(other)).await, "stays", "its bindings contain a schema that is not JSON");
}

#[tokio::test]
async fn redacted_secrets_are_not_drift_and_are_not_reported() {
    const SECRET: &str = "sk-c7a1e9f2b3d84406";
    let told = |secret: &str| {
        tool(
            "tells",
            &format!(r#"{{"description": "Uses {secret}.", "inputSchema": {{"default": {{"key": "{secret}"}}}}}}"#),
        )
    };
    let gives = |secret: &str| {
        tool(
            "gives",
            &format!(r#"{{"inputSchema": {{"type": "object", "properties": {{"k": {{"const": "{secret}"}}}}}}}}"#),
        )
    };
    let before = [told("[redacted]"), gives("other")];
    let changing = Changing::between(&before, vec![told(SECRET), gives(SECRET)]).await;
    let config = changing.config(Drift::Deny, Pin::All).header("Authorization", format!("Bearer {SECRET}"));
    let client = Client::new(config);
    client.call_tool(bound(changing.spec("tells"))).await.unwrap();
    let error = client.call_tool(bound(changing.spec("gives"))).await.unwrap_err();
    assert!(matches!(error, CallError::Incompatible { .. }) && !error.to_string().contains(SECRET), "{error}");
}

#[tokio::test]
async fn client_subscribes_to_list_changes_if_the_server_requires_it() {
    let server = ServerConfig::stdio("changing", common::fixture_server().to_str().unwrap());
    let server = server.args(["--misbehave", "modern-changing-list"]).drift(Drift::Deny);
    let client = Client::new(server);
    let another: &'static ToolSpec = Box::leak(Box::new(ToolSpec::new("another", r#"{"type": "object"}"#)));
    let mut call = bound(another);
    call.server = "changing".into();
    // Its first lists have the tool. Another one is read where the server tells of it, and maybe before the first call.
    let refused = soon(async {
        loop {
            if let Err(error) = client.call_tool(call.clone()).await {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert_refused(Err::<(), _>(refused.await), "another", "the tool was removed; may be sent, and is refused now: {}");
    client.close().await;
}
