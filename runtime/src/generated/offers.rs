//! The calls of prompts and resource templates in bindings.

use mcp_bindgen_model::{TemplateValue, UriTemplate};
use serde_json::{Map, Value};

use crate::ground::wire::{Print, to_value};
use crate::{CallError, GetPrompt, PromptRequest, PromptResult, ReadResource, ResourceRequest, ResourceResult};

/// Gets a prompt with typed arguments.
///
/// # Errors
/// Fails like [`GetPrompt::get_prompt`].
pub async fn get_prompt(
    client: &(impl GetPrompt + ?Sized),
    server: &'static str,
    prompt: &'static str,
    arguments: &(dyn Print + Sync),
) -> Result<PromptResult, CallError> {
    client.get_prompt(PromptRequest::new(server, prompt, members(server, prompt, arguments)?)).await
}

/// Reads a resource.
///
/// # Errors
/// Fails like [`ReadResource::read_resource`].
pub async fn read_resource(
    client: &(impl ReadResource + ?Sized),
    server: &'static str,
    uri: String,
) -> Result<ResourceResult, CallError> {
    client.read_resource(ResourceRequest::new(server, uri)).await
}

/// Expands a resource template.
///
/// # Errors
/// Fails with [`CallError::InvalidArguments`] if a value is not allowed in its place.
pub fn fill_in(server: &str, template: &str, variables: &impl Print) -> Result<String, CallError> {
    let invalid = |pointer: &str, message| CallError::invalid_arguments(server, template, pointer, message);
    let variables = members(server, template, variables)?;
    let parsed = UriTemplate::parse(template).map_err(|error| invalid("", error.to_string()))?;
    let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, value) in &variables {
        lists.extend(value.as_array().map(|list| (name.as_str(), texts(list))));
    }
    let value = |name: &str| match variables.get(name)? {
        Value::String(text) => Some(TemplateValue::Text(text)),
        _ => lists.iter().find(|(known, _)| *known == name).map(|(_, list)| TemplateValue::List(list)),
    };
    let filled = parsed.expand(value);
    filled.map_err(|error| invalid(&format!("/{}", mcp_bindgen_model::pointer_segment(&error.variable)), error.message))
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn members(server: &str, what: &str, value: &dyn Print) -> Result<Map<String, Value>, CallError> {
    match to_value(value) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(CallError::invalid_arguments(server, what, "", "expected a JSON object for the arguments")),
        Err(error) => Err(CallError::invalid_arguments(server, what, &error.pointer(), error.message())),
    }
}
