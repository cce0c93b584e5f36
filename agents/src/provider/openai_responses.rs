//! OpenAI's Responses: calls are items `function_call`, results items `function_call_output`.

use serde_json::{Map, Value, json};

use super::calls::{Answered, End, ModelCall, RunEvent, arguments, calls_among, items, text};
use super::fault::{begun, first, list};
use super::format::{Facts, Format, Role};
use super::parts::{Part, Takes, joined};

pub(super) struct Responses;

impl Format for Responses {
    fn facts(&self) -> Facts {
        Facts {
            // `input_image` among the parts of an output; no flag for errors.
            takes: Takes { marks_errors: false, ..Facts::USUAL.takes },
            instructions_key: Some("instructions"),
            messages_key: "input",
            search: Some(|| json!({"type": "tool_search"})),
            ..Facts::USUAL
        }
    }

    fn calls(&self, reply: &Value) -> Vec<ModelCall> {
        let is_one = text(reply, "type") == "function_call";
        let output = if is_one { std::slice::from_ref(reply) } else { items(reply, "output") };
        let reason = reply.pointer("/incomplete_details/reason").and_then(Value::as_str);
        let end = match (text(reply, "status").as_str(), reason) {
            _ if is_one => End::Whole,
            (_, Some("content_filter")) | ("failed" | "cancelled", _) => End::Withheld,
            ("incomplete" | "in_progress", _) => End::Cut,
            _ => End::Whole,
        };
        calls_among(output, |item| {
            if text(item, "type") != "function_call" {
                return None;
            }
            let mut call = ModelCall::new(text(item, "call_id"), text(item, "name"), arguments(item, "arguments"));
            call.namespace = item.get("namespace").and_then(Value::as_str).map(str::to_owned);
            let end = match text(item, "status").as_str() {
                "incomplete" | "in_progress" => End::Withheld,
                "completed" if end == End::Cut => End::Whole,
                _ => end,
            };
            Some((call, end))
        })
    }

    fn result(&self, answer: &Answered, _is_success: bool, parts: Vec<Part>) -> Value {
        let has_images = parts.iter().any(|part| part.text().is_none());
        let output = if has_images { parts.into_iter().map(input).collect() } else { json!(joined(&parts)) };
        json!({"type": "function_call_output", "call_id": answer.id, "output": output})
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> Value {
        let content: Vec<Value> = match role {
            Role::User => parts.into_iter().map(input).collect(),
            Role::Assistant => vec![json!({"type": "output_text", "text": joined(&parts)})],
        };
        json!({"role": role, "content": content})
    }

    fn check(&self, reply: &Value) -> Result<(), String> {
        let status = text(reply, "status");
        match status.as_str() {
            "failed" | "cancelled" => Err(format!("its `status` is `{status}`")),
            "completed" | "incomplete" => list(reply, "output").map(drop),
            "in_progress" | "queued" => list(reply, "output").and_then(|_| begun(self, reply)),
            _ => first(reply, "output").map(drop),
        }
    }

    fn reply(&self, reply: &Value) -> Vec<Value> {
        items(reply, "output").to_vec()
    }

    fn text(&self, reply: &Value) -> String {
        let messages = items(reply, "output").iter().filter(|item| text(item, "type") == "message");
        let parts = messages.flat_map(|message| items(message, "content"));
        parts.filter(|part| text(part, "type") == "output_text").map(|part| text(part, "text")).collect()
    }

    /// Adds an event to the reply. The last event has the whole response; if a stream breaks off earlier, the complete
    /// items stay.
    fn add(&self, reply: &mut Value, event: &Value) -> Vec<RunEvent> {
        if reply.is_null() {
            *reply = json!({"status": "in_progress", "output": []});
        }
        let piece = match (text(event, "type").as_str(), event.get("item")) {
            ("response.completed" | "response.incomplete" | "response.failed", _) => {
                if let Some(response) = event.get("response") {
                    reply.clone_from(response);
                }
                None
            }
            ("response.output_text.delta", _) => RunEvent::text(&text(event, "delta")),
            ("response.function_call_arguments.delta", _) => RunEvent::arguments(&text(event, "delta")),
            ("response.output_item.added", Some(call)) if text(call, "type") == "function_call" => {
                Some(RunEvent::CallBegun { id: text(call, "call_id"), name: text(call, "name") })
            }
            ("response.output_item.done", Some(item)) => {
                if let Some(Value::Array(output)) = reply.get_mut("output") {
                    output.push(item.clone());
                }
                None
            }
            _ => None,
        };
        piece.into_iter().collect()
    }

    /// `strict` is explicit, because otherwise the provider makes the schema strict itself.
    fn declared(&self, members: Map<String, Value>) -> Value {
        std::iter::once(("type".to_owned(), json!("function"))).chain(members).collect()
    }
}

fn input(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image { mime_type, data } => {
            json!({"type": "input_image", "image_url": format!("data:{mime_type};base64,{data}")})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(reply: &Value) -> Vec<ModelCall> {
        Responses.calls(reply)
    }

    #[test]
    fn calls_are_found_in_a_response_a_list_of_items_and_an_item() {
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "namespace": "crm",
            "name": "a", "arguments": "{\"n\":1}", "status": "completed"});
        let items = json!([{"type": "reasoning", "summary": []}, call, {"type": "mcp_call", "name": "theirs"}]);
        for reply in [json!({"status": "completed", "output": items}), items.clone(), call.clone()] {
            let found = calls(&reply);
            assert_eq!(found.len(), 1, "{reply}");
            assert_eq!((found[0].id.as_str(), found[0].name.as_str()), ("call_1", "a"));
            assert_eq!(found[0].namespace.as_deref(), Some("crm"));
            assert!(!found[0].is_unfinished);
        }
        assert!(calls(&json!({"output": 5})).is_empty() && calls(&json!("text")).is_empty());
    }

    #[test]
    fn incomplete_calls_are_unfinished() {
        let call = |status: Value| json!({"type": "function_call", "call_id": "c", "name": "a", "arguments": "{\"n\"", "status": status});
        assert!(calls(&call(json!("incomplete")))[0].is_unfinished);
        assert!(calls(&json!({"status": "incomplete", "output": [call(Value::Null)]}))[0].is_unfinished);
        assert!(!calls(&json!({"status": "completed", "output": [call(Value::Null)]}))[0].is_unfinished);
        let completed = call(json!("completed"));
        assert!(!calls(&json!({"status": "incomplete", "output": [completed]}))[0].is_unfinished);
        let withheld =
            json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": [completed]});
        assert!(calls(&withheld)[0].is_unfinished);
        let text = json!({"type": "message"});
        assert!(!calls(&json!({"status": "incomplete", "output": [call(Value::Null), text]}))[0].is_unfinished);
    }
}
