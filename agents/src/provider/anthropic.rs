//! Anthropic's Messages: calls are blocks `tool_use`, results blocks `tool_result` of one user message.

use mcp_bindgen_schema::provider::Dialect;
use serde_json::{Value, json};

use super::calls::{Answered, End, ModelCall, RunEvent, arguments, calls_among, items, text};
use super::fault::{begun, first, list};
use super::format::{Facts, Format, Role, StrictRoom, grown, push_text};
use super::parts::{Part, Takes};

pub(super) struct Anthropic;

impl Format for Anthropic {
    fn facts(&self) -> Facts {
        Facts {
            // Images of four types; of results that are errors, text alone.
            takes: Takes { images_of_errors: false, ..Facts::USUAL.takes },
            // It has to follow the message of the calls at once.
            results_key: Some("content"),
            instructions_key: Some("system"),
            schema_key: "input_schema",
            says_strict: &[true],
            dialect: Dialect::Anthropic,
            // More are refused as too complex (the documentation of structured outputs).
            strict_at_most: StrictRoom { tools: 20, optional: 24, unions: 16 },
            search: Some(|| json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})),
            ..Facts::USUAL
        }
    }

    fn calls(&self, reply: &Value) -> Vec<ModelCall> {
        let is_one = text(reply, "type") == "tool_use";
        let blocks = if is_one { std::slice::from_ref(reply) } else { items(reply, "content") };
        let end = End::of(reply, "stop_reason", &["max_tokens", "model_context_window_exceeded"], &["refusal"]);
        calls_among(blocks, |block| {
            let call = ModelCall::new(text(block, "id"), text(block, "name"), arguments(block, "input"));
            (text(block, "type") == "tool_use").then_some((call, end))
        })
    }

    fn result(&self, answer: &Answered, is_success: bool, parts: Vec<Part>) -> Value {
        let content = match parts.as_slice() {
            [Part::Text(text)] => json!(text),
            _ => parts.into_iter().map(block).collect(),
        };
        let mut result = json!({"type": "tool_result", "tool_use_id": answer.id, "content": content});
        if let (false, Value::Object(fields)) = (is_success, &mut result) {
            fields.insert("is_error".to_owned(), true.into());
        }
        result
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> Value {
        json!({"role": role, "content": parts.into_iter().map(block).collect::<Vec<_>>()})
    }

    fn check(&self, reply: &Value) -> Result<(), String> {
        match reply.get("stop_reason") {
            None => first(reply, "content").map(drop),
            Some(Value::Null) => list(reply, "content").and_then(|_| begun(self, reply)),
            Some(_) => list(reply, "content").map(drop),
        }
    }

    fn reply(&self, reply: &Value) -> Vec<Value> {
        // The API refuses empty blocks of text, though it sends some.
        let is_refused = |block: &Value| text(block, "type") == "text" && text(block, "text").is_empty();
        let blocks = items(reply, "content").iter().filter(|block| !is_refused(block));
        let content: Vec<&Value> = blocks.collect();
        (!content.is_empty()).then(|| json!({"role": "assistant", "content": content})).into_iter().collect()
    }

    fn text(&self, reply: &Value) -> String {
        let blocks = items(reply, "content").iter().filter(|block| text(block, "type") == "text");
        blocks.map(|block| text(block, "text")).collect()
    }

    fn add(&self, reply: &mut Value, event: &Value) -> Vec<RunEvent> {
        add(reply, event).into_iter().collect()
    }
}

fn block(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { mime_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
        }
    }
}

/// Events begin, extend and end the blocks of a message. The input of a call is text until its block ends.
fn add(reply: &mut Value, event: &Value) -> Option<RunEvent> {
    match text(event, "type").as_str() {
        "message_start" => {
            *reply = event.get("message").cloned().unwrap_or_else(|| json!({}));
            if let Value::Object(message) = reply {
                message.insert("content".to_owned(), json!([]));
            }
            None
        }
        "content_block_start" => {
            let block = event.get("content_block")?;
            block_of(reply, event)?.clone_from(block);
            match text(block, "type").as_str() {
                "tool_use" => Some(RunEvent::CallBegun { id: text(block, "id"), name: text(block, "name") }),
                _ => RunEvent::text(&text(block, "text")),
            }
        }
        "content_block_delta" => {
            let delta = event.get("delta")?;
            let (from, to) = match text(delta, "type").as_str() {
                "text_delta" => ("text", "text"),
                "input_json_delta" => ("partial_json", "input"),
                "thinking_delta" => ("thinking", "thinking"),
                "signature_delta" => ("signature", "signature"),
                _ => return None,
            };
            let more = text(delta, from);
            push_text(block_of(reply, event)?, to, &more);
            match to {
                "text" => RunEvent::text(&more),
                "input" => RunEvent::arguments(&more),
                _ => None,
            }
        }
        "content_block_stop" => {
            let input = block_of(reply, event)?.get_mut("input")?;
            if let Value::String(json) = &*input {
                // The stop reason marks a truncated input.
                *input = serde_json::from_str(json).unwrap_or_else(|_| json!({}));
            }
            None
        }
        "message_delta" => {
            if let (Value::Object(message), Some(Value::Object(delta))) = (reply, event.get("delta")) {
                message.extend(delta.clone());
            }
            None
        }
        _ => None,
    }
}

/// Returns the block that an event is about.
fn block_of<'r>(reply: &'r mut Value, event: &Value) -> Option<&'r mut Value> {
    grown(reply.get_mut("content")?.as_array_mut()?, event.get("index")?.as_u64()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(reply: &Value) -> Vec<ModelCall> {
        Anthropic.calls(reply)
    }

    #[test]
    fn calls_are_found_in_a_message_a_list_of_blocks_and_a_block() {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "a", "input": {"n": 1}});
        let blocks = json!([{"type": "text", "text": "so"}, {"type": "server_tool_use", "name": "theirs"}, call]);
        for reply in [json!({"content": blocks, "stop_reason": "tool_use"}), blocks.clone(), call.clone()] {
            let found = calls(&reply);
            assert_eq!(found.len(), 1, "{reply}");
            assert_eq!((found[0].id.as_str(), found[0].is_unfinished), ("toolu_1", false));
        }
        assert!(calls(&json!({"content": "only text"})).is_empty() && calls(&json!(null)).is_empty());
    }

    #[test]
    fn last_input_of_a_truncated_reply_is_unfinished() {
        let call = json!({"type": "tool_use", "id": "1", "name": "a", "input": {"path": "/"}});
        for (reason, is_first) in [("max_tokens", false), ("model_context_window_exceeded", false), ("refusal", true)] {
            let found = calls(&json!({"content": [call, call], "stop_reason": reason}));
            assert_eq!((found[0].is_unfinished, found[1].is_unfinished), (is_first, true), "{reason}");
        }
        let then_text = json!({"content": [call, {"type": "text", "text": "and th"}], "stop_reason": "max_tokens"});
        assert!(!calls(&then_text)[0].is_unfinished);
    }
}
