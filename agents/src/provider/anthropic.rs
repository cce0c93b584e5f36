//! Anthropic's Messages: calls are blocks `tool_use`, results blocks `tool_result` of one user message.

use serde_json::{Value, json};

use mcp_bindgen_schema::provider::Dialect;

use super::answers::Group;
use super::calls::{End, arguments, calls_among, ending, items, text};
use super::format::{Declaration, Format, Role, StrictRoom, grown, push_text};
use super::parts::{PICTURES, Part, Takes};
use super::{ModelCall, RunEvent};

pub(super) const FORMAT: Format = Format {
    calls,
    // Images of four types; of results that are errors, text alone.
    takes: Takes { images: PICTURES, images_of_errors: false, marks_errors: true },
    result,
    // It has to follow the message of the calls at once.
    results_key: Some("content"),
    images_for: |_| true,
    images_of_users: PICTURES,
    message,
    instructions: |text| text.into(),
    instructions_key: Some("system"),
    messages_key: "messages",
    reply,
    text: said,
    add,
    declaration,
    list: std::convert::identity,
    dialect: Dialect::Anthropic,
    tools_at_most: None,
    description_at_most: None,
    needs_description: false,
    // More are refused as too complex (the documentation of structured outputs).
    strict_at_most: StrictRoom::new(20, 24, 16),
    strict_mode: None,
    search: Some(|| json!({"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})),
};

fn calls(reply: &Value) -> Vec<ModelCall> {
    let is_one = text(reply, "type") == "tool_use";
    let blocks = if is_one { std::slice::from_ref(reply) } else { items(reply, "content") };
    let end = match ending(reply, "stop_reason") {
        Ok("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Ok("refusal") => End::Withheld,
        Ok(_) => End::Whole,
        Err(end) => end,
    };
    calls_among(blocks, |block| {
        let call = ModelCall::new(text(block, "id"), text(block, "name"), arguments(block, "input"));
        (text(block, "type") == "tool_use").then_some((call, end))
    })
}

fn result(group: &Group<'_>, parts: Vec<Part>) -> Value {
    let content = match parts.as_slice() {
        [Part::Text(text)] => json!(text),
        _ => parts.into_iter().map(block).collect(),
    };
    let mut result = json!({"type": "tool_result", "tool_use_id": group.id, "content": content});
    if let (false, Value::Object(fields)) = (group.is_success(), &mut result) {
        fields.insert("is_error".to_owned(), true.into());
    }
    result
}

fn block(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { mime_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
        }
    }
}

fn message(role: Role, parts: Vec<Part>) -> Value {
    json!({"role": role.name(), "content": parts.into_iter().map(block).collect::<Vec<_>>()})
}

fn reply(reply: &Value) -> Vec<Value> {
    let content = reply.get("content").filter(|content| content.as_array().is_some_and(|blocks| !blocks.is_empty()));
    content.map(|content| json!({"role": "assistant", "content": content})).into_iter().collect()
}

fn said(reply: &Value) -> String {
    let blocks = items(reply, "content").iter().filter(|block| text(block, "type") == "text");
    blocks.map(|block| text(block, "text")).collect()
}

/// Events begin, extend and end the blocks of a message. The input of a call is text until its block ends.
fn add(reply: &mut Value, event: &Value) -> Vec<RunEvent> {
    let place = event.get("index").and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
    let piece = match (text(event, "type").as_str(), event.get("delta")) {
        ("message_start", _) => {
            *reply = event.get("message").cloned().unwrap_or_else(|| json!({}));
            if let Value::Object(message) = reply {
                message.insert("content".to_owned(), json!([]));
            }
            None
        }
        ("content_block_start", _) => {
            let block = event.get("content_block").cloned().unwrap_or_default();
            let is_call = text(&block, "type") == "tool_use";
            let piece = is_call.then(|| RunEvent::CallBegun { id: text(&block, "id"), name: text(&block, "name") });
            let piece = piece.or_else(|| RunEvent::text(&text(&block, "text")));
            if let Some(kept) = block_at(reply, place) {
                *kept = block;
            }
            piece
        }
        ("content_block_delta", Some(delta)) => {
            let keys = match text(delta, "type").as_str() {
                "text_delta" => Some(("text", "text")),
                "input_json_delta" => Some(("partial_json", "input")),
                "thinking_delta" => Some(("thinking", "thinking")),
                "signature_delta" => Some(("signature", "signature")),
                _ => None,
            };
            keys.zip(block_at(reply, place)).and_then(|((from, to), block)| {
                let more = delta.get(from).and_then(Value::as_str).unwrap_or_default();
                push_text(block, to, more);
                match to {
                    "text" => RunEvent::text(more),
                    "input" => RunEvent::arguments(more),
                    _ => None,
                }
            })
        }
        ("content_block_stop", _) => {
            if let Some(input) = block_at(reply, place).and_then(|block| block.get_mut("input"))
                && let Value::String(json) = &*input
            {
                // The stop reason marks a truncated input.
                *input = serde_json::from_str(json).unwrap_or_else(|_| json!({}));
            }
            None
        }
        ("message_delta", Some(Value::Object(delta))) => {
            if let Value::Object(message) = reply {
                message.extend(delta.clone());
            }
            None
        }
        _ => None,
    };
    piece.into_iter().collect()
}

fn block_at(reply: &mut Value, place: Option<usize>) -> Option<&mut Value> {
    grown(reply.get_mut("content")?.as_array_mut()?, place?)
}

fn declaration(tool: Declaration<'_>) -> Value {
    let is_strict = tool.is_strict;
    tool.members("input_schema", is_strict).into()
}

#[cfg(test)]
mod tests {
    use super::*;

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
