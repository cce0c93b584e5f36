//! OpenAI's Chat Completions: calls in `tool_calls` of a message, results as messages of the role `tool`.

use serde_json::{Value, json};

use mcp_bindgen_schema::provider::Dialect;

use super::answers::Group;
use super::calls::{End, arguments, calls_among, ending, text};
use super::format::{Declaration, Format, Role, StrictRoom, grown, push_text};
use super::parts::{PICTURES, Part, Takes, joined};
use super::{ModelCall, RunEvent};

pub(super) const FORMAT: Format = Format {
    calls,
    // Text alone, and no flag for errors.
    takes: Takes { images: &[], images_of_errors: false, marks_errors: false },
    result,
    results_key: None,
    images_for: |_| false,
    images_of_users: PICTURES,
    message,
    instructions: |text| json!({"role": "system", "content": text}),
    instructions_key: None,
    messages_key: "messages",
    reply,
    text: said,
    add,
    declaration,
    list: std::convert::identity,
    dialect: Dialect::OpenAi,
    // OpenAI documents it.
    tools_at_most: Some(128),
    // Longer ones are refused, which OpenAI documents nowhere.
    description_at_most: Some(1024),
    needs_description: false,
    strict_at_most: StrictRoom::UNLIMITED,
    strict_mode: None,
    search: None,
};

fn calls(reply: &Value) -> Vec<ModelCall> {
    let choice = reply.pointer("/choices/0").unwrap_or(reply);
    let message = choice.get("message").unwrap_or(choice);
    let end = match ending(choice, "finish_reason") {
        Ok("length") => End::Cut,
        Ok("content_filter") => End::Withheld,
        Ok(_) => End::Whole,
        Err(end) => end,
    };
    let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    calls_among(calls, |call| {
        let id = text(call, "id");
        let call = match call.get("function").filter(|function| function.is_object()) {
            Some(function) => ModelCall::new(id, text(function, "name"), arguments(function, "arguments")),
            // Every call needs an answer with its id.
            None => {
                let other = call.get("custom").unwrap_or(call);
                ModelCall::new(Some(id).filter(|id| !id.is_empty())?, text(other, "name"), arguments(other, "input"))
            }
        };
        Some((call, end))
    })
}

fn result(group: &Group<'_>, parts: Vec<Part>) -> Value {
    json!({"role": "tool", "tool_call_id": group.id, "content": joined(&parts)})
}

fn message(role: Role, parts: Vec<Part>) -> Value {
    let has_images = parts.iter().any(|part| !part.is_text());
    let content = match role {
        Role::User if has_images => parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => json!({"type": "text", "text": text}),
                Part::Image { mime_type, data } => {
                    json!({"type": "image_url", "image_url": {"url": format!("data:{mime_type};base64,{data}")}})
                }
            })
            .collect(),
        _ => json!(joined(&parts)),
    };
    json!({"role": role.name(), "content": content})
}

fn reply(reply: &Value) -> Vec<Value> {
    reply.pointer("/choices/0/message").cloned().into_iter().collect()
}

fn said(reply: &Value) -> String {
    reply.pointer("/choices/0/message").map(|message| text(message, "content")).unwrap_or_default()
}

/// Events are chunks: the deltas of a message.
fn add(reply: &mut Value, event: &Value) -> Vec<RunEvent> {
    if reply.is_null() {
        *reply = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": null}, "finish_reason": null}]});
    }
    let mut pieces = Vec::new();
    let choices = event.get("choices").and_then(Value::as_array).into_iter().flatten();
    let Some(choice) = choices.into_iter().find(|choice| choice.get("index").is_none_or(|index| *index == 0)) else {
        return pieces;
    };
    if let (Some(reason @ Value::String(_)), Some(kept)) =
        (choice.get("finish_reason"), reply.pointer_mut("/choices/0/finish_reason"))
    {
        *kept = reason.clone();
    }
    let Some(message) = reply.pointer_mut("/choices/0/message") else { return pieces };
    for (key, value) in choice.get("delta").and_then(Value::as_object).into_iter().flatten() {
        match (key.as_str(), value) {
            ("tool_calls", Value::Array(calls)) => calls.iter().for_each(|call| add_call(message, call, &mut pieces)),
            ("role", _) | (_, Value::Null) => {}
            (key, Value::String(more)) => {
                push_text(message, key, more);
                pieces.extend(RunEvent::text(more).filter(|_| key == "content"));
            }
            (key, value) => {
                if let Value::Object(members) = &mut *message {
                    members.insert(key.to_owned(), value.clone());
                }
            }
        }
    }
    pieces
}

fn add_call(message: &mut Value, delta: &Value, pieces: &mut Vec<RunEvent>) {
    let Value::Object(members) = message else { return };
    let Value::Array(calls) = members.entry("tool_calls").or_insert_with(|| json!([])) else { return };
    let place = delta.get("index").and_then(Value::as_u64).unwrap_or_default();
    let Some(call) = grown(calls, usize::try_from(place).unwrap_or(usize::MAX)) else { return };
    let (id, name) = (text(delta, "id"), delta.get("function").map(|function| text(function, "name")));
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        *call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        pieces.push(RunEvent::CallBegun { id, name });
    }
    if let (Some(function), Some(more)) =
        (call.get_mut("function"), delta.pointer("/function/arguments").and_then(Value::as_str))
    {
        push_text(function, "arguments", more);
        pieces.extend(RunEvent::arguments(more));
    }
}

/// Declares a tool; a missing `strict` means false.
fn declaration(tool: Declaration<'_>) -> Value {
    json!({"type": "function", "function": tool.members("parameters", true)})
}

#[cfg(test)]
mod tests {
    use super::*;

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
