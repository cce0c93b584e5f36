//! The keywords that each provider accepts, besides the common ones, and the limits on the size of schemas.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{Dialect, Load};
use crate::bundle::subschemas;
use crate::checks::is_portable;

/// The formats of OpenAI; Anthropic takes `uri` too.
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Larger enumerations have been too complex for Gemini: 100 to 260 values, it does not say how many.
pub(super) const GEMINI_ENUM: usize = 100;

/// The limits of a strict schema of OpenAI.
const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_CHARS: usize = 120_000;
const MOST_ENUM_VALUES: usize = 1_000;
const LONG_ENUM: usize = 250;
const MOST_CHARS_OF_LONG_ENUM: usize = 15_000;

/// Returns `true` if a provider takes a keyword with that value.
pub(super) fn takes(dialect: Dialect, is_strict: bool, keyword: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let has_bounds = dialect != Dialect::Anthropic || !is_strict;
    match keyword {
        "format" if text == "uri" => dialect == Dialect::Anthropic,
        "format" => dialect != Dialect::Gemini && FORMATS.contains(&text),
        "pattern" => is_portable(text),
        "minimum" | "maximum" | "maxItems" => has_bounds,
        "minItems" => has_bounds || value.as_u64().is_some_and(|least| least <= 1),
        "exclusiveMinimum" | "exclusiveMaximum" => has_bounds && dialect != Dialect::Gemini,
        "multipleOf" => has_bounds && dialect != Dialect::Gemini && value.as_f64().is_some_and(|step| step > 0.0),
        "minLength" | "maxLength" => dialect == Dialect::Gemini || !is_strict,
        "uniqueItems" | "minProperties" | "maxProperties" => dialect != Dialect::Gemini && !is_strict,
        _ => false,
    }
}

/// The size of a printed schema.
#[derive(Debug, Default)]
pub(super) struct Size {
    properties: usize,
    chars: usize,
    enum_values: usize,
    has_long_enum: bool,
    pub(super) nested: Nested,
}

/// The part of a size that each reference adds again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nested {
    levels: usize,
    pub(super) load: Load,
}

impl Size {
    pub(super) fn of(schema: &Value) -> Self {
        let mut size = Self::default();
        size.nested = size.add(schema, schema, &mut HashMap::new());
        size
    }

    /// Returns the first limit of OpenAI that the size exceeds.
    pub(super) fn excess(&self) -> Option<&'static str> {
        let limits = [
            (self.properties > MOST_PROPERTIES, "more properties than are taken"),
            (self.nested.levels > MOST_LEVELS, "more levels than are taken"),
            (self.enum_values > MOST_ENUM_VALUES || self.has_long_enum, "more listed values than are taken"),
            (self.chars > MOST_CHARS, "longer names and values than are taken"),
        ];
        limits.into_iter().find(|(is_beyond, _)| *is_beyond).map(|(_, why)| why)
    }

    /// Adds a schema, and each definition at the first reference to it.
    fn add<'s>(&mut self, root: &'s Value, schema: &'s Value, known: &mut HashMap<&'s str, Nested>) -> Nested {
        let Some(map) = schema.as_object() else { return Nested::default() };
        self.count(map);
        let mut nested = Nested::default();
        if let Some(reference) = map.get("$ref").and_then(Value::as_str).filter(|reference| *reference != "#") {
            if !known.contains_key(reference) {
                // A recursive schema counts once.
                known.insert(reference, nested);
                let target = root.pointer(reference.trim_start_matches('#'));
                let counted = target.map(|target| self.add(root, target, known)).unwrap_or_default();
                known.insert(reference, counted);
            }
            nested = known.get(reference).copied().unwrap_or_default();
        }
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
        let properties = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        nested.load.optional += properties.filter(|name| !required.contains(name.as_str())).count();
        nested.load.unions += usize::from(map.contains_key("anyOf") || map.get("type").is_some_and(Value::is_array));
        let is_container = map.contains_key("properties") || map.contains_key("items");
        nested.levels = nested.levels.max(usize::from(is_container));
        subschemas(map, &mut String::new(), &mut |keyword, schema, _| {
            if keyword != "$defs" {
                let Nested { levels, load } = self.add(root, schema, known);
                nested.levels = nested.levels.max(levels + usize::from(keyword != "anyOf"));
                nested.load.optional = nested.load.optional.saturating_add(load.optional);
                nested.load.unions = nested.load.unions.saturating_add(load.unions);
            }
        });
        nested
    }

    /// Counts the names and values of one schema.
    fn count(&mut self, map: &Map<String, Value>) {
        for keyword in ["properties", "$defs"] {
            let named = map.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
            self.chars += named.map(|name| name.chars().count()).sum::<usize>();
        }
        self.properties += map.get("properties").and_then(Value::as_object).map_or(0, Map::len);
        if let Some(Value::Array(values)) = map.get("enum") {
            let length =
                |value: &Value| value.as_str().map_or_else(|| value.to_string().len(), |it| it.chars().count());
            let chars: usize = values.iter().map(length).sum();
            self.chars += chars;
            self.enum_values += values.len();
            self.has_long_enum |= values.len() > LONG_ENUM && chars > MOST_CHARS_OF_LONG_ENUM;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_a_provider_may_refuse_are_not_portable() {
        for portable in ["^[a-z]+$", "", "^(?:a|b){2,3}$", r"^\d{4}-\d{2}$", r"[\w.]+@x\.y", "^[^/]*$", r"a\.b", "é+"]
        {
            assert!(is_portable(portable), "{portable}");
        }
        for other in [
            "(?=a)",
            "(?!a)b",
            "(?<=a)b",
            "(?<!a)b",
            "(?<name>a)",
            r"(a)\1",
            r"\bword\b",
            r"\p{L}",
            "a{1000}",
            "a{2,500}",
            "[a",
            "(a",
            "a)",
            "*a",
            "a**",
            "a{x}",
            r"\",
            "[]a]",
            "[[a]]",
            "}",
            "a\u{0}",
        ] {
            assert!(!is_portable(other), "{other}");
        }
    }
}
