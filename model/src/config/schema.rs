//! The JSON Schema of `mcp.toml`, for editors and the book.

use serde_json::{Map, Value, json};

use super::key::{Form, Key};
use super::keys::FILE;

/// Returns the JSON Schema of `mcp.toml`, which editors use to complete and check the file. `mcp-bindgen init` writes
/// it.
///
/// ```
/// let schema = mcp_bindgen_model::config_schema();
/// assert_eq!(schema["properties"]["servers"]["additionalProperties"]["properties"]["timeout"]["type"], "string");
/// ```
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = table(&FILE);
    if let Value::Object(members) = &mut schema {
        members.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
        members.insert("title".to_owned(), "mcp.toml of mcp-bindgen".into());
    }
    schema
}

fn table(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn property(key: &Key) -> Value {
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let mut schema = match &key.form {
        Form::Text => json!({ "type": "string" }),
        Form::Boolean => json!({ "type": "boolean" }),
        Form::Number => json!({ "type": "number" }),
        Form::Value => json!({}),
        Form::Port => json!({ "type": "integer", "minimum": 1, "maximum": 65535 }),
        Form::Duration => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$" }),
        Form::Rate => json!({ "type": "string", "pattern": "^0*[1-9][0-9]*/[smh]$" }),
        Form::Date => json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }),
        Form::Prefix => json!({ "type": ["string", "boolean"], "not": { "const": true } }),
        Form::Words(words) => json!({ "enum": words() }),
        Form::Texts => texts(),
        Form::Stores => json!({
            "type": "array", "minItems": 1,
            "items": { "anyOf": [{ "enum": ["env", "keyring"] }, { "type": "string", "pattern": "^dotenv:." }] },
        }),
        Form::Codes => json!({ "type": "array", "items": { "type": "string", "pattern": "^MCP[0-9]{4}$" } }),
        Form::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Form::ValueMap => json!({ "type": "object" }),
        Form::RuleMap(words) => json!({ "type": "object", "additionalProperties": { "enum": words() } }),
        Form::WordsOrTexts(words) => json!({ "anyOf": [{ "enum": words() }, texts()] }),
        Form::WordsOrTable(words, keys) => json!({ "anyOf": [{ "enum": words() }, table(keys)] }),
        Form::Table(keys) => table(keys),
        Form::Tables(keys) => json!({ "type": "array", "items": table(keys) }),
        Form::TableMap(keys) => json!({ "type": "object", "additionalProperties": table(keys) }),
    };
    if let Value::Object(members) = &mut schema {
        let mut description = key.help.to_owned();
        match serde_json::from_str(key.default) {
            Ok(default) => drop(members.insert("default".to_owned(), default)),
            Err(_) if key.default.is_empty() => {}
            Err(_) => description.push_str(&format!("; default: {}", key.default)),
        }
        members.insert("description".to_owned(), description.into());
        if !key.page.is_empty() {
            members.insert("$comment".to_owned(), key.page.into());
        }
    }
    schema
}
