//! Dispatches any text as arguments to every tool of any list. Shared with the fuzz target `dispatch`.

use mcp_bindgen_agents::{Provider, Toolset};
use mcp_bindgen_model::Snapshot;
use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};
use serde_json::json;

#[path = "../../../mcp-codegen/tests/harness/watchdog.rs"]
mod watchdog;

/// Stands between the list and each of the arguments.
pub(crate) const SEPARATOR: &str = "\n---\n";
/// More tools of one list would only repeat the work.
const MOST_TOOLS: usize = 20;

/// A server that accepts every call.
struct Accepting;

impl CallTool for Accepting {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        Ok(ToolResult::from_json(&*call.server, &*call.tool, json!({ "content": [] })))
    }
}

/// Offers the list to every provider and dispatches the arguments to its tools, within the time for its size. Returns
/// `false` if the text is not a list and arguments.
pub(crate) fn check(text: &str) -> bool {
    let Some((list, arguments)) = text.split_once(SEPARATOR) else { return false };
    let Ok(snapshot) = Snapshot::parse(list) else { return false };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    watchdog::in_time(text, || {
        let Ok(toolset) = Toolset::builder().server("any", &snapshot.tools, Accepting).build() else { return true };
        for provider in [Provider::OpenAiChat, Provider::Anthropic, Provider::Gemini] {
            let definitions = toolset.definitions(provider);
            assert!(definitions.tools.len() <= toolset.len());
        }
        for name in toolset.names().take(MOST_TOOLS) {
            for arguments in arguments.split(SEPARATOR) {
                let reply = runtime.block_on(toolset.dispatch(name, arguments));
                assert!(!reply.message.chars().any(|c| c.is_control() && c != '\n'), "{:?}", reply.message);
            }
        }
        true
    })
}
