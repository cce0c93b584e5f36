//! Flags of prompts and resource templates: always strings.

use std::collections::HashSet;

use mcp_bindgen_model::{TemplateVariable, UriTemplate};
use serde_json::Value;

use super::{Parameter, text};

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

/// The variables of a template; none of one that cannot be filled in.
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
