//! Which keywords each provider takes, and with which values.

use serde_json::{Map, Value};

use super::{Check, Provider};

const COMMON: [&str; 10] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    "description",
];
const OPENAI: [&str; 10] = [
    "const",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];
const ANTHROPIC: [&str; 7] = ["const", "allOf", "default", "format", "minItems", "pattern", "title"];
const GEMINI: [&str; 11] = [
    "default",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "nullable",
];
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

impl Check<'_> {
    pub(super) fn keywords(&mut self, map: &Map<String, Value>, pointer: &str) {
        let own: &[&str] = match (self.provider, self.is_strict) {
            (Provider::Gemini, _) => &GEMINI,
            (Provider::Anthropic, true) => &ANTHROPIC,
            (_, true) => &OPENAI,
            // Without `strict` they take JSON Schema, save for what whole requests have been refused for.
            (_, false) => {
                if map.contains_key("$schema") {
                    self.refuse(pointer, "`$schema`");
                }
                return;
            }
        };
        for (keyword, value) in map {
            let is_known = COMMON.contains(&keyword.as_str()) || own.contains(&keyword.as_str());
            if !is_known || !self.takes(keyword, value) {
                self.refuse(pointer, format_args!("`{keyword}`"));
            }
        }
        if map.contains_key("allOf") && map.contains_key("$ref") {
            self.refuse(pointer, "`allOf` with `$ref`");
        }
        let all_of = map.get("allOf").and_then(Value::as_array).into_iter().flatten();
        if all_of.into_iter().any(|part| part.get("$ref").is_some()) {
            self.refuse(pointer, "`allOf` with `$ref`");
        }
    }

    fn takes(&self, keyword: &str, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        match keyword {
            "format" => FORMATS.contains(&text) || (self.provider == Provider::Anthropic && text == "uri"),
            "pattern" => value.is_string() && self.takes_pattern(text),
            "minItems" if self.provider == Provider::Anthropic => matches!(value.as_u64(), Some(0 | 1)),
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => value.is_u64(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => value.is_number(),
            "anyOf" => value.as_array().is_some_and(|branches| !branches.is_empty()),
            "description" => value.is_string(),
            _ => true,
        }
    }

    fn takes_pattern(&self, pattern: &str) -> bool {
        let refused: &[&str] = match self.provider {
            Provider::Anthropic => &["(?=", "(?!", "(?<", "\\b", "\\B", "\\1", "\\2", "\\k", "\\p"],
            _ => &["(?=", "(?!", "(?<"],
        };
        let repeats = pattern.split('{').skip(1).filter_map(|rest| rest.split(['}', ',']).next()?.parse::<u32>().ok());
        !refused.iter().any(|part| pattern.contains(part))
            && (self.provider != Provider::Anthropic || repeats.into_iter().all(|times| times <= 100))
    }
}
