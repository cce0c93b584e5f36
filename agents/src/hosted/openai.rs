//! A server as the tool `mcp` of OpenAI's Responses.

use mcp_bindgen_model::ServerConfig;
use serde_json::{Value, json};

use super::HostedCall;
use super::credentials::Credentials;
use super::declarations::{HostedDeclarations, HostedNoteKind, NotHosted, NotHostedReason};
use super::plan::Plan;
use crate::json::object;
use crate::provider::{items, text};

/// Fields as in `MCPTool` of OpenAI's own `openapi.yaml`.
pub(super) fn declare(
    declared: &mut HostedDeclarations,
    (config, plan, credentials): (&ServerConfig, Plan, &Credentials),
) -> Result<(), NotHosted> {
    // The API refuses other labels; names of servers may begin with a digit.
    if !config.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let message = "OpenAI requires server labels to begin with a letter";
        return Err(NotHostedReason::Name.because(message));
    }
    let Credentials { url, bearer, headers } = credentials;
    // Left out, it is `always`.
    let approval = match &plan.approved {
        Some(names) if names.is_empty() => json!("never"),
        Some(names) => {
            let others: Vec<&String> = plan.allowed.iter().flatten().filter(|name| !names.contains(*name)).collect();
            json!({ "always": { "tool_names": names }, "never": { "tool_names": others } })
        }
        None => json!("always"),
    };
    if plan.approved.is_none() && plan.allowed.is_none() {
        let text = "its tools are unknown, so every call requires approval, not only those in `approve`; run \
                    `mcp-bindgen sync`, or list them with `HostedServers::with_tools`";
        declared.note(&config.name, HostedNoteKind::MoreApprovals, text);
    }
    let tool = object([
        ("type", Some("mcp".into())),
        ("server_label", Some(config.name.as_str().into())),
        ("server_description", config.description.as_deref().map(Value::from)),
        ("server_url", Some(url.as_str().into())),
        // The API documents that it neither stores nor repeats this field.
        ("authorization", bearer.as_deref().map(Value::from)),
        ("headers", (!headers.is_empty()).then(|| json!(headers))),
        ("allowed_tools", plan.allowed.as_ref().map(|allowed| json!(allowed))),
        ("require_approval", Some(approval)),
    ]);
    declared.add(&config.name, tool.into(), plan.allowed);
    Ok(())
}

/// Returns the calls in a response: items `mcp_call`.
pub(super) fn calls(response: &Value) -> Vec<HostedCall> {
    let calls =
        items(response, "output").iter().filter(|item| text(item, "type") == "mcp_call").map(|call| HostedCall {
            server: text(call, "server_label"),
            tool: text(call, "name"),
            is_error: call.get("error").is_some_and(|error| !error.is_null()),
        });
    calls.collect()
}
