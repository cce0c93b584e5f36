//! Arrays and tuples.

use serde_json::{Value, json};

use super::{Effect, Kind, Mutation, Spot, both, kind, simple};

pub(super) const KINDS: &[Kind] = &[
    kind("items changed", items_changed),
    both("items dropped", "items given", items_dropped),
    converted!("array", "tuple", array_to_tuple),
    both("tuple extended", "tuple shortened", tuple_extended),
    both("tuple opened", "tuple closed", tuple_opened),
    kind("tuple item changed", tuple_item_changed),
    added!("contains", contains_added),
];

fn item(spot: &Spot<'_>) -> Option<Value> {
    spot.is_a("array").then(|| spot.get("items").cloned())?.filter(Value::is_object)
}

fn items_changed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot)?;
    let new = simple(spot.random, items.get("type").and_then(Value::as_str));
    spot.edit(Effect::Any, |schema| drop(schema.insert("items".to_owned(), new)))
}

fn items_dropped(spot: &mut Spot<'_>) -> Option<Mutation> {
    item(spot)?;
    spot.edit(Effect::Loosens, |schema| drop(schema.shift_remove("items")))
}

/// A tuple of these items, in the words of the document's dialect.
fn tuple(spot: &Spot<'_>, items: &[Value], closed: bool) -> Value {
    let is_old = mcp_samples::references::ref_stands_alone(spot.document)
        || spot.document.get("$schema").and_then(Value::as_str).is_some_and(|name| name.contains("2019-09"));
    let (first, rest) = if is_old { ("items", "additionalItems") } else { ("prefixItems", "items") };
    spot.with(|schema| {
        for keyword in ["items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"] {
            schema.shift_remove(keyword);
        }
        schema.insert(first.to_owned(), json!(items));
        if closed {
            schema.insert(rest.to_owned(), json!(false));
            schema.insert("minItems".to_owned(), json!(items.len()));
        }
    })
}

fn array_to_tuple(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot).filter(|_| !spot.has_any(&["minItems", "maxItems", "uniqueItems", "contains"]))?;
    let new = tuple(spot, &[items.clone(), items], true);
    spot.between(Effect::Tightens, Value::Object(spot.schema.clone()), new)
}

fn tuple_extended(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot)?;
    let more = simple(spot.random, None);
    let (old, new) =
        (tuple(spot, &[items.clone(), more.clone()], true), tuple(spot, &[items.clone(), more, items], true));
    spot.between(Effect::Any, old, new)
}

fn tuple_opened(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot)?;
    let pair = [items, json!({ "type": "boolean" })];
    let (old, new) = (tuple(spot, &pair, true), tuple(spot, &pair, false));
    spot.between(Effect::Loosens, old, new)
}

fn tuple_item_changed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot)?;
    let closed = spot.random.one_in(2);
    let (one, other) = (simple(spot.random, None), simple(spot.random, None));
    let (old, new) = (tuple(spot, &[items.clone(), one], closed), tuple(spot, &[items, other], closed));
    spot.between(Effect::Any, old, new)
}

fn contains_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let items = item(spot).filter(|_| !spot.has("contains"))?;
    let wanted = if spot.random.one_in(2) { items } else { json!({ "const": "wanted" }) };
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("contains".to_owned(), wanted)))
}
