//! A [`Toolset`] with `rig`: each tool is a [`DynamicTool`] for the agents of `rig`. [`RigModel`] runs a model of `rig` with tools
//! until it has an answer.

#[cfg(test)]
#[path = "../../adding.rs"]
mod adding;
mod model;

use mcp_bindgen::ToolReply;
use mcp_bindgen::agents::{Provider, Toolset};
use rig_core::message::{EmptyToolName, ImageMediaType, MimeType, ToolName, ToolResultContent};
use rig_core::tool::{DynamicTool, ToolExecutionError, ToolOutput};
use serde_json::Value;

pub use model::RigModel;

/// Tools for an agent. `rig` rewrites schemas for each provider itself, so these are the ones that stand for all of them; what
/// a call sends is checked against the server's own schema all the same.
///
/// # Errors
/// Never with a [`Toolset`], none of whose names is empty.
pub fn tools(toolset: &Toolset) -> Result<Vec<DynamicTool>, EmptyToolName> {
    let declared = toolset.definitions(Provider::OpenAiChat).tools;
    let functions = declared.into_iter().filter_map(|mut tool| tool.get_mut("function").map(Value::take));
    functions
        .map(|mut function| {
            let text = |key: &str| function.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (name, description) = (text("name"), text("description"));
            let parameters = function.get_mut("parameters").map(Value::take).unwrap_or_default();
            let (toolset, called) = (toolset.clone(), name.clone());
            Ok(DynamicTool::new(ToolName::new(name)?, description, parameters, move |arguments| {
                let (toolset, called) = (toolset.clone(), called.clone());
                Box::pin(async move {
                    let reply = toolset.dispatch(&called, arguments).await;
                    if reply.success { output(&reply) } else { Err(ToolExecutionError::other(reply.message)) }
                })
            }))
        })
        .collect()
}

/// The text of a reply, with the images where it has some.
fn output(reply: &ToolReply) -> Result<ToolOutput, ToolExecutionError> {
    let blocks = reply.value.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let image = |block: &Value| {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        let kind = ImageMediaType::from_mime_type(text("mimeType").filter(|_| text("type") == Some("image"))?)?;
        Some(ToolResultContent::image_base64(text("data")?, Some(kind), None))
    };
    let images: Vec<ToolResultContent> = blocks.iter().filter_map(image).collect();
    if images.is_empty() {
        return Ok(ToolOutput::text(reply.message.as_str()));
    }
    let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str()).map(ToolResultContent::text);
    ToolOutput::content(texts.chain(images).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn tools_calls_and_results_are_converted() {
        let toolset = adding::toolset();
        let tools = tools(&toolset).expect("it has a name");
        assert_eq!(tools[0].name().as_str(), "add");
        let output = tools[0].execute(json!({ "a": 1, "b": null })).await.expect("a sum");
        assert_eq!(output.as_text(), Some("1"));
        assert!(tools[0].execute(json!({ "a": "one" })).await.is_err());
    }

    #[test]
    fn images_are_preserved() {
        let picture = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let result = json!({ "content": [{ "type": "text", "text": "see" }, picture] });
        let reply = ToolReply::from(mcp_bindgen::ToolResult::from_json("s", "t", result));
        let output = output(&reply).expect("an output");
        assert!(matches!(output.as_content(), [ToolResultContent::Text(_), ToolResultContent::Image(_)]), "{output:?}");
    }
}
