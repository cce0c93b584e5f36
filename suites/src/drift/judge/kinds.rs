//! Which kinds of values a schema allows at all.

use mcp_samples::references::{ref_stands_alone, resolve};
use serde_json::{Map, Value};

/// A set of kinds, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

const NAMES: [&str; 7] = ["null", "boolean", "integer", "fraction", "string", "array", "object"];
const ALL: Kinds = Kinds(0b111_1111);
const DEEPEST: usize = 32;

impl Kinds {
    const NONE: Self = Self(0);

    fn named(name: &str) -> Self {
        match name {
            "number" => Self(Self::named("integer").0 | Self::named("fraction").0),
            name => NAMES.iter().position(|known| *known == name).map_or(ALL, |index| Self(1 << index)),
        }
    }

    fn of_value(value: &Value) -> Self {
        Self::named(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.as_f64().is_some_and(|value| value.fract() != 0.0) => "fraction",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    /// Returns the kinds that `type` allows.
    pub(crate) fn of_type(map: &Map<String, Value>) -> Self {
        let nullable = if map.get("nullable") == Some(&Value::Bool(true)) { Self::named("null") } else { Self::NONE };
        match map.get("type") {
            Some(Value::String(name)) => Self::named(name).or(nullable),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).fold(nullable, |all, name| all.or(Self::named(name)))
            }
            _ => ALL,
        }
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn has(self, value: &Value) -> bool {
        !self.and(Self::of_value(value)).is_empty()
    }
}

/// The kinds that a schema allows, by its types, values, parts and branches.
pub(crate) fn kinds(root: &Value, schema: &Value) -> Kinds {
    of(root, schema, DEEPEST)
}

fn of(root: &Value, schema: &Value, depth: usize) -> Kinds {
    let map = match schema {
        Value::Object(map) if depth > 0 => map,
        Value::Bool(false) => return Kinds::NONE,
        _ => return ALL,
    };
    let mut all = Kinds::of_type(map);
    if let Some((_, target)) = map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference)) {
        let target = of(root, target, depth - 1);
        if ref_stands_alone(root) {
            return target;
        }
        all = all.and(target);
    }
    let listed = |keyword: &str| map.get(keyword).and_then(Value::as_array);
    let values = |values: &[Value]| {
        let fit = values.iter().filter(|value| all.has(value));
        fit.fold(Kinds::NONE, |kinds, value| kinds.or(Kinds::of_value(value)))
    };
    if let Some(list) = listed("enum") {
        all = all.and(values(list));
    }
    if let Some(constant) = map.get("const") {
        all = all.and(Kinds::of_value(constant));
    }
    for part in listed("allOf").into_iter().flatten() {
        all = all.and(of(root, part, depth - 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(branches) = listed(keyword) {
            all = all.and(branches.iter().fold(Kinds::NONE, |kinds, branch| kinds.or(of(root, branch, depth - 1))));
        }
    }
    all
}
