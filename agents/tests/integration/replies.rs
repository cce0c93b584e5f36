//! Replies without a message: errors of an API, other bodies, and streams that broke off.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use mcp_bindgen_agents::{Answer, Model, Provider, Reply, Run, RunError, RunEvent, Toolset, run};
use serde_json::{Map, Value, json};

const ALL: [Provider; 4] = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];

/// A model with one reply, which is the body of a response or the events of a stream.
struct Once {
    provider: Provider,
    body: Value,
    is_streamed: bool,
}

impl Model for Once {
    type Error = Infallible;

    fn provider(&self) -> Provider {
        self.provider
    }

    async fn reply(&self, _: Map<String, Value>, mut reply: Reply) -> Result<Value, Infallible> {
        if !self.is_streamed {
            return Ok(self.body.clone());
        }
        self.body.as_array().unwrap().iter().for_each(|event| reply.push(event));
        Ok(reply.finish())
    }
}

async fn answer(provider: Provider, body: Value, is_streamed: bool) -> Result<Answer, RunError<Infallible>> {
    let model = Once { provider, body, is_streamed };
    run(&model, &Toolset::default(), vec![provider.user_message("Who am I?")]).await
}

/// Returns the message of the error, which has the messages so far.
async fn failure(provider: Provider, body: Value, is_streamed: bool) -> String {
    let outcome = answer(provider, body.clone(), is_streamed).await;
    let Err(error) = outcome else { panic!("{provider:?}: {body} is an answer: {outcome:?}") };
    assert!(matches!(error, RunError::Reply { .. }), "{error:?}");
    assert_eq!(error.messages(), [provider.user_message("Who am I?")], "{provider:?}: {body}");
    error.to_string()
}

/// The name of a provider in messages, and the key of a message in its replies.
fn named(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::OpenAiChat => ("OpenAI Chat Completions", "`choices`"),
        Provider::OpenAiResponses => ("OpenAI Responses", "`output`"),
        Provider::Anthropic => ("Anthropic", "`content`"),
        _ => ("Gemini", "`candidates`"),
    }
}

/// The body of an error, and the event of one in a stream.
fn overloaded(provider: Provider) -> [Value; 2] {
    let error = json!({ "error": { "code": 503, "type": "overloaded_error", "message": "Too\u{1b} busy.\nWait." } });
    match provider {
        Provider::Anthropic => {
            let event = json!({ "type": "error", "error": error["error"] });
            [event.clone(), event]
        }
        Provider::OpenAiResponses => {
            [error, json!({ "type": "error", "code": "server_error", "message": "Too\u{1b} busy.\nWait." })]
        }
        _ => [error.clone(), error],
    }
}

/// The beginning of a stream, up to the text "Ad".
fn begun(provider: Provider) -> Vec<Value> {
    match provider {
        Provider::OpenAiChat => vec![json!({ "choices": [{ "delta": { "content": "Ad" }, "finish_reason": null }] })],
        Provider::OpenAiResponses => vec![json!({ "type": "response.output_text.delta", "delta": "Ad" })],
        Provider::Anthropic => vec![
            json!({ "type": "message_start", "message": { "content": [], "stop_reason": null } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "Ad" } }),
        ],
        _ => vec![json!({ "candidates": [{ "content": { "parts": [{ "text": "Ad" }] } }] })],
    }
}

#[tokio::test]
async fn api_errors_fail_a_run_with_their_message() {
    for provider in ALL {
        let [body, event] = overloaded(provider);
        for (reply, is_streamed) in [(body.clone(), false), (json!([event]), true)] {
            let error = failure(provider, reply, is_streamed).await;
            assert!(error.contains(named(provider).0) && error.contains("Too busy. Wait."), "{error}");
        }
        for body in [json!([body]), json!({ "error": "Too busy. Wait." }), json!({ "message": "Too busy. Wait." })] {
            let error = failure(provider, body, false).await;
            assert!(error.ends_with("the API reports an error: Too busy. Wait."), "{error}");
        }
        let long = failure(provider, json!({ "error": { "message": "word ".repeat(10_000) } }), false).await;
        assert!(long.chars().count() < 700 && long.ends_with('…'), "{long}");
        let silent = failure(provider, json!({ "error": { "code": 500 } }), false).await;
        assert!(silent.ends_with(r#"the API reports an error: {"code":500}"#), "{silent}");
    }
}

#[tokio::test]
async fn failed_response_is_an_error_of_the_run() {
    let failed = json!({ "status": "failed", "error": { "code": "server_error", "message": "Down." }, "output": [] });
    let event =
        json!([{ "type": "response.created", "response": {} }, { "type": "response.failed", "response": failed }]);
    for (reply, is_streamed) in [(failed, false), (event, true)] {
        let error = failure(Provider::OpenAiResponses, reply, is_streamed).await;
        assert!(error.ends_with("the API reports an error: Down."), "{error}");
    }
    let call = json!({ "type": "function_call", "call_id": "1", "name": "add", "arguments": "{}" });
    for status in ["failed", "cancelled"] {
        let reply = json!({ "status": status, "error": null, "output": [call] });
        let error = failure(Provider::OpenAiResponses, reply, false).await;
        assert!(error.ends_with(&format!("its `status` is `{status}`")), "{error}");
    }
}

#[tokio::test]
async fn stream_error_after_text_keeps_the_text() {
    for provider in ALL {
        let told: Arc<Mutex<String>> = Arc::default();
        let listener = told.clone();
        let [_, event] = overloaded(provider);
        let body = begun(provider).into_iter().chain([event]).collect();
        let model = Once { provider, body, is_streamed: true };
        let run = Run::new(&model, Toolset::default()).on_event(move |event| {
            if let RunEvent::Text(text) = event {
                listener.lock().unwrap().push_str(&text);
            }
        });
        let error = run.messages(vec![provider.user_message("Who am I?")]).await.unwrap_err();
        assert!(error.to_string().contains("Too busy. Wait."), "{error}");
        assert_eq!(*told.lock().unwrap(), "Ad");
        let RunError::Reply { reply, provider: of, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*of, provider);
        // Responses have a text in the reply when it is whole.
        let text = if provider == Provider::OpenAiResponses { "" } else { "Ad" };
        assert_eq!(provider.text(reply), text, "{reply}");
        assert_eq!(error.messages().len(), 1, "half a reply does not go into the next request");
    }
}

#[tokio::test]
async fn bodies_of_other_apis_are_errors_that_name_the_missing_key() {
    for provider in ALL {
        let (name, key) = named(provider);
        let empty = json!({ key.trim_matches('`'): [] });
        let message = json!({ "role": "assistant", "text": "Ada" });
        for body in [json!({}), json!("hello"), json!(null), json!([]), json!({ "x": 1 }), empty, message] {
            let error = failure(provider, body.clone(), false).await;
            assert!(error.contains(name) && error.contains(key), "{body}: {error}");
            assert!(error.contains("`Model::reply`"), "{error}");
        }
    }
    // As Ollama's own API replies.
    let other_api = json!({ "message": { "role": "assistant", "content": "Ada" }, "done": true });
    let other_api = failure(Provider::OpenAiChat, other_api, false).await;
    assert!(other_api.contains("`choices`"), "{other_api}");
    let no_message = failure(Provider::OpenAiChat, json!({ "choices": [{ "text": "Ada" }] }), false).await;
    assert!(no_message.contains("`message`"), "{no_message}");
}

#[tokio::test]
async fn streams_without_a_message_are_errors() {
    for provider in ALL {
        let begun = match provider {
            Provider::OpenAiChat => json!({ "choices": [{ "delta": { "role": "assistant", "content": "" } }] }),
            Provider::OpenAiResponses => json!({ "type": "response.created", "response": { "status": "in_progress" } }),
            Provider::Anthropic => json!({ "type": "message_start", "message": { "stop_reason": null } }),
            _ => json!({ "candidates": [{ "content": { "parts": [{ "text": "Hm", "thought": true }] } }] }),
        };
        for events in [json!([]), json!([{}, "hello"]), json!([{ "choices": [] }]), json!([begun])] {
            let error = failure(provider, events, true).await;
            assert!(error.contains(named(provider).0), "{error}");
        }
        let error = failure(provider, json!([begun]), true).await;
        assert!(error.contains("broke off before any text or call"), "{error}");
    }
}

#[tokio::test]
async fn blocked_prompt_is_an_error_with_its_reason() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": {} });
    for (reply, is_streamed) in [(blocked.clone(), false), (json!([blocked]), true)] {
        let error = failure(Provider::Gemini, reply, is_streamed).await;
        assert!(error.ends_with("the prompt was blocked: SAFETY"), "{error}");
    }
}

#[tokio::test]
async fn empty_messages_are_answers() {
    let chat = |message: Value, reason: &str| {
        (Provider::OpenAiChat, json!({ "choices": [{ "message": message, "finish_reason": reason }], "error": null }))
    };
    let responses = |status: &str, output: Value| {
        (Provider::OpenAiResponses, json!({ "status": status, "error": null, "output": output }))
    };
    let claude =
        |reason: &str| (Provider::Anthropic, json!({ "type": "message", "content": [], "stop_reason": reason }));
    let gemini = |candidate: Value| (Provider::Gemini, json!({ "candidates": [candidate], "promptFeedback": {} }));
    let silent = [
        // Providers refuse such a message in the next request.
        chat(json!({ "role": "assistant", "content": null, "refusal": null, "annotations": [] }), "stop"),
        claude("end_turn"),
        claude("refusal"),
        (Provider::Anthropic, json!({ "content": [{ "type": "text", "text": "" }], "stop_reason": "end_turn" })),
        gemini(json!({ "finishReason": "SAFETY" })),
        gemini(json!({ "content": { "role": "model" }, "finishReason": "MAX_TOKENS" })),
        gemini(json!({ "content": { "role": "model", "parts": [] }, "finishReason": "STOP" })),
        responses("completed", json!([])),
    ];
    let spoken = [
        chat(json!({ "role": "assistant", "content": "" }), "stop"),
        chat(json!({ "role": "assistant", "content": null, "refusal": "No." }), "stop"),
        (Provider::OpenAiChat, json!({ "choices": [{ "message": { "refusal": "No." }, "finish_reason": null }] })),
        responses("completed", json!([{ "type": "reasoning", "summary": [] }])),
        responses("incomplete", json!([{ "type": "reasoning", "summary": [] }])),
        (Provider::OpenAiResponses, json!({ "output": [{ "type": "reasoning", "summary": [] }] })),
        (Provider::OpenAiChat, json!({ "choices": [{ "message": { "role": "assistant", "content": "" } }] })),
    ];
    let all = silent.into_iter().map(|case| (case, 1)).chain(spoken.into_iter().map(|case| (case, 2)));
    for ((provider, body), messages) in all {
        let answer = answer(provider, body.clone(), false).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.messages.len()), ("", messages), "{provider:?}: {body}");
        assert_eq!(answer.reply, body);
    }
}

#[tokio::test]
async fn streams_of_empty_messages_are_answers_without_a_message() {
    for (provider, events) in [
        (Provider::OpenAiChat, json!([{ "choices": [{ "delta": {}, "finish_reason": "stop" }] }])),
        (
            Provider::OpenAiResponses,
            json!([{ "type": "response.completed", "response": { "status": "completed", "output": [] } }]),
        ),
        (
            Provider::Anthropic,
            json!([{ "type": "message_start", "message": {} }, { "type": "message_delta", "delta": { "stop_reason": "end_turn" } }]),
        ),
        (Provider::Gemini, json!([{ "candidates": [{ "finishReason": "STOP" }] }])),
    ] {
        let answer = answer(provider, events, true).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.messages.len()), ("", 1), "{provider:?}: {:?}", answer.messages);
    }
}

#[tokio::test]
async fn deferred_toolset_runs_by_reference() {
    let deferred = Toolset::default().deferred();
    let body = json!({ "content": [{ "type": "text", "text": "Ada" }], "stop_reason": "end_turn" });
    let model = Once { provider: Provider::Anthropic, body, is_streamed: false };
    let answer = Run::new(&model, &deferred).messages(vec![Provider::Anthropic.user_message("Who am I?")]).await;
    assert_eq!(answer.unwrap().text, "Ada");
}
