//! The arguments of prompts as flags.

use serde_json::{Map, Value, json};

/// The schema of a prompt's arguments. The protocol has texts for them, and nothing else.
pub(crate) fn prompt_schema(prompt: &Value) -> Value {
    let arguments = prompt.get("arguments").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in arguments {
        let Some(name) = argument.get("name").and_then(Value::as_str) else { continue };
        let mut property = json!({ "type": "string" });
        if let (Some(property), Some(said)) = (property.as_object_mut(), argument.get("description")) {
            property.insert("description".to_owned(), said.clone());
        }
        properties.insert(name.to_owned(), property);
        if argument.get("required") == Some(&Value::Bool(true)) {
            required.push(name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}
