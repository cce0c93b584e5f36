//! A model for agent loops.

use futures_util::StreamExt;
use mcp_bindgen::agents::{Model, Provider, Reply};
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::error::ProviderError;
use rig_core::message::{
    AssistantContent, CallId, ImageMediaType, Message, MimeType, StopReason, ToolName, UserContent,
};
use rig_core::operation::Completion;
use rig_core::streaming::{Item, StreamEvent};
use serde_json::{Map, Value, json};

/// The key of a message with the turn as `rig` holds it: some providers want back what only they understand.
const TURN: &str = "rig";

/// A model of any provider of `rig`, for [`run`](mcp_bindgen::agents::run). Messages have the form of Chat Completions, whatever
/// the provider is. Replies are streamed.
///
/// ```no_run
/// # async fn example(model: rig_core::DynModel<rig_core::operation::Completion>, toolset: mcp_bindgen::agents::Toolset) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen::agents::{Model, run};
/// use mcp_bindgen_rig::RigModel;
///
/// let model = RigModel::new(model);
/// let answer = run(&model, &toolset, vec![model.provider().user_message("Who am I?")]).await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RigModel {
    model: DynModel<Completion>,
}

impl RigModel {
    /// Uses a model of `rig`.
    pub fn new(model: impl Into<DynModel<Completion>>) -> Self {
        Self { model: model.into() }
    }
}

impl Model for RigModel {
    type Error = ProviderError;

    fn provider(&self) -> Provider {
        Provider::OpenAiChat
    }

    async fn reply(&self, request: Map<String, Value>, mut reply: Reply) -> Result<Value, ProviderError> {
        let mut stream = self.model.stream(completion(&request))?;
        while let Some(item) = stream.next().await {
            if let Item::Event(StreamEvent::Text { text, .. }) = item? {
                reply.push(&json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }));
            }
        }
        let response = stream.finish().await?;
        let reason = match response.stop() {
            StopReason::Length => "length",
            StopReason::Error(_) | StopReason::Aborted(_) => "content_filter",
            _ => "stop",
        };
        let (mut text, mut calls) = (String::new(), Vec::new());
        for content in &response.choice {
            match content {
                AssistantContent::Text(part) => text.push_str(part.text()),
                AssistantContent::ToolCall(call) => {
                    let function =
                        json!({ "name": call.function.name, "arguments": json!(call.function.arguments).to_string() });
                    calls.push(json!({ "id": call.id.wire(), "type": "function", "function": function }));
                }
                _ => {}
            }
        }
        let mut message = json!({ "role": "assistant", "content": text, TURN: response.message() });
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        Ok(json!({ "choices": [{ "message": message, "finish_reason": reason }] }))
    }
}

fn completion(request: &Map<String, Value>) -> CompletionRequest {
    let list = |key: &str| request.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut completion = CompletionRequest::new("");
    completion.chat_history = list("messages").filter_map(|message| history(message, list("messages"))).collect();
    completion.tools = list("tools").filter_map(tool).collect();
    completion
}

pub(crate) fn tool(declared: &Value) -> Option<ToolDefinition> {
    let function = declared.get("function")?;
    let text = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(ToolDefinition::new(
        ToolName::new(text("name")).ok()?,
        text("description"),
        function.get("parameters")?.clone(),
    ))
}

/// A message of the conversation; a result needs the name of its tool, which is in an earlier one.
fn history<'m>(message: &Value, mut all: impl Iterator<Item = &'m Value>) -> Option<Message> {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("role") {
        "system" => Some(Message::system(text("content"))),
        "assistant" => match message.get(TURN) {
            Some(turn) => serde_json::from_value(turn.clone()).ok(),
            None => Some(Message::assistant(text("content"))),
        },
        "tool" => {
            let id = text("tool_call_id");
            let calls = all.find_map(|message| {
                let calls = message.get("tool_calls")?.as_array()?;
                calls.iter().find(|call| call.get("id").and_then(Value::as_str) == Some(id))
            });
            let name = calls?.pointer("/function/name")?.as_str()?;
            Some(Message::tool_result(CallId::from_wire(id), ToolName::new(name).ok()?, text("content")))
        }
        _ => Some(Message::User { content: parts(message) }),
    }
}

/// The text and the images of a user's message.
fn parts(message: &Value) -> Vec<UserContent> {
    let part = |part: &Value| {
        let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
        if let Some(text) = text("/text") {
            return Some(UserContent::text(text));
        }
        let (kind, data) = text("/image_url/url")?.strip_prefix("data:")?.split_once(";base64,")?;
        Some(UserContent::image_base64(data, ImageMediaType::from_mime_type(kind), None))
    };
    match message.get("content") {
        Some(Value::String(text)) => vec![UserContent::text(text.as_str())],
        Some(Value::Array(parts)) => parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen::agents::run;
    use rig_core::test_utils::{MockCompletionModel, MockStreamEvent};

    use super::*;

    #[tokio::test]
    async fn model_runs_with_tools() {
        let end = MockStreamEvent::final_response_with_default_usage;
        let call = MockStreamEvent::tool_call("call_1", "add", json!({ "a": 1, "b": 2 })).with_call_id("call_1");
        let scripted =
            MockCompletionModel::from_stream_turns([vec![call, end()], vec![MockStreamEvent::text("Three."), end()]]);
        let model = RigModel::new(scripted.clone());
        let toolset = crate::adding::toolset();
        let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
        let question = json!({ "role": "user", "content": [{ "type": "text", "text": "One and two?" }, picture] });
        let answer = run(&model, &toolset, vec![question]).await.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.turns), ("Three.", 2));
        let requests = scripted.requests();
        assert_eq!((requests[0].tools.len(), requests[1].chat_history.len()), (1, 3));
        let history = json!(requests[1].chat_history).to_string();
        assert!(history.contains("AAAA") && history.contains("call_1") && history.contains("\"3\""), "{history}");
    }
}
