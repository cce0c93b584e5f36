//! A toolset as a server of a proxy.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_agents::Toolset;
use mcp_bindgen_model::{Prefix, ServerConfig};
use mcp_bindgen_runtime::__private::rpc::{Boxed, OpenLimits, Question, Respond, Session, serve, with_client};
use mcp_bindgen_runtime::{CallError, CallTool, Client, ClientOptions, ToolCall, ToolReply, ToolResult};
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio_util::sync::CancellationToken;

use super::downstream::is_asking;
use super::shared::Shared;

/// The size of the pipe to it.
const ROOM: usize = 64 * 1024;

/// Calls the tools of a toolset, in place of the client that lists them.
pub(super) struct ToolsetCalls(pub(super) Toolset);

impl CallTool for ToolsetCalls {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let (server, tool) = (call.server, call.tool);
        let reply = self.0.dispatch_with(&tool, Value::Object(call.arguments), call.options).await;
        let ToolReply { success, message, value, .. } = reply;
        // The reply of a function says the same as words for the model.
        if !success && is_asking() {
            return Err(CallError::denied(server, tool, message));
        }
        let result = if value.is_object() {
            value
        } else {
            json!({ "content": [{ "type": "text", "text": message }], "isError": !success })
        };
        Ok(ToolResult::from_json(&*server, &*tool, result))
    }
}

/// Returns a client that lists the tools, from a server in this process.
pub(super) fn client(name: &str, toolset: &Toolset, options: ClientOptions) -> Client {
    let tools = Arc::new(ListedTools(toolset.listed()));
    let connect = move || {
        let tools = tools.clone();
        async move {
            let (near, far) = duplex(ROOM);
            let (read, write) = split(far);
            let receiving = serve(|ledger| with_client(read, write, usize::MAX, ledger), tools)?;
            tokio::spawn(receiving.run(CancellationToken::new()));
            Ok(split(near))
        }
    };
    // Its tools have their names already.
    Client::with_options(ServerConfig::stdio(name, "").prefix(Prefix::None), options.connector(connect))
}

/// Answers the requests of a client that lists tools.
struct ListedTools(Vec<Value>);

impl Respond for ListedTools {
    fn limits(&self) -> OpenLimits {
        OpenLimits { requests: usize::MAX, bytes: usize::MAX, at_the_end: Duration::ZERO }
    }

    fn at_once(&self, Question { method, params, .. }: &Question) -> Option<Result<Value, ErrorData>> {
        Some(match method.as_str() {
            "initialize" => Ok(json!({
                "protocolVersion": params.get("protocolVersion"), "capabilities": { "tools": {} },
                "serverInfo": Shared::own_info(),
            })),
            "tools/list" => Ok(json!({ "tools": self.0 })),
            "ping" => Ok(json!({})),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.clone(), None)),
        })
    }

    fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
        Box::pin(pending())
    }
}
