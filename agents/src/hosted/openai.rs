//! A server as the tool `mcp` of OpenAI's Responses.

use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value, json};

use super::credentials::Credentials;
use super::declarations::{HostedNoteKind, NotHostedReason, Refusal};
use super::plan::{Approved, Plan};
use super::{Declaration, HostedCall, items, text};

/// Fields as in `MCPTool` of OpenAI's own `openapi.yaml`.
pub(super) fn declaration(config: &ServerConfig, plan: Plan, credentials: Credentials) -> Result<Declaration, Refusal> {
    // The API refuses other labels; names of servers may begin with a digit.
    if !config.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let message = "OpenAI requires server labels to begin with a letter";
        return Err(NotHostedReason::Name.because(message));
    }
    let Credentials { url, bearer, headers } = credentials;
    let mut tool = Map::new();
    tool.insert("type".to_owned(), "mcp".into());
    tool.insert("server_label".to_owned(), config.name.as_str().into());
    if let Some(description) = &config.description {
        tool.insert("server_description".to_owned(), description.as_str().into());
    }
    tool.insert("server_url".to_owned(), url.into());
    // Of this one the API says that it keeps and repeats it nowhere.
    if let Some(token) = bearer {
        tool.insert("authorization".to_owned(), token.into());
    }
    if !headers.is_empty() {
        let headers: Map<String, Value> = headers.into_iter().map(|(name, value)| (name, value.into())).collect();
        tool.insert("headers".to_owned(), headers.into());
    }
    let mut notes = Vec::new();
    // Left out, it is `always`.
    let approval = match (&plan.approved, &plan.allowed) {
        (Approved::None, _) => json!("never"),
        (Approved::These(names), allowed) => {
            let others: Vec<&String> = allowed.iter().flatten().filter(|name| !names.contains(*name)).collect();
            json!({ "always": { "tool_names": names }, "never": { "tool_names": others } })
        }
        (Approved::All, allowed) => {
            if allowed.is_none() {
                let text = "its tools are unknown, so every call requires approval, not only those in `approve`; run \
                            `mcp-bindgen sync`, or list them with `HostedServers::with_tools`";
                notes.push((HostedNoteKind::MoreApprovals, text.to_owned()));
            }
            json!("always")
        }
    };
    if let Some(allowed) = &plan.allowed {
        tool.insert("allowed_tools".to_owned(), json!(allowed));
    }
    tool.insert("require_approval".to_owned(), approval);
    let (server, tool) = (config.name.clone(), tool.into());
    Ok(Declaration { server, tool, mcp_server: None, beta: None, calls: plan.allowed, left: None, notes })
}

/// The calls in a response: items `mcp_call`.
pub(super) fn calls(response: &Value) -> Vec<HostedCall> {
    let items = items(response, "output").iter();
    let calls = items.filter(|item| text(item, "type") == "mcp_call").map(|item| HostedCall {
        server: text(item, "server_label"),
        tool: text(item, "name"),
        is_error: item.get("error").is_some_and(|error| !error.is_null()),
    });
    calls.collect()
}
