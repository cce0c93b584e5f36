//! A call as a value: read from whatever a model sends, printed as MCP says it, and its result read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Waker};
use std::time::Duration;

use mcp_bindgen::{AsArguments, CallError, CallOptions, CallTool, Content, Tool, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

mcp_bindgen::mcp_tools!("fixture", path = "fixtures/snapshots/fixture.json");
mod shapes {
    mcp_bindgen::mcp_tools!("shapes", path = "fixtures/features/number.json");
    mcp_bindgen::mcp_tools!("plain", path = "fixtures/features/no_params.json", prefix = false);
}

use fixture::{Fixture, FixtureAddParams, FixtureCall, FixtureMakeReportParams};

#[track_caller]
fn parses(arguments: impl AsArguments, expected: &Value) {
    let call = FixtureCall::parse("fixture_add", arguments).unwrap();
    assert_eq!((call.name(), &call.arguments()), ("add", expected));
}

#[test]
fn arguments_parse_from_every_form() {
    let expected = json!({"a": 1, "b": 2});
    let text = r#" {"a": 1, "b": 2.0} "#;
    let map: Map<String, Value> = expected.as_object().unwrap().clone();
    parses(expected.clone(), &expected);
    parses(&expected, &expected);
    parses(Some(&expected), &expected);
    parses(map.clone(), &expected);
    parses(&map, &expected);
    parses(text, &expected);
    parses(text.to_owned(), &expected);
    let held = text.to_owned();
    parses(&held, &expected);
    parses(Some(text), &expected);
}

#[test]
fn empty_arguments_parse_from_every_form() {
    let read = |arguments: &dyn Fn() -> Result<FixtureCall, CallError>| arguments().unwrap().arguments();
    assert_eq!(read(&|| FixtureCall::parse("make_report", ())), json!({}));
    assert_eq!(read(&|| FixtureCall::parse("make_report", Value::Null)), json!({}));
    assert_eq!(read(&|| FixtureCall::parse("make_report", None::<Value>)), json!({}));
    assert_eq!(read(&|| FixtureCall::parse("make_report", Some(Value::Null))), json!({}));
    for text in ["", " \n", "null", "{}"] {
        assert_eq!(read(&|| FixtureCall::parse("make_report", text)), json!({}), "{text:?}");
    }
    assert!(FixtureCall::parse("add", ()).is_err());
    assert!(FixtureCall::parse("make_report", json!([])).is_err());
    assert!(FixtureCall::parse("make_report", json!("{}")).is_err(), "a text in JSON is no object");
}

#[test]
fn malformed_json_error_shows_only_its_position() {
    for (text, place) in [("{\"a\": hunter2}", "line 1 column 7"), ("{\"hunter2\": 1,\n\"b\" 2}", "line 2 column 5")] {
        let error = FixtureCall::parse("add", text).unwrap_err();
        assert!(matches!(&error, CallError::InvalidArguments { pointer, .. } if pointer.is_empty()), "{error}");
        assert_eq!((error.server(), error.tool()), ("fixture", "add"));
        let said = error.to_string();
        assert!(said.contains(place) && !said.contains("hunter2"), "{said}");
    }
    let deep = "[".repeat(100_000);
    assert!(FixtureCall::parse("add", deep).is_err());
    let unknown = FixtureCall::parse("ad", "no JSON either").unwrap_err();
    assert!(matches!(unknown, CallError::ToolNotFound { .. }), "{unknown}");
}

#[test]
fn calls_serialize_as_mcp_params() {
    let call = FixtureCall::Add(FixtureAddParams::new(1, 2));
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    assert_eq!(serde_json::to_string(&call).unwrap(), params.to_string());
    assert_eq!(serde_json::from_value::<FixtureCall>(params).unwrap(), call);
    let read = |json: Value| serde_json::from_value::<FixtureCall>(json).map_err(|error| error.to_string());
    assert_eq!(
        read(json!({"_meta": {"progressToken": 1}, "name": "fixture_make_report"})),
        Ok(FixtureCall::MakeReport(FixtureMakeReportParams::new()))
    );
    // Feature `validate` has another word for it.
    let without_b = read(json!({"name": "add", "arguments": {"a": 1}})).unwrap_err();
    assert!(["`b`", "\"b\""].iter().any(|b| without_b.contains(b)), "{without_b}");
    assert!(read(json!({"name": "subtract"})).unwrap_err().contains("no tool `subtract`"));
    for (odd, expected) in [
        (json!({}), "missing property `name`"),
        (json!("add"), "expected an object, found a string"),
        (json!({"name": 1}), "expected a string, found an integer at `/name`"),
        (json!(null), "expected an object, found null"),
    ] {
        assert_eq!(read(odd), Err(expected.to_owned()));
    }
    let twice = r#"{"name": "add", "arguments": {"a": 1, "b": 2}, "name": "fixture_make_report"}"#;
    let error = serde_json::from_str::<FixtureCall>(twice).unwrap_err().to_string();
    assert!(error.starts_with("duplicate property at `/name`"), "another reader sees another call: {error}");
}

#[test]
fn nan_argument_is_an_error() {
    let call = shapes::shapes::ShapesCall::Measure(shapes::shapes::ShapesMeasureParams::new(f64::NAN));
    assert!(serde_json::to_string(&call).is_err());
}

#[test]
fn tool_spec_has_its_prefixed_name() {
    let names: Vec<(&str, &str)> = fixture::TOOLS.iter().map(|tool| (tool.name, tool.prefixed)).collect();
    assert!(names.contains(&("add", "fixture_add")), "{names:?}");
    for tool in fixture::TOOLS {
        assert_eq!(tool.prefixed, format!("fixture_{}", tool.name));
    }
    let plain = shapes::plain::TOOLS;
    assert!(!plain.is_empty() && plain.iter().all(|tool| tool.prefixed == tool.name));
}

#[test]
fn tool_error_is_not_decoded_as_output() {
    let failed = || {
        let mut result = ToolResult::new("fixture", "add");
        result.is_error = true;
        result.content = vec![Content::text("no")];
        result
    };
    let typed = FixtureAddParams::output(failed()).unwrap_err();
    assert!(matches!(&typed, CallError::Tool(result) if result.text() == "no"), "{typed}");
    let untyped = FixtureMakeReportParams::output(failed()).unwrap_err();
    assert!(matches!(untyped, CallError::Tool(_)), "{untyped}");
    assert!(matches!(mcp_bindgen::__private::decode::<bool>(failed(), false), Err(CallError::Tool(_))));
    let empty = ToolResult::new("fixture", "add");
    assert!(matches!(FixtureAddParams::output(empty), Err(CallError::Decode { .. })));
}

/// Notes the options of each call.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl CallTool for Noting {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.0.lock().unwrap().push(format!("{:?}", call.options));
        let sum = json!({"structuredContent": {"result": 3}});
        Ok(ToolResult::from_json(call.server.into_owned(), call.tool.into_owned(), sum))
    }
}

#[test]
fn completed_typed_call_can_be_polled_again() {
    let noting = Noting::default();
    let fixture = Fixture::with(&noting);
    let mut call = pin!(fixture.add(FixtureAddParams::new(1, 2)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_ready());
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert_eq!(noting.0.lock().unwrap().len(), 1, "it was made once");
}

#[test]
fn options_of_a_typed_call_reach_the_client() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let noting = Noting::default();
    let fixture = Fixture::with(&noting);
    let add = || FixtureAddParams::new(1, 2);
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(9));
    runtime.block_on(async {
        fixture.add(add()).await.unwrap();
        fixture.add(add()).within(short).await.unwrap();
        fixture.within(short).add(add()).await.unwrap();
        fixture.within(short).add(add()).with(CallOptions::new().cap(long)).within(long).await.unwrap();
        fixture::fixture_add(&(&noting).within(long), add()).await.unwrap();
        FixtureCall::Add(add()).call(&(&noting).within(long)).await.unwrap();
    });
    let times: Vec<String> = noting.0.lock().unwrap().iter().map(|said| said.replace("CallOptions { ", "")).collect();
    let expected = [
        "timeout: None, cap: None",
        "timeout: Some(1s), cap: None",
        "timeout: Some(1s), cap: None",
        "timeout: Some(9s), cap: Some(9s)",
        "timeout: Some(9s), cap: None",
        "timeout: Some(9s), cap: None",
    ];
    assert_eq!(times.len(), expected.len());
    for (said, expected) in times.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said} is not {expected}");
    }
}

#[test]
fn typed_call_is_a_lazy_future() {
    fn is_future<T: Future + Send + Unpin>(future: T) -> T {
        future
    }
    let noting = Noting::default();
    let fixture = Fixture::with(&noting);
    let unmade = is_future(fixture.add(FixtureAddParams::new(1, 2)));
    assert_eq!(format!("{unmade:?}"), "TypedCall { server: \"fixture\", tool: \"add\", .. }");
    drop(unmade);
    assert!(noting.0.lock().unwrap().is_empty(), "a call that nobody awaits is not made");
}
