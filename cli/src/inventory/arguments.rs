//! The parameters of tools, prompts and resource templates.

use mcp_bindgen_model::{TemplateVariable, UriTemplate};
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Presence, Role, Shape};
use serde_json::Value;

use super::{Parameter, words};
use crate::flags::prompt_schema;

/// Returns the properties of a tool's arguments, those that are required first.
pub(super) fn of_tool(input: &Document<'_>) -> Vec<Parameter> {
    let mut parameters = declared(input);
    // Sorting keeps the order of the schema within both groups.
    parameters.sort_by_key(|parameter| !parameter.required);
    parameters
}

/// Returns the properties in the order of the schema.
fn declared(input: &Document<'_>) -> Vec<Parameter> {
    let Shape::Struct(object) = input.shapes.get(input.root) else { return Vec::new() };
    let parameters = object.fields.iter().map(|field| Parameter {
        name: field.wire.clone(),
        kind: words::of_slot(&input.shapes, field.slot),
        required: field.presence == Presence::Required,
        description: words::description(input, field),
    });
    parameters.collect()
}

/// Returns the arguments of a prompt.
pub(super) fn of_prompt(prompt: &Value) -> Vec<Parameter> {
    declared(&Document::read(&prompt_schema(prompt), Role::Input, &mut Reporter::new("", 0, "")))
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
