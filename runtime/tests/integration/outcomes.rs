//! Tests the outcome of a call: calls that were never sent are told apart from those that may have run. The server
//! records each call.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::{Mark, bad, impatient, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    CallError, CallTool, Client, ClientOptions, ConnectError, ConnectErrorKind, Dispatched, ToolCall,
};
use serde_json::{Map, Value, json};

/// A server whose calls do what their arguments ask for, and its record of them.
struct Obedient {
    mark: Mark,
    folder: tempfile::TempDir,
}

impl Obedient {
    fn new() -> Self {
        Self { mark: Mark::new(), folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self, mode: &str) -> ServerConfig {
        bad(mode, &self.mark)
            .env("FIXTURE_RECORD", self.file("record").to_string_lossy())
            .env("FIXTURE_WAKE", self.file("wake").to_string_lossy())
    }

    fn wake(&self) {
        std::fs::File::create(self.file("wake")).expect("the file");
    }

    /// How often each call ran.
    fn record(&self) -> BTreeMap<String, usize> {
        let text = std::fs::read_to_string(self.file("record")).unwrap_or_default();
        let mut times = BTreeMap::new();
        for label in text.lines() {
            *times.entry(label.to_owned()).or_default() += 1;
        }
        times
    }
}

fn ask(what: &str) -> Map<String, Value> {
    object(json!({ "do": what, "label": what }))
}

#[tokio::test]
async fn resumed_server_does_not_run_unsent_calls_that_timed_out() {
    let server = Obedient::new();
    let client = Client::new(server.config("wakes"));
    client.connect().await.expect("a connection");
    // More than a pipe holds, so that the rest waits on this side.
    let padding = "x".repeat(20_000);
    let calls = (0..20).map(|number| {
        let arguments = object(json!({ "label": number.to_string(), "padding": padding }));
        let call = ToolCall::new("fixture", "do", arguments);
        let client = client.clone();
        tokio::spawn(async move { (number, client.call_tool_within(call, Duration::from_millis(300)).await) })
    });
    let mut dispatched = BTreeMap::new();
    for call in calls.collect::<Vec<_>>() {
        let (number, outcome) = call.await.expect("the task");
        let error = outcome.expect_err("nobody reads it");
        assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
        let says_so = error.to_string().ends_with("it was not sent");
        assert_eq!(says_so, error.dispatched() == Dispatched::No, "{error}");
        dispatched.insert(number.to_string(), error.dispatched());
    }
    server.wake();
    let result = client.call("do", ask("after")).await.expect("it reads again");
    assert_eq!(result.text(), "after");
    let ran = server.record();
    let unsent = dispatched.values().filter(|dispatched| **dispatched == Dispatched::No).count();
    assert!(unsent >= 10, "the pipe holds few: {dispatched:?}");
    for (label, dispatched) in &dispatched {
        match dispatched {
            Dispatched::No => assert!(!ran.contains_key(label), "{label} was not sent, and ran"),
            Dispatched::Unknown => assert!(ran.get(label).is_none_or(|times| *times == 1), "{label}"),
            Dispatched::Yes => panic!("nothing was answered"),
        }
    }
    client.close().await;
}

#[tokio::test]
async fn call_dropped_before_its_first_byte_never_runs() {
    let server = Obedient::new();
    let client = Client::new(server.config("wakes"));
    client.connect().await.expect("a connection");
    let large = object(json!({ "label": "large", "padding": "x".repeat(300_000) }));
    let blocking = tokio::spawn({
        let client = client.clone();
        async move { client.call("do", large).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let dropped = tokio::time::timeout(Duration::from_millis(50), client.call("do", ask("dropped"))).await;
    assert!(dropped.is_err(), "it cannot have been answered");
    server.wake();
    blocking.await.expect("the task").expect("it reads again");
    client.call("do", ask("after")).await.expect("it reads again");
    let labels: Vec<String> = server.record().into_keys().collect();
    assert_eq!(labels, ["after", "large"]);
    client.close().await;
}

#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn pending_calls_are_bounded() {
    let server = Obedient::new();
    let client = impatient(server.config("wakes"));
    client.connect().await.expect("a connection");
    let padding = "x".repeat(4_000_000);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (client, padding) = (client.clone(), padding.clone());
            let arguments = object(json!({ "padding": padding }));
            tokio::spawn(async move {
                let start = Instant::now();
                (client.call("do", arguments).await, start.elapsed())
            })
        })
        .collect();
    let mut refused = 0;
    for call in calls {
        let (outcome, took) = call.await.expect("the task");
        let error = outcome.expect_err("nobody reads it");
        if let CallError::Transport { message, .. } = &error {
            assert!(message.contains("requests are already waiting to be sent"), "{message}");
            assert_eq!(error.dispatched(), Dispatched::No);
            assert!(took < Duration::from_millis(1400), "at once: {took:?}");
            refused += 1;
        }
    }
    assert!(refused >= 3, "80 MB are too much: {refused}");
}

#[cfg(unix)]
#[tokio::test]
#[ignore = "waits for seconds: .ci/run patience"]
async fn closing_connection_takes_no_new_calls() {
    let server = Obedient::new();
    // The first process says nothing more from its first call on, and takes long to end; the next ones serve.
    let script = r#"if [ -e "$FIXTURE_WAKE" ]; then exec "$0" --misbehave obedient; fi
        read -r line
        echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
        read -r line; read -r line; : > "$FIXTURE_WAKE"; exec 1>&-; while :; do sleep 0.2; done"#;
    let config = ServerConfig::stdio("fixture", "sh")
        .args(["-c", script, &common::fixture_server().to_string_lossy()])
        .env("FIXTURE_MARK", server.mark.value())
        .env("FIXTURE_WAKE", server.file("wake").to_string_lossy())
        .env("FIXTURE_RECORD", server.file("record").to_string_lossy());
    let client = Client::with_options(config, ClientOptions::new().timeout(Duration::from_secs(20)));
    let start = Instant::now();
    let error = client.call("do", ask("first")).await.expect_err("it closes its stdout");
    assert_eq!(error.dispatched(), Dispatched::Unknown, "{error:?}");
    let result = client.call("do", ask("second")).await.expect("another process");
    assert_eq!(result.text(), "second");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_unread_by_a_dead_server_are_not_dispatched() {
    let server = Obedient::new();
    let client = Client::new(server.config("wakes"));
    client.connect().await.expect("a connection");
    // One is in the pipe when it wakes up, reads it, and dies of it.
    let padding = "x".repeat(20_000);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let arguments = object(json!({ "do": "die", "label": number.to_string(), "padding": padding }));
            let client = client.clone();
            tokio::spawn(async move { (number.to_string(), client.call("do", arguments).await) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.wake();
    let mut unknown = Vec::new();
    for call in calls {
        let (label, outcome) = call.await.expect("the task");
        let error = outcome.expect_err("it dies");
        match &error {
            CallError::OutcomeUnknown { .. } => unknown.push(label),
            CallError::Transport { .. } => assert_eq!(error.dispatched(), Dispatched::No),
            other => panic!("{other:?}"),
        }
        assert!(
            error.to_string().contains("the server closed") || error.to_string().contains("does not read"),
            "{error}"
        );
    }
    assert_eq!(unknown, server.record().into_keys().collect::<Vec<_>>(), "the one that ran");
    client.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_left_in_the_pipe_of_a_dead_server_are_not_dispatched() {
    let server = Obedient::new();
    let client = Client::new(server.config("wakes"));
    client.connect().await.expect("a connection");
    let calls: Vec<_> = (0..5)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.call("do", object(json!({ "label": number.to_string() }))).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let process = server.mark.processes().first().expect("it sleeps").to_string();
    assert!(std::process::Command::new("kill").args(["-9", &process]).status().expect("kill runs").success());
    for call in calls {
        let error = call.await.expect("the task").expect_err("it is dead");
        assert!(matches!(error, CallError::Transport { .. }), "{error:?}");
        assert_eq!(error.dispatched(), Dispatched::No);
    }
    assert!(server.record().is_empty());
    client.close().await;
}

#[tokio::test]
async fn unreadable_response_fails_only_its_own_call() {
    let server = Obedient::new();
    let client = Client::new(server.config("obedient"));
    for what in ["number", "nan", "nesting"] {
        let (bad, good) = tokio::join!(client.call("do", ask(what)), client.call("do", ask("good")));
        let error = bad.expect_err("it cannot be read");
        assert!(matches!(error, CallError::InvalidResponse { .. }), "{what}: {error:?}");
        assert_eq!(error.dispatched(), Dispatched::Yes);
        assert!(error.to_string().contains("cannot read the response to `do`"), "{error}");
        assert_eq!(good.expect("the other call").text(), "good");
    }
    for what in ["surrogate", "bytes"] {
        let result = client.call("do", ask(what)).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(result.structured(), Some(&json!({ "value": "a\u{fffd}b" })), "{what}");
    }
    client.close().await;
}

#[tokio::test]
async fn late_and_duplicate_responses_do_not_complete_other_calls() {
    let server = Obedient::new();
    let client = Client::new(server.config("obedient"));
    client.connect().await.expect("a connection");
    let call = ToolCall::new("fixture", "do", ask("hold"));
    let held = client.call_tool_within(call, Duration::from_millis(50)).await.expect_err("it is held back");
    assert!(matches!(held, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{held:?}");
    for what in ["release", "answer-twice", "release", "answer"] {
        let result = client.call("do", ask(what)).await.expect("its own answer");
        assert_eq!(result.text(), what);
    }
    client.close().await;
}

#[tokio::test]
async fn unresponsive_connection_is_replaced_after_three_timeouts() {
    let server = Obedient::new();
    let options = ClientOptions::new().timeout(Duration::from_millis(40));
    let client = Client::with_options(server.config("obedient"), options);
    client.connect().await.expect("a connection");
    let before = server.mark.processes();
    for _ in 0..3 {
        assert!(client.is_connected());
        client.call("do", ask("nothing")).await.expect_err("a timeout");
    }
    assert!(!client.is_connected(), "three timeouts, and not a word");
    client.connect().await.expect("another connection");
    let answered = ToolCall::new("fixture", "do", ask("answer"));
    client.call_tool_within(answered, Duration::from_secs(20)).await.expect("it answers");
    if cfg!(target_os = "linux") {
        let after = server.mark.processes();
        assert!(after.iter().any(|process| !before.contains(process)), "{before:?} {after:?}");
    }
    client.close().await;
}

#[tokio::test]
async fn errors_have_sources_and_are_clonable() {
    let ghost = Client::new(ServerConfig::stdio("ghost", "no-such-program-at-all"));
    let error = ghost.call("do", Map::new()).await.expect_err("no program");
    assert_eq!(error.dispatched(), Dispatched::No);
    let below = error.source().expect("why there is no connection");
    let below = below.downcast_ref::<ConnectError>().expect("the error of connecting");
    assert_eq!(below.kind, ConnectErrorKind::Spawn);
    assert_eq!(error.clone().to_string(), error.to_string());

    let fake = CallError::rpc("github", "create_issue", -32000, "rate limit");
    assert_eq!((fake.server(), fake.tool(), fake.dispatched()), ("github", "create_issue", Dispatched::Yes));
    assert_eq!(CallError::denied("github", "delete_repo", "no").dispatched(), Dispatched::No);
    assert_eq!(CallError::outcome_unknown("github", "x", "lost").dispatched(), Dispatched::Unknown);
    let late = CallError::timeout("github", "x", Duration::from_secs(1), Dispatched::No);
    assert_eq!(late.to_string(), "github: `x` did not answer within 1s; it was not sent");
    fn assert_shared<T: Clone + Send + Sync + 'static>() {}
    assert_shared::<CallError>();
}

#[tokio::test]
async fn fake_reports_errors_like_a_client() {
    struct Refuses;
    impl CallTool for Refuses {
        async fn call_tool(&self, call: ToolCall) -> Result<mcp_bindgen_runtime::ToolResult, CallError> {
            Err(CallError::transport(call.server, call.tool, "unplugged"))
        }
    }
    let error = Refuses.call_tool(ToolCall::new("s", "t", Map::new())).await.expect_err("it refuses");
    assert_eq!(error.to_string(), "s: `t` did not run: unplugged");
    assert_eq!(error.dispatched(), Dispatched::No);
}
