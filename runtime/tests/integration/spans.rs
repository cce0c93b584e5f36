//! Calls as spans: the names that OpenTelemetry has for what they are, and nothing that nobody asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

#[cfg(feature = "http")]
use crate::common::http::HttpFixture;
use crate::common::{Mark, good, object};
#[cfg(feature = "http")]
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{CallOptions, CallTool, Client, ClientOptions, ToolCall};
use serde_json::{Value, json};
use tracing::Dispatch;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

const SECRET: &str = "unique-8d0f2a4c6e801357";

/// One span: its fields, the name of the one around it, and whether it is over.
#[derive(Clone, Debug, Default)]
struct Seen {
    around: Option<String>,
    fields: BTreeMap<String, String>,
    is_over: bool,
}

impl Seen {
    fn is(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// Registers a subscriber that stays. While tracing knows a single one, it asks only the subscriber of the thread that
/// reaches a new event or span first, and may disable it for all threads.
pub(crate) fn keep_a_second_subscriber() {
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Registry::default()));
    LazyLock::force(&SECOND);
}

/// The spans of calls, in the order in which they begin.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(Id, Seen)>>>);

impl Spans {
    fn watch() -> (Self, DefaultGuard) {
        keep_a_second_subscriber();
        let spans = Self::default();
        (spans.clone(), tracing::subscriber::set_default(Registry::default().with(spans)))
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Seen)) {
        if let Some((_, seen)) = self.0.lock().unwrap().iter_mut().rev().find(|(of, _)| of == id) {
            change(seen);
        }
    }

    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(|(_, seen)| seen).collect()
    }
}

impl<S: tracing::Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Spans {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if span.metadata().target() == "mcp_bindgen::calls" {
            let around = context.span(id).and_then(|span| Some(span.parent()?.name().to_owned()));
            let mut seen = Seen { around, ..Seen::default() };
            span.record(&mut seen);
            self.0.lock().unwrap().push((id.clone(), seen));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.change(id, |seen| values.record(seen));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(&id, |seen| seen.is_over = true);
    }
}

#[tokio::test]
async fn call_span_follows_the_semantic_conventions() {
    let (spans, _guard) = Spans::watch();
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let sum = ToolCall::new("fixture", "add", object(json!({ "a": 1, "b": 2 })));
    let sum = sum.with(CallOptions::new().source("triage agent"));
    // The first call also connects, which takes requests of its own.
    for _ in 0..2 {
        client.call_tool(sum.clone()).await.expect("the sum");
    }
    let [_, span] = &spans.take()[..] else { panic!("one call is one span") };
    let expected = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "add"),
        ("mcp.method.name", "tools/call"),
        ("mcp_bindgen.server", "fixture"),
        ("mcp_bindgen.source", "triage agent"),
        ("network.transport", "pipe"),
        ("otel.kind", "client"),
        ("otel.name", "tools/call add"),
    ];
    let mut fields = span.fields.clone();
    assert!(fields.remove("jsonrpc.request.id").expect("an id").parse::<i64>().is_ok());
    assert!(fields.remove("mcp.protocol.version").expect("a version").starts_with("20"));
    assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    assert!(span.is_over && span.around.is_none());
    client.close().await;
}

#[tokio::test]
async fn failed_call_span_has_an_error_type_and_no_content() {
    let (spans, _guard) = Spans::watch();
    let mark = Mark::new();
    let client = Client::new(good(&mark).exclude(["save_*"]));
    client.call("always_fails", object(json!({ "reason": SECRET }))).await.expect("a result that is an error");
    client.call("add", object(json!({ "a": SECRET }))).await.expect_err("the server refuses it");
    client.call("save_settings", object(json!({ "settings": SECRET }))).await.expect_err("it is excluded");
    let slow = client.call("count_slowly", object(json!({ "steps": 100, "pause_ms": 100 })));
    assert!(tokio::time::timeout(Duration::from_millis(100), slow).await.is_err());
    let seen = spans.take();
    let types: Vec<(&str, &str)> =
        seen.iter().map(|span| (span.is("error.type"), span.is("rpc.response.status_code"))).collect();
    let code = types[1].1;
    assert!(code.starts_with("-32"), "{seen:#?}");
    assert_eq!(types, [("tool_error", ""), (code, code), ("denied", ""), ("dropped", "")]);
    assert!(seen.iter().all(|span| span.is("otel.status_code") == "ERROR" && span.is_over));
    assert!(!format!("{seen:?}").contains(SECRET));
    client.close().await;
}

#[tokio::test]
async fn span_content_is_recorded_only_on_request_and_redacted() {
    let (spans, _guard) = Spans::watch();
    let mark = Mark::new();
    let config = good(&mark).env("SOME_TOKEN", SECRET);
    let client = Client::with_options(config, ClientOptions::new().record_content(true));
    let arguments = json!({ "text": format!("from {SECRET}"), "api_key": "hunter" });
    client.call("echo_arguments", object(arguments)).await.expect("the echo");
    let [span] = &spans.take()[..] else { panic!("one call is one span") };
    let read = |field: &str| -> Value { serde_json::from_str(span.is(field)).expect("JSON") };
    let hidden = json!({ "text": "from [redacted]", "api_key": "[redacted]" });
    assert_eq!(read("gen_ai.tool.call.arguments"), hidden);
    assert_eq!(read("gen_ai.tool.call.result")["structuredContent"], json!({ "arguments": hidden }));
    assert!(!format!("{span:?}").contains(SECRET) && !format!("{span:?}").contains("hunter"));
    client.close().await;
}

#[tokio::test]
async fn stack_span_contains_the_spans_of_its_attempts() {
    let (spans, _guard) = Spans::watch();
    let mark = Mark::new();
    let denies = Policy::new(|call| if call.tool == "add" { Verdict::Allow } else { Verdict::deny("no") });
    let client = Client::new(good(&mark));
    let stack = Stack::new(client.clone()).policy(denies);
    stack.call_tool(ToolCall::new("fixture", "add", object(json!({ "a": 1, "b": 2 })))).await.expect("the sum");
    stack.call_tool(ToolCall::new("fixture", "make_report", Default::default())).await.expect_err("it is denied");
    let seen = spans.take();
    let [whole, try_, denied] = &seen[..] else { panic!("{seen:#?}") };
    assert_eq!((whole.is("otel.name"), whole.is("otel.kind")), ("execute_tool add", "internal"));
    assert_eq!((try_.is("otel.name"), try_.around.as_deref()), ("tools/call add", Some("execute_tool")));
    assert_eq!(try_.is("gen_ai.operation.name"), "", "the tool is executed once");
    assert_eq!((denied.is("otel.name"), denied.is("error.type")), ("execute_tool make_report", "denied"));
    client.close().await;
}

#[cfg(feature = "http")]
#[tokio::test]
async fn http_span_has_address_and_port_but_no_session() {
    let (spans, _guard) = Spans::watch();
    let server = HttpFixture::start(&["--http", "127.0.0.1:0"]);
    let client = Client::new(ServerConfig::http("remote", server.url.as_str()));
    client.call("add", object(json!({ "a": 1, "b": 2 }))).await.expect("the sum");
    let [span] = &spans.take()[..] else { panic!("one call is one span") };
    assert_eq!((span.is("network.transport"), span.is("server.address")), ("tcp", "127.0.0.1"));
    assert!(server.url.contains(&format!(":{}", span.is("server.port"))), "{span:?}");
    assert!(!span.is("jsonrpc.request.id").is_empty() && !span.fields.contains_key("mcp.session.id"), "{span:?}");
    client.close().await;
}
