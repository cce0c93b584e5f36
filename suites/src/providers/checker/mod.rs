//! The rules of each provider, from its documentation and its users' reports. They were written independently of the
//! code that rewrites schemas. The stricter rule applies where sources differ.

mod keywords;
mod request;
mod size;

use std::collections::HashSet;
use std::fmt;

use mcp_bindgen_schema::provider::Dialect;
use serde_json::{Map, Value};

pub(crate) use request::{Counted, beyond_ceilings, counted};

/// Whom a schema is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provider {
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
}

impl Provider {
    pub(crate) const ALL: [Self; 4] = [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => Dialect::OpenAi,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }

    fn is_openai(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::OpenAiResponses)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OpenAiChat => "OpenAI Chat",
            Self::OpenAiResponses => "OpenAI Responses",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
        })
    }
}

/// Returns the reasons for which a provider would refuse a schema.
pub(crate) fn refusals(schema: &Value, provider: Provider, is_strict: bool) -> Vec<String> {
    let mut check = Check { root: schema, provider, is_strict, found: Vec::new() };
    check.root();
    check.schema(schema, "", 0);
    if is_strict {
        check.found.extend(size::beyond(schema, provider));
    }
    check.found
}

pub(crate) struct Check<'s> {
    root: &'s Value,
    provider: Provider,
    is_strict: bool,
    found: Vec<String>,
}

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

impl Check<'_> {
    fn refuse(&mut self, pointer: &str, why: impl fmt::Display) {
        let place = if pointer.is_empty() { "the root" } else { pointer };
        self.found.push(format!("{place}: {why}"));
    }

    fn root(&mut self) {
        let Value::Object(root) = self.root else {
            return self.refuse("", "not an object");
        };
        if root.get("type") != Some(&"object".into()) {
            self.refuse("", "the type is not `object`");
        }
        if !root.get("properties").is_some_and(Value::is_object) {
            self.refuse("", "no `properties`");
        }
        for keyword in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref", "const"] {
            if root.contains_key(keyword) {
                self.refuse("", format_args!("`{keyword}` at the root"));
            }
        }
    }

    fn schema(&mut self, schema: &Value, pointer: &str, depth: usize) {
        let Value::Object(map) = schema else {
            return self.refuse(pointer, "a schema that is no object");
        };
        if depth > 100 {
            return self.refuse(pointer, "too deep to look at");
        }
        self.types(map, pointer);
        self.reference(map, pointer);
        self.values(map, pointer);
        self.object(map, pointer);
        self.keywords(map, pointer);
        for (name, schema, _) in below(map) {
            self.schema(schema, &format!("{pointer}/{name}"), depth + 1);
        }
    }

    fn types(&mut self, map: &Map<String, Value>, pointer: &str) {
        let names: Vec<&Value> = match map.get("type") {
            None => Vec::new(),
            Some(Value::Array(names)) if !names.is_empty() => names.iter().collect(),
            Some(name) => vec![name],
        };
        let is_known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
        if !names.iter().all(|name| is_known(name)) {
            self.refuse(pointer, "an unknown `type`");
        }
        let has = |wanted: &str| names.iter().any(|name| *name == wanted);
        if has("array") && !map.contains_key("items") && !map.contains_key("prefixItems") {
            self.refuse(pointer, "an array without `items`");
        }
        let is_bare =
            ["type", "anyOf", "$ref", "enum", "const", "allOf"].iter().all(|keyword| !map.contains_key(*keyword));
        if self.is_strict && is_bare {
            self.refuse(pointer, "an untyped schema");
        }
        if self.is_strict && self.provider.is_openai() && has("object") && !map.contains_key("properties") {
            self.refuse(pointer, "an object without `properties`");
        }
    }

    fn reference(&mut self, map: &Map<String, Value>, pointer: &str) {
        let Some(reference) = map.get("$ref") else { return };
        let Some(reference) = reference.as_str() else { return self.refuse(pointer, "a `$ref` that is no text") };
        match reference.strip_prefix('#').map(|place| self.root.pointer(place)) {
            None => self.refuse(pointer, "an external `$ref`"),
            Some(None) => self.refuse(pointer, "a `$ref` to nowhere"),
            Some(Some(_)) => {}
        }
        // Of Anthropic only `allOf` beside it is known to be refused; its own kit drops whatever stands there.
        if (self.provider != Provider::Anthropic || self.is_strict) && map.len() > 1 {
            self.refuse(pointer, "a sibling of `$ref`");
        }
        if self.is_strict && !self.provider.is_openai() && size::leads_back(self.root, reference) {
            self.refuse(pointer, "recursion");
        }
    }

    fn values(&mut self, map: &Map<String, Value>, pointer: &str) {
        let Some(values) = map.get("enum") else { return };
        let Value::Array(values) = values else { return self.refuse(pointer, "an `enum` that is no list") };
        if values.is_empty() {
            self.refuse(pointer, "an empty `enum`");
        }
        if self.is_strict && values.iter().any(|value| value.is_object() || value.is_array()) {
            self.refuse(pointer, "an `enum` of other than plain values");
        }
        let is_nullable = map.get("type").and_then(Value::as_array).is_some_and(|names| names.contains(&"null".into()));
        if is_nullable && !values.contains(&Value::Null) {
            self.refuse(pointer, "a nullable `enum` without `null`");
        }
        if self.provider == Provider::Gemini && values.len() > 101 {
            self.refuse(pointer, "an `enum` of so many values");
        }
    }

    fn object(&mut self, map: &Map<String, Value>, pointer: &str) {
        let properties = match map.get("properties") {
            Some(Value::Object(properties)) => Some(properties),
            Some(_) => return self.refuse(pointer, "`properties` that are no object"),
            None => None,
        };
        let names: HashSet<&str> = properties.iter().flat_map(|it| it.keys()).map(String::as_str).collect();
        for name in properties.iter().flat_map(|it| it.keys()) {
            self.name(name, pointer);
        }
        let required: Vec<&str> = match map.get("required") {
            None => Vec::new(),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                names.iter().filter_map(Value::as_str).collect()
            }
            Some(_) => return self.refuse(pointer, "a malformed `required`"),
        };
        if required.iter().any(|name| !names.contains(name)) && (self.is_strict || self.provider == Provider::Gemini) {
            self.refuse(pointer, "a required property that is not declared");
        }
        let listed = required.len();
        let required: HashSet<&str> = required.into_iter().collect();
        if required.len() < listed {
            self.refuse(pointer, "a property that is required twice");
        }
        if !self.is_strict || (properties.is_none() && !is_of_objects(map)) {
            return;
        }
        let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        let is_typed_map =
            map.get("additionalProperties").is_some_and(|it| it.as_object().is_some_and(|it| !it.is_empty()));
        let may_be_open = self.provider == Provider::Gemini && is_typed_map;
        if !is_closed && !may_be_open {
            self.refuse(pointer, "an object without `additionalProperties: false`");
        }
        if self.provider.is_openai() && names.iter().any(|name| !required.contains(name)) {
            self.refuse(pointer, "a property that is not required");
        }
    }

    fn name(&mut self, name: &str, pointer: &str) {
        let is_word = |more: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || more.contains(char));
        let is_short = (1..=64).contains(&name.len());
        let is_taken = match self.provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => true,
            Provider::Anthropic => is_short && is_word("_.-"),
            Provider::Gemini => is_short && is_word("_") && !name.starts_with(|char: char| char.is_ascii_digit()),
        };
        if !is_taken {
            self.refuse(pointer, format_args!("a property named {name:?}"));
        }
    }
}

fn is_of_objects(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::Array(names)) => names.contains(&"object".into()),
        Some(name) => name == "object",
        None => false,
    }
}

/// The schemas that stand in a schema, by keyword: what is named like a keyword is none. Whether they hold for a part of
/// the value.
pub(crate) fn below(map: &Map<String, Value>) -> Vec<(String, &Value, bool)> {
    let mut found = Vec::new();
    for keyword in ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"] {
        for (name, schema) in map.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            found.push((format!("{keyword}/{name}"), schema, keyword == "properties"));
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (index, schema) in map.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
            found.push((format!("{keyword}/{index}"), schema, keyword == "prefixItems"));
        }
    }
    for keyword in ["items", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems"] {
        found.extend(map.get(keyword).map(|schema| (keyword.to_owned(), schema, keyword == "items")));
    }
    // The one place where `true` and `false` are usual.
    let additional = map.get("additionalProperties").filter(|schema| !schema.is_boolean());
    found.extend(additional.map(|schema| ("additionalProperties".to_owned(), schema, true)));
    found
}
