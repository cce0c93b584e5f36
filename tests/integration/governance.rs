//! Tests that a server's rules for calls apply to typed calls, untyped calls and calls as values. A refused call never
//! reaches the server, which records each call.

#![cfg(unix)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_bindgen::middleware::{ApprovalAnswer, ApprovalRequest, Stack};
use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{CallError, CallTool, Client, ClientOptions, Dispatched, ServerSpec, Servers, ToolCall};
use mcp_fixture_server::program;
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
use fixture::*;

const SECRET: &str = "hunter2-hunter2";

/// The fixture server, and all that it was sent.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("sent")
    }

    /// A server with these keys beside those that say how it is reached.
    fn config(&self, demands: &Value) -> ServerConfig {
        let script = format!("exec tee '{}' | '{}'", self.file().display(), program().display());
        let mut json = json!({ "command": "/bin/sh", "args": ["-c", script] });
        json.as_object_mut().unwrap().extend(demands.as_object().unwrap().clone());
        ServerConfig::from_json("fixture", &json).unwrap()
    }

    /// The names of the tools that the server was asked for.
    fn calls(&self) -> Vec<String> {
        let sent = std::fs::read_to_string(self.file()).unwrap_or_default();
        let messages = sent.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let calls = messages.filter(|message| message["method"] == "tools/call");
        calls.map(|call| call["params"]["name"].as_str().unwrap().to_owned()).collect()
    }

    fn was_started(&self) -> bool {
        self.file().exists()
    }
}

/// The same call of `add` in every way that there is, one after the other.
async fn each_way(client: &Client) -> Vec<Result<(), CallError>> {
    let arguments = || json!({ "a": 20, "b": 22, "note": SECRET }).as_object().unwrap().clone();
    let stack = Stack::new(client.clone());
    let call = || FixtureCall::parse("fixture_add", json!({ "a": 20, "b": 22 })).unwrap();
    vec![
        Fixture::with(client.clone()).add(FixtureAddParams::new(20, 22)).await.map(drop),
        fixture_add(client, FixtureAddParams::new(20, 22)).await.map(drop),
        Fixture::with(client.clone())
            .within(Duration::from_secs(20))
            .add(FixtureAddParams::new(20, 22))
            .await
            .map(drop),
        call().call(client).await.map(drop),
        client.call("add", arguments()).await.map(drop),
        client.call_tool(ToolCall::new("fixture", "add", arguments())).await.map(drop),
        Fixture::with(stack.clone()).add(FixtureAddParams::new(20, 22)).await.map(drop),
        call().call(&stack).await.map(drop),
        stack.call_tool(ToolCall::new("fixture", "add", arguments())).await.map(drop),
    ]
}

#[track_caller]
fn all_are_denied(outcomes: Vec<Result<(), CallError>>, why: &str) {
    for (way, outcome) in outcomes.into_iter().enumerate() {
        let error = outcome.expect_err(why);
        assert!(matches!(&error, CallError::Denied { .. }), "way {way}: {error:?}");
        assert_eq!(error.dispatched(), Dispatched::No);
        assert!(error.to_string().contains(why), "way {way}: {error}");
        assert!(!format!("{error} {error:?}").contains(SECRET), "way {way}: {error:?}");
    }
}

#[track_caller]
fn all_are_made(outcomes: Vec<Result<(), CallError>>) -> usize {
    for (way, outcome) in outcomes.iter().enumerate() {
        assert!(outcome.is_ok(), "way {way}: {outcome:?}");
    }
    outcomes.len()
}

#[tokio::test]
async fn excluded_tools_are_never_called() {
    for (demands, why) in [
        (json!({ "tools": ["list_*", "make_report"] }), "it is not selected by `tools` of the server"),
        (json!({ "tools": [] }), "it is not selected by `tools` of the server"),
        (json!({ "exclude": ["a*"] }), "it is excluded by `exclude` of the server"),
        (json!({ "tools": ["add"], "exclude": ["add"] }), "it is excluded by `exclude` of the server"),
    ] {
        let server = Recorded::new();
        let client = Client::new(server.config(&demands));
        all_are_denied(each_way(&client).await, why);
        assert!(!server.was_started(), "{demands}: a call that is denied connects to nobody");
        client.connect().await.unwrap();
        all_are_denied(each_way(&client).await, why);
        client.close().await;
        assert_eq!(server.calls(), Vec::<String>::new(), "{demands}");
    }
}

#[tokio::test]
async fn permitted_tools_are_called() {
    let server = Recorded::new();
    let client = Client::new(server.config(&json!({ "tools": ["a*"], "exclude": ["al*"], "approve": ["make_*"] })));
    let made = all_are_made(each_way(&client).await);
    client.close().await;
    assert_eq!(server.calls(), vec!["add"; made]);
}

#[tokio::test]
async fn unapproved_calls_are_denied() {
    let server = Recorded::new();
    let client = Client::new(server.config(&json!({ "approve": ["ad?"] })));
    all_are_denied(each_way(&client).await, "set `ClientOptions::on_approval`");
    assert!(!server.was_started());

    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let options = ClientOptions::new().on_approval(move |request: ApprovalRequest| {
        count.fetch_add(1, Ordering::Relaxed);
        assert_eq!((request.server.as_str(), request.tool.as_str()), ("fixture", "add"));
        assert_eq!((&request.arguments["a"], &request.arguments["b"]), (&json!(20), &json!(22)));
        std::future::ready(ApprovalAnswer::Decline("not on a Sunday".to_owned()))
    });
    let client = Client::with_options(server.config(&json!({ "approve": ["ad?"] })), options);
    let outcomes = each_way(&client).await;
    assert_eq!(asked.load(Ordering::Relaxed), outcomes.len(), "each call is asked for once");
    all_are_denied(outcomes, "not approved: not on a Sunday");
    assert!(!server.was_started());
}

/// Approves, and counts.
fn approving() -> (ClientOptions, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let options = ClientOptions::new().on_approval(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(ApprovalAnswer::Approve)
    });
    (options, asked)
}

#[tokio::test]
async fn approved_call_runs_once() {
    let server = Recorded::new();
    let (options, asked) = approving();
    let client = Client::with_options(server.config(&json!({ "approve": ["*"] })), options);
    let made = all_are_made(each_way(&client).await);
    client.close().await;
    assert_eq!(asked.load(Ordering::Relaxed), made, "each call is asked for once");
    assert_eq!(server.calls(), vec!["add"; made]);
}

#[tokio::test]
async fn configured_clients_use_the_options_of_the_program() {
    let folder = Recorded::new();
    let script = format!("exec tee '{}' | '{}'", folder.file().display(), program().display());
    let text =
        format!("[servers.fixture]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"{script}\"]\napprove = [\"add\"]\n");
    let file = folder.0.path().join("mcp.toml");
    std::fs::write(&file, text).unwrap();

    let servers = Servers::load(&file).unwrap();
    let unapproved = each_way(&servers.client("fixture").unwrap()).await;
    all_are_denied(unapproved, "set `ClientOptions::on_approval`");
    assert!(!folder.was_started());

    let (options, asked) = approving();
    let servers = Servers::load_with(&file, options).unwrap();
    let connected = Fixture::connect_with(&servers).await.unwrap();
    assert_eq!(connected.add(FixtureAddParams::new(20, 22)).await.unwrap(), 42);
    let made = all_are_made(each_way(connected.client()).await);
    servers.close().await;
    assert_eq!(asked.load(Ordering::Relaxed), made + 1);
    assert_eq!(folder.calls(), vec!["add"; made + 1]);
}

/// Bindings that carry this configuration.
fn bindings(config: &ServerConfig) -> &'static ServerSpec {
    Box::leak(Box::new(ServerSpec::new("fixture").config(Box::leak(config.to_json().to_string().into_boxed_str()))))
}

#[tokio::test]
async fn approval_of_one_client_does_not_apply_to_another() {
    let server = Recorded::new();
    let spec = bindings(&server.config(&json!({ "approve": ["add"] })));
    let (options, asked) = approving();
    let approved = Client::for_spec_with(spec, options).unwrap();
    assert_eq!(Fixture::with(approved.clone()).add(FixtureAddParams::new(20, 22)).await.unwrap(), 42);

    let unapproved = Client::for_spec(spec).unwrap();
    all_are_denied(each_way(&unapproved).await, "set `ClientOptions::on_approval`");
    let options = ClientOptions::new().on_approval(async |_| ApprovalAnswer::Decline("never".to_owned()));
    let declined = Client::for_spec_with(spec, options).unwrap();
    all_are_denied(each_way(&declined).await, "not approved: never");

    assert!(Fixture::with(approved.clone()).add(FixtureAddParams::new(1, 1)).await.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    approved.close().await;
    assert_eq!(server.calls(), ["add", "add"]);
}

/// A secret of the configuration is in no refusal either.
#[tokio::test]
async fn denials_show_no_secrets_of_the_configuration() {
    let server = Recorded::new();
    let demands = json!({ "approve": ["add"], "exclude": ["make_*"], "env": { "API_TOKEN": SECRET } });
    let client = Client::new(server.config(&demands));
    all_are_denied(each_way(&client).await, "no approval handler is set");
    let error = client.call("make_report", serde_json::Map::new()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    assert!(!server.was_started());
}
