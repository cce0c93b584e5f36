//! The parameters of tools, prompts and resource templates.

use std::collections::HashSet;

use mcp_bindgen_model::{TemplateVariable, UriTemplate};
use mcp_bindgen_schema::{Document, Presence, Shape};
use serde_json::Value;

use super::{Parameter, text, words};

/// Returns the properties of a tool's arguments, those that are required first.
pub(super) fn of_tool(input: &Document<'_>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    if let Shape::Struct(object) = input.shapes.get(input.root) {
        parameters.extend(object.fields.iter().map(|field| Parameter {
            name: field.wire.clone(),
            kind: words::of_slot(&input.shapes, field.slot),
            required: field.presence == Presence::Required,
            description: words::description(input, field),
        }));
    }
    // Sorting keeps the order of the schema within both groups.
    parameters.sort_by_key(|parameter| !parameter.required);
    parameters
}

pub(super) fn of_prompt(prompt: &Value) -> Vec<Parameter> {
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let mut seen = HashSet::new();
    let arguments = arguments.into_iter().flatten().filter_map(|argument| {
        let name = argument.get("name")?.as_str()?;
        seen.insert(name).then_some(())?;
        Some(Parameter {
            name: name.to_owned(),
            kind: "string".to_owned(),
            required: argument.get("required") == Some(&Value::Bool(true)),
            description: text(argument, "description"),
        })
    });
    arguments.collect()
}

/// Returns the variables of a template; empty if it is invalid.
pub(super) fn of_template(template: &str) -> Vec<Parameter> {
    let Ok(template) = UriTemplate::parse(template) else { return Vec::new() };
    let parameter = |variable: TemplateVariable| Parameter {
        kind: if variable.is_list { "string, or list of strings" } else { "string" }.to_owned(),
        required: variable.is_required,
        name: variable.name,
        description: None,
    };
    template.variables().into_iter().map(parameter).collect()
}
