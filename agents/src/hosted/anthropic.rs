//! A server as Anthropic's connector wants it: an entry of `mcp_servers`, and a toolset that names it.

use std::collections::BTreeSet;

use mcp_bindgen_model::{ServerConfig, printable};
use serde_json::{Map, Value, json};

use super::HostedCall;
use super::credentials::Credentials;
use super::declarations::{HostedDeclarations, NotHosted, NotHostedReason};
use super::plan::Plan;
use crate::json::object;
use crate::provider::{items, text};

/// The value of `anthropic-beta` without which the API knows neither field.
const BETA: &str = "mcp-client-2025-11-20";

/// Fields as in Anthropic's documentation of the connector. It has no approvals: a tool that needs one is off there.
pub(super) fn declare(
    declared: &mut HostedDeclarations,
    (config, plan, credentials): (&ServerConfig, Plan, &Credentials),
) -> Result<(), NotHosted> {
    if !credentials.is_encrypted() {
        return Err(NotHostedReason::Address.because("its `url` is not https, which Anthropic's connector requires"));
    }
    if let Some(name) = credentials.headers.keys().next() {
        let name = printable(name);
        let message = if name.eq_ignore_ascii_case("authorization") {
            format!("its header `{name}` is not a bearer token, and Anthropic's connector sends nothing else")
        } else {
            format!("it has the header `{name}`, and Anthropic's connector only sends a bearer token")
        };
        return Err(NotHostedReason::Headers.because(message));
    }
    let Some(approved) = plan.approved else {
        let message = "its calls require approval, which Anthropic's connector does not support";
        return Err(NotHostedReason::Approval.because(message));
    };
    let allowed = plan.allowed.map(|allowed| &allowed - &approved);
    if !approved.is_empty() {
        let refusal =
            NotHostedReason::Approval.because("they require approval, which Anthropic's connector does not support");
        declared.refuse(&config.name, Some(approved.into_iter().collect()), refusal);
    }
    // Tools that are not named are disabled, including those that the server adds later.
    let enabled = |names: &BTreeSet<String>| -> Map<String, Value> {
        names.iter().map(|name| (name.clone(), json!({ "enabled": true }))).collect()
    };
    let toolset = object([
        ("type", Some("mcp_toolset".into())),
        ("mcp_server_name", Some(config.name.as_str().into())),
        ("default_config", allowed.as_ref().map(|_| json!({ "enabled": false }))),
        ("configs", allowed.as_ref().map(|names| enabled(names).into())),
    ]);
    let server = object([
        ("type", Some("url".into())),
        ("url", Some(credentials.url.as_str().into())),
        ("name", Some(config.name.as_str().into())),
        ("authorization_token", credentials.bearer.as_deref().map(Value::from)),
    ]);
    declared.mcp_servers.push(server.into());
    declared.beta = Some(BETA);
    declared.add(&config.name, toolset.into(), allowed);
    Ok(())
}

/// Returns the calls in a message: blocks `mcp_tool_use`, whose results are blocks `mcp_tool_result`.
pub(super) fn calls(message: &Value) -> Vec<HostedCall> {
    let blocks = items(message, "content");
    let has_failed = |call: &Value| {
        let is_result =
            |block: &&Value| text(block, "type") == "mcp_tool_result" && block.get("tool_use_id") == call.get("id");
        blocks.iter().filter(is_result).any(|result| result.get("is_error") == Some(&Value::Bool(true)))
    };
    let calls = blocks.iter().filter(|block| text(block, "type") == "mcp_tool_use").map(|call| HostedCall {
        server: text(call, "server_name"),
        tool: text(call, "name"),
        is_error: has_failed(call),
    });
    calls.collect()
}
