//! A model for agent loops.

use futures_util::StreamExt;
use genai::{Client, ModelSpec};
use genai::chat::{
    Binary, ChatMessage, ChatOptions, ChatRequest, ChatRole, ChatStreamEvent, ContentPart, MessageContent, StopReason, Tool,
    ToolCall, ToolResponse,
};
use mcp_bindgen::agents::{Model, Provider, Reply};
use serde_json::{Map, Value, json};

/// The key of a call with what some providers want back with it.
const SIGNATURES: &str = "thought_signatures";

/// A model of any provider of `genai`, for [`run`](mcp_bindgen::agents::run). Replies are streamed. Messages have the form of
/// Chat Completions, whatever the provider is.
///
/// ```no_run
/// # async fn example(toolset: mcp_bindgen::agents::Toolset) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen::agents::{Model, run};
/// use mcp_bindgen_genai::GenAi;
///
/// let model = GenAi::new(genai::Client::new()?, "claude-sonnet-4-5");
/// let answer = run(&model, &toolset, vec![model.provider().user_message("Who am I?")]).await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct GenAi {
    client: Client,
    model: ModelSpec,
    options: ChatOptions,
}

impl GenAi {
    /// Uses a model by its name in `genai`, or by its service.
    pub fn new(client: Client, model: impl Into<ModelSpec>) -> Self {
        Self { client, model: model.into(), options: ChatOptions::default() }
    }

    /// Sets the options of each request.
    #[must_use]
    pub fn options(mut self, options: ChatOptions) -> Self {
        self.options = options;
        self
    }
}

impl Model for GenAi {
    type Error = genai::Error;

    fn provider(&self) -> Provider {
        Provider::OpenAiChat
    }

    async fn reply(&self, request: Map<String, Value>, mut reply: Reply) -> Result<Value, genai::Error> {
        let options = self.options.clone().with_capture_content(true).with_capture_tool_calls(true);
        let chat = chat_request(&request);
        let mut events = self.client.exec_chat_stream(self.model.clone(), chat, Some(&options)).await?.stream;
        let mut end = None;
        while let Some(event) = events.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => {
                    reply.push(&json!({ "choices": [{ "index": 0, "delta": { "content": chunk.content } }] }));
                }
                ChatStreamEvent::End(last) => end = Some(last),
                _ => {}
            }
        }
        // A stream without an end is a reply that was cut.
        let Some(end) = end else { return Ok(reply.finish()) };
        let reason = end.captured_stop_reason.as_ref().map_or("stop", reason);
        Ok(json!({ "choices": [{ "message": message(end.captured_content.unwrap_or_default()), "finish_reason": reason }] }))
    }
}

fn reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::MaxTokens(_) => "length",
        StopReason::ContentFilter(_) => "content_filter",
        _ => "stop",
    }
}

/// The message of a reply.
fn message(content: MessageContent) -> Value {
    let text: String = content.texts().concat();
    let calls = content.into_tool_calls().into_iter().map(|call| {
        let function = json!({ "name": call.fn_name, "arguments": call.fn_arguments.to_string() });
        json!({ "id": call.call_id, "type": "function", "function": function, SIGNATURES: call.thought_signatures })
    });
    let calls: Vec<Value> = calls.collect();
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn chat_request(request: &Map<String, Value>) -> ChatRequest {
    let list = |key: &str| request.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut chat = ChatRequest::default().with_tools(list("tools").filter_map(tool));
    for message in list("messages") {
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        chat = match text("role") {
            "system" => chat.with_system(text("content")),
            "assistant" => chat.append_message(assistant(message)),
            "tool" => chat.append_message(ToolResponse::new(text("tool_call_id"), text("content"))),
            _ => chat.append_message(ChatMessage::new(ChatRole::User, MessageContent::from_parts(parts(message)))),
        };
    }
    chat
}

/// A declaration in the form of Chat Completions.
pub(crate) fn tool(declared: &Value) -> Option<Tool> {
    let function = declared.get("function")?;
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    let is_strict = function.get("strict").and_then(Value::as_bool).unwrap_or_default();
    let tool = Tool::new(text("name")?).with_description(text("description").unwrap_or_default());
    Some(tool.with_schema(function.get("parameters")?.clone()).with_strict(is_strict))
}

fn assistant(message: &Value) -> ChatMessage {
    let mut content = MessageContent::from_parts(parts(message));
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        content.push(ToolCall {
            call_id: text("/id").to_owned(),
            fn_name: text("/function/name").to_owned(),
            fn_arguments: serde_json::from_str(text("/function/arguments")).unwrap_or_default(),
            thought_signatures: call.get(SIGNATURES).cloned().and_then(|kept| serde_json::from_value(kept).ok()),
        });
    }
    ChatMessage::new(ChatRole::Assistant, content)
}

/// The text and the images of a message.
fn parts(message: &Value) -> Vec<ContentPart> {
    let part = |part: &Value| {
        let text = |pointer: &str| part.pointer(pointer).and_then(Value::as_str);
        if let Some(text) = text("/text") {
            return Some(ContentPart::from(text));
        }
        let (kind, data) = text("/image_url/url")?.strip_prefix("data:")?.split_once(";base64,")?;
        Some(ContentPart::Binary(Binary::from_base64(kind, data, None)))
    };
    match message.get("content") {
        Some(Value::String(text)) if !text.is_empty() => vec![text.as_str().into()],
        Some(Value::Array(parts)) => parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        let call = json!({ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1}" }, SIGNATURES: ["s"] });
        let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
        let request = json!({
            "messages": [
                { "role": "system", "content": "Add." },
                { "role": "user", "content": [{ "type": "text", "text": "See" }, picture] },
                { "role": "assistant", "content": "So:", "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "call_1", "content": "1" },
            ],
            "tools": [{ "type": "function", "function": { "name": "add", "description": "Adds.", "parameters": {}, "strict": true } }],
        });
        let chat = chat_request(request.as_object().expect("an object"));
        assert_eq!((chat.system.as_deref(), chat.messages.len(), chat.tools.as_ref().map(Vec::len)), (Some("Add."), 3, Some(1)));
        assert_eq!(chat.messages[0].content.binaries().len(), 1);
        let kept = message(chat.messages[1].content.clone());
        assert_eq!(kept, request["messages"][2]);
        assert_eq!(chat.messages[2].content.tool_responses()[0].content, "1");
    }

    #[tokio::test]
    async fn model_runs_with_tools() {
        use genai::adapter::AdapterKind;
        use genai::resolver::{AuthData, Endpoint};
        use genai::{ModelIden, ServiceTarget};
        use mcp_bindgen::agents::run;

        let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" } });
        let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        let streams = vec![
            vec![chunk(json!({ "tool_calls": [call] }), json!(null)), chunk(json!({}), json!("tool_calls"))],
            vec![chunk(json!({ "content": "Three." }), json!(null)), chunk(json!({}), json!("stop"))],
        ];
        let endpoint = Endpoint::from_owned(format!("http://{}/v1/", crate::scripted::api(streams).await));
        let auth = AuthData::from_single("key");
        let target = ServiceTarget { endpoint, auth, model: ModelIden::new(AdapterKind::OpenAI, "scripted") };
        let model = GenAi::new(Client::new().expect("a client"), ModelSpec::Target(target));
        let toolset = crate::adding::toolset();
        let answer = run(&model, &toolset, vec![model.provider().user_message("One and two?")]).await.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.turns), ("Three.", 2));
    }
}
