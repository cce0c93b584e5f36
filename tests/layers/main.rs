//! Layers around a client of a server in the same process, which counts what it executes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod caches;
mod denials;
mod order;
mod retries;
mod sequences;
mod time;
mod tower_layers;
mod transactions;
#[cfg(feature = "validation")]
mod validation;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen::{CallError, CallTool, Client, ToolCall, ToolResult};
use mcp_fixture_server::Store as Server;
use serde_json::{Map, Value, json};
use tokio::io::{duplex, split};

mcp_bindgen::mcp_tools!("store", path = "fixtures/server/src/store.json");
use store::*;

const SOON: Duration = Duration::from_secs(20);
const CALLERS: usize = 64;

/// A server, and a client of it.
fn served() -> (Server, Client) {
    let server = Server::default();
    let (near, far) = duplex(1 << 20);
    tokio::spawn(server.clone().serve_over(far));
    let (read, write) = split(near);
    (server, Client::over_with_options("store", read, write, Default::default()))
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("no object: {value}") };
    object
}

/// A call without bindings.
fn untyped(tool: &'static str, arguments: Value) -> ToolCall {
    ToolCall::new("store", tool, object(arguments))
}

fn get(key: &str) -> ToolCall {
    ToolCall::of(&StoreGetParams::new(key)).unwrap()
}

fn set(key: &str, value: i64) -> ToolCall {
    ToolCall::of(&StoreSetParams::new(key, value)).unwrap()
}

fn put(key: &str, value: i64) -> ToolCall {
    ToolCall::of(&StorePutParams::new(key, value)).unwrap()
}

fn value(result: &ToolResult) -> i64 {
    result.structured().unwrap()["value"].as_i64().unwrap()
}

fn denied(outcome: Result<ToolResult, CallError>) -> String {
    match outcome {
        Err(CallError::Denied { reason, .. }) => reason,
        other => panic!("it was not denied: {other:?}"),
    }
}

/// A log of events, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

type Answering = dyn Fn(usize, &ToolCall) -> Result<ToolResult, CallError> + Send + Sync;

/// A client stand-in that answers by number of the call.
#[derive(Clone)]
struct By {
    answer: Arc<Answering>,
    calls: Arc<Mutex<Vec<ToolCall>>>,
}

impl By {
    fn new(answer: impl Fn(usize, &ToolCall) -> Result<ToolResult, CallError> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), calls: Arc::default() }
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

impl CallTool for By {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(call.clone());
            calls.len()
        };
        tokio::task::yield_now().await;
        (self.answer)(number, &call)
    }
}

fn done() -> Result<ToolResult, CallError> {
    Ok(ToolResult::from_json("store", "any", json!({ "content": [{ "type": "text", "text": "done" }] })))
}
