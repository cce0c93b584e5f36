//! OpenAI's Responses: calls are items `function_call`, results items `function_call_output`.

use serde_json::{Map, Value, json};

use mcp_bindgen_schema::provider::Dialect;

use super::answers::Group;
use super::calls::{End, arguments, calls_among, items, text};
use super::format::{Declaration, Format, Role, StrictRoom};
use super::parts::{PICTURES, Part, Takes, joined};
use super::{ModelCall, RunEvent};

pub(super) const FORMAT: Format = Format {
    calls,
    // `input_image` among the parts of an output; no flag for errors.
    takes: Takes { images: PICTURES, images_of_errors: true, marks_errors: false },
    result,
    results_key: None,
    images_for: |_| true,
    images_of_users: PICTURES,
    message,
    instructions: |text| text.into(),
    instructions_key: Some("instructions"),
    messages_key: "input",
    reply,
    text: said,
    add,
    declaration,
    list: std::convert::identity,
    dialect: Dialect::OpenAi,
    tools_at_most: None,
    description_at_most: None,
    needs_description: false,
    strict_at_most: StrictRoom::UNLIMITED,
    strict_mode: None,
    search: Some(|| json!({"type": "tool_search"})),
};

fn calls(reply: &Value) -> Vec<ModelCall> {
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

fn result(group: &Group<'_>, parts: Vec<Part>) -> Value {
    let output =
        if parts.iter().all(Part::is_text) { json!(joined(&parts)) } else { parts.into_iter().map(input).collect() };
    json!({"type": "function_call_output", "call_id": group.id, "output": output})
}

fn input(part: Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image { mime_type, data } => {
            json!({"type": "input_image", "image_url": format!("data:{mime_type};base64,{data}")})
        }
    }
}

fn message(role: Role, parts: Vec<Part>) -> Value {
    let content: Vec<Value> = match role {
        Role::User => parts.into_iter().map(input).collect(),
        Role::Assistant => vec![json!({"type": "output_text", "text": joined(&parts)})],
    };
    json!({"role": role.name(), "content": content})
}

fn reply(reply: &Value) -> Vec<Value> {
    items(reply, "output").to_vec()
}

fn said(reply: &Value) -> String {
    let messages = items(reply, "output").iter().filter(|item| text(item, "type") == "message");
    let parts = messages.flat_map(|message| items(message, "content"));
    parts.filter(|part| text(part, "type") == "output_text").map(|part| text(part, "text")).collect()
}

/// Adds an event to the reply. The last event has the whole response; if a stream breaks off earlier, the complete
/// items stay.
fn add(reply: &mut Value, event: &Value) -> Vec<RunEvent> {
    if reply.is_null() {
        *reply = json!({"status": "in_progress", "output": []});
    }
    let delta = || event.get("delta").and_then(Value::as_str).unwrap_or_default();
    let piece = match text(event, "type").as_str() {
        "response.completed" | "response.incomplete" | "response.failed" => {
            if let Some(response) = event.get("response") {
                *reply = response.clone();
            }
            None
        }
        "response.output_text.delta" => RunEvent::text(delta()),
        "response.function_call_arguments.delta" => RunEvent::arguments(delta()),
        "response.output_item.added" => {
            let call = event.get("item").filter(|item| text(item, "type") == "function_call");
            call.map(|call| RunEvent::CallBegun { id: text(call, "call_id"), name: text(call, "name") })
        }
        "response.output_item.done" => {
            if let (Some(Value::Array(output)), Some(item)) = (reply.get_mut("output"), event.get("item")) {
                output.push(item.clone());
            }
            None
        }
        _ => None,
    };
    piece.into_iter().collect()
}

/// Declares a tool with an explicit `strict`, because otherwise the provider makes the schema strict itself.
fn declaration(tool: Declaration<'_>) -> Value {
    let mut members = Map::from_iter([("type".to_owned(), json!("function"))]);
    members.extend(tool.members("parameters", true));
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;

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
