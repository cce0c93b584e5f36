//! A [`Toolset`] with `async-openai`: its types are what OpenAI's API takes, so definitions, calls and results go over as JSON.

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

    /// What follows the model's message: one message for each call; none where it called nothing.
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

    /// What follows the items of the response, which stand in the next `input` before them.
    pub async fn answers(toolset: &Toolset, output: &[OutputItem]) -> Result<Vec<InputItem>, Error> {
        let answers = toolset.turn(PROVIDER.calls(&to_value(output)?)).await;
        answers.results(PROVIDER).into_iter().map(from_value).collect()
    }
}

#[cfg(test)]
mod tests {
    use async_openai::types::chat::ChatCompletionRequestMessage;
    use async_openai::types::responses::Tool;
    use mcp_bindgen::LocalSecrets;
    use mcp_bindgen::agents::{HostedServers, Provider, Toolset};
    use mcp_bindgen::model::ServerConfig;
    use serde_json::{from_value, json, to_value};

    fn toolset() -> Toolset {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Add {
            a: i64,
            // A strict model sends `null` for what it leaves out, and that does not reach the function.
            #[serde(default)]
            b: i64,
        }
        let add = async |add: Add| Ok::<_, String>(add.a + add.b);
        Toolset::builder().function("add", "Adds numbers.", add).build().expect("one function")
    }

    #[tokio::test]
    async fn chat_goes_there_and_back() {
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
    async fn responses_go_there_and_back() {
        let toolset = toolset();
        let tools = to_value(super::responses::tools(&toolset).expect("tools")).expect("JSON");
        assert_eq!(tools[0]["parameters"], toolset.definitions(Provider::OpenAiResponses).tools[0]["parameters"]);
        let call = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"a\":1,\"b\":2}" });
        let output = vec![from_value(call).expect("an item")];
        let answers = super::responses::answers(&toolset, &output).await.expect("answers");
        let answer = to_value(answers).expect("JSON");
        assert_eq!((&answer[0]["call_id"], &answer[0]["output"]), (&json!("call_1"), &json!("3")));
    }

    #[tokio::test]
    async fn hosted_servers_are_tools_of_its_own() {
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
