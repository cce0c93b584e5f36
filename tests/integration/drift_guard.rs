//! `drift` and `pin` with bindings as they are generated: those of the fixture server as it is, and of one that it may have
//! been before.

use mcp_bindgen::model::{Drift, Pin, ServerConfig};
use mcp_bindgen::{CallError, Dispatched, Servers};
use mcp_fixture_server::program;
use serde_json::{Map, json};

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
mod before {
    mcp_bindgen::mcp_tools!("fixture", path = "tests/drift_guard/before.json");
}

fn servers(drift: Drift, pin: Pin) -> Servers {
    Servers::new().with(ServerConfig::stdio("fixture", program().to_str().unwrap()).drift(drift).pin(pin))
}

#[track_caller]
fn assert_refused(outcome: Result<impl std::fmt::Debug, CallError>, tool: &str, words: &str) {
    let error = outcome.expect_err(tool);
    assert!(matches!(&error, CallError::Incompatible { message, .. } if message.contains(words)), "{error}");
    assert_eq!((error.tool(), error.dispatched()), (tool, Dispatched::No));
}

#[tokio::test]
async fn unchanged_server_is_never_refused() {
    use fixture::*;

    let servers = servers(Drift::Deny, Pin::All);
    let fixture = Fixture::connect_with(&servers).await.unwrap();
    assert_eq!(fixture.add(FixtureAddParams::new(1, 2)).await.unwrap(), 3);
    let client = servers.client("fixture").unwrap();
    assert_eq!(TOOLS.len(), 10);
    for tool in TOOLS {
        let mut call = mcp_bindgen::ToolCall::new("fixture", tool.name, Map::new());
        call.spec = Some(tool);
        // This check ignores the arguments.
        let outcome = mcp_bindgen::CallTool::call_tool(&client, call).await;
        assert!(!matches!(outcome, Err(CallError::Incompatible { .. })), "{outcome:?}");
    }
    servers.close().await;
}

#[tokio::test]
async fn outdated_bindings_are_refused_only_for_broken_tools() {
    use before::fixture::*;

    let words =
        "/inputSchema/properties/a: `null` is no longer valid; may be sent, and is refused now: {\"b\":0,\"a\":null}";
    let servers = servers(Drift::Deny, Pin::Schema);
    let fixture = Fixture::connect_with(&servers).await.unwrap();
    let params = || FixtureAddParams::new(Some(1), 2);
    assert_refused(fixture.add(params()).await, "add", words);
    let client = servers.client("fixture").unwrap();
    assert_refused(fixture_add(&client, params()).await, "add", words);
    assert_refused(FixtureCall::Add(params()).call(&client).await, "add", words);
    let gone = fixture.subtract(FixtureSubtractParams::default()).await;
    assert_refused(gone, "subtract", "the tool was removed");
    fixture.make_report(FixtureMakeReportParams::default()).await.unwrap();
    // Nothing says what a call by its name alone is about.
    let arguments = json!({"a": 1, "b": 2}).as_object().unwrap().clone();
    assert!(matches!(client.call("add", arguments).await, Err(CallError::Denied { .. })));
    servers.close().await;

    let servers = self::servers(Drift::Deny, Pin::All);
    let fixture = Fixture::connect_with(&servers).await.unwrap();
    let report = fixture.make_report(FixtureMakeReportParams::default()).await;
    assert_refused(report, "make_report", "/description: changed");
    servers.close().await;

    let servers = self::servers(Drift::Warn, Pin::All);
    let fixture = Fixture::connect_with(&servers).await.unwrap();
    assert_eq!(fixture.add(params()).await.unwrap(), 3);
    servers.close().await;
}
