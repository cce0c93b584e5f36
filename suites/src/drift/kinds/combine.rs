//! Schemas put together: `allOf`, `not`, conditions.

use serde_json::{Map, Value, json};

use super::{Apply, Effect, Kind, Mutation, Spot, both, kind, simple};
use crate::drift::site::is_referred_into;

pub(super) const KINDS: &[Kind] = &[
    both("wrapped in allOf", "taken out of allOf", |spot| wrapped(spot, "allOf")),
    both("wrapped in anyOf", "taken out of anyOf", |spot| wrapped(spot, "anyOf")),
    both("wrapped in oneOf", "taken out of oneOf", |spot| wrapped(spot, "oneOf")),
    both("split into allOf", "merged from allOf", split),
    kind("part of allOf changed", part_changed),
    added!("allOf part", part_added),
    added!("not", not_added),
    added!("if and then", if_then),
    both("then requires", "then no longer requires", then_requires),
    added!("else", else_added),
];

pub(super) const REWRITINGS: &[Apply] =
    &[|spot| wrapped(spot, "allOf"), |spot| wrapped(spot, "anyOf"), |spot| wrapped(spot, "oneOf"), split];

/// The keywords that belong to the document, not to its root schema.
const OF_DOCUMENT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

fn wrapped(spot: &mut Spot<'_>, keyword: &str) -> Option<Mutation> {
    let named = spot.has_any(&["$id", "$anchor", "id"]) && !spot.is_root();
    if is_referred_into(spot.document, &spot.site.pointer) || named {
        return None;
    }
    let (outer, inner): (Map<String, Value>, Map<String, Value>) =
        spot.schema.clone().into_iter().partition(|(key, _)| spot.is_root() && OF_DOCUMENT.contains(&key.as_str()));
    let mut outer = outer;
    if spot.is_root() {
        // The protocol asks for it.
        outer.extend(spot.get("type").map(|kind| ("type".to_owned(), kind.clone())));
    }
    outer.insert(keyword.to_owned(), json!([inner]));
    let new = spot.replaced(Value::Object(outer))?;
    Some(spot.change(spot.document.clone(), new, Effect::Equivalent))
}

fn split(spot: &mut Spot<'_>) -> Option<Mutation> {
    let properties = spot.properties().filter(|properties| properties.len() > 1)?.clone();
    let open = matches!(spot.get("additionalProperties"), None | Some(Value::Bool(true)));
    let scoped = ["allOf", "patternProperties", "unevaluatedProperties", "$ref"];
    if !open || spot.has_any(&scoped) || is_referred_into(spot.document, &spot.site.pointer) {
        return None;
    }
    let at = 1 + spot.random.below(properties.len() - 1);
    let (one, other): (Vec<_>, Vec<_>) = properties.into_iter().enumerate().partition(|(index, _)| *index < at);
    let map =
        |entries: Vec<(usize, (String, Value))>| entries.into_iter().map(|(_, entry)| entry).collect::<Map<_, _>>();
    let (one, other) = (map(one), map(other));
    let (theirs, ours): (Vec<_>, Vec<_>) = spot.required().into_iter().partition(|key| other.contains_key(key));
    spot.edit(Effect::Equivalent, |schema| {
        schema.insert("properties".to_owned(), Value::Object(one));
        schema.shift_remove("required");
        if !ours.is_empty() {
            schema.insert("required".to_owned(), json!(ours));
        }
        let mut part = Map::from_iter([("properties".to_owned(), Value::Object(other))]);
        if !theirs.is_empty() {
            part.insert("required".to_owned(), json!(theirs));
        }
        schema.insert("allOf".to_owned(), json!([part]));
    })
}

/// A demand on a property that is not declared by the schema itself.
fn part(key: &str, property: Value) -> Value {
    json!({ "properties": { key: property } })
}

fn part_changed(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.properties().is_some() && !spot.has("allOf") && spot.get("additionalProperties") != Some(&json!(false)))
        .then_some(())?;
    let one = simple(spot.random, None);
    let other = simple(spot.random, one.get("type").and_then(Value::as_str));
    let with =
        |property| spot.with(|schema| drop(schema.insert("allOf".to_owned(), json!([part("of_part", property)]))));
    let (old, new) = (with(one), with(other));
    spot.between(Effect::Any, old, new)
}

fn part_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let key = spot.property().filter(|_| !spot.has("allOf"))?;
    let demand = match spot.random.below(3) {
        0 => json!({ "required": [key] }),
        // Another type would leave nothing that is valid.
        1 if spot.properties()?.get(&key)?.get("type")? == "string" => part(&key, json!({ "minLength": 2 })),
        1 => return None,
        _ => json!({ "minProperties": 2 }),
    };
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("allOf".to_owned(), json!([demand]))))
}

fn not_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    (!spot.has_any(&["not", "$ref"])).then_some(())?;
    let which = spot.random.below(2);
    let kind = spot.kind().map(str::to_owned);
    let denied = match (kind.as_deref(), which) {
        (Some("object"), _) => json!({ "required": [spot.property()?, spot.property()?] }),
        (Some("string"), 0) => json!({ "const": "text" }),
        (Some("string"), _) => json!({ "maxLength": 3 }),
        (Some("integer" | "number"), _) => json!({ "minimum": 7 }),
        (Some("array"), _) => json!({ "maxItems": 0 }),
        (None, _) if !spot.has_any(&["anyOf", "oneOf", "allOf"]) => json!({ "type": "string" }),
        _ => return None,
    };
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("not".to_owned(), denied)))
}

/// A condition on a property.
fn condition(spot: &mut Spot<'_>) -> Option<Value> {
    let key = spot.property()?;
    let constant = spot.properties()?.get(&key)?.get("enum").and_then(|values| values.get(0)).cloned();
    Some(match constant {
        Some(constant) => json!({ "properties": { key.clone(): { "const": constant } }, "required": [key] }),
        None => json!({ "required": [key] }),
    })
}

fn if_then(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (condition, key) = (condition(spot)?, spot.property()?);
    (!spot.has("if")).then_some(())?;
    let demand = if spot.random.one_in(2) {
        json!({ "required": [key] })
    } else {
        json!({ "properties": { key: { "type": "string", "maxLength": 3 } } })
    };
    spot.edit(Effect::Tightens, |schema| {
        schema.insert("if".to_owned(), condition);
        schema.insert("then".to_owned(), demand);
    })
}

fn then_requires(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (condition, key) = (condition(spot)?, spot.property()?);
    (!spot.has("if")).then_some(())?;
    let with = |then: Value| {
        spot.with(|schema| {
            schema.insert("if".to_owned(), condition.clone());
            schema.insert("then".to_owned(), then);
        })
    };
    let (old, new) = (with(json!({ "minProperties": 1 })), with(json!({ "minProperties": 1, "required": [key] })));
    spot.between(Effect::Tightens, old, new)
}

fn else_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (condition, key) = (condition(spot)?, spot.property()?);
    (!spot.has("if")).then_some(())?;
    spot.edit(Effect::Tightens, |schema| {
        schema.insert("if".to_owned(), condition);
        schema.insert("else".to_owned(), json!({ "required": [key] }));
    })
}
