//! Tests that the same rules govern every kind of call: a typed call, a template's action, a meta-tool and the proxy.
//! One table lists the rules and the doors that calls come through. The server records each call, which shows that
//! refused calls never arrived.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout
)]

#[path = "doors_governance/doors.rs"]
mod doors;
#[path = "doors_governance/rows.rs"]
mod rows;

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{Client, ClientOptions, DynCallTool, Servers};
use mcp_fixture_server::program;
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
mod before {
    mcp_bindgen::mcp_tools!("fixture", path = "tests/drift_guard/before.json");
}

/// The caller of tools, with any layers.
type Calls = Arc<dyn DynCallTool>;
type Layers = Arc<dyn Fn(Client) -> Calls + Send + Sync>;
type Outcome = Result<(), String>;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The approval handler, and its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approver {
    Nobody,
    Yes,
    No,
}

/// How the server looked when the program was made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    AsItIs,
    /// Its `add` took other numbers, and its `make_report` had other words.
    AsItWas,
}

/// One call, and what is to become of it.
struct Step {
    tool: &'static str,
    arguments: Value,
    expected: Expected,
    arrives: Arrives,
}

/// The cases in which a call reaches the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrives {
    Always,
    Never,
    /// Only through doors that bypass caches.
    PastCaches,
    /// Only through doors that know nothing of the tool but its name.
    Undescribed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Made,
    /// Refused with these words, at doors that tell of the tool.
    Refused(&'static str),
    /// Refused, and where tools are listed this one is not: by these words for whoever names it all the same.
    Unlisted(&'static str),
    /// Made where the caller knows what the server says of the tool's behaviour; else refused with these words.
    MadeIfDescribed(&'static str),
    /// Refused with these words where the caller knows that; else by the tool itself.
    RefusedIfDescribed(&'static str),
}

/// A rule for calls, with calls that show it.
struct Row {
    name: &'static str,
    /// Keys of the server's configuration.
    demands: Value,
    bound: Bound,
    approver: Approver,
    /// `true` if the calls come from a template that is not from a local file.
    is_remote: bool,
    layers: Layers,
    steps: Vec<Step>,
    /// Looks at what the program has when all calls are over.
    after: Box<dyn Fn(&str) + Send + Sync>,
}

/// One server, all that it was sent, and how it is configured.
struct Site {
    folder: tempfile::TempDir,
    config: ServerConfig,
}

impl Site {
    fn new(row: &Row, is_remote: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (sent, program) = (folder.path().join("sent"), program().display());
        // `tee` writes to its stdout first: that is the file, so that what the server has seen is written down.
        let script = format!("exec tee /dev/fd/3 3>&1 >>'{}' | '{program}'", sent.display());
        let mut json = json!({ "command": "/bin/sh", "args": ["-c", script] });
        json.as_object_mut().unwrap().extend(row.demands.as_object().unwrap().clone());
        if is_remote && !row.is_remote {
            json["remote_use"] = json!(["*"]);
        }
        let config = ServerConfig::from_json("fixture", &json).unwrap();
        let snapshot = match row.bound {
            Bound::AsItIs => include_str!("../fixtures/snapshots/fixture.json"),
            Bound::AsItWas => include_str!("drift_guard/before.json"),
        };
        std::fs::create_dir(folder.path().join("mcp")).unwrap();
        std::fs::write(folder.path().join("mcp/fixture.json"), snapshot).unwrap();
        std::fs::write(folder.path().join("mcp.toml"), toml_of(&json)).unwrap();
        Self { folder, config }
    }

    /// A client as programs have it that load their configuration, snapshot and all.
    fn client(&self, options: ClientOptions) -> Client {
        let servers = Servers::load_with(self.folder.path().join("mcp.toml"), options).unwrap();
        servers.client("fixture").unwrap()
    }

    /// The names of the tools that the server was asked for.
    fn calls(&self) -> Vec<String> {
        let sent = std::fs::read_to_string(self.folder.path().join("sent")).unwrap_or_default();
        let messages = sent.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls = messages.filter(|message| message["method"] == "tools/call");
        calls.map(|call| call["params"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// The configuration file of one server: JSON's texts, numbers and lists are TOML's as well.
fn toml_of(server: &Value) -> String {
    let keys = server.as_object().unwrap().iter().map(|(key, value)| format!("{key} = {value}\n"));
    format!("[servers.fixture]\n{}", keys.collect::<String>())
}

/// Has every step of a row come through a door.
async fn walk(row: Row, door: doors::Door) {
    let site = Arc::new(Site::new(&row, door.is_remote));
    let place = format!("`{}` through {}", row.name, door.name);
    let caller = door.open(&row, &site).await;
    let mut expected_calls = Vec::new();
    for (number, step) in row.steps.iter().enumerate() {
        let outcome = tokio::time::timeout(PATIENCE, caller.call(step.tool, step.arguments.clone())).await;
        let outcome = outcome.unwrap_or_else(|_| panic!("{place}, step {number}: it never ends"));
        let refused = |words: &str| match &outcome {
            Ok(()) => panic!("{place}, step {number}: `{}` was made, and is to be refused", step.tool),
            Err(said) => assert!(said.contains(words), "{place}, step {number}: {said}"),
        };
        let is_made = match step.expected {
            Expected::Made => true,
            Expected::MadeIfDescribed(_) => door.knows_hints,
            Expected::Refused(_) | Expected::Unlisted(_) | Expected::RefusedIfDescribed(_) => false,
        };
        match step.expected {
            _ if is_made => assert_eq!(outcome, Ok(()), "{place}, step {number}: `{}`", step.tool),
            Expected::Unlisted(_) if caller.lists().is_some() => {
                let is_listed =
                    caller.lists().is_some_and(|listed| listed.iter().any(|name| name.ends_with(step.tool)));
                assert!(!is_listed, "{place}, step {number}: `{}` is listed", step.tool);
                assert!(outcome.is_err(), "{place}, step {number}: `{}` was made", step.tool);
            }
            Expected::RefusedIfDescribed(_) if !door.knows_hints => refused(""),
            Expected::Refused(words)
            | Expected::Unlisted(words)
            | Expected::MadeIfDescribed(words)
            | Expected::RefusedIfDescribed(words) => refused(words),
            Expected::Made => {}
        }
        // A call that fails late still arrives.
        let arrives = match step.arrives {
            Arrives::Always => true,
            Arrives::Never => false,
            Arrives::PastCaches => door.passes_caches,
            Arrives::Undescribed => !door.knows_hints,
        };
        let is_refused = matches!(step.expected, Expected::Refused(_) | Expected::RefusedIfDescribed(_));
        if arrives && (is_made || is_refused) {
            expected_calls.push(step.tool);
        }
    }
    caller.close().await;
    assert_eq!(site.calls(), expected_calls, "{place}: what the server was asked for");
    (row.after)(&place);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes seconds: each of its cells has a server of its own"]
async fn every_governing_rule_applies_to_every_kind_of_call() {
    let _ = program();
    let (rows, doors) = (rows::all(), doors::all());
    let begun = std::time::Instant::now();
    let (mut cells, mut steps) = (0, 0);
    for make in &rows {
        // Side by side: most of the time they wait for processes.
        let mut walking = tokio::task::JoinSet::new();
        for door in doors.iter().copied() {
            let row = make();
            steps += row.steps.len();
            walking.spawn(walk(row, door));
        }
        while let Some(walked) = walking.join_next().await {
            // Each says itself what is wrong.
            cells += usize::from(walked.is_ok());
        }
    }
    println!(
        "{} things that govern, {} doors: {cells} cells with {steps} calls hold, in {:?}",
        rows.len(),
        doors.len(),
        begun.elapsed()
    );
    assert_eq!(cells, rows.len() * doors.len());
}
