//! `list`: tools, prompts and resource templates, and the names of their bindings.

use std::path::Path;

use mcp_codegen::{Bindings, OfferBinding, ToolBinding};
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
        let offers = Bindings::offers(&bound.snapshot, &bound.options);
        if output.json() {
            listed.extend(tools.iter().map(|tool| to_json(tool, &bound.levels, &snapshot)));
            listed.extend(offers.iter().map(|offer| offer_to_json(offer, &bound.levels, &snapshot)));
        } else if !tools.is_empty() || !offers.is_empty() {
            output.data(&table(&tools, &offers))?;
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

/// A prompt or a resource template; the key of its name says which.
fn offer_to_json(offer: &OfferBinding, levels: &DiagnosticLevels, snapshot: &SnapshotText<'_>) -> Value {
    let said = offer.diagnostics.iter().filter(|said| !diagnostics::is_allowed(said, levels));
    let mut json = json!({
        "server": offer.server,
        "module": offer.module,
        "params_type": offer.params_type,
        "returns": offer.returns,
        "handler": offer.handler,
        "method": offer.method,
        "diagnostics": said.map(|said| diagnostics::to_json(said, snapshot)).collect::<Value>(),
    });
    if let Value::Object(json) = &mut json {
        let key = if offer.uri_template.is_some() { "resourceTemplate" } else { "prompt" };
        json.insert(key.to_owned(), offer.name.clone().into());
        json.extend(offer.uri_template.iter().map(|uri| ("uriTemplate".to_owned(), uri.clone().into())));
    }
    json
}

/// Two columns: the wire name, and the handler with its types.
fn table(tools: &[ToolBinding], offers: &[OfferBinding]) -> String {
    let tools = tools.iter().map(|tool| {
        let ToolBinding { module, handler, params_type, returns, .. } = tool;
        let overridden = overridden(tool);
        let bound = format!("{module}::{handler}({params_type}) -> {returns}{overridden}");
        (format!("{}/{}", tool.server, printable(&tool.tool)), bound)
    });
    let offers = offers.iter().map(|offer| {
        let OfferBinding { module, handler, params_type, returns, listed, .. } = offer;
        let bound = format!("{module}::{handler}({params_type}) -> {returns}  ({listed})");
        (format!("{}/{}", offer.server, printable(&offer.name)), bound)
    });
    let rows: Vec<(String, String)> = tools.chain(offers).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(name, bound)| format!("{name:<width$}  {bound}")).collect();
    lines.join("\n")
}
