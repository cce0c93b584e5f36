//! A [`Toolset`](mcp_bindgen::agents::Toolset) with `async-openai`. [`OpenAi`] runs a model with tools until it has an answer;
//! [`chat`] and [`responses`] are for loops of your own, with the types of `async-openai`.

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use futures_util::StreamExt;
use mcp_bindgen::agents::{Model, Provider, Reply};
use serde_json::{Map, Value};

#[cfg(test)]
#[path = "../../adding.rs"]
mod adding;
#[cfg(test)]
#[path = "../../scripted.rs"]
mod scripted;

/// A model behind OpenAI's API, for [`run`](mcp_bindgen::agents::run). Replies are streamed.
///
/// ```no_run
/// # async fn example(toolset: mcp_bindgen::agents::Toolset) -> Result<(), Box<dyn std::error::Error>> {
/// use async_openai::Client;
/// use mcp_bindgen::agents::{Model, run};
/// use mcp_bindgen_async_openai::OpenAi;
///
/// let model = OpenAi::responses(Client::new(), "gpt-5");
/// let answer = run(&model, &toolset, vec![model.provider().user_message("Who am I?")]).await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenAi<C: Config> {
    client: Client<C>,
    model: String,
    provider: Provider,
    options: Map<String, Value>,
}

impl<C: Config> OpenAi<C> {
    /// Uses Chat Completions.
    pub fn chat(client: Client<C>, model: impl Into<String>) -> Self {
        Self { client, model: model.into(), provider: Provider::OpenAiChat, options: Map::new() }
    }

    /// Uses Responses.
    pub fn responses(client: Client<C>, model: impl Into<String>) -> Self {
        Self { provider: Provider::OpenAiResponses, ..Self::chat(client, model) }
    }

    /// Sets a member of each request, such as `temperature` or `store`.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }
}

impl<C: Config> Model for OpenAi<C> {
    type Error = OpenAIError;

    fn provider(&self) -> Provider {
        self.provider
    }

    fn name(&self) -> Option<&str> {
        Some(&self.model)
    }

    async fn reply(&self, mut request: Map<String, Value>, mut reply: Reply) -> Result<Value, OpenAIError> {
        request.extend(self.options.clone());
        request.insert("model".to_owned(), self.model.as_str().into());
        request.insert("stream".to_owned(), true.into());
        let request = Value::Object(request);
        let mut events = match self.provider {
            Provider::OpenAiChat => self.client.chat().create_stream_byot::<Value, Value>(request).await?,
            _ => self.client.responses().create_stream_byot::<Value, Value>(request).await?,
        };
        while let Some(event) = events.next().await {
            reply.push(&event?);
        }
        Ok(reply.finish())
    }
}

/// Chat Completions: `tools` of the request, and the messages that answer a reply.
pub mod chat {
    use async_openai::types::chat::{ChatCompletionRequestMessage, ChatCompletionResponseMessage, ChatCompletionTools};
    use mcp_bindgen::agents::{Provider, Toolset};
    use serde_json::{Error, from_value, to_value};

    const PROVIDER: Provider = Provider::OpenAiChat;

    /// `CreateChatCompletionRequestArgs::tools`.
    pub fn tools(toolset: &Toolset) -> Result<Vec<ChatCompletionTools>, Error> {
        toolset.definitions(PROVIDER).tools.into_iter().map(from_value).collect()
    }

    /// Returns the messages that follow the model's: one message for each call; none where it called nothing.
    pub async fn answers(
        toolset: &Toolset,
        said: &ChatCompletionResponseMessage,
    ) -> Result<Vec<ChatCompletionRequestMessage>, Error> {
        let answers = toolset.turn(PROVIDER.calls(&to_value(said)?)).await;
        answers.results(PROVIDER).into_iter().map(from_value).collect()
    }
}

/// Responses: `tools` of the request, and the items that answer a response.
pub mod responses {
    use async_openai::types::responses::{InputItem, OutputItem, Tool};
    use mcp_bindgen::agents::{HostedDeclarations, Provider, Toolset};
    use serde_json::{Error, from_value, to_value};

    const PROVIDER: Provider = Provider::OpenAiResponses;

    /// `CreateResponseArgs::tools`.
    pub fn tools(toolset: &Toolset) -> Result<Vec<Tool>, Error> {
        toolset.definitions(PROVIDER).tools.into_iter().map(from_value).collect()
    }

    /// Servers that OpenAI's own client calls, for the same list.
    pub fn hosted(declared: HostedDeclarations) -> Result<Vec<Tool>, Error> {
        declared.tools.into_iter().map(from_value).collect()
    }

    /// Returns the items that follow those of the response, which stand in the next `input` before them.
    pub async fn answers(toolset: &Toolset, output: &[OutputItem]) -> Result<Vec<InputItem>, Error> {
        let answers = toolset.turn(PROVIDER.calls(&to_value(output)?)).await;
        answers.results(PROVIDER).into_iter().map(from_value).collect()
    }
}

#[cfg(test)]
mod tests {
    use async_openai::Client;
    use async_openai::config::OpenAIConfig;
    use async_openai::types::chat::ChatCompletionRequestMessage;
    use async_openai::types::responses::Tool;
    use mcp_bindgen::LocalSecrets;
    use mcp_bindgen::agents::{HostedServers, Provider};
    use mcp_bindgen::model::ServerConfig;
    use serde_json::{Value, from_value, json, to_value};

    use crate::adding::toolset;
    use crate::scripted::api;

    #[tokio::test]
    async fn chat_tools_calls_and_results_are_converted() {
        let toolset = toolset();
        let tools = to_value(super::chat::tools(&toolset).expect("tools")).expect("JSON");
        assert_eq!(tools, json!(toolset.definitions(Provider::OpenAiChat).tools));
        let call = json!({ "id": "call_1", "type": "function", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":null}" } });
        let said =
            from_value(json!({ "role": "assistant", "content": null, "tool_calls": [call] })).expect("a message");
        let answers = super::chat::answers(&toolset, &said).await.expect("answers");
        let [ChatCompletionRequestMessage::Tool(answer)] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(to_value(answer).expect("JSON")["content"], "1");
    }

    #[tokio::test]
    async fn responses_tools_calls_and_results_are_converted() {
        let toolset = toolset();
        let tools = to_value(super::responses::tools(&toolset).expect("tools")).expect("JSON");
        assert_eq!(tools[0]["parameters"], toolset.definitions(Provider::OpenAiResponses).tools[0]["parameters"]);
        let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"a\":1,\"b\":2}" });
        let output = vec![from_value(call).expect("an item")];
        let answers = super::responses::answers(&toolset, &output).await.expect("answers");
        let answer = to_value(answers).expect("JSON");
        assert_eq!((&answer[0]["call_id"], &answer[0]["output"]), (&json!("call_1"), &json!("3")));
    }

    /// Returns a client of an API that answers each request with the next of these streams.
    async fn client(streams: Vec<Vec<Value>>) -> Client<OpenAIConfig> {
        let address = api(streams).await;
        Client::with_config(OpenAIConfig::new().with_api_base(format!("http://{address}")).with_api_key("k"))
    }

    #[tokio::test]
    async fn models_run_with_tools() {
        use mcp_bindgen::agents::{Model, run};
        let chunk = |delta: Value, reason: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        let call = json!({ "index": 0, "id": "call_1", "function": { "name": "add", "arguments": "{\"a\":1,\"b\":2}" } });
        let chat = vec![
            vec![chunk(json!({ "tool_calls": [call] }), json!(null)), chunk(json!({}), json!("tool_calls"))],
            vec![chunk(json!({ "content": "Three." }), json!("stop"))],
        ];
        let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"a\":1,\"b\":2}" });
        let message = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Three." }] });
        let done = |item: Value| json!({ "type": "response.completed", "response": { "status": "completed", "output": [item] } });
        let responses = vec![vec![done(call)], vec![done(message)]];
        let models = [
            super::OpenAi::chat(client(chat).await, "scripted"),
            super::OpenAi::responses(client(responses).await, "scripted").option("store", false),
        ];
        for model in models {
            let question = model.provider().user_message("One and two?");
            let answer = run(&model, &toolset(), vec![question]).await.expect("an answer");
            assert_eq!((answer.text.as_str(), answer.turns), ("Three.", 2));
            assert!(answer.messages.iter().any(|message| message.to_string().contains("\"3\"")), "{:?}", answer.messages);
        }
    }

    #[tokio::test]
    async fn hosted_servers_are_converted() {
        let server = ServerConfig::http("tracker", "https://mcp.example.com").approve(["merge"]).hosted();
        let servers = HostedServers::new().with_tools(server, ["list", "merge"]);
        let declared = servers.declarations(Provider::OpenAiResponses, &LocalSecrets).await;
        let expected = declared.tools[0].clone();
        let tools = super::responses::hosted(declared).expect("tools");
        assert!(matches!(tools.as_slice(), [Tool::Mcp(_)]));
        let printed = to_value(&tools[0]).expect("JSON");
        for key in ["server_label", "server_url", "allowed_tools", "require_approval"] {
            assert_eq!(printed[key], expected[key], "{key}");
        }
    }
}
