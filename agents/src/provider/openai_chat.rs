//! OpenAI's Chat Completions: calls in `tool_calls` of a message, results as messages of the role `tool`.

use serde_json::{Map, Value, json};

use super::calls::{Answered, End, ModelCall, RunEvent, arguments, calls_among, text};
use super::fault::{begun, first, no_body};
use super::format::{Facts, Format, Role, grown, keep, push_text};
use super::parts::{Part, Takes, joined};

pub(super) struct Chat;

impl Format for Chat {
    fn facts(&self) -> Facts {
        Facts {
            // Text alone, and no flag for errors.
            takes: Takes { images: &[], images_of_errors: false, marks_errors: false },
            // OpenAI documents it.
            tools_at_most: 128,
            // Longer ones are refused, which OpenAI documents nowhere.
            description_at_most: 1024,
            ..Facts::USUAL
        }
    }

    fn calls(&self, reply: &Value) -> Vec<ModelCall> {
        let choice = reply.pointer("/choices/0").unwrap_or(reply);
        let message = choice.get("message").unwrap_or(choice);
        let end = End::of(choice, "finish_reason", &["length"], &["content_filter"]);
        let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        calls_among(calls, |call| {
            let id = text(call, "id");
            let call = match call.get("function").filter(|function| function.is_object()) {
                Some(function) => ModelCall::new(id, text(function, "name"), arguments(function, "arguments")),
                // Every call needs an answer with its id.
                None if id.is_empty() => return None,
                None => {
                    let other = call.get("custom").unwrap_or(call);
                    ModelCall::new(id, text(other, "name"), arguments(other, "input"))
                }
            };
            Some((call, end))
        })
    }

    fn result(&self, answer: &Answered, _is_success: bool, parts: Vec<Part>) -> Value {
        json!({"role": "tool", "tool_call_id": answer.id, "content": joined(&parts)})
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> Value {
        let has_images = parts.iter().any(|part| part.text().is_none());
        let content = match role {
            Role::User if has_images => parts.into_iter().map(input).collect(),
            _ => json!(joined(&parts)),
        };
        json!({"role": role, "content": content})
    }

    fn instructions(&self, text: &str) -> Value {
        json!({"role": "system", "content": text})
    }

    fn check(&self, reply: &Value) -> Result<(), String> {
        let choice = first(reply, "choices")?;
        match (choice.get("message"), choice.get("finish_reason")) {
            (Some(message @ Value::Object(_)), Some(Value::Null)) if text(message, "refusal").is_empty() => {
                begun(self, reply)
            }
            (Some(Value::Object(_)), _) => Ok(()),
            _ => Err(no_body("no `message` in `choices`")),
        }
    }

    fn reply(&self, reply: &Value) -> Vec<Value> {
        let is_some = |(key, value): (&String, &Value)| {
            key != "role" && !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty())
        };
        let says_something = |message: &&Value| message.as_object().is_some_and(|members| members.iter().any(is_some));
        reply.pointer("/choices/0/message").filter(says_something).cloned().into_iter().collect()
    }

    fn text(&self, reply: &Value) -> String {
        reply.pointer("/choices/0/message").map(|message| text(message, "content")).unwrap_or_default()
    }

    /// Events are chunks: the deltas of a message.
    fn add(&self, reply: &mut Value, event: &Value) -> Vec<RunEvent> {
        let mut pieces = Vec::new();
        let mut choices = event.get("choices").and_then(Value::as_array).into_iter().flatten();
        let choice = choices.find(|choice| choice.get("index").is_none_or(|index| *index == 0));
        let Some(choice) = choice else { return pieces };
        if reply.get("choices").is_none() {
            let message = json!({"role": "assistant", "content": null});
            keep(reply, "choices", json!([{"index": 0, "message": message, "finish_reason": null}]));
        }
        let Some(kept) = reply.pointer_mut("/choices/0") else { return pieces };
        if let (Some(reason @ Value::String(_)), Value::Object(kept)) = (choice.get("finish_reason"), &mut *kept) {
            kept.insert("finish_reason".to_owned(), reason.clone());
        }
        let Some(message) = kept.get_mut("message") else { return pieces };
        for (key, value) in choice.get("delta").and_then(Value::as_object).into_iter().flatten() {
            match (key.as_str(), value, &mut *message) {
                ("role", ..) | (_, Value::Null, _) => {}
                ("tool_calls", Value::Array(calls), Value::Object(message)) => {
                    calls.iter().for_each(|call| add_call(message, call, &mut pieces));
                }
                (key, Value::String(more), message) => {
                    push_text(message, key, more);
                    pieces.extend(RunEvent::text(more).filter(|_| key == "content"));
                }
                (key, value, Value::Object(message)) => drop(message.insert(key.to_owned(), value.clone())),
                _ => {}
            }
        }
        pieces
    }

    fn declared(&self, members: Map<String, Value>) -> Value {
        json!({"type": "function", "function": members})
    }
}

fn input(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { mime_type, data } => {
            json!({"type": "image_url", "image_url": {"url": format!("data:{mime_type};base64,{data}")}})
        }
    }
}

fn add_call(message: &mut Map<String, Value>, delta: &Value, pieces: &mut Vec<RunEvent>) {
    let Value::Array(calls) = message.entry("tool_calls").or_insert_with(|| json!([])) else { return };
    let place = delta.get("index").and_then(Value::as_u64).unwrap_or_default();
    let (Some(call), Some(function)) = (grown(calls, place), delta.get("function")) else { return };
    let (id, name) = (text(delta, "id"), text(function, "name"));
    if !name.is_empty() {
        *call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        pieces.push(RunEvent::CallBegun { id, name });
    }
    if let Some(kept) = call.get_mut("function") {
        let more = text(function, "arguments");
        push_text(kept, "arguments", &more);
        pieces.extend(RunEvent::arguments(&more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(reply: &Value) -> Vec<ModelCall> {
        Chat.calls(reply)
    }

    #[test]
    fn calls_are_found_in_a_response_and_in_a_message() {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "a", "arguments": "{\"n\":1}"}},
            {"id": "call_2", "type": "function", "function": {"name": "b", "arguments": ""}},
            {"id": "call_3", "type": "function", "function": {"name": "c"}},
            {"id": "call_4", "type": "custom", "custom": {"name": "grammar", "input": "x"}},
        ]});
        let response = json!({"choices": [{"finish_reason": "tool_calls", "message": message}]});
        let found = calls(&response);
        assert_eq!(found, calls(&message));
        let ids: Vec<&str> = found.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call_1", "call_2", "call_3", "call_4"], "each id has to be answered");
        assert_eq!(found[3].name, "grammar");
        assert!(found[3].arguments.clone().object().is_err());
        assert_eq!(found[0].arguments.clone().object().map(Value::Object), Ok(json!({"n": 1})));
        assert_eq!(found[2].arguments.clone().object().map(|none| none.len()), Ok(0));
        assert!(found.iter().all(|call| !call.is_unfinished));
        for other in [json!({}), json!(null), json!({"choices": []}), json!({"error": {"message": "overloaded"}})] {
            assert!(calls(&other).is_empty());
        }
    }

    #[test]
    fn incomplete_last_call_of_a_truncated_reply_is_unfinished() {
        let response = |last: &str, reason: &str| {
            let of = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "a", "arguments": arguments}});
            json!({"choices": [{"finish_reason": reason, "message": {"tool_calls": [of("1", "{}"), of("2", last)]}}]})
        };
        for (last, is_unfinished) in [("{\"n\": 1", true), ("", true), ("{\"n\": 1}", false)] {
            let found = calls(&response(last, "length"));
            assert_eq!((found[0].is_unfinished, found[1].is_unfinished), (false, is_unfinished), "{last}");
        }
        assert!(calls(&response("{}", "content_filter")).iter().all(|call| call.is_unfinished));
    }
}
