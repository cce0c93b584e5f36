//! A toolset as a server of a proxy.

use std::sync::Arc;

use super::approval_question::is_asking;
use mcp_bindgen_agents::Toolset;
use mcp_bindgen_model::{Prefix, ServerConfig};
use mcp_bindgen_runtime::{CallError, CallTool, Client, ClientOptions, ToolCall, ToolReply, ToolResult};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

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

/// Returns the configuration under which a toolset is served: its tools have their names already.
pub(super) fn config(name: &str) -> ServerConfig {
    ServerConfig::stdio(name, "").prefix(Prefix::None)
}

/// Returns a client that lists the tools, from a server in this process.
pub(super) fn client(name: &str, toolset: &Toolset, options: ClientOptions) -> Client {
    let tools: Arc<[Value]> = toolset.listed().into();
    let connect = move || {
        let tools = tools.clone();
        async move {
            let (near, far) = duplex(ROOM);
            tokio::spawn(list(far, tools));
            Ok(split(near))
        }
    };
    Client::with_options(config(name), options.connector(connect))
}

/// Lists the tools until the stream ends.
async fn list(stream: DuplexStream, tools: Arc<[Value]>) {
    let (read, mut write) = split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = request.get("id") else { continue };
        let result = match request.get("method").and_then(Value::as_str) {
            Some("initialize") => json!({
                "protocolVersion": request.pointer("/params/protocolVersion"), "capabilities": { "tools": {} },
                "serverInfo": { "name": "mcp-bindgen", "version": env!("CARGO_PKG_VERSION") },
            }),
            Some("tools/list") => json!({ "tools": &*tools }),
            Some("ping") => json!({}),
            _ => Value::Null,
        };
        let answer = match result {
            Value::Null => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" } })
            }
            result => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        };
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}
