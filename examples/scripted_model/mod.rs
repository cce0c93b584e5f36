//! A model that needs neither a key nor a network: it says what a script says, over HTTP on this machine, in the wire formats
//! of the four providers.
//!
//! It keeps nothing between requests, as providers do, and is as strict as they are: a declaration that one of them would
//! refuse, a call without its result, a result without its call or a name that is not declared is an error with status 400.

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

/// What the script sees of a request.
pub(crate) struct Seen {
    /// The system's message.
    pub(crate) instructions: String,
    /// The tools that are declared.
    pub(crate) tools: Vec<Declared>,
    /// What was called in the turns before, and what came of it.
    pub(crate) turns: Vec<Vec<Outcome>>,
}

/// A tool as it is declared.
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

/// What the model does.
pub(crate) enum Turn {
    /// It calls tools, all in one turn.
    Call(Vec<(String, Value)>),
    /// It is done.
    Say(String),
}

impl Seen {
    /// What came of the turn before.
    pub(crate) fn last(&self) -> &[Outcome] {
        self.turns.last().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|declared| declared.name == tool)
    }
}

/// How a provider's requests are read, and its answers written.
type Wire = (fn(&Value) -> Result<Seen, String>, fn(usize, Turn) -> Value);
type Script = dyn Fn(&Seen) -> Result<Turn, String> + Send + Sync;

/// The model's server. It ends with the process.
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

    /// How many requests were as they have to be.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Posts a request to where the provider has its own.
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

/// A strict model cannot leave out what is required: what it has nothing to say of is `null`, where that may be.
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

/// The id of a call says where it was made, so that nothing has to be kept.
fn id(turn: usize, index: usize) -> String {
    format!("call_{turn}_{index}")
}

/// Puts results to the calls of a turn: all of them, each once, and none besides.
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

/// A list that may be left out.
fn tools(body: &Value) -> Result<&[Value], String> {
    if body.get("tools").is_some() { list(body, "tools") } else { Ok(&[]) }
}

fn object<'v>(value: &'v Value, key: &str) -> Result<&'v Map<String, Value>, String> {
    value.get(key).and_then(Value::as_object).ok_or_else(|| format!("no object `{key}` in {value}"))
}
