//! Changes the type of a value, or whether it is nullable.

use serde_json::{Value, json};

use super::{Effect, Kind, Mutation, Spot, both, kind, simple};
use crate::drift::site::is_referred_into;

pub(super) const KINDS: &[Kind] = &[
    kind("retyped", retyped),
    converted!("integer", "number", integer_to_number),
    both("type added to list", "type removed from list", type_added),
    both("type dropped", "type given", type_dropped),
    both("null added to type", "null removed from type", nullable_type),
    both("null added by anyOf", "null removed from anyOf", nullable_any_of),
    added!("nullable", nullable_keyword),
    both("type as list", "list of one as type", type_as_list),
    both("types as anyOf", "anyOf as types", types_as_any_of),
    both("anything as true", "anything as {}", anything_as_true),
];

const WORDING: [&str; 5] = ["title", "description", "default", "examples", "$comment"];

fn retyped(spot: &mut Spot<'_>) -> Option<Mutation> {
    if spot.is_root() {
        return None;
    }
    let old = spot.kind()?.to_owned();
    let mut new = simple(spot.random, Some(&old));
    if let (Some(new), Some(description)) = (new.as_object_mut(), spot.get("description")) {
        new.insert("description".to_owned(), description.clone());
    }
    let new = spot.replaced(new)?;
    (!is_referred_into(spot.document, &spot.site.pointer)).then(|| spot.change(spot.document.clone(), new, Effect::Any))
}

fn integer_to_number(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.is_a("integer").then_some(())?;
    spot.edit(Effect::Loosens, |schema| drop(schema.insert("type".to_owned(), json!("number"))))
}

fn type_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let known = spot.kind().filter(|_| !spot.is_root())?.to_owned();
    let others: Vec<&str> =
        ["string", "integer", "boolean", "array", "object"].into_iter().filter(|other| *other != known).collect();
    let other = *spot.random.pick(&others)?;
    spot.edit(Effect::Loosens, |schema| drop(schema.insert("type".to_owned(), json!([known, other]))))
}

fn type_dropped(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.kind().filter(|_| !spot.is_root())?;
    spot.edit(Effect::Loosens, |schema| drop(schema.shift_remove("type")))
}

fn nullable_type(spot: &mut Spot<'_>) -> Option<Mutation> {
    let known = spot.kind().filter(|kind| *kind != "null" && !spot.is_root() && !spot.has("const"))?.to_owned();
    spot.edit(Effect::Loosens, |schema| {
        schema.insert("type".to_owned(), json!([known, "null"]));
        if let Some(Value::Array(values)) = schema.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    })
}

fn nullable_any_of(spot: &mut Spot<'_>) -> Option<Mutation> {
    if spot.is_root() || spot.has("anyOf") || is_referred_into(spot.document, &spot.site.pointer) {
        return None;
    }
    let new = json!({ "anyOf": [spot.schema, { "type": "null" }] });
    Some(spot.change(spot.document.clone(), spot.replaced(new)?, Effect::Loosens))
}

fn nullable_keyword(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.kind().filter(|kind| *kind != "null" && !spot.is_root() && !spot.has_any(&["const", "enum"]))?;
    spot.edit(Effect::Loosens, |schema| drop(schema.insert("nullable".to_owned(), json!(true))))
}

fn type_as_list(spot: &mut Spot<'_>) -> Option<Mutation> {
    let known = spot.kind()?.to_owned();
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert("type".to_owned(), json!([known]))))
}

fn types_as_any_of(spot: &mut Spot<'_>) -> Option<Mutation> {
    let known = spot.kind().filter(|_| !spot.is_root())?.to_owned();
    if spot.schema.keys().any(|key| key != "type" && !WORDING.contains(&key.as_str())) {
        return None;
    }
    let other = if known == "string" { "integer" } else { "string" };
    let old = spot.with(|schema| drop(schema.insert("type".to_owned(), json!([known, other]))));
    let new = spot.with(|schema| {
        schema.shift_remove("type");
        schema.insert("anyOf".to_owned(), json!([{ "type": known }, { "type": other }]));
    });
    spot.between(Effect::Equivalent, old, new)
}

fn anything_as_true(spot: &mut Spot<'_>) -> Option<Mutation> {
    let properties = spot.properties()?.clone();
    let with = |anything: Value| {
        spot.with(|schema| {
            let mut properties = properties.clone();
            properties.insert("anything_at_all".to_owned(), anything);
            schema.insert("properties".to_owned(), Value::Object(properties));
        })
    };
    let (old, new) = (with(json!({})), with(json!(true)));
    spot.between(Effect::Equivalent, old, new)
}
