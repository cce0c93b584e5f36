//! Gemini's `generateContent`: calls are parts `functionCall`, results parts `functionResponse`.

use mcp_bindgen_schema::provider::Dialect;
use serde_json::{Value, json};

use super::calls::{Answered, End, ModelCall, RunEvent, arguments, calls_among, items, text};
use super::fault::{begun, first, shown};
use super::format::{Facts, Format, Role, keep, push_text};
use super::parts::{Part, Takes, joined};
use crate::json::object;

pub(super) struct Gemini;

impl Format for Gemini {
    fn facts(&self) -> Facts {
        Facts {
            // Media beside the response; errors have a key of their own.
            takes: Takes { images: &["image/png", "image/jpeg", "image/webp"], ..Facts::USUAL.takes },
            images_of_users: &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
            results_key: Some("parts"),
            instructions_key: Some("systemInstruction"),
            messages_key: "contents",
            // The member for JSON Schema, which is one of two.
            schema_key: "parametersJsonSchema",
            says_strict: &[],
            dialect: Dialect::Gemini,
            // Google documents it.
            tools_at_most: 512,
            needs_description: true,
            strict_mode: Some("VALIDATED"),
            ..Facts::USUAL
        }
    }

    fn calls(&self, reply: &Value) -> Vec<ModelCall> {
        let candidate = reply.pointer("/candidates/0").unwrap_or(reply);
        let parts = items(candidate.get("content").unwrap_or(candidate), "parts");
        let end = match text(candidate, "finishReason").as_str() {
            "" | "STOP" | "FINISH_REASON_UNSPECIFIED" => End::Whole,
            "MAX_TOKENS" => End::Cut,
            // Safety, recitation, a malformed call and more.
            _ => End::Withheld,
        };
        calls_among(parts, |part| {
            let call = part.get("functionCall").filter(|call| call.is_object())?;
            Some((ModelCall::new(text(call, "id"), text(call, "name"), arguments(call, "args")), end))
        })
    }

    fn result(&self, answer: &Answered, is_success: bool, parts: Vec<Part>) -> Value {
        let media: Vec<Value> = parts.iter().filter(|part| part.text().is_none()).map(part).collect();
        let said = match joined(&parts) {
            said if said.is_empty() => format!("the result is in the attached media ({})", media.len()),
            said => said,
        };
        let key = if is_success { "output" } else { "error" };
        let response = object([
            ("id", (!answer.id.is_empty()).then(|| answer.id.as_str().into())),
            ("name", Some(answer.name.as_str().into())),
            ("response", Some(json!({ key: said }))),
            ("parts", (!media.is_empty()).then(|| media.into())),
        ]);
        json!({"functionResponse": response})
    }

    /// Models before Gemini 3 refuse `parts` in a response.
    fn takes_images(&self, model: Option<&str>) -> bool {
        let version = model.and_then(|model| model.rsplit('/').next()?.strip_prefix("gemini-"));
        let major = version.and_then(|version| version.split(['.', '-']).next()?.parse::<u32>().ok());
        major.is_some_and(|major| major >= 3)
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> Value {
        let role = if role == Role::User { "user" } else { "model" };
        json!({"role": role, "parts": parts.iter().map(part).collect::<Vec<_>>()})
    }

    fn instructions(&self, text: &str) -> Value {
        json!({"parts": [{"text": text}]})
    }

    fn check(&self, reply: &Value) -> Result<(), String> {
        let blocked = |lack| match reply.pointer("/promptFeedback/blockReason") {
            Some(reason) => format!("the prompt was blocked: {}", shown(reason)),
            None => lack,
        };
        let candidate = first(reply, "candidates").map_err(blocked)?;
        if text(candidate, "finishReason").is_empty() { begun(self, reply) } else { Ok(()) }
    }

    fn reply(&self, reply: &Value) -> Vec<Value> {
        let content = reply.pointer("/candidates/0/content").filter(|content| !items(content, "parts").is_empty());
        content.cloned().into_iter().collect()
    }

    fn text(&self, reply: &Value) -> String {
        let parts = reply.pointer("/candidates/0/content").map(|content| items(content, "parts")).unwrap_or_default();
        parts.iter().filter(|part| !is_thought(part)).map(|part| text(part, "text")).collect()
    }

    /// Events are responses with some more parts each.
    fn add(&self, reply: &mut Value, event: &Value) -> Vec<RunEvent> {
        if let Some(feedback) = event.get("promptFeedback") {
            keep(reply, "promptFeedback", feedback.clone());
        }
        let mut pieces = Vec::new();
        let Some(more) = event.pointer("/candidates/0") else { return pieces };
        if reply.get("candidates").is_none() {
            keep(reply, "candidates", json!([{"content": {"role": "model", "parts": []}}]));
        }
        if let (Some(Value::Object(candidate)), Value::Object(members)) = (reply.pointer_mut("/candidates/0"), more) {
            let members = members.iter().filter(|(key, _)| *key != "content");
            candidate.extend(members.map(|(key, value)| (key.clone(), value.clone())));
        }
        let Some(Value::Array(parts)) = reply.pointer_mut("/candidates/0/content/parts") else { return pieces };
        for part in more.get("content").map(|content| items(content, "parts")).unwrap_or_default() {
            if let Some(call) = part.get("functionCall") {
                pieces.push(RunEvent::CallBegun { id: text(call, "id"), name: text(call, "name") });
                pieces.extend(call.get("args").and_then(|args| RunEvent::arguments(&args.to_string())));
            } else if !is_thought(part) {
                pieces.extend(RunEvent::text(&text(part, "text")));
            }
            // Text goes on in the part before it, unless it has more to it than text.
            let is_plain =
                |part: &Value| part.as_object().is_some_and(|part| part.len() == 1 && part.contains_key("text"));
            match parts.last_mut().filter(|last| is_plain(last) && is_plain(part)) {
                Some(last) => push_text(last, "text", &text(part, "text")),
                None => parts.push(part.clone()),
            }
        }
        pieces
    }

    /// Puts all declarations into one object.
    fn list(&self, tools: Vec<Value>) -> Vec<Value> {
        if tools.is_empty() { tools } else { vec![json!({"functionDeclarations": tools})] }
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"text": text}),
        Part::Image { mime_type, data } => json!({"inlineData": {"mimeType": mime_type, "data": data}}),
    }
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(reply: &Value) -> Vec<ModelCall> {
        Gemini.calls(reply)
    }

    #[test]
    fn calls_are_found_in_a_response_a_content_and_a_list_of_parts() {
        let parts = json!([
            {"text": "so"},
            {"functionCall": {"name": "a", "args": {"n": 1}}, "thoughtSignature": "x"},
            {"functionCall": {"id": "7", "name": "b"}},
        ]);
        let content = json!({"role": "model", "parts": parts});
        let response = json!({"candidates": [{"content": content, "finishReason": "STOP"}]});
        for reply in [response, content.clone(), parts.clone()] {
            let found = calls(&reply);
            let named: Vec<(&str, &str)> = found.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
            assert_eq!(named, [("", "a"), ("7", "b")], "{reply}");
            assert_eq!(found[1].arguments.clone().object().map(|none| none.len()), Ok(0));
            assert!(found.iter().all(|call| !call.is_unfinished));
        }
        assert!(calls(&json!({"candidates": [{"finishReason": "SAFETY"}]})).is_empty());
    }

    #[test]
    fn last_call_of_a_truncated_reply_is_unfinished() {
        let call = json!({"functionCall": {"name": "a", "args": {}}});
        for (reason, is_first) in [("MAX_TOKENS", false), ("SAFETY", true)] {
            let reply = json!({"candidates": [{"content": {"parts": [call, call]}, "finishReason": reason}]});
            let found = calls(&reply);
            assert_eq!((found[0].is_unfinished, found[1].is_unfinished), (is_first, true), "{reason}");
        }
    }
}
