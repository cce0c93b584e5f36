//! The keywords whose values are not schemas.

use std::collections::HashSet;
use std::ops::BitOr;

use mcp_bindgen_model::{TOO_DEEP, is_beyond_doubles};
use serde_json::{Map, Number, Value};

use super::Node;
use super::scalars::{Limit, limits, whole};
use crate::bundle::{Draft, below, lookup};
use crate::diagnostics::{LIMIT, MALFORMED_KEYWORD, Reporter, UNKNOWN_TYPE};
use crate::number::{is_integral, same};

/// Keywords that describe a schema without restricting values.
pub(crate) const WORDING: [&str; 10] = [
    "title",
    "description",
    "examples",
    "example",
    "default",
    "$comment",
    "$schema",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `true` and `false`.
    pub const BOOLEAN: Self = Self(2);
    /// Integral numbers.
    pub const INTEGER: Self = Self(4);
    /// Numbers that are not integral.
    pub(crate) const FRACTION: Self = Self(8);
    /// Every number, integers too.
    pub const NUMBER: Self = Self(4 | 8);
    /// Strings.
    pub const STRING: Self = Self(16);
    /// Arrays.
    pub const ARRAY: Self = Self(32);
    /// Objects.
    pub const OBJECT: Self = Self(64);

    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(127);

    /// Returns the type of a value: an integer for every number without a fraction.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if is_integral(number) => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns each kind separately.
    #[cfg(feature = "drift")]
    pub(crate) fn each(self) -> impl Iterator<Item = Self> {
        (0..7).map(|bit| Self(1 << bit)).filter(move |kind| self.has(*kind))
    }

    /// Returns `true` if both have a kind in common.
    #[cfg(any(feature = "drift", feature = "flags"))]
    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the kinds that are in both sets.
    #[cfg(feature = "drift")]
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the kinds of this set that are not in the other.
    #[cfg(feature = "drift")]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns `true` if all of `kinds` are in the set.
    #[must_use]
    pub fn has(self, kinds: Self) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    /// Returns the names of the types, as in `type`.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let number = if self.0 & Self::FRACTION.0 == 0 { "integer" } else { "number" };
        let kinds = ["null", "boolean", number, "string", "array", "object"];
        kinds.into_iter().filter(|name| Self::named(name).is_some_and(|kind| self.0 & kind.0 != 0)).collect()
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// Returns the keys that a schema declares beside a `$ref` that hides its siblings: they may be there, and be anything.
pub(super) fn declared(map: &Map<String, Value>) -> Vec<String> {
    let properties = lookup(map, "properties").and_then(Value::as_object).into_iter().flatten();
    let required = lookup(map, "required").and_then(Value::as_array).into_iter().flatten();
    distinct(properties.map(|(key, _)| key.as_str()).chain(required.filter_map(Value::as_str)))
}

/// Reports the parts that could not be read and were replaced, by [`mcp_bindgen_model::parse_leniently`].
pub(super) fn say_what_was_unreadable(map: &Map<String, Value>, pointer: &str, reporter: &mut Reporter) {
    for (keyword, value) in map {
        let message = match value {
            Value::Number(_) if is_beyond_doubles(value) => "no double holds the number",
            Value::Array(values)
                if matches!(keyword.as_str(), "enum" | "examples") && values.iter().any(holds_beyond) =>
            {
                "no double holds a number in the list"
            }
            Value::Object(_) if matches!(keyword.as_str(), "const" | "default") && holds_beyond(value) => {
                "no double holds a number in the value"
            }
            Value::String(text) if keyword == "$comment" && text == TOO_DEEP => {
                reporter.say(LIMIT, pointer, TOO_DEEP);
                continue;
            }
            _ => continue,
        };
        reporter.say(LIMIT, &below(pointer, keyword), message);
    }
}

fn holds_beyond(value: &Value) -> bool {
    match value {
        Value::Number(_) => is_beyond_doubles(value),
        Value::Array(items) => items.iter().any(holds_beyond),
        Value::Object(members) => members.values().any(holds_beyond),
        _ => false,
    }
}

/// Returns `true` if a schema may say something of an object's properties, so that it is worth reading for their names.
pub(super) fn may_name_properties(schema: &Value) -> bool {
    const NAMING: [&str; 12] = [
        "properties",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "$ref",
        "$dynamicRef",
    ];
    schema.as_object().is_some_and(|map| NAMING.iter().any(|keyword| lookup(map, keyword).is_some()))
}

pub(super) struct Reading<'m, 'r> {
    pub(super) map: &'m Map<String, Value>,
    pub(super) pointer: &'r str,
    pub(super) draft: Draft,
    pub(super) reporter: &'r mut Reporter,
}

impl Reading<'_, '_> {
    pub(super) fn scalars(&mut self, node: &mut Node) {
        node.kinds = self.kinds();
        node.allowed = self.allowed();
        let (map, draft) = (self.map, self.draft);
        let mut limits = |keyword, exclusive| limits(map, keyword, exclusive, draft, |keyword| self.number(keyword));
        node.least = limits("minimum", "exclusiveMinimum").iter().map(Limit::least).max();
        node.greatest = limits("maximum", "exclusiveMaximum").iter().map(Limit::greatest).min();
        node.required = self.required();
        node.named = self.dependents();
        node.min_items = self.count("minItems").unwrap_or(0);
        node.max_items = self.count("maxItems");
    }

    fn kinds(&mut self) -> Option<Kinds> {
        let nullable = lookup(self.map, "nullable") == Some(&Value::Bool(true));
        let kinds = match lookup(self.map, "type")? {
            Value::String(name) => self.kind(name),
            Value::Array(names) if !names.is_empty() => names
                .iter()
                .map(|name| self.kind(name.as_str().unwrap_or_default()))
                .reduce(|all, kind| Some(all? | kind?))?,
            other => {
                let found = other.to_string();
                self.malformed("type", &format!("expected the name of a type, or several, found {found}"));
                return None;
            }
        }?;
        Some(if nullable { kinds | Kinds::NULL } else { kinds })
    }

    fn kind(&mut self, name: &str) -> Option<Kinds> {
        let kind = Kinds::named(name);
        if kind.is_none() {
            self.reporter.say(UNKNOWN_TYPE, &format!("{}/type", self.pointer), format!("`{}`", name.escape_debug()));
        }
        kind
    }

    fn allowed(&mut self) -> Option<Vec<Value>> {
        let listed = match lookup(self.map, "enum") {
            None => None,
            Some(Value::Array(values)) if !values.is_empty() => Some(values.clone()),
            Some(Value::Array(_)) => {
                self.malformed("enum", "expected at least one value");
                None
            }
            Some(_) => {
                self.malformed("enum", "expected an array");
                None
            }
        };
        let allowed = match (listed, lookup(self.map, "const").filter(|_| self.draft >= Draft::D6)) {
            (listed, None) => listed,
            (None, Some(only)) => Some(vec![only.clone()]),
            (Some(listed), Some(only)) => Some(listed.into_iter().filter(|value| same(value, only)).collect()),
        };
        // No client can send or receive a number that no double holds.
        match allowed {
            Some(mut values) if values.iter().any(holds_beyond) => {
                values.retain(|value| !holds_beyond(value));
                (!values.is_empty()).then_some(values)
            }
            allowed => allowed,
        }
    }

    fn number(&mut self, keyword: &str) -> Option<Number> {
        match lookup(self.map, keyword)? {
            value if is_beyond_doubles(value) => None,
            Value::Number(number) => Some(number.clone()),
            _ => {
                self.malformed(keyword, "expected a number");
                None
            }
        }
    }

    fn required(&mut self) -> Vec<String> {
        match lookup(self.map, "required") {
            Some(Value::Array(names)) => {
                if !names.iter().all(Value::is_string) {
                    self.malformed("required", "expected names of properties");
                }
                distinct(names.iter().filter_map(Value::as_str))
            }
            // Draft 3 has a boolean on the property itself, which does not affect this object.
            None | Some(Value::Bool(_)) => Vec::new(),
            Some(_) => {
                self.malformed("required", "expected an array of names");
                Vec::new()
            }
        }
    }

    /// Returns the keys on both sides of `dependentRequired` and its like.
    fn dependents(&mut self) -> Vec<String> {
        let tables = ["dependentRequired", "dependentSchemas", "dependencies"];
        let entries = tables.iter().filter_map(|table| lookup(self.map, table)?.as_object()).flatten();
        distinct(entries.flat_map(|(key, then)| {
            let names = then.as_array().into_iter().flatten().filter_map(Value::as_str);
            std::iter::once(key.as_str()).chain(names)
        }))
    }

    fn count(&mut self, keyword: &str) -> Option<u64> {
        self.number(keyword).and_then(|number| whole(&number.into()))
    }

    fn malformed(&mut self, keyword: &str, message: &str) {
        self.reporter.say(MALFORMED_KEYWORD, &format!("{}/{keyword}", self.pointer), message);
    }
}
