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

/// Schemas that are nested deeper than this, through references, are beyond every limit.
const DEEPEST: usize = 256;
/// So are schemas that lead back to each other in more ways than can be followed in this many steps.
const MOST_STEPS: usize = 100_000;

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
    levels: usize,
    pub(super) load: Load,
}

impl Size {
    pub(super) fn of(schema: &Value) -> Self {
        let mut size = Self::default();
        size.load = size.add(schema, schema, 0, &mut HashMap::new());
        let mut levels = Levels { root: schema, known: HashMap::new(), open: Vec::new(), steps: 0 };
        size.levels = levels.of(schema, 0).0;
        size
    }

    /// Returns the first limit of OpenAI that the size exceeds.
    pub(super) fn excess(&self) -> Option<&'static str> {
        let limits = [
            (self.properties > MOST_PROPERTIES, "more properties than are taken"),
            (self.levels > MOST_LEVELS, "more levels than are taken"),
            (self.enum_values > MOST_ENUM_VALUES || self.has_long_enum, "more listed values than are taken"),
            (self.chars > MOST_CHARS, "longer names and values than are taken"),
        ];
        limits.into_iter().find(|(is_beyond, _)| *is_beyond).map(|(_, why)| why)
    }

    /// Adds a schema, and each definition at the first reference to it. Returns its load, which each reference adds
    /// again.
    fn add<'s>(
        &mut self,
        root: &'s Value,
        schema: &'s Value,
        depth: usize,
        known: &mut HashMap<&'s str, Load>,
    ) -> Load {
        let Some(map) = schema.as_object() else { return Load::default() };
        if depth > DEEPEST {
            return Load { optional: usize::MAX, unions: usize::MAX };
        }
        self.count(map);
        let mut load = Load::default();
        if let Some((reference, target)) = referred(root, map) {
            if !known.contains_key(reference) {
                // A recursive schema counts once.
                known.insert(reference, load);
                let counted = self.add(root, target, depth + 1, known);
                known.insert(reference, counted);
            }
            load = known.get(reference).copied().unwrap_or_default();
        }
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
        let properties = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let optional = properties.filter(|name| !required.contains(name.as_str())).count();
        let is_union = map.contains_key("anyOf") || map.get("type").is_some_and(Value::is_array);
        load.optional = load.optional.saturating_add(optional);
        load.unions = load.unions.saturating_add(usize::from(is_union));
        subschemas(map, &mut String::new(), &mut |keyword, schema, _| {
            if keyword != "$defs" {
                let Load { optional, unions } = self.add(root, schema, depth + 1, known);
                load.optional = load.optional.saturating_add(optional);
                load.unions = load.unions.saturating_add(unions);
            }
        });
        load
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

/// Returns the reference of a schema to a definition, and the definition.
fn referred<'s>(root: &'s Value, map: &'s Map<String, Value>) -> Option<(&'s str, &'s Value)> {
    let reference = map.get("$ref").and_then(Value::as_str).filter(|reference| *reference != "#")?;
    Some((reference, root.pointer(reference.trim_start_matches('#'))?))
}

/// Counts the levels of objects and arrays. A recursive schema counts once.
struct Levels<'s> {
    root: &'s Value,
    /// The levels of definitions that do not lead back to themselves. Those of others depend on where a circle begins.
    known: HashMap<&'s str, usize>,
    /// The references around a schema.
    open: Vec<&'s str>,
    steps: usize,
}

impl<'s> Levels<'s> {
    /// Returns the levels of a schema, and the outermost open reference that it leads back to, by its position.
    fn of(&mut self, schema: &'s Value, depth: usize) -> (usize, usize) {
        const NONE: usize = usize::MAX;
        let Some(map) = schema.as_object() else { return (0, NONE) };
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS {
            return (usize::MAX, NONE);
        }
        let mut levels = usize::from(map.contains_key("properties") || map.contains_key("items"));
        let mut back = NONE;
        if let Some((reference, target)) = referred(self.root, map) {
            let position = self.open.iter().position(|open| *open == reference);
            if let Some(known) = self.known.get(reference) {
                levels = levels.max(*known);
            } else if let Some(position) = position {
                back = position;
            } else {
                self.open.push(reference);
                let (inner, leads) = self.of(target, depth + 1);
                self.open.pop();
                if leads > self.open.len() {
                    self.known.insert(reference, inner);
                }
                levels = levels.max(inner);
                back = if leads < self.open.len() { leads } else { NONE };
            }
        }
        subschemas(map, &mut String::new(), &mut |keyword, schema, _| {
            if keyword != "$defs" {
                let (inner, leads) = self.of(schema, depth + 1);
                levels = levels.max(inner.saturating_add(usize::from(keyword != "anyOf")));
                back = back.min(leads);
            }
        });
        (levels, back)
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
