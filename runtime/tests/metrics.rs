//! The figures that a recorder of the program's choice is given.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::{Mark, good, object};
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{CallTool, Client, ToolCall, ToolSpec};
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use serde_json::json;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<BTreeMap<String, Vec<f64>>>>);

struct Figure(Kept, String);

impl Figure {
    fn keep(&self, value: f64) {
        self.0.0.lock().unwrap().entry(self.1.clone()).or_default().push(value);
    }
}

impl CounterFn for Figure {
    fn increment(&self, value: u64) {
        self.keep(value as f64);
    }

    fn absolute(&self, _: u64) {}
}

impl HistogramFn for Figure {
    fn record(&self, value: f64) {
        self.keep(value);
    }
}

impl Kept {
    fn figure(&self, key: &Key) -> Arc<Figure> {
        let mut labels: Vec<String> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        labels.sort();
        Arc::new(Figure(self.clone(), format!("{}{{{}}}", key.name(), labels.join(","))))
    }

    fn of(&self, start: &str) -> Vec<(String, Vec<f64>)> {
        let kept = self.0.lock().unwrap();
        kept.iter().filter(|(name, _)| name.starts_with(start)).map(|(n, v)| (n.clone(), v.clone())).collect()
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.figure(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.figure(key))
    }
}

#[tokio::test]
async fn metrics_count_and_time_calls_with_bounded_labels() {
    const REPORT: ToolSpec = ToolSpec::new("make_report", "{}");
    let kept = Kept::default();
    let _guard = metrics::set_default_local_recorder(&kept);
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let stack = Stack::new(client.clone())
        .policy(Policy::new(|call| if call.tool == "add" { Verdict::Allow } else { Verdict::deny("no") }));
    for _ in 0..3 {
        stack.call("add").await;
    }
    client.call("made_up_by_a_model", Default::default()).await.expect_err("there is none");
    stack.call("made_up_by_a_policy").await;
    let mut bound = ToolCall::new("fixture", "make_report", Default::default());
    bound.spec = Some(const { &REPORT });
    stack.call_tool(bound).await.expect_err("it is denied");
    client.close().await;

    let counted: Vec<(String, usize)> =
        kept.of("mcp_bindgen.client.calls").into_iter().map(|(name, values)| (name, values.len())).collect();
    let call = |tool: &str, outcome: &str, count| {
        let labels = format!("gen_ai.tool.name={tool},mcp_bindgen.outcome={outcome},mcp_bindgen.server=fixture");
        (format!("mcp_bindgen.client.calls{{{labels}}}"), count)
    };
    assert_eq!(
        counted,
        [
            call("_OTHER", "denied", 1),
            call("_OTHER", "tool_not_found", 1),
            call("add", "success", 3),
            call("make_report", "denied", 1),
        ]
    );
    let timed = kept.of("mcp.client.operation.duration");
    assert_eq!(timed.len(), 2, "what was denied is no request: {timed:?}");
    let (name, seconds) = timed.iter().find(|(name, _)| name.contains("gen_ai.tool.name=add")).expect("the sums");
    assert!(seconds.len() == 3 && seconds.iter().all(|seconds| (1e-6..30.0).contains(seconds)), "{seconds:?}");
    assert!(name.contains("network.transport=pipe") && !name.contains("error.type"), "{name}");
    assert!(timed.iter().any(|(name, _)| name.contains("error.type=tool_not_found")), "{timed:?}");
    let states = kept.of("mcp_bindgen.client.state_changes");
    assert_eq!(states.len(), 3, "connecting, connected, disconnected: {states:?}");
    assert_eq!(kept.of("mcp.client.session.duration").len(), 1);
}

trait ByName {
    async fn call(&self, tool: &'static str);
}

impl ByName for Stack<Client> {
    async fn call(&self, tool: &'static str) {
        let arguments = object(json!({ "a": 1, "b": 2 }));
        let _ = self.call_tool(ToolCall::new("fixture", tool, arguments)).await;
    }
}
