//! The JSON Schema of `mcp.toml`, for editors, and the table of its keys, for the book.

use serde_json::{Map, Value, json};

use super::keys::{FILE, Form, Key};

/// Returns the JSON Schema of `mcp.toml`, by which editors complete and check the file: `mcp-bindgen init` writes it.
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
        Form::Duration => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$" }),
        Form::Date => json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }),
        Form::Prefix => json!({ "type": ["string", "boolean"], "not": { "const": true } }),
        Form::Words(words) => json!({ "enum": words() }),
        Form::Texts | Form::Globs => texts(),
        Form::Codes => json!({ "type": "array", "items": { "type": "string", "pattern": "^MCP[0-9]{4}$" } }),
        Form::TextMap => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Form::RuleMap(words) => json!({ "type": "object", "additionalProperties": { "enum": words() } }),
        Form::WordsOrTable(words, keys) => json!({ "anyOf": [{ "enum": words() }, table(keys)] }),
        Form::Table(keys) => table(keys),
        Form::Tables(keys) => json!({ "type": "array", "items": table(keys) }),
        Form::TableMap(keys) => json!({ "type": "object", "additionalProperties": table(keys) }),
    };
    if let Value::Object(members) = &mut schema {
        let default = if key.default.is_empty() { String::new() } else { format!(" (default: {})", key.default) };
        members.insert("description".to_owned(), format!("{}{default}", key.help).into());
    }
    schema
}

/// Returns the reference of every key as tables in Markdown, one for each table of the file.
#[doc(hidden)]
#[must_use]
pub fn config_reference() -> String {
    fn section(title: &str, keys: &[Key], text: &mut String) {
        text.push_str(&format!("### {title}\n\n| key | value | default | effect |\n|---|---|---|---|\n"));
        for key in keys {
            let more = if key.page.is_empty() { String::new() } else { format!(" ([more]({}))", key.page) };
            let row = format!("| `{}` | {} | {} | {}{more} |\n", key.name, form(key), default(key), key.help);
            text.push_str(&row);
        }
        text.push('\n');
    }
    fn default(key: &Key) -> String {
        if key.default == "false" || key.default.starts_with(['"', '[', '{']) {
            format!("`{}`", key.default)
        } else {
            key.default.to_owned()
        }
    }
    fn form(key: &Key) -> String {
        let words = |words: &[&str]| match words {
            many if many.len() > 8 => "an id".to_owned(),
            few => few.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        };
        match &key.form {
            Form::Text => "text".to_owned(),
            Form::Boolean => "`true`, `false`".to_owned(),
            Form::Duration => "duration".to_owned(),
            Form::Date => "date".to_owned(),
            Form::Prefix => "text, `false`".to_owned(),
            Form::Words(list) => words(&list()),
            Form::Texts => "list of texts".to_owned(),
            Form::Globs => "list of globs".to_owned(),
            Form::Codes => "list of codes".to_owned(),
            Form::TextMap => "table of texts".to_owned(),
            Form::RuleMap(_) => "table of classes".to_owned(),
            Form::WordsOrTable(list, _) => format!("{}, table", words(&list())),
            Form::Table(_) | Form::TableMap(_) => "table".to_owned(),
            Form::Tables(_) => "list of tables".to_owned(),
        }
    }
    fn sections(title: &str, keys: &[Key], text: &mut String) {
        section(title, keys, text);
        for key in keys.iter().filter(|key| !key.inner().is_empty()) {
            let inner = match (title, &key.form) {
                ("The file", Form::TableMap(_)) => format!("`[{}.NAME]`", key.name),
                ("The file", _) => format!("`[{}]`", key.name),
                (_, Form::Tables(_)) => {
                    format!("{}.{}]]`", title.trim_end_matches("]`").replacen("`[", "`[[", 1), key.name)
                }
                _ => format!("{}.{}]`", title.trim_end_matches("]`"), key.name),
            };
            sections(&inner, key.inner(), text);
        }
    }
    let mut text = String::new();
    sections("The file", &FILE, &mut text);
    text
}
