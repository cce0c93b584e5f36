//! Runs of a scripted model, and replies put together from recorded streams of four APIs.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use mcp_bindgen_agents::{
    Model, Prompt, PromptParams, PromptState, Provider, Reply, Run, RunError, RunEvent, RunTools, Section, SectionTool,
    Toolset, Visibility, run,
};
use serde_json::{Map, Value, json};

use crate::support::Nothing;

const ALL: [Provider; 4] = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn toolset() -> Toolset {
    Toolset::builder().function("add", "Adds.", async |add: Add| Ok::<_, String>(add.a + add.b)).build().unwrap()
}

/// The events of a stream in which a model says "So:" and calls `add` with 1 and 2, and one in which it says "Three.".
fn streams(provider: Provider) -> [Vec<Value>; 2] {
    let chunk = |delta: Value, reason: Value| json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    let call = |index: u64, function: Value| json!({ "tool_calls": [{ "index": index, "function": function }] });
    match provider {
        Provider::OpenAiChat => [
            vec![
                chunk(json!({ "role": "assistant", "content": "So" }), Value::Null),
                chunk(json!({ "content": ":" }), Value::Null),
                chunk(
                    json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "" } }] }),
                    Value::Null,
                ),
                chunk(call(0, json!({ "arguments": "{\"a\":1," })), Value::Null),
                chunk(call(0, json!({ "arguments": "\"b\":2}" })), Value::Null),
                chunk(json!({}), json!("tool_calls")),
                json!({ "id": "c", "choices": [], "usage": { "total_tokens": 7 } }),
            ],
            vec![
                chunk(json!({ "role": "assistant", "content": "Three." }), Value::Null),
                chunk(json!({}), json!("stop")),
            ],
        ],
        Provider::OpenAiResponses => {
            let text = |text: &str| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
            let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"a\":1,\"b\":2}", "status": "completed" });
            [
                vec![
                    json!({ "type": "response.created", "response": { "status": "in_progress", "output": [] } }),
                    json!({ "type": "response.output_item.added", "item": { "type": "message", "content": [] } }),
                    json!({ "type": "response.output_text.delta", "delta": "So" }),
                    json!({ "type": "response.output_text.delta", "delta": ":" }),
                    json!({ "type": "response.output_item.done", "item": text("So:") }),
                    json!({ "type": "response.output_item.added", "item": { "type": "function_call", "call_id": "call_1", "name": "add", "arguments": "" } }),
                    json!({ "type": "response.function_call_arguments.delta", "delta": "{\"a\":1," }),
                    json!({ "type": "response.function_call_arguments.delta", "delta": "\"b\":2}" }),
                    json!({ "type": "response.output_item.done", "item": call }),
                    json!({ "type": "response.completed", "response": { "status": "completed", "output": [text("So:"), call] } }),
                ],
                vec![
                    json!({ "type": "response.output_text.delta", "delta": "Three." }),
                    json!({ "type": "response.completed", "response": { "status": "completed", "output": [text("Three.")] } }),
                ],
            ]
        }
        Provider::Anthropic => {
            let start = json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "stop_reason": null } });
            let delta =
                |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
            let begin = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
            let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
            let end =
                |reason: &str| json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": {} });
            [
                vec![
                    start.clone(),
                    begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
                    delta(0, json!({ "type": "thinking_delta", "thinking": "easy" })),
                    delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
                    stop(0),
                    json!({ "type": "ping" }),
                    begin(1, json!({ "type": "text", "text": "" })),
                    delta(1, json!({ "type": "text_delta", "text": "So" })),
                    delta(1, json!({ "type": "text_delta", "text": ":" })),
                    stop(1),
                    begin(2, json!({ "type": "tool_use", "id": "call_1", "name": "add", "input": {} })),
                    delta(2, json!({ "type": "input_json_delta", "partial_json": "" })),
                    delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"a\":1," })),
                    delta(2, json!({ "type": "input_json_delta", "partial_json": "\"b\":2}" })),
                    stop(2),
                    end("tool_use"),
                    json!({ "type": "message_stop" }),
                ],
                vec![
                    start,
                    begin(0, json!({ "type": "text", "text": "" })),
                    delta(0, json!({ "type": "text_delta", "text": "Three." })),
                    stop(0),
                    end("end_turn"),
                ],
            ]
        }
        _ => {
            let parts = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
            let end = json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": "STOP" }] });
            [
                vec![
                    parts(json!([{ "text": "easy", "thought": true }])),
                    parts(json!([{ "text": "So" }])),
                    parts(json!([{ "text": ":" }])),
                    parts(
                        json!([{ "functionCall": { "id": "call_1", "name": "add", "args": { "a": 1, "b": 2 } }, "thoughtSignature": "c2ln" }]),
                    ),
                    end.clone(),
                ],
                vec![parts(json!([{ "text": "Three." }])), end],
            ]
        }
    }
}

/// Replays replies, and keeps the requests.
struct Script {
    provider: Provider,
    streams: Mutex<VecDeque<Vec<Value>>>,
    requests: Mutex<Vec<Map<String, Value>>>,
}

impl Script {
    fn new(provider: Provider, streams: impl IntoIterator<Item = Vec<Value>>) -> Self {
        Self { provider, streams: Mutex::new(streams.into_iter().collect()), requests: Mutex::default() }
    }

    fn requests(&self) -> Vec<Map<String, Value>> {
        self.requests.lock().unwrap().clone()
    }
}

impl Model for Script {
    type Error = io::Error;

    fn provider(&self) -> Provider {
        self.provider
    }

    async fn reply(&self, request: Map<String, Value>, mut reply: Reply) -> Result<Value, io::Error> {
        self.requests.lock().unwrap().push(request);
        let events = self.streams.lock().unwrap().pop_front();
        let events = events.ok_or_else(|| io::Error::other("the API is down"))?;
        events.iter().for_each(|event| reply.push(event));
        Ok(reply.finish())
    }
}

#[tokio::test]
async fn run_makes_calls_for_every_provider_and_emits_events() {
    for provider in ALL {
        let model = Script::new(provider, streams(provider));
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = told.clone();
        let answer = Run::new(&model, toolset())
            .instructions("Add.")
            .on_event(move |event| {
                listener.lock().unwrap().push(match event {
                    RunEvent::Text(text) => text,
                    RunEvent::CallBegun { id, name, .. } => format!("<{id} {name}>"),
                    RunEvent::Arguments(json) => json,
                    RunEvent::Called(call) => format!("<called {}>", call.name),
                    RunEvent::Answered(answered) => format!("<{}>", answered.reply.message),
                    other => panic!("{other:?}"),
                });
            })
            .messages(vec![provider.user_message("One and two?")])
            .await
            .unwrap();
        assert_eq!((answer.text.as_str(), answer.turns, answer.state), ("Three.", 2, None), "{provider:?}");
        let told = told.lock().unwrap().concat();
        assert_eq!(told, "So:<call_1 add>{\"a\":1,\"b\":2}<called add><3>Three.", "{provider:?}");

        let requests = model.requests();
        let text = Value::from(requests[1].clone()).to_string();
        for part in ["Add.", "One and two?", "So:", "call_1", "\"3\""] {
            assert!(text.contains(part), "{provider:?}: no {part} in {text}");
        }
        let place = match provider {
            Provider::OpenAiResponses => "input",
            Provider::Gemini => "contents",
            _ => "messages",
        };
        assert_eq!(requests[0]["tools"], json!(toolset().definitions(provider).tools));
        let system = usize::from(provider == Provider::OpenAiChat);
        let sent = requests[1][place].as_array().unwrap();
        assert_eq!(answer.messages[..sent.len() - system], sent[system..], "the conversation goes on as it was");
        if provider == Provider::Gemini {
            assert_eq!(requests[0]["toolConfig"]["functionCallingConfig"]["mode"], "VALIDATED");
        }
    }
}

#[test]
fn streamed_reply_equals_the_whole_reply() {
    let whole = |provider: Provider| {
        let mut reply = Reply::of(provider);
        streams(provider)[0].iter().for_each(|event| reply.push(event));
        reply.finish()
    };
    let chat = whole(Provider::OpenAiChat);
    let call =
        json!({ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" } });
    let message = json!({ "role": "assistant", "content": "So:", "tool_calls": [call] });
    assert_eq!(chat, json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] }));
    let anthropic = whole(Provider::Anthropic);
    let blocks = json!([
        { "type": "thinking", "thinking": "easy", "signature": "c2ln" },
        { "type": "text", "text": "So:" },
        { "type": "tool_use", "id": "call_1", "name": "add", "input": { "a": 1, "b": 2 } },
    ]);
    assert_eq!((&anthropic["content"], &anthropic["stop_reason"]), (&blocks, &json!("tool_use")));
    let gemini = whole(Provider::Gemini);
    let parts = json!([
        { "text": "easy", "thought": true },
        { "text": "So:" },
        { "functionCall": { "id": "call_1", "name": "add", "args": { "a": 1, "b": 2 } }, "thoughtSignature": "c2ln" },
        { "text": "" },
    ]);
    assert_eq!(gemini["candidates"][0]["content"]["parts"], parts);
    assert_eq!(gemini["candidates"][0]["finishReason"], "STOP");
}

#[tokio::test]
async fn interrupted_stream_makes_no_partial_call() {
    for provider in ALL {
        let stream = &streams(provider)[0];
        for length in 0..=stream.len() {
            let mut reply = Reply::of(provider);
            stream[..length].iter().for_each(|event| reply.push(event));
            let whole = reply.finish();
            let answers = toolset().turn(provider.calls(&whole)).await;
            for answered in answers {
                let is_right = answered.reply.message == "3" || !answered.reply.success;
                assert!(is_right, "{provider:?} after {length} events: {}", answered.reply.message);
            }
        }
    }
}

#[tokio::test]
async fn malformed_stream_events_are_tolerated() {
    let odd = [
        json!(null),
        json!([]),
        json!({ "type": 5 }),
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 1u64 << 40 }] } }] }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "text_delta", "text": 5 } }),
        json!({ "type": "content_block_start", "index": 99_999, "content_block": {} }),
        json!({ "candidates": [{ "content": { "parts": [5, { "functionCall": 5 }] } }] }),
        json!({ "type": "response.output_item.done" }),
    ];
    for provider in ALL {
        let mut reply = Reply::of(provider);
        for event in odd.iter().chain(&streams(provider)[0]).chain(&odd) {
            reply.push(event);
        }
        let whole = reply.finish();
        assert!(provider.calls(&whole).len() <= 3, "{whole}");
    }
}

#[tokio::test]
async fn failed_run_returns_its_messages() {
    for provider in ALL {
        let [call, _] = streams(provider);
        let model = Script::new(provider, [call.clone()]);
        let error = run(&model, &toolset(), vec![provider.user_message("One and two?")]).await.unwrap_err();
        assert!(matches!(error, RunError::Model { .. }) && error.to_string().contains("the API is down"), "{error}");
        // The question, the reply and the result; Responses have an item for each part of a reply.
        assert!(error.messages().len() >= 3 && error.messages().last().unwrap().to_string().contains('3'));

        let model = Script::new(provider, [call.clone(), call.clone(), call]);
        let run = Run::new(&model, toolset()).max_turns(2).messages(vec![provider.user_message("One and two?")]);
        let error = run.await.unwrap_err();
        assert!(matches!(error, RunError::TooManyTurns { turns: 2, .. }), "{error}");
        assert_eq!(model.requests().len(), 2);
    }
}

#[tokio::test]
async fn prompt_is_rendered_for_each_turn() {
    let provider = Provider::Anthropic;
    let message = |content: Value, reason: &str| {
        let start = json!({ "type": "message_start", "message": { "content": [] } });
        let block = json!({ "type": "content_block_start", "index": 0, "content_block": content });
        vec![start, block, json!({ "type": "message_delta", "delta": { "stop_reason": reason } })]
    };
    let open = json!({ "type": "tool_use", "id": "1", "name": "open_sections", "input": { "section_keys": ["time"], "reason": "r" } });
    let now = json!({ "type": "tool_use", "id": "2", "name": "now", "input": {} });
    let paused = message(json!({ "type": "text", "text": "One moment." }), "pause_turn");
    let done = message(json!({ "type": "text", "text": "It is noon." }), "end_turn");
    let model = Script::new(provider, [message(open, "tool_use"), message(now, "tool_use"), paused, done]);
    let clock = SectionTool::function("now", "The time.", async |_: Nothing| Ok::<_, String>("noon"));
    let section = Section::new("time", "Time").summary("Clocks.").visibility(Visibility::Summary).tool(clock);
    let prompt = Prompt::new().section(section).build().unwrap();
    let tools = RunTools::prompt(prompt, PromptParams::new(), PromptState::new());
    let run = Run::new(&model, tools).instructions("Be brief.").messages(vec![provider.user_message("The time?")]);
    let answer = run.await.unwrap();
    assert_eq!((answer.text.as_str(), answer.turns), ("It is noon.", 4), "a pause is no end");
    assert!(answer.state.unwrap().open.paths().any(|path| path == "time"));
    let requests = model.requests();
    let names = |request: &Map<String, Value>| {
        let tools = request["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&requests[0]), names(&requests[1])),
        (vec!["open_sections".to_owned()], vec!["open_sections".to_owned(), "now".to_owned()])
    );
    let system = requests[0]["system"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n") && system.contains("Clocks."), "{system}");
    assert_eq!(requests[0]["system"], requests[1]["system"], "a cache of the instructions holds");
}

#[tokio::test]
async fn prompt_on_a_toolset_has_its_tools_and_limit() {
    let provider = Provider::Anthropic;
    let message = |content: Value, reason: &str| {
        let start = json!({ "type": "message_start", "message": { "content": [] } });
        let block = json!({ "type": "content_block_start", "index": 0, "content_block": content });
        vec![start, block, json!({ "type": "message_delta", "delta": { "stop_reason": reason } })]
    };
    let all = json!({ "type": "tool_use", "id": "1", "name": "all", "input": {} });
    let rest = json!({ "type": "tool_use", "id": "2", "name": "read_result", "input": { "result": 1, "from": 9990 } });
    let done = message(json!({ "type": "text", "text": "Done." }), "end_turn");
    let model = Script::new(provider, [message(all, "tool_use"), message(rest, "tool_use"), done]);
    let all = SectionTool::function("all", "Everything.", async |_: Nothing| Ok::<_, String>("x".repeat(10_000)));
    let prompt = Prompt::new().section(Section::new("work", "Work").tool(all)).build().unwrap();
    let base = Toolset::builder().build().unwrap().max_result(2_000);
    let tools = RunTools::prompt_on(base, prompt, PromptParams::new(), PromptState::new());
    let answer = Run::new(&model, tools).messages(vec![provider.user_message("Go.")]).await.unwrap();
    let results: Vec<&str> = [&answer.messages[2], &answer.messages[4]]
        .map(|message| message.pointer("/content/0/content").and_then(Value::as_str).unwrap())
        .to_vec();
    assert!(results[0].len() <= 2_000 && results[0].contains("[cut: go on at character"), "{}", results[0]);
    assert_eq!(results[1], "x".repeat(10));
}
