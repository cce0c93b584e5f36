//! Toolsets for tests, over servers that are not there.

use std::sync::{Arc, Mutex};

use mcp_bindgen_runtime::{CallError, CallTool, Client, ServerSpec, ToolCall, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

use super::{Entry, Functions, Handler, Running, Toolset};

type Answer = dyn Fn(&ToolCall) -> Result<Value, CallError> + Send + Sync;

/// A server that keeps its calls and answers with a closure.
#[derive(Clone)]
pub(super) struct Server {
    calls: Arc<Mutex<Vec<ToolCall>>>,
    answer: Arc<Answer>,
}

impl Server {
    pub(super) fn new(answer: impl Fn(&ToolCall) -> Result<Value, CallError> + Send + Sync + 'static) -> Self {
        Self { calls: Arc::default(), answer: Arc::new(answer) }
    }

    /// Answers everything with a text.
    pub(super) fn saying(text: &'static str) -> Self {
        Self::new(move |_| Ok(json!({"content": [{"type": "text", "text": text}]})))
    }

    /// Fails with an error.
    pub(super) fn failing(error: CallError) -> Self {
        Self::new(move |_| Err(error.clone()))
    }

    pub(super) fn calls(&self) -> Vec<ToolCall> {
        self.calls.lock().expect("it is not poisoned").clone()
    }

    /// Returns the arguments of the only call.
    pub(super) fn sent(&self) -> Value {
        let calls = self.calls();
        let [call] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        call.arguments.clone().into()
    }
}

impl CallTool for Server {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.calls.lock().expect("it is not poisoned").push(call.clone());
        let result = (self.answer)(&call)?;
        Ok(ToolResult::from_json(&*call.server, &*call.tool, result))
    }
}

pub(super) fn entry(server: &str, tool: &str, schema: Value, handler: Handler) -> Entry {
    Entry { public: format!("{server}_{tool}"), ..Entry::new(server, tool, schema, handler) }
}

pub(super) fn on_server(caller: impl CallTool + 'static) -> Handler {
    Handler::Server { caller: Arc::new(caller), bound: None, live: None }
}

pub(super) fn bound_on(
    caller: impl CallTool + 'static,
    server: &'static ServerSpec,
    tool: &'static ToolSpec,
) -> Handler {
    Handler::Server { caller: Arc::new(caller), bound: Some((server, tool)), live: None }
}

pub(super) fn live_on(caller: impl CallTool + 'static, live: Client) -> Handler {
    Handler::Server { caller: Arc::new(caller), bound: None, live: Some(live) }
}

pub(super) fn function(run: impl Fn(Map<String, Value>) -> Running + Send + Sync + 'static) -> Handler {
    Handler::Function(Functions::alone("github", "create_issue", Arc::new(move |_, arguments| run(arguments))))
}

pub(super) fn toolset(entries: impl IntoIterator<Item = Entry>) -> Toolset {
    Toolset::default().with_entries(entries.into_iter().map(Arc::new))
}
