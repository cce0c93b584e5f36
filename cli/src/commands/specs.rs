//! Servers as bindings know them, made while the program runs: so a template calls tools by the names that bindings have.

use mcp_bindgen_codegen::{Bindings, Options, ToolBinding};
use mcp_bindgen_model::Snapshot;
use mcp_bindgen_runtime::{Annotations, ServerSpec, ToolSpec};
use serde_json::Value;

/// The server with those of its tools that a template calls. Nothing of it is ever given back: a run has one template,
/// and the program ends with it.
pub(super) fn of_called(snapshot: &Snapshot, options: &Options, called: &[&str]) -> &'static ServerSpec {
    let (bindings, _) = Bindings::describe(snapshot, options);
    let mut tools: Vec<ToolSpec> = Vec::new();
    for binding in bindings.iter().filter(|binding| called.contains(&binding.tool.as_str())) {
        if !tools.iter().any(|known| known.name == binding.tool) {
            tools.extend(tool(snapshot, binding));
        }
    }
    Box::leak(Box::new(ServerSpec::new(kept(options.server_name())).tools(Vec::leak(tools))))
}

fn tool(snapshot: &Snapshot, binding: &ToolBinding) -> Option<ToolSpec> {
    let tool = snapshot.tools.get(binding.index)?;
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    let hints = tool.get("annotations");
    let mut spec = ToolSpec::new(kept(&binding.tool), kept(&input_schema(tool))).prefixed(kept(&binding.prefixed));
    if let Some(title) = text("title").or_else(|| hints?.get("title")?.as_str()) {
        spec = spec.title(kept(title));
    }
    if let Some(description) = text("description") {
        spec = spec.description(kept(description));
    }
    if let Some(output) = output_schema(tool) {
        spec = spec.output_schema(kept(&output));
    }
    spec = spec.hints(hints.map(Annotations::listed).unwrap_or_default());
    if let Some(viewed) = &binding.viewed {
        spec = spec
            .viewed(kept(&viewed.view.to_json().to_string()), kept(&viewed.declared_texts().to_string()))
            .with_declared_input_schema(kept(&input_schema(&viewed.before)));
    }
    if let Some(overridden) = snapshot.overridden.get(&binding.tool) {
        let declared = &overridden.declared;
        spec = spec
            .with_declared_input_schema(kept(&input_schema(declared)))
            .with_declared_output_schema(output_schema(declared).map(|schema| kept(&schema)));
    }
    Some(spec)
}

fn input_schema(tool: &Value) -> String {
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
    schema.map_or_else(|| r#"{"type":"object"}"#.to_owned(), Value::to_string)
}

fn output_schema(tool: &Value) -> Option<String> {
    tool.get("outputSchema").filter(|schema| schema.is_object()).map(Value::to_string)
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
