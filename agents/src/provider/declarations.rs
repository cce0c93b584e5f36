//! How each provider is told of a tool.

use serde_json::{Map, Value, json};

use super::Provider;

/// A tool as it is told.
#[derive(Debug)]
pub(crate) struct Declaration<'a> {
    /// `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, which all of them take.
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    /// In the words of the provider; an object at its root.
    pub(crate) schema: Value,
    /// Whether a model may send nothing but values of the schema.
    pub(crate) is_strict: bool,
}

impl Declaration<'_> {
    /// The declaration in a provider's form, with its keys in one order.
    pub(crate) fn printed(self, provider: Provider) -> Value {
        let mut members = Map::new();
        let mut put = |key: &str, value: Value| drop(members.insert(key.to_owned(), value));
        let is_openai = matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses);
        if provider == Provider::OpenAiResponses {
            put("type", json!("function"));
        }
        put("name", json!(self.name));
        if let Some(description) = self.description {
            put("description", json!(description));
        }
        let schema = match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => "parameters",
            Provider::Anthropic => "input_schema",
            // Of its two places for a schema the one for JSON Schema.
            Provider::Gemini => "parametersJsonSchema",
        };
        put(schema, self.schema);
        // Where it is left out, Chat Completions takes it for false, and Responses makes the schema strict by itself.
        if is_openai || (provider == Provider::Anthropic && self.is_strict) {
            put("strict", json!(self.is_strict));
        }
        match provider {
            Provider::OpenAiChat => json!({ "type": "function", "function": members }),
            Provider::OpenAiResponses | Provider::Anthropic | Provider::Gemini => Value::Object(members),
        }
    }
}

/// Returns the value of `tools` in a request.
pub(crate) fn listed(provider: Provider, declarations: Vec<Value>) -> Vec<Value> {
    match provider {
        Provider::Gemini if !declarations.is_empty() => vec![json!({ "functionDeclarations": declarations })],
        _ => declarations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(provider: Provider, is_strict: bool) -> String {
        let schema = json!({ "type": "object", "properties": {} });
        Declaration { name: "fs_read", description: Some("Reads."), schema, is_strict }.printed(provider).to_string()
    }

    #[test]
    fn each_provider_has_its_form() {
        let schema = r#"{"type":"object","properties":{}}"#;
        let strict = [
            (
                Provider::OpenAiChat,
                format!(
                    r#"{{"type":"function","function":{{"name":"fs_read","description":"Reads.","parameters":{schema},"strict":true}}}}"#
                ),
            ),
            (
                Provider::OpenAiResponses,
                format!(
                    r#"{{"type":"function","name":"fs_read","description":"Reads.","parameters":{schema},"strict":true}}"#
                ),
            ),
            (
                Provider::Anthropic,
                format!(r#"{{"name":"fs_read","description":"Reads.","input_schema":{schema},"strict":true}}"#),
            ),
            (
                Provider::Gemini,
                format!(r#"{{"name":"fs_read","description":"Reads.","parametersJsonSchema":{schema}}}"#),
            ),
        ];
        for (provider, text) in strict {
            assert_eq!(printed(provider, true), text);
        }
        assert!(printed(Provider::OpenAiChat, false).contains(r#""strict":false"#));
        assert!(printed(Provider::OpenAiResponses, false).contains(r#""strict":false"#));
        assert!(!printed(Provider::Anthropic, false).contains("strict"));
    }

    #[test]
    fn gemini_has_one_object_for_all() {
        let one = vec![json!({ "name": "a" })];
        assert_eq!(listed(Provider::Gemini, one.clone()), [json!({ "functionDeclarations": [{ "name": "a" }] })]);
        assert_eq!(listed(Provider::Gemini, Vec::new()), Vec::<Value>::new());
        assert_eq!(listed(Provider::Anthropic, one.clone()), one);
    }
}
