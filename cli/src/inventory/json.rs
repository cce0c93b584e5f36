//! The inventory for machines: one entry for each tool, prompt and resource template, and at the end one for each server.

use mcp_bindgen_model::side_by_side;
use mcp_bindgen_schema::drift::Change;
use serde_json::{Value, json};

use super::{Note, Offer, Parameter, Server, Tool, WORTH_A_THREAD};
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
    let mut json = json!({
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
        "title": tool.title,
        "description": tool.description,
        "parameters": parameters(&tool.parameters),
        "answers": tool.answers,
        "annotations": tool.annotations,
        "approve": tool.approve,
        "example": tool.example,
        "diagnostics": notes(&tool.diagnostics),
    });
    let Value::Object(fields) = &mut json else { return json };
    if let Some(viewed) = &binding.viewed {
        let (title, description) = (viewed.before.get("title"), viewed.before.get("description"));
        fields.insert("view".to_owned(), viewed.view.to_json());
        fields.insert("declared".to_owned(), json!({ "title": title, "description": description }));
    }
    if let Some(overridden) = &binding.overridden {
        let overridden = json!({
            "inputSchema": overridden.input_schema,
            "outputSchema": overridden.output_schema,
            "learnedFrom": overridden.learned_from,
        });
        fields.insert("override".to_owned(), overridden);
    }
    if has_base {
        fields.insert("changes".to_owned(), changes(tool.changes.iter()));
    }
    json
}

/// A prompt or a resource template; the key of its name is its kind.
fn of_offer(offer: &Offer) -> Value {
    let binding = &offer.binding;
    let kind = if binding.uri_template.is_some() { "resourceTemplate" } else { "prompt" };
    let mut json = json!({
        "kind": kind,
        "server": binding.server,
        "module": binding.module,
        "params_type": binding.params_type,
        "returns": binding.returns,
        "handler": binding.handler,
        "method": binding.method,
        "title": offer.title,
        "description": offer.description,
        "parameters": parameters(&offer.parameters),
        "diagnostics": notes(&offer.diagnostics),
    });
    if let Value::Object(json) = &mut json {
        json.insert(kind.to_owned(), binding.name.clone().into());
        json.extend(binding.uri_template.iter().map(|uri| ("uriTemplate".to_owned(), uri.clone().into())));
    }
    json
}

fn of_server(server: &Server) -> Value {
    let left_out = server.left_out.iter().map(|tool| json!({ "tool": tool.name, "by": tool.by }));
    let mut json = json!({
        "kind": "server",
        "server": server.name,
        "serverInfo": server.calls_itself,
        "protocolVersion": server.protocol,
        "instructions": server.instructions,
        "tools": server.tools.len(),
        "leftOut": left_out.collect::<Value>(),
    });
    if let (Some(since), Value::Object(json)) = (&server.since, &mut json) {
        let changes = changes(server.other_changes());
        json.insert("since".to_owned(), json!({ "revision": since.revision, "new": since.is_new, "changes": changes }));
    }
    json
}

fn parameters(parameters: &[Parameter]) -> Value {
    let parameters = parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "type": parameter.kind,
            "required": parameter.required,
            "description": parameter.description,
        })
    });
    parameters.collect()
}

fn notes(notes: &[Note]) -> Value {
    notes.iter().map(|note| note.json.clone()).collect()
}

fn changes<'c>(changes: impl Iterator<Item = &'c Change>) -> Value {
    changes.map(change_json).collect()
}
