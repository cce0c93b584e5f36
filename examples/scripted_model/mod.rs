//! A scripted model without an API key or a network: a local HTTP server with the wire formats of the four providers.
//!
//! Like a provider it keeps no state between requests, and is strict: invalid declarations, calls without results,
//! results without calls and undeclared names are errors with status 400.

#![allow(dead_code)]

mod anthropic;
mod check;
mod gemini;
mod http;
mod openai_chat;
mod openai_responses;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_bindgen::agents::Provider;
use serde_json::{Map, Value};

/// The request, for the script.
pub(crate) struct Seen {
    /// The system message.
    pub(crate) instructions: String,
    /// The declared tools.
    pub(crate) tools: Vec<Declared>,
    /// The calls of earlier turns, with their results.
    pub(crate) turns: Vec<Vec<Outcome>>,
}

/// A declared tool.
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) is_strict: bool,
}

/// A call with its result.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) failed: bool,
}

/// The model's reply.
pub(crate) enum Turn {
    /// Calls of tools, in one turn.
    Call(Vec<(String, Value)>),
    /// The final text.
    Say(String),
}

impl Seen {
    /// The results of the previous turn.
    pub(crate) fn last(&self) -> &[Outcome] {
        self.turns.last().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|declared| declared.name == tool)
    }
}

/// Parses a provider's requests, and formats its responses.
type Wire = (fn(&Value) -> Result<Seen, String>, fn(usize, Turn) -> Value);
type Script = dyn Fn(&Seen) -> Result<Turn, String> + Send + Sync;

/// The model's HTTP server. It runs until the process ends.
pub(crate) struct ScriptedModel {
    address: String,
    answered: Arc<AtomicUsize>,
}

impl ScriptedModel {
    pub(crate) async fn start(
        script: impl Fn(&Seen) -> Result<Turn, String> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let answered: Arc<AtomicUsize> = Arc::default();
        let (script, counted): (Arc<Script>, _) = (Arc::new(script), answered.clone());
        let address = http::serve(move |path, headers, body| {
            let answer = answer(path, headers, body, &*script);
            if answer.is_ok() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            answer
        })
        .await?;
        Ok(Self { address, answered })
    }

    /// The number of valid requests.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Posts a request to the provider's path.
    pub(crate) async fn ask(&self, provider: Provider, body: &Value) -> Result<Value, String> {
        let headers = match provider {
            Provider::Anthropic => {
                [("anthropic-version", "2023-06-01"), ("anthropic-beta", "mcp-client-2025-11-20")].as_slice()
            }
            _ => &[],
        };
        let (status, answer) = http::post(&self.address, path(provider)?, headers, body).await?;
        if status == 200 { Ok(answer) } else { Err(format!("the model's API answered {status}: {answer}")) }
    }
}

fn path(provider: Provider) -> Result<&'static str, String> {
    Ok(match provider {
        Provider::OpenAiChat => "/v1/chat/completions",
        Provider::OpenAiResponses => "/v1/responses",
        Provider::Anthropic => "/v1/messages",
        Provider::Gemini => "/v1beta/models/scripted:generateContent",
        other => return Err(format!("this model does not speak as {other:?} does")),
    })
}

fn answer(path: &str, headers: &[(String, String)], body: &Value, script: &Script) -> Result<Value, String> {
    let (read, write): Wire = match path {
        "/v1/chat/completions" => (openai_chat::read, openai_chat::write),
        "/v1/responses" => (openai_responses::read, openai_responses::write),
        "/v1/messages" => {
            anthropic::check_headers(headers, body)?;
            (anthropic::read, anthropic::write)
        }
        "/v1beta/models/scripted:generateContent" => (gemini::read, gemini::write),
        other => return Err(format!("there is no `{other}`")),
    };
    let seen = read(body)?;
    check::names(&seen.tools)?;
    let mut turn = script(&seen)?;
    if let Turn::Call(calls) = &mut turn {
        for (name, arguments) in calls {
            let declared = seen.tools.iter().find(|tool| tool.name == *name);
            let declared = declared.ok_or_else(|| {
                let names: Vec<&str> = seen.tools.iter().map(|tool| tool.name.as_str()).collect();
                format!("the script calls `{name}`, and the request declares {}", names.join(", "))
            })?;
            if declared.is_strict {
                fill(&declared.schema, arguments);
            }
        }
    }
    Ok(write(seen.turns.len(), turn))
}

/// In strict mode a model must send all required properties: it sends `null` if allowed.
fn fill(schema: &Value, arguments: &mut Value) {
    let (Some(properties), Some(given)) =
        (schema.get("properties").and_then(Value::as_object), arguments.as_object_mut())
    else {
        return;
    };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !given.contains_key(name)
            && properties.get(name).is_some_and(|schema| schema.to_string().contains("\"null\""))
        {
            given.insert(name.to_owned(), Value::Null);
        }
    }
}

/// The id of a call contains its turn, so that no state is needed.
fn id(turn: usize, index: usize) -> String {
    format!("call_{turn}_{index}")
}

/// Pairs the calls of a turn with their results; each call must have exactly one.
fn outcomes(calls: Vec<(String, String)>, mut results: Vec<(String, String, bool)>) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for (id, name) in calls {
        let index = results.iter().position(|(result, ..)| *result == id);
        let index = index.ok_or_else(|| format!("no result for the call `{id}` of `{name}`"))?;
        let (_, text, failed) = results.remove(index);
        if text.is_empty() {
            return Err(format!("the result of `{id}` is empty"));
        }
        outcomes.push(Outcome { id, name, text, failed });
    }
    match results.first() {
        Some((id, ..)) => Err(format!("a result for `{id}`, which was not called, or not once")),
        None => Ok(outcomes),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str, String> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| format!("no text `{key}` in {value}"))
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], String> {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| format!("no list `{key}` in {value}"))
}

/// An optional list.
fn tools(body: &Value) -> Result<&[Value], String> {
    if body.get("tools").is_some() { list(body, "tools") } else { Ok(&[]) }
}

fn object<'v>(value: &'v Value, key: &str) -> Result<&'v Map<String, Value>, String> {
    value.get(key).and_then(Value::as_object).ok_or_else(|| format!("no object `{key}` in {value}"))
}
