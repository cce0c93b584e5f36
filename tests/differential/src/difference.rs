//! Where two printed values differ, and why.

use serde_json::{Number, Value};

use crate::place::Place;

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
            Self::EmptyArrayDropped => "an optional `[]` is left out",
            Self::EmptyObjectDropped => "an optional `{}` is left out",
            Self::NullDropped => "an optional `null` is left out",
            Self::NullAdded => "`null` is printed for what was absent",
            Self::BranchDropsProperties => "the first branch of a union that fits drops properties",
            Self::NumberFormat => "a number is printed in another form",
            Self::UndeclaredProperty => "only one keeps an undeclared property",
            Self::Unknown => "no known reason",
        }
    }
}

/// Why each place that differs does.
pub(crate) fn reasons(place: &Place<'_>, native: &Value, typify: &Value) -> Vec<Reason> {
    let mut found = Vec::new();
    compare(place, native, typify, &mut found);
    found.sort();
    found.dedup();
    found
}

fn compare(place: &Place<'_>, native: &Value, typify: &Value, found: &mut Vec<Reason>) {
    match (native, typify) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, value) in left {
                match right.get(key) {
                    Some(other) => compare(&place.property(key), value, other, found),
                    None => found.push(dropped(place, key, value)),
                }
            }
            for (key, value) in right.iter().filter(|(key, _)| !left.contains_key(*key)) {
                found.push(match value {
                    Value::Null if place.declared(key).is_some() => Reason::NullAdded,
                    _ if place.declared(key).is_none() => Reason::UndeclaredProperty,
                    _ => Reason::Unknown,
                });
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&place.item(index), left, right, found);
            }
        }
        (Value::Number(left), Value::Number(right)) if left.to_string() != right.to_string() => {
            found.push(if is_same(left, right) { Reason::NumberFormat } else { Reason::Unknown });
        }
        _ if native == typify => {}
        _ => found.push(Reason::Unknown),
    }
}

fn dropped(place: &Place<'_>, key: &str, value: &Value) -> Reason {
    match value {
        _ if place.declared(key).is_none() => Reason::UndeclaredProperty,
        Value::Array(items) if items.is_empty() => Reason::EmptyArrayDropped,
        Value::Object(members) if members.is_empty() => Reason::EmptyObjectDropped,
        Value::Null => Reason::NullDropped,
        _ if place.is_union() => Reason::BranchDropsProperties,
        _ => Reason::Unknown,
    }
}

fn is_same(left: &Number, right: &Number) -> bool {
    left.as_f64() == right.as_f64()
}
