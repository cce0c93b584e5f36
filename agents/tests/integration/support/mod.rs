//! Helpers shared by the tests of sections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, RenderedPrompt, SectionServer, SectionTool, Toolset};
use mcp_bindgen_model::{ServerConfig, Snapshot};
use mcp_bindgen_runtime::{CallError, CallTool, DynCallTool, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Repo {
    pub(crate) owner: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Database {
    pub(crate) path: String,
    pub(crate) writable: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// A function that does nothing much.
pub(crate) fn tool(name: &str) -> SectionTool {
    SectionTool::function(name, format!("Does {name}."), async |_: Nothing| Ok::<_, String>("done"))
}

/// Returns a snapshot of a server with these tools, given as pairs of name and description.
pub(crate) fn offers(tools: &[(&str, &str)]) -> Snapshot {
    let tool = |(name, description): &(&str, &str)| json!({ "name": name, "description": description, "inputSchema": { "type": "object" } });
    let list: Vec<Value> = tools.iter().map(tool).collect();
    Snapshot::parse(&json!({ "tools": list }).to_string()).expect("it is a list of tools")
}

/// A server that is never started, with a snapshot.
pub(crate) fn server(name: &str, tools: &[(&str, &str)]) -> SectionServer {
    SectionServer::from(ServerConfig::stdio(name, "never-started")).snapshot(offers(tools))
}

/// Answers every call, and counts them.
#[derive(Clone, Default)]
pub(crate) struct Echo {
    pub(crate) calls: Arc<AtomicUsize>,
}

impl CallTool for Echo {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let content = json!({ "content": [{ "type": "text", "text": call.tool }] });
        Ok(ToolResult::from_json(&*call.server, &*call.tool, content))
    }
}

/// Calls a tool without arguments.
pub(crate) async fn call(caller: &Arc<dyn DynCallTool>, server: &str, tool: &str) -> Result<String, CallError> {
    let call = ToolCall::new(server.to_owned(), tool.to_owned(), Default::default());
    caller.call_tool(call).await.map(|result| result.text())
}

pub(crate) fn rendered(prompt: &Prompt, state: &PromptState) -> RenderedPrompt {
    prompt.render(&PromptParams::new(), state).expect("it renders")
}

/// The names of what is offered, with the servers'.
pub(crate) fn names(toolset: &Toolset) -> Vec<String> {
    let name = |(server, tool): (&str, &str)| match server {
        "program" | "sections" => tool.to_owned(),
        server => format!("{server}/{tool}"),
    };
    toolset.names().filter_map(|name| toolset.tool_of(name)).map(name).collect()
}

/// The tools that are offered, and the number of servers without a list.
pub(crate) async fn tools_of(rendered: &RenderedPrompt) -> (Toolset, usize) {
    let (toolset, failed) = rendered.toolset().await.expect("it is a set");
    (toolset, failed.len())
}

/// The names of what is offered where all lists are known.
pub(crate) async fn offered(rendered: &RenderedPrompt) -> Vec<String> {
    let (toolset, failed) = tools_of(rendered).await;
    assert_eq!(failed, 0);
    names(&toolset)
}

/// Holds a text against the golden file of this name; `SNAPSHOTS=overwrite` takes it for the file.
#[track_caller]
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    let expected = snapbox::Data::read_from(&path, Some(snapbox::data::DataFormat::Text));
    snapbox::assert_data_eq!(text, expected.raw());
}
