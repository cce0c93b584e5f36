//! The inventory for machines: one entry for each tool, prompt and resource template, and at the end one for each server.

use mcp_bindgen_codegen::{Diagnostic, OfferBinding, ToolBinding};
use mcp_bindgen_schema::drift::Change;
use serde_json::{Value, json};

use super::{Item, Parameter, Reader, Server};
use crate::diagnostics;
use crate::output::{joined, present};
use crate::report::{Difference, change_json};

/// Returns the entries of servers that were read as JSON, and takes them out of their items.
pub(crate) fn entries(servers: &mut [Server]) -> Value {
    let items = servers.iter_mut().flat_map(|server| &mut server.items);
    let mut entries: Vec<Value> = items.map(|item| item.json.take()).collect();
    entries.extend(servers.iter().map(of_server));
    entries.into()
}

impl Reader<'_> {
    pub(super) fn tool_json(&self, item: &Item, binding: &ToolBinding) -> Value {
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
            "title": item.title,
            "description": item.description,
            "parameters": parameters(item),
            "answers": item.answers,
            "annotations": self.annotations(binding),
            "approve": self.bound.options.needs_approval(&binding.tool),
            "example": item.example,
            "diagnostics": self.diagnostics(&binding.diagnostics),
        });
        let policies: Vec<&Value> = self.policies(&binding.tool).map(|(_, json)| json).collect();
        let viewed = binding.viewed.as_ref();
        let declared = viewed.map(|viewed| {
            let text = |key| viewed.before.get(key);
            json!({ "title": text("title"), "description": text("description") })
        });
        let overridden = binding.overridden.as_ref().map(|overridden| {
            json!({
                "inputSchema": overridden.input_schema,
                "outputSchema": overridden.output_schema,
                "learnedFrom": overridden.learned_from,
            })
        });
        let more = [
            ("policies", (!policies.is_empty()).then(|| json!(policies))),
            ("view", viewed.map(|viewed| viewed.view.to_json())),
            ("declared", declared),
            ("override", overridden),
            ("changes", self.since.map(|_| changes(&item.changes))),
        ];
        joined(json, present(more))
    }

    /// Returns a prompt or a resource template; the key of its name is its kind.
    pub(super) fn offer_json(&self, item: &Item, binding: &OfferBinding) -> Value {
        let kind = if binding.uri_template.is_some() { "resourceTemplate" } else { "prompt" };
        let json = json!({
            "kind": kind,
            "server": binding.server,
            "module": binding.module,
            "params_type": binding.params_type,
            "returns": binding.returns,
            "handler": binding.handler,
            "method": binding.method,
            "title": item.title,
            "description": item.description,
            "parameters": parameters(item),
            "diagnostics": self.diagnostics(&binding.diagnostics),
        });
        let uri = binding.uri_template.as_ref().map(|uri| json!(uri));
        joined(json, present([(kind, Some(json!(binding.name))), ("uriTemplate", uri)]))
    }

    fn diagnostics(&self, diagnostics: &[Diagnostic]) -> Value {
        self.heard(diagnostics).map(|said| diagnostics::to_json(said, self.bound)).collect()
    }
}

fn of_server(server: &Server) -> Value {
    let left_out = server.left_out.iter().map(|(tool, by)| json!({ "tool": tool, "by": by }));
    let json = json!({
        "kind": "server",
        "server": server.name,
        "serverInfo": server.calls_itself,
        "protocolVersion": server.protocol,
        "instructions": server.instructions,
        "tools": server.count(None),
        "leftOut": left_out.collect::<Value>(),
    });
    let since = server.since.as_ref().map(|since| {
        let is_new = matches!(since.difference, Difference::Added);
        let changes = changes(server.other_changes());
        json!({ "revision": since.revision, "new": is_new, "changes": changes })
    });
    joined(json, present([("since", since)]))
}

fn parameters(item: &Item) -> Value {
    let parameter = |Parameter { name, kind, required, description }: &Parameter| json!({ "name": name, "type": kind, "required": required, "description": description });
    item.parameters.iter().map(parameter).collect()
}

fn changes<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Value {
    changes.into_iter().map(change_json).collect()
}
