//! Tests servers that repeat every secret that they receive, with every fault. No text that leaves the program
//! contains a secret of a configuration in any form. Results contain them exactly.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod common;
mod leaks;
mod recorder;

use std::process::Command;
use std::time::Duration;

use common::{fixture_server, object};
use leaks::http::{FAULTS, scripted};
use leaks::{HANDED, STDIO, Watch};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, Cassette, Client, ClientOptions, ToolResult};
use serde_json::{Map, json};
use tokio::task::JoinSet;

/// Failures that end by themselves; the others take their time.
const QUICK_HTTP: [&str; 5] = ["401", "500", "rpc-error", "events-error", "garbage"];
const QUICK: [&str; 6] =
    ["exit", "error-without-id", "malformed-tool", "no-tools-array", "exit-on-call", "old-version"];

/// Runs this test in a process of its own, whose environment holds the secrets; gives how many texts it looked at.
fn in_a_process(test: &str) -> (usize, usize) {
    let program = std::env::current_exe().expect("the test has a path");
    let output = Command::new(program)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(HANDED)
        .output()
        .expect("the test runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find(|line| line.contains("texts hold no secret")).expect("a line with the figures");
    println!("{line}");
    let mut figures = line.split(' ').filter_map(|word| word.parse().ok());
    (figures.next().expect("texts"), figures.next().expect("redactions"))
}

#[test]
fn quick_failures_reveal_no_secrets() {
    let (texts, redactions) = in_a_process("quick_failures");
    assert!(texts >= 400 && redactions >= 1000, "{texts} texts with {redactions} redactions");
}

#[test]
#[ignore = "takes its time: `.ci/run secrets`"]
fn failures_reveal_no_secrets() {
    let (texts, redactions) = in_a_process("all_failures");
    assert!(texts >= 1500 && redactions >= 4000, "{texts} texts with {redactions} redactions");
}

#[tokio::test]
#[ignore = "the process of another test"]
async fn quick_failures() {
    let watch = Watch::new();
    over_stdio(&watch, QUICK.into_iter().map(str::to_owned).collect(), Duration::from_millis(1500)).await;
    over_http(&watch, |fault| QUICK_HTTP.contains(&fault), Duration::from_millis(1500)).await;
    watch.finish();
}

#[tokio::test]
#[ignore = "the process of another test"]
async fn all_failures() {
    let watch = Watch::new();
    let modes = Command::new(fixture_server()).arg("--help").output().expect("the fixture runs").stderr;
    let modes = String::from_utf8_lossy(&modes);
    let (_, modes) = modes.split_once("the modes are ").expect("a list of modes");
    let modes: Vec<String> =
        modes.split(", ").map(|mode| mode.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()).collect();
    assert!(modes.len() >= 28, "{modes:?}");
    over_stdio(&watch, modes, Duration::from_secs(2)).await;
    over_http(&watch, |_| true, Duration::from_secs(2)).await;
    watch.finish();
}

/// A client whose sessions are recorded.
struct Recorded {
    client: Client,
    cassette: Cassette,
    _folder: tempfile::TempDir,
}

impl Recorded {
    fn client(config: ServerConfig, patience: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cassette = Cassette::record(folder.path().join("session.jsonl")).expect("it can be recorded");
        let options = ClientOptions::new().timeout(patience).connect_timeout(patience).cassette(cassette.clone());
        // Events and spans show all that they can.
        let options = options.record_content(true);
        Self { client: Client::with_options(config, options), cassette, _folder: folder }
    }
}

async fn over_stdio(watch: &Watch, modes: Vec<String>, patience: Duration) {
    let server = |arguments: &[&str]| {
        let program = fixture_server().to_string_lossy().into_owned();
        ServerConfig::stdio("leaky", program)
            .args(["--leak", "--token", STDIO.argument])
            .args(arguments.iter().copied())
    };
    let configured = |config: ServerConfig| {
        config
            .env("LEAK_SETTINGS", STDIO.env)
            .env("LEAK_API_KEY", STDIO.api_key)
            .env("LEAK_LINES", STDIO.lines)
            .env("LEAK_GIVEN", "${GIVEN_BY_PLACEHOLDER}")
            .env("LEAK_HEADER", format!("Authorization: Basic {}", STDIO.basic()))
            .inherit_env(["LEAK_INHERITED"])
    };
    let mut running = JoinSet::new();
    for mode in modes {
        let config = configured(server(&["--misbehave", &mode]));
        let (watch, client) = (watch.clone(), Recorded::client(config, patience));
        running.spawn(async move { use_all(&watch, &format!("stdio {mode}"), &client).await });
    }
    running.join_all().await;
    let recorded = Recorded::client(configured(server(&[])), Duration::from_secs(20));
    use_all(watch, "stdio well-behaved", &recorded).await;
    // Results are the program's data.
    let client = &recorded.client;
    let result = client.call("add", object(json!({"a": 1, "b": 2}))).await.expect("the call");
    let exact: Vec<&str> = result.content.iter().filter_map(|block| block.as_text()).collect();
    let exact = exact.iter().find(|text| text.contains('\u{1}')).expect("what the server knows");
    for secret in [STDIO.argument, STDIO.env, STDIO.api_key, STDIO.lines, HANDED[0].1, HANDED[1].1] {
        assert!(exact.contains(secret), "the result is not exact: {exact}");
    }
    client.close().await;
}

async fn over_http(watch: &Watch, wanted: impl Fn(&str) -> bool, patience: Duration) {
    let mut running = JoinSet::new();
    for fault in FAULTS.iter().copied().filter(|fault| wanted(fault)) {
        for method in ["initialize", "tools/list", "tools/call"] {
            let url = scripted(fault, method).await;
            let url = leaks::http::with_secrets(&url);
            let config = ServerConfig::http("leaky", url)
                .header("Authorization", "Bearer ${GIVEN_BY_PLACEHOLDER_2}")
                .header("Proxy-Authorization", format!("Basic {}", STDIO.basic()))
                .header("X-Team", leaks::http::HEADER);
            let (watch, client) = (watch.clone(), Recorded::client(config, patience));
            running.spawn(async move { use_all(&watch, &format!("http {fault} at {method}"), &client).await });
        }
    }
    running.join_all().await;
}

/// Does all that can be done with a client, and looks at all that it shows.
async fn use_all(watch: &Watch, what: &str, recorded: &Recorded) {
    let client = &recorded.client;
    let mut events = client.events();
    watch.debug(what, client);
    watch.debug(what, client.config());
    if let Err(error) = client.connect().await {
        watch.error(what, &error);
    }
    watch.debug(what, client);
    if let Err(error) = client.list_tools_raw().await {
        watch.error(what, &error);
    }
    match client.snapshot().await {
        Ok(snapshot) => {
            watch.text(what, &snapshot.to_text());
            watch.debug(what, &snapshot);
        }
        Err(error) => watch.error(what, &error),
    }
    for _ in 0..3 {
        match client.call("good", Map::new()).await {
            Ok(result) => look_at_result(watch, what, result),
            Err(error) => {
                if let CallError::Rpc { message, data, .. } = &error {
                    watch.text(what, message);
                    watch.text(what, &data.as_ref().map(ToString::to_string).unwrap_or_default());
                }
                watch.error(what, &error);
            }
        }
    }
    client.close().await;
    let mut told = 0;
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(20), events.next()).await {
        watch.debug(&format!("{what}, event"), &event);
        told += 1;
    }
    assert!(told >= 4, "{what}: {told} events");
    watch.debug(what, client);
    watch.text(what, &std::fs::read_to_string(recorded.cassette.path()).expect("a closed client has written it"));
}

fn look_at_result(watch: &Watch, what: &str, result: ToolResult) {
    watch.debug(what, &result);
    if let Err(error) = mcp_bindgen_runtime::__private::decode::<Vec<i64>>(result.clone(), false) {
        watch.error(what, &error);
    }
    #[cfg(feature = "validation")]
    {
        use mcp_bindgen_runtime::{ToolSpec, validate};
        const SPEC: ToolSpec =
            ToolSpec::new("good", "{}").output_schema(r#"{"additionalProperties": {"type": "null"}}"#);
        if let Err(refusal) = validate::result(const { &SPEC }, &result) {
            watch.error(what, &refusal);
            watch.text(what, &refusal.message());
        }
    }
    if let Err(error) = result.success() {
        watch.error(what, &error);
        let CallError::Tool(result) = error else { panic!("{error:?}") };
        watch.debug(what, &result);
    }
}
