//! `list`: tools and the names of their bindings.

use std::path::Path;

use mcp_codegen::{Bindings, ToolBinding};
use mcp_model::{DiagnosticLevels, printable};
use serde_json::{Value, json};

use super::source;
use crate::args::Selection;
use crate::diagnostics::{self, SnapshotText};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(config: Option<&Path>, wanted: &Selection, output: &mut Output) -> Result<Exit, Failure> {
    let mut exits = Vec::new();
    let mut listed = Vec::new();
    for bound in source::read(config, wanted, None, output)? {
        let bound = match bound {
            Ok(bound) => bound,
            Err(failure) => {
                output.error(&failure.message);
                exits.push(failure.exit);
                continue;
            }
        };
        let snapshot = bound.texts();
        let (tools, said) = Bindings::describe(&bound.snapshot, &bound.options);
        if output.json() {
            listed.extend(tools.iter().map(|tool| to_json(tool, &bound.levels, &snapshot)));
        } else if !tools.is_empty() {
            output.data(&table(&tools))?;
        }
        if diagnostics::show(&said, &bound.levels, &snapshot, output) {
            exits.push(Exit::Failed);
        }
    }
    if output.json() {
        output.data_json(&Value::Array(listed))?;
    }
    Ok(Exit::of_all(exits))
}

fn to_json(tool: &ToolBinding, levels: &DiagnosticLevels, snapshot: &SnapshotText<'_>) -> Value {
    let said = tool.diagnostics.iter().filter(|said| !diagnostics::is_allowed(said, levels));
    let mut json = json!({
        "server": tool.server,
        "tool": tool.tool,
        "prefixed": tool.prefixed,
        "module": tool.module,
        "params_type": tool.params_type,
        "output_type": tool.output_type,
        "returns": tool.returns,
        "handler": tool.handler,
        "method": tool.method,
        "variant": tool.variant,
        "diagnostics": said.map(|said| diagnostics::to_json(said, snapshot)).collect::<Value>(),
    });
    if let (Some(overridden), Value::Object(json)) = (&tool.overridden, &mut json) {
        let overridden = json!({
            "inputSchema": overridden.input_schema,
            "outputSchema": overridden.output_schema,
            "learnedFrom": overridden.learned_from,
        });
        json.insert("override".to_owned(), overridden);
    }
    json
}

/// What of a tool is not as its server says.
fn overridden(tool: &ToolBinding) -> String {
    let Some(overridden) = &tool.overridden else {
        return String::new();
    };
    let learned = overridden.learned_from.map(|count| match count {
        1 => ", learned from 1 result".to_owned(),
        count => format!(", learned from {count} results"),
    });
    let parts = [("parameters", overridden.input_schema), ("result", overridden.output_schema)];
    let parts: Vec<&str> = parts.iter().filter(|(_, is_changed)| *is_changed).map(|(part, _)| *part).collect();
    format!("  ({} by override{})", parts.join(" and "), learned.unwrap_or_default())
}

/// Two columns: the wire name, and the handler with its types.
fn table(tools: &[ToolBinding]) -> String {
    let names: Vec<String> = tools.iter().map(|tool| format!("{}/{}", tool.server, printable(&tool.tool))).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let lines: Vec<String> = tools
        .iter()
        .zip(&names)
        .map(|(tool, name)| {
            let ToolBinding { module, handler, params_type, returns, .. } = tool;
            let overridden = overridden(tool);
            format!("{name:<width$}  {module}::{handler}({params_type}) -> {returns}{overridden}")
        })
        .collect();
    lines.join("\n")
}
