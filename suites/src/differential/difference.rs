//! Finds the places where two printed values differ, and the reasons.

use mcp_samples::{Difference, differences};
use serde_json::Value;

/// Why the backends print differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// typify leaves out an optional `[]`.
    EmptyArrayDropped,
    /// typify leaves out an optional `{}`.
    EmptyObjectDropped,
    /// typify leaves out a `null` that the schema allows.
    NullDropped,
    /// typify prints `null` for what was absent.
    NullAdded,
    /// typify reads into the first branch of a union that fits, whatever it drops.
    BranchDropsProperties,
    /// typify prints `5.0` for `5`, or an integer that went through a float.
    NumberFormat,
    /// One of the two keeps a property that the schema does not declare.
    UndeclaredProperty,
    /// None of these.
    Unknown,
}

impl Reason {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::EmptyArrayDropped => "an optional `[]` was not imported",
            Self::EmptyObjectDropped => "an optional `{}` was not imported",
            Self::NullDropped => "an optional `null` was not imported",
            Self::NullAdded => "`null` is printed for what was absent",
            Self::BranchDropsProperties => "the first branch of a union that fits drops properties",
            Self::NumberFormat => "a number is printed in another form",
            Self::UndeclaredProperty => "only one keeps an undeclared property",
            Self::Unknown => "no known reason",
        }
    }
}

/// Why each place that differs does.
pub(crate) fn reasons(schema: &Value, native: &Value, typify: &Value) -> Vec<Reason> {
    let mut found: Vec<Reason> = differences(schema, native, typify).iter().map(reason).collect();
    found.sort();
    found.dedup();
    found
}

fn reason(found: &Difference<'_>) -> Reason {
    match (&found.left, &found.right) {
        (Some(value), None) => dropped(found, value),
        (None, Some(Value::Null)) if found.is_declared() => Reason::NullAdded,
        (None, _) if !found.is_declared() => Reason::UndeclaredProperty,
        // An integer that went through a float is the same number to a double.
        (Some(Value::Number(left)), Some(Value::Number(right))) if left.as_f64() == right.as_f64() => {
            Reason::NumberFormat
        }
        _ => Reason::Unknown,
    }
}

fn dropped(found: &Difference<'_>, value: &Value) -> Reason {
    match value {
        _ if !found.is_declared() => Reason::UndeclaredProperty,
        Value::Array(items) if items.is_empty() => Reason::EmptyArrayDropped,
        Value::Object(members) if members.is_empty() => Reason::EmptyObjectDropped,
        Value::Null => Reason::NullDropped,
        _ if found.within.as_ref().is_some_and(|(object, _)| object.is_union()) => Reason::BranchDropsProperties,
        _ => Reason::Unknown,
    }
}
