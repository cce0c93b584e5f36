//! The inventory for machines: one entry for each tool, prompt and resource template, and at the end one for each server.

use mcp_bindgen_model::side_by_side;
use mcp_bindgen_schema::drift::Change;
use serde_json::{Value, json};

use super::{About, Offer, Server, Tool, WORTH_A_THREAD};
use crate::output::{joined, present};
use crate::report::change_json;

pub(crate) fn entries(servers: &[Server]) -> Value {
    let offered = servers.iter().flat_map(|server| {
        let has_base = server.since.is_some();
        let tools = side_by_side(&server.tools, WORTH_A_THREAD, |tool| of_tool(tool, has_base));
        tools.into_iter().chain(server.offers.iter().map(of_offer))
    });
    offered.chain(servers.iter().map(of_server)).collect()
}

fn of_tool(tool: &Tool, has_base: bool) -> Value {
    let binding = &tool.binding;
    let About { title, description, .. } = &tool.about;
    let json = json!({
        "kind": "tool",
        "server": binding.server,
        "tool": binding.tool,
        "prefixed": binding.prefixed,
        "module": binding.module,
        "params_type": binding.params_type,
        "output_type": binding.output_type,
        "inner_types": { "params": binding.params_inner_types, "output": binding.output_inner_types },
        "returns": binding.returns,
        "handler": binding.handler,
        "method": binding.method,
        "variant": binding.variant,
        "title": title,
        "description": description,
        "parameters": parameters(&tool.about),
        "answers": tool.answers,
        "annotations": tool.annotations,
        "approve": tool.approve,
        "example": tool.example,
        "diagnostics": notes(&tool.about),
    });
    let declared = binding
        .viewed
        .as_ref()
        .map(|viewed| json!({ "title": viewed.before.get("title"), "description": viewed.before.get("description") }));
    let overridden = binding.overridden.as_ref().map(|overridden| {
        json!({
            "inputSchema": overridden.input_schema,
            "outputSchema": overridden.output_schema,
            "learnedFrom": overridden.learned_from,
        })
    });
    let policies =
        (!tool.policies.is_empty()).then(|| tool.policies.iter().map(|policy| policy.json.clone()).collect());
    let more = [
        ("policies", policies),
        ("view", binding.viewed.as_ref().map(|viewed| viewed.view.to_json())),
        ("declared", declared),
        ("override", overridden),
        ("changes", has_base.then(|| changes(tool.changes.iter()))),
    ];
    joined(json, present(more))
}

/// Returns a prompt or a resource template; the key of its name is its kind.
fn of_offer(offer: &Offer) -> Value {
    let binding = &offer.binding;
    let About { title, description, .. } = &offer.about;
    let kind = if binding.uri_template.is_some() { "resourceTemplate" } else { "prompt" };
    let json = json!({
        "kind": kind,
        "server": binding.server,
        "module": binding.module,
        "params_type": binding.params_type,
        "returns": binding.returns,
        "handler": binding.handler,
        "method": binding.method,
        "title": title,
        "description": description,
        "parameters": parameters(&offer.about),
        "diagnostics": notes(&offer.about),
    });
    let uri = binding.uri_template.as_ref().map(|uri| json!(uri));
    joined(json, present([(kind, Some(json!(binding.name))), ("uriTemplate", uri)]))
}

fn of_server(server: &Server) -> Value {
    let left_out = server.left_out.iter().map(|tool| json!({ "tool": tool.name, "by": tool.by }));
    let json = json!({
        "kind": "server",
        "server": server.name,
        "serverInfo": server.calls_itself,
        "protocolVersion": server.protocol,
        "instructions": server.instructions,
        "tools": server.tools.len(),
        "leftOut": left_out.collect::<Value>(),
    });
    let since = server.since.as_ref().map(|since| {
        let changes = changes(server.other_changes());
        json!({ "revision": since.revision, "new": since.is_new, "changes": changes })
    });
    joined(json, present([("since", since)]))
}

fn parameters(about: &About) -> Value {
    let parameters = about.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "type": parameter.kind,
            "required": parameter.required,
            "description": parameter.description,
        })
    });
    parameters.collect()
}

fn notes(about: &About) -> Value {
    about.diagnostics.iter().map(|note| note.json.clone()).collect()
}

fn changes<'c>(changes: impl Iterator<Item = &'c Change>) -> Value {
    changes.map(change_json).collect()
}
