//! Listed values.

use serde_json::{Value, json};

use super::{Effect, Kind, Mutation, Spot, both, kind};

pub(super) const KINDS: &[Kind] = &[
    removed!("enum value", value_removed),
    converted!("const", "enum", const_to_enum),
    both("mixed enum grows", "mixed enum shrinks", mixed_grows),
    both("enum opened", "enum added", enum_opened),
    both("const as enum", "enum of one as const", const_as_enum),
    converted!("boolean", "constant", boolean_to_constant),
    kind("enum reordered", reordered),
    kind("enum value renamed", value_renamed),
];

fn values(spot: &Spot<'_>, at_least: usize) -> Option<Vec<Value>> {
    spot.get("enum")?.as_array().filter(|values| values.len() >= at_least).cloned()
}

fn value_removed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let mut values = values(spot, 2)?;
    values.remove(spot.random.below(values.len()));
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("enum".to_owned(), Value::Array(values))))
}

/// A constant, and a list that has it first.
fn constants(spot: &mut Spot<'_>, more: &[Value]) -> Option<(Value, Value)> {
    let first = match (spot.get("const"), spot.get("enum").and_then(Value::as_array)) {
        (Some(constant), _) => constant.clone(),
        (None, Some(values)) => values.first()?.clone(),
        _ => return None,
    };
    let all: Vec<Value> = std::iter::once(first.clone()).chain(more.iter().cloned()).collect();
    let constant = spot.with(|schema| {
        schema.shift_remove("enum");
        schema.insert("const".to_owned(), first);
    });
    let list = spot.with(|schema| {
        schema.shift_remove("const");
        schema.insert("enum".to_owned(), Value::Array(all));
    });
    Some((constant, list))
}

fn const_to_enum(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (old, new) = constants(spot, &[json!("another_value")])?;
    spot.between(Effect::Loosens, old, new)
}

fn const_as_enum(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (old, new) = constants(spot, &[])?;
    spot.between(Effect::Equivalent, old, new)
}

fn mixed_grows(spot: &mut Spot<'_>) -> Option<Mutation> {
    let values = values(spot, 1)?;
    let with = |more: &[Value]| {
        let values: Vec<Value> = values.iter().chain(more).cloned().collect();
        spot.with(|schema| {
            schema.shift_remove("type");
            schema.insert("enum".to_owned(), Value::Array(values));
        })
    };
    let (old, new) = (with(&[json!(7)]), with(&[json!(7), json!(8)]));
    spot.between(Effect::Loosens, old, new)
}

fn enum_opened(spot: &mut Spot<'_>) -> Option<Mutation> {
    values(spot, 1)?;
    spot.edit(Effect::Loosens, |schema| drop(schema.shift_remove("enum")))
}

fn boolean_to_constant(spot: &mut Spot<'_>) -> Option<Mutation> {
    let constant = spot.random.one_in(2);
    spot.is_a("boolean").then_some(())?;
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("const".to_owned(), json!(constant))))
}

fn reordered(spot: &mut Spot<'_>) -> Option<Mutation> {
    let mut values = values(spot, 2)?;
    values.reverse();
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert("enum".to_owned(), Value::Array(values))))
}

fn value_renamed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let mut values = values(spot, 1)?;
    let place = spot.random.below(values.len());
    let value = values.get_mut(place).filter(|value| value.is_string())?;
    *value = json!("renamed_value");
    spot.edit(Effect::Any, |schema| drop(schema.insert("enum".to_owned(), Value::Array(values))))
}
