//! A server whose list changes between listing and calling.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_bindgen_runtime::{CallTool, Client};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

use crate::toolset::Toolset;
use crate::toolset::testing::{Server, entry, live_on, toolset};

/// Offers these tools; counts how often it is asked which.
fn serve(far: DuplexStream, tools: &'static [&'static str], lists: Arc<AtomicUsize>) {
    tokio::spawn(async move {
        let (read, mut write) = split(far);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("it is JSON");
            let Some(id) = message.get("id") else { continue };
            let answer = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({"result": {
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "by hand", "version": "1"},
                }}),
                "tools/list" => {
                    lists.fetch_add(1, Ordering::SeqCst);
                    let tools: Vec<Value> =
                        tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
                    json!({"result": {"tools": tools}})
                }
                method => json!({"error": {"code": -32601, "message": format!("no {method}")}}),
            };
            let mut answer = answer;
            answer["jsonrpc"] = "2.0".into();
            answer["id"] = id.clone();
            if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
}

struct Live {
    set: Toolset,
    lists: Arc<AtomicUsize>,
}

fn live(tools: &'static [&'static str], caller: impl CallTool + Clone + 'static) -> Live {
    let (near, far) = duplex(4096);
    let lists = Arc::<AtomicUsize>::default();
    serve(far, tools, lists.clone());
    let (read, write) = split(near);
    let client = Client::over(read, write);
    let of = |tool: &str| entry("notes", tool, json!({"type": "object"}), live_on(caller.clone(), client.clone()));
    Live { set: toolset([of("add_note"), of("add_notes"), of("zap")]), lists }
}

fn not_found() -> mcp_bindgen_runtime::CallError {
    mcp_bindgen_runtime::CallError::tool_not_found("notes", "add_note")
}

#[tokio::test]
async fn missing_tool_causes_one_list_request() {
    let caller = Server::failing(not_found());
    let Live { set, lists } = live(&["add_notes", "unknown_to_the_set"], caller.clone());
    let reply = set.dispatch("notes_add_note", json!({})).await;
    assert!(!reply.success && reply.message.contains("no longer has this tool"), "{}", reply.message);
    assert!(reply.message.contains("`notes_add_notes`") && !reply.message.contains("unknown_to"), "{}", reply.message);
    assert_eq!((lists.load(Ordering::SeqCst), caller.calls().len()), (1, 1));
}

#[tokio::test]
async fn tool_that_still_exists_is_called_once_more() {
    let tries = Arc::<AtomicUsize>::default();
    let counted = tries.clone();
    let caller = Server::new(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => Err(not_found()),
        _ => Ok(json!({"content": [{"type": "text", "text": "noted"}]})),
    });
    let Live { set, lists } = live(&["add_note"], caller.clone());
    let reply = set.dispatch("notes_add_note", json!({"text": "x"})).await;
    assert_eq!((reply.success, reply.message.as_str()), (true, "noted"));
    assert_eq!((lists.load(Ordering::SeqCst), tries.load(Ordering::SeqCst)), (1, 2));
    assert_eq!(caller.calls()[1].arguments["text"], "x");

    let never = Server::failing(not_found());
    let Live { set, lists } = live(&["add_note"], never.clone());
    assert!(!set.dispatch("notes_add_note", json!({})).await.success);
    assert_eq!((lists.load(Ordering::SeqCst), never.calls().len()), (1, 2), "once, and no more");
}

#[tokio::test]
async fn failed_tool_list_is_reported() {
    let (near, far) = duplex(64);
    drop(far);
    let (read, write) = split(near);
    let client = Client::over(read, write);
    let set = toolset([entry("notes", "add_note", json!({}), live_on(Server::failing(not_found()), client))]);
    let reply = set.dispatch("notes_add_note", json!({})).await;
    assert!(!reply.success && reply.message.contains("its current tools cannot be listed"), "{}", reply.message);
}
