//! A [`Toolset`] with `genai`, which has one set of types for many providers. [`GenAi`] runs a model with tools until it has an
//! answer; [`tools`] and [`answers`] are for loops of your own.

#[cfg(test)]
#[path = "../../adding.rs"]
mod adding;
mod model;
#[cfg(test)]
#[path = "../../scripted.rs"]
mod scripted;

use genai::chat::{Tool, ToolCall, ToolResponse};
use mcp_bindgen::agents::{ModelCall, Provider, Toolset};

pub use model::GenAi;

/// `ChatRequest::with_tools`. The declarations of Chat Completions are the ones that suit any of its providers: names and
/// descriptions are within everybody's limits, and `genai` says `strict` in each provider's own way.
pub fn tools(toolset: &Toolset) -> Vec<Tool> {
    toolset.definitions(Provider::OpenAiChat).tools.iter().filter_map(model::tool).collect()
}

/// Answers the calls of a response, `ChatResponse::into_tool_calls`. `ChatRequest::append_message` takes calls and answers.
/// There is no mark for errors, so they begin with `error:`.
pub async fn answers(toolset: &Toolset, calls: &[ToolCall]) -> Vec<ToolResponse> {
    let asked = calls.iter().map(|call| ModelCall::new(&*call.call_id, &*call.fn_name, call.fn_arguments.clone()));
    let answers = toolset.turn(asked.collect()).await;
    let printed = answers.results(Provider::OpenAiChat);
    let responses = printed.iter().filter_map(|message| {
        let text = |key: &str| message.get(key)?.as_str();
        let call = calls.iter().find(|call| Some(call.call_id.as_str()) == text("tool_call_id"))?;
        Some(ToolResponse::from_tool_call(call, text("content")?))
    });
    responses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn tools_calls_and_results_are_converted() {
        let toolset = adding::toolset();
        let tools = tools(&toolset);
        assert_eq!((tools.len(), tools[0].name.as_str(), tools[0].strict), (1, "add", Some(true)));
        let call = |id: &str, arguments| ToolCall {
            call_id: id.to_owned(),
            fn_name: "add".to_owned(),
            fn_arguments: arguments,
            thought_signatures: None,
        };
        let calls = [call("1", json!({ "a": 1, "b": null })), call("2", json!({ "a": "one" }))];
        let answers = answers(&toolset, &calls).await;
        assert_eq!((answers[0].call_id.as_str(), answers[0].content.as_str()), ("1", "1"));
        assert!(answers[1].content.starts_with("error:"), "{}", answers[1].content);
    }
}
