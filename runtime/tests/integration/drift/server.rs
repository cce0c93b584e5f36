//! A server whose tools are not those that were bound, and what is told of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{Drift, Pin, ServerConfig};
use mcp_bindgen_runtime::{Annotations, Client, ServerSpec, ToolSpec};
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;

use super::cases::Case;
use crate::common::scripted::{Received, response, result, scripted, usual};
use crate::recorder::Recorder;

pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it ends soon")
}

/// A server with another list than the one that was bound.
pub(crate) struct Changing {
    pub(crate) url: String,
    pub(crate) tools: &'static [ToolSpec],
    pub(crate) state: Arc<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The list as it is.
    pub(crate) list: Mutex<Vec<Value>>,
    pub(crate) lists: AtomicUsize,
    pub(crate) calls: Mutex<BTreeMap<String, usize>>,
    /// The next list after a call; the server sends the notification before the result.
    pub(crate) next: Mutex<Option<Vec<Value>>>,
    /// How many lists from now on are answered with an error.
    pub(crate) failing: AtomicUsize,
    pub(crate) silent: AtomicUsize,
    /// `true` if the server notifies of a change on every list request.
    pub(crate) is_restless: AtomicBool,
}

pub(crate) fn tool(name: &str, rest: &str) -> Value {
    let mut tool: Value = serde_json::from_str(rest).unwrap_or_else(|error| panic!("{name}: {error}: {rest}"));
    tool["name"] = name.into();
    tool
}

fn leaked(text: impl Into<String>) -> &'static str {
    Box::leak(text.into().into_boxed_str())
}

/// A tool as bindings have it.
pub(crate) fn spec_of(tool: &Value) -> ToolSpec {
    let text = |pointer: &str| tool.pointer(pointer).and_then(Value::as_str).map(leaked);
    let name = text("/name").expect("a name");
    let mut spec = ToolSpec::new(name, leaked(tool["inputSchema"].to_string()));
    if let Some(output) = tool.get("outputSchema") {
        spec = spec.output_schema(leaked(output.to_string()));
    }
    spec.title = text("/title").or(text("/annotations/title"));
    spec.description = text("/description");
    let hint = |key: &str| tool.get("annotations")?.get(key)?.as_bool();
    let mut annotations = Annotations::default();
    annotations.read_only = hint("readOnlyHint");
    annotations.destructive = hint("destructiveHint");
    spec.annotations = annotations;
    spec
}

impl Changing {
    pub(crate) async fn start(cases: &[Case]) -> Self {
        let before: Vec<Value> = cases.iter().map(|case| tool(case.name, &case.before)).collect();
        let now = cases.iter().filter_map(|case| Some(tool(case.name, case.now.as_deref()?))).collect();
        Self::between(&before, now).await
    }

    /// A server with tools of which others were bound.
    pub(crate) async fn between(before: &[Value], now: Vec<Value>) -> Self {
        let state = Arc::new(State { list: Mutex::new(now), ..State::default() });
        let tools: Vec<ToolSpec> = before.iter().map(spec_of).collect();
        let shared = state.clone();
        let url = scripted(move |received| answer(&shared, received)).await;
        Self { url, tools: tools.leak(), state }
    }

    pub(crate) fn config(&self, drift: Drift, pin: Pin) -> ServerConfig {
        ServerConfig::http("changing", &self.url).drift(drift).pin(pin)
    }

    /// The client that bindings of its tools connect with.
    pub(crate) fn bindings(&self, drift: Drift, pin: Pin) -> Client {
        let config = leaked(self.config(drift, pin).to_json().to_string());
        let spec: &'static ServerSpec =
            Box::leak(Box::new(ServerSpec::new("changing").config(config).tools(self.tools)));
        Client::for_spec(spec).expect("it is configured")
    }

    pub(crate) fn spec(&self, name: &str) -> &'static ToolSpec {
        self.tools.iter().find(|spec| spec.name == name).expect("it was bound")
    }

    pub(crate) fn calls(&self, name: &str) -> usize {
        self.state.calls.lock().unwrap().get(name).copied().unwrap_or_default()
    }

    pub(crate) fn lists(&self) -> usize {
        self.state.lists.load(Ordering::SeqCst)
    }

    pub(crate) async fn has_listed(&self, times: usize) {
        soon(async {
            while self.lists() < times {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        assert_eq!(self.lists(), times);
    }

    pub(crate) fn changes_with_the_next_call(&self, list: Vec<Value>) {
        *self.state.next.lock().unwrap() = Some(list);
    }

    pub(crate) fn becomes(&self, list: Vec<Value>) {
        *self.state.list.lock().unwrap() = list;
    }
}

fn answer(state: &State, received: &Received) -> Option<String> {
    let take = |count: &AtomicUsize| count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    match received.method() {
        "tools/list" => {
            state.lists.fetch_add(1, Ordering::SeqCst);
            if take(&state.silent).is_ok() {
                return None;
            }
            if take(&state.failing).is_ok() {
                return Some(response("500 Internal Server Error", "text/plain", "out of order"));
            }
            let list = json!({ "tools": *state.list.lock().unwrap() });
            if state.is_restless.load(Ordering::SeqCst) {
                return Some(after_a_change(&json!({"jsonrpc": "2.0", "id": received.body["id"], "result": list})));
            }
            Some(result(received, list))
        }
        "tools/call" => {
            let name = received.body["params"]["name"].as_str().unwrap_or_default().to_owned();
            *state.calls.lock().unwrap().entry(name).or_default() += 1;
            let done = json!({"jsonrpc": "2.0", "id": received.body["id"], "result": {"content": []}});
            let Some(next) = state.next.lock().unwrap().take() else { return Some(usual(received)) };
            *state.list.lock().unwrap() = next;
            Some(after_a_change(&done))
        }
        _ => Some(usual(received)),
    }
}

/// An answer, before which the server tells that its list changed.
fn after_a_change(answer: &Value) -> String {
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    response("200 OK", "text/event-stream", &format!("data: {changed}\n\ndata: {answer}\n\n"))
}

/// The warnings of this thread.
pub(crate) struct Log {
    recorder: Arc<Recorder>,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        crate::spans::keep_a_second_subscriber();
        let recorder = Recorder::of_warnings();
        let _guard = tracing::subscriber::set_default(recorder.clone());
        Self { recorder, _guard }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.recorder.lines()
    }

    pub(crate) async fn until(&self, is_there: impl Fn(&[String]) -> bool) {
        let told = async {
            while !is_there(&self.lines()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(SOON, told).await.is_err() {
            panic!("not told: {:#?}", self.lines());
        }
    }
}
