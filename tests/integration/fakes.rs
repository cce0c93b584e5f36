//! Fakes in place of servers: they take and give what a server could, count, and refuse what nobody expected.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen::__private::call;
use mcp_bindgen::{CallError, CallOptions, CallTool, Dispatched, DynCallTool, Fake, Tool, ToolCall, ToolResult};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
mcp_bindgen::mcp_tools!("github", path = "fixtures/overrides/github.json");
mod features {
    mcp_bindgen::mcp_tools!("wrapped", path = "fixtures/features/wrapped.json");
    mcp_bindgen::mcp_tools!("output", path = "fixtures/features/output.json");
}

use features::output::{OutputArrayRootOutput, OutputArrayRootParams, OutputPlainParams, OutputTextRootParams};
use features::wrapped::{Wrapped, WrappedFastmcpParams, WrappedSdkListParams, WrappedSdkNothingParams};
use fixture::*;
use github::{
    Github, GithubCreateIssueOutput, GithubCreateIssueOutputLabelsItem, GithubCreateIssueOutputState as State,
    GithubCreateIssueParams,
};

fn add(a: i64, b: i64) -> FixtureAddParams {
    FixtureAddParams::new(a, b)
}

fn adding() -> Fake {
    Fake::new().on(|p: FixtureAddParams| p.a + p.b)
}

#[tokio::test]
async fn fake_replaces_a_client_and_records_its_calls() {
    let fake = adding();
    let fixture = Fixture::with(fake.clone());
    assert_eq!(fixture.add(add(1, 2)).await.unwrap(), 3);
    assert_eq!(fixture.within(Duration::from_secs(9)).add(add(2, 2)).await.unwrap(), 4);
    assert_eq!(fixture_add(&fake, add(3, 2)).await.unwrap(), 5);
    assert_eq!(call(&fake, &add(4, 2)).await.unwrap(), 6);
    let result = FixtureCall::Add(add(5, 2)).call(&fake).await.unwrap();
    assert_eq!((result.structured(), result.text()), (Some(&json!({"result": 7})), r#"{"result":7}"#.to_owned()));
    let pointer: Arc<dyn DynCallTool> = Arc::new(fake.clone());
    assert_eq!(Fixture::with(pointer).add(add(6, 2)).await.unwrap(), 8);
    let firsts: Vec<i64> = fake.calls::<FixtureAddParams>().iter().map(|p| p.a).collect();
    assert_eq!(firsts, [1, 2, 3, 4, 5, 6]);
    assert_eq!(fake.calls::<FixtureListLabelsParams>(), []);
    assert!(fake.refused().is_empty());
}

#[tokio::test]
async fn concurrent_calls_are_all_recorded() {
    let mut calls = 0;
    let fake = Fake::new().on(move |p: FixtureAddParams| {
        calls += 1;
        p.a + calls * 1000
    });
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64 {
        let fixture = Fixture::with(fake.clone());
        tasks.spawn(async move { fixture.add(add(number, 0)).await.unwrap() });
    }
    let mut turns: Vec<i64> = tasks.join_all().await.iter().map(|sum| sum / 1000).collect();
    turns.sort_unstable();
    assert_eq!(turns, (1..=64).collect::<Vec<i64>>());
    assert_eq!(fake.calls::<FixtureAddParams>().len(), 64);
}

#[tokio::test]
async fn fake_results_decode_like_server_results() {
    let fake = Fake::new()
        .on(|_: WrappedFastmcpParams| 5)
        .on(|_: WrappedSdkListParams| vec!["a".to_owned()])
        .on(|_: WrappedSdkNothingParams| ())
        .on(|_: OutputArrayRootParams| OutputArrayRootOutput(vec!["b".to_owned()]));
    let wrapped = Wrapped::with(&fake);
    assert_eq!(wrapped.fastmcp(WrappedFastmcpParams::new()).await.unwrap(), 5);
    assert_eq!(wrapped.sdk_list(WrappedSdkListParams::new()).await.unwrap(), ["a"]);
    wrapped.sdk_nothing(WrappedSdkNothingParams::new()).await.unwrap();
    assert_eq!(call(&fake, &OutputArrayRootParams::new()).await.unwrap().0, ["b"]);
    let list = ToolResult::of::<WrappedSdkListParams>(vec!["a".to_owned()]).unwrap();
    assert_eq!(list.structured(), Some(&json!({"result": ["a"]})));
    assert_eq!((&*list.server, &*list.tool), ("wrapped", "sdk_list"));
    // Without an outputSchema the result itself is the output.
    let plain = ToolResult::of::<OutputPlainParams>(ToolResult::new("", "")).unwrap();
    assert_eq!((&*plain.server, &*plain.tool), ("output", "plain"));
}

#[tokio::test]
async fn overridden_output_is_returned_as_text() {
    let label = GithubCreateIssueOutputLabelsItem::new("bug");
    let issue = GithubCreateIssueOutput::new(7, "t", State::Open, "https://x", None, vec![label]);
    let result = ToolResult::of::<GithubCreateIssueParams>(issue.clone()).unwrap();
    assert_eq!(result.structured(), None);
    assert_eq!(serde_json::from_str::<Value>(&result.text()).unwrap()["labels"], json!([{"name": "bug"}]));
    let answer = issue.clone();
    let fake = Fake::new().on(move |_: GithubCreateIssueParams| answer.clone());
    let given = Github::with(fake).create_issue(GithubCreateIssueParams::new("o", "r", "t")).await.unwrap();
    assert_eq!(given, issue);
}

#[tokio::test]
async fn fake_failures_equal_server_failures() {
    let fake = Fake::new()
        .on(|p: FixtureAddParams| match p.a {
            0 => Err(Box::new(ToolResult::error("zero"))),
            a => Ok(a),
        })
        .on(|_: FixtureListLabelsParams| -> Result<Vec<String>, CallError> {
            Err(CallError::timeout("fixture", "list_labels", Duration::from_secs(1), Dispatched::Unknown))
        })
        .on(|_: FixtureTreeDepthParams| ToolResult::from_json("", "", json!({"content": [], "structuredContent": {}})))
        .on(|_: FixtureAlwaysFailsParams| ToolResult::error("no").success());
    let fixture = Fixture::with(&fake);
    assert_eq!(fixture.add(add(2, 0)).await.unwrap(), 2);
    let failed = fixture.add(add(0, 0)).await.unwrap_err();
    assert_eq!(failed.to_string(), "fixture: `add` returned an error: zero");
    let late = fixture.list_labels(FixtureListLabelsParams::new()).await.unwrap_err();
    assert!(matches!(&late, CallError::Timeout { .. }), "{late}");
    let unfit = fixture.tree_depth(FixtureTreeDepthParams::new("n")).await.unwrap_err();
    assert!(matches!(&unfit, CallError::Decode { result, .. } if result.tool == "tree_depth"), "{unfit}");
    // A client gives such a result without an error: whether it is one, who reads it finds out.
    let asked = json!({"reason": "none"}).as_object().unwrap().clone();
    let result = fake.call_tool(ToolCall::new("fixture", "always_fails", asked)).await.unwrap();
    assert!(result.is_error && result.server == "fixture" && result.text() == "no");
}

#[tokio::test]
async fn nan_result_is_an_error() {
    let fake = Fake::new().on(|_: FixtureMeasureShapeParams| FixtureMeasureShapeOutput::new(f64::NAN));
    let shape = json!({"shape": {"kind": "circle", "radius": 1.0}});
    let asked = ToolCall::new("fixture", "measure_shape", shape.as_object().unwrap().clone());
    let error = fake.call_tool(asked).await.unwrap_err();
    assert!(matches!(&error, CallError::InvalidResponse { .. }), "{error}");
    assert!(error.to_string().contains("the result cannot be sent at `/area`"), "{error}");
}

#[tokio::test]
async fn unexpected_call_error_lists_the_expected_calls() {
    let fake = adding().on(|_: FixtureTreeDepthParams| 1);
    let labels = Fixture::with(&fake).list_labels(FixtureListLabelsParams::new()).await.unwrap_err();
    assert!(matches!(&labels, CallError::Denied { .. }), "{labels}");
    let near = fake.call_tool(ToolCall::new("fixture", "tree_dept", Default::default())).await.unwrap_err();
    let stranger = fake.call_tool(ToolCall::new("github", "add", Default::default())).await.unwrap_err();
    let said = [&labels, &near, &stranger].map(ToString::to_string);
    assert_eq!(
        said,
        [
            "fixture: `list_labels` was denied: the fake does not expect this call; it expects calls of `add`, `tree_depth`",
            "fixture: `tree_dept` was denied: the fake does not expect this call; it expects calls of `add`, `tree_depth`; did you mean `tree_depth`?",
            "github: `add` was denied: the fake does not expect this call; it expects calls of `fixture`, not of this server",
        ]
    );
    assert_eq!(fake.refused().iter().map(ToString::to_string).collect::<Vec<_>>(), said);
    assert_eq!(fake.tool_calls().len(), 3);
    assert_eq!(labels.dispatched(), Dispatched::No);
    let nothing = Fixture::with(Fake::new()).add(add(1, 1)).await.unwrap_err();
    assert!(nothing.to_string().contains("it expects no calls"), "{nothing}");
}

#[tokio::test]
async fn invalid_arguments_are_refused_with_the_error_of_a_server() {
    let fake = adding();
    let arguments = json!({"a": 1, "b": "2"}).as_object().unwrap().clone();
    let error = fake.call_tool(ToolCall::new("fixture", "add", arguments)).await.unwrap_err();
    assert!(matches!(&error, CallError::Rpc { code: -32602, .. }), "{error}");
    assert!(error.to_string().contains("invalid arguments at `/b`: "), "{error}");
    assert_eq!(fake.refused().len(), 1);
    assert_eq!(fake.calls::<FixtureAddParams>(), [], "it never was a call of `add`");
    assert_eq!(fake.tool_calls()[0].arguments["b"], "2");
}

#[tokio::test]
async fn fake_may_be_slow_and_call_timeouts_apply() {
    let fake = Fake::new().on_async(async |p: FixtureAddParams| match p.a {
        0 => pending().await,
        a => {
            tokio::task::yield_now().await;
            a
        }
    });
    let fixture = Fixture::with(&fake);
    assert_eq!(fixture.add(add(3, 0)).within(Duration::from_secs(60)).await.unwrap(), 3);
    let late = fixture.add(add(0, 0)).within(Duration::from_millis(20)).await.unwrap_err();
    assert!(matches!(late, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{late}");
    let limits = CallOptions::new().timeout(Duration::from_millis(20)).cap(Duration::from_secs(60));
    let late = fixture.add(add(0, 0)).with(limits).await.unwrap_err();
    assert!(matches!(late, CallError::Timeout { .. }), "{late}");
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = fixture.add(add(0, 0)).with(CallOptions::new().cancelled_by(token)).await.unwrap_err();
    assert!(matches!(cancelled, CallError::Cancelled { .. }), "{cancelled}");
    assert_eq!(fake.calls::<FixtureAddParams>().len(), 4);
}

#[tokio::test]
async fn panicking_closure_fails_only_its_own_call() {
    let fake = Fake::new().on(|p: FixtureAddParams| if p.a == 0 { panic!("zero") } else { p.a });
    let fixture = Fixture::with(fake.clone());
    let panicked = tokio::spawn(async move { fixture.add(add(0, 0)).await }).await;
    assert!(panicked.is_err_and(|error| error.is_panic()));
    assert_eq!(Fixture::with(&fake).add(add(1, 0)).await.unwrap(), 1);
    assert_eq!(fake.calls::<FixtureAddParams>().len(), 2);
}

#[tokio::test]
async fn last_registered_response_is_used() {
    let fake = adding().on(|_: FixtureAddParams| 9);
    assert_eq!(Fixture::with(fake).add(add(1, 1)).await.unwrap(), 9);
}

#[test]
fn plain_text_output_round_trips() {
    for text in ["5", "", "[1]", "\"x\""] {
        let result = ToolResult::of::<OutputTextRootParams>(features::output::OutputTextRootOutput(text.to_owned()));
        assert_eq!(OutputTextRootParams::output(result.unwrap()).unwrap().0, text);
    }
}
