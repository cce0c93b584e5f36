//! The schema of one tool in the words of providers, each made once.

use std::sync::OnceLock;

use mcp_bindgen_schema::provider::{Dialect, Lost, NotStrict, Rewrite, loose, strict};
use mcp_bindgen_schema::{descriptions, visible_texts};
use serde_json::{Map, Value, json};

use crate::Provider;
use crate::text::plain;

/// The rewritten schemas so far.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    open_ai: Rewritten,
    anthropic: Rewritten,
    gemini: Rewritten,
}

#[derive(Debug, Default)]
struct Rewritten {
    strict: OnceLock<Result<Ready, NotStrict>>,
    loose: OnceLock<Ready>,
}

/// A rewrite as it is sent.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) rewrite: Rewrite,
    /// The losses that the schema does not mention, in words.
    pub(crate) unsaid: Vec<String>,
    /// `true` if no part of the schema could be sent.
    pub(crate) is_any_object: bool,
}

impl Rewrites {
    /// Returns a strict schema, which only allows a model to send valid values.
    pub(crate) fn strict(&self, schema: &Value, provider: Provider) -> Result<&Ready, &NotStrict> {
        let (rewritten, dialect) = self.of(provider);
        let made = || strict(schema, dialect).map(Ready::of);
        let made = rewritten.strict.get_or_init(made).as_ref()?;
        Ok(made)
    }

    /// Returns a schema that the provider accepts.
    pub(crate) fn loose(&self, schema: &Value, provider: Provider) -> &Ready {
        let (rewritten, dialect) = self.of(provider);
        rewritten.loose.get_or_init(|| Ready::of(loose(schema, dialect)))
    }

    /// Pretends that the schema is strict with this load.
    #[cfg(test)]
    pub(super) fn presume_strict(&self, provider: Provider, optional: usize, unions: usize) {
        let (rewritten, dialect) = self.of(provider);
        let mut rewrite = loose(&json!({ "type": "object", "properties": {} }), dialect);
        rewrite.is_strict = true;
        (rewrite.load.optional, rewrite.load.unions) = (optional, unions);
        let is_new = rewritten.strict.set(Ok(Ready::of(rewrite))).is_ok();
        assert!(is_new, "it was rewritten before");
    }

    fn of(&self, provider: Provider) -> (&Rewritten, Dialect) {
        let rewritten = match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => &self.open_ai,
            Provider::Anthropic => &self.anthropic,
            Provider::Gemini => &self.gemini,
        };
        (rewritten, provider.format().dialect)
    }
}

impl Ready {
    fn of(mut rewrite: Rewrite) -> Self {
        // Every provider requires this at the root; otherwise the whole request fails.
        let has_object = |key: &str| rewrite.schema.get(key).is_none_or(Value::is_object);
        let is_object = rewrite.schema.get("type").and_then(Value::as_str) == Some("object");
        let is_any_object = !is_object || !has_object("properties");
        if is_any_object {
            rewrite.schema = json!({ "type": "object", "properties": {} });
            rewrite.is_strict = false;
        }
        if let Value::Object(root) = &mut rewrite.schema {
            root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        }
        visible_texts(&mut rewrite.schema);
        let said = descriptions(&rewrite.schema).join("\n").to_lowercase();
        let unsaid = rewrite.lost.iter().filter_map(|lost| words(lost, &said)).collect();
        Self { rewrite, unsaid, is_any_object }
    }
}

/// Describes a loss, unless the schema already does.
fn words(lost: &Lost, said: &str) -> Option<String> {
    let words = plain(lost.words.as_deref()?);
    (!words.is_empty() && !said.contains(&words.to_lowercase())).then(|| match place(&lost.pointer) {
        place if place.is_empty() => words,
        place => format!("{place}: {words}"),
    })
}

/// Returns a place of a schema as a model knows it: `order.items[]`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    let mut segments = pointer.split('/').skip(1);
    while let Some(segment) = segments.next() {
        match segment {
            "properties" => {
                let name = mcp_bindgen_model::pointer_key(segments.next().unwrap_or_default());
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&crate::text::line(&name));
            }
            "items" => place.push_str("[]"),
            _ => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_keywords_are_cleaned() {
        let mut schema = json!({
            "description": "of\u{202e}all",
            "properties": {
                "description": { "title": "a\u{200b}b", "enum": ["x\u{200b}"], "default": { "description": "y\u{200b}" } },
                "de\u{200b}": { "items": { "anyOf": [{ "description": "z\u{7}" }] } }
            }
        });
        visible_texts(&mut schema);
        let cleaned = json!({
            "description": "ofall",
            "properties": {
                "description": { "title": "ab", "enum": ["x\u{200b}"], "default": { "description": "y\u{200b}" } },
                "de\u{200b}": { "items": { "anyOf": [{ "description": "z" }] } }
            }
        });
        assert_eq!(schema, cleaned);
    }

    #[test]
    fn schema_pointers_are_shown_as_argument_paths() {
        assert_eq!(place("/properties/order/properties/items/items/properties/a~1b"), "order.items[].a/b");
        assert_eq!(place(""), "");
        assert_eq!(place("/anyOf/1/properties/x"), "x");
    }
}
