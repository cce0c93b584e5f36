//! Choices: branches that come, go, move and change.

use serde_json::{Map, Value, json};

use super::{Effect, Kind, Mutation, Spot, both, kind, simple};

pub(super) const KINDS: &[Kind] = &[
    added!("branch", branch_added),
    added!("branch of object", object_branch_added),
    added!("tagged branch", tagged_branch_added),
    kind("tagged branch changed", tagged_branch_changed),
    kind("tag renamed", tag_renamed),
    kind("branches reordered", reordered),
    both("any of two keys required", "neither of two keys required", any_required),
    added!("oneOf beside anyOf", beside_any_of),
    converted!("oneOf", "anyOf", one_of_to_any_of),
];

fn branches<'s>(spot: &'s Spot<'_>) -> Option<(&'static str, &'s Vec<Value>)> {
    ["anyOf", "oneOf"].into_iter().find_map(|keyword| Some((keyword, spot.get(keyword)?.as_array()?)))
}

fn branch_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (keyword, mut branches) = branches(spot).map(|(keyword, branches)| (keyword, branches.clone()))?;
    let branch = simple(spot.random, None);
    branches.insert(spot.random.below(branches.len() + 1), branch);
    let effect = if keyword == "anyOf" { Effect::Loosens } else { Effect::Any };
    spot.edit(effect, |schema| drop(schema.insert(keyword.to_owned(), json!(branches))))
}

/// An object with properties as one branch of several; the others are to be told apart from it.
fn object_branch_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.properties().is_some() && !spot.is_root() && !spot.has_any(&["anyOf", "oneOf", "$id", "$defs"]))
        .then_some(())?;
    let plain = Value::Object(spot.schema.clone());
    let one = json!({ "type": "object", "properties": { "first": simple(spot.random, None) }, "required": ["first"] });
    let other =
        json!({ "type": "object", "properties": { "second": simple(spot.random, None) }, "required": ["second"] });
    let (old, new) = (json!({ "anyOf": [plain, one] }), json!({ "anyOf": [plain, one, other] }));
    moved(spot, Effect::Loosens, old, new)
}

/// Both schemas have the real one inside, where no reference may look for its parts.
fn moved(spot: &Spot<'_>, effect: Effect, old: Value, new: Value) -> Option<Mutation> {
    if crate::drift::site::is_referred_into(spot.document, &spot.site.pointer) {
        return None;
    }
    spot.between(effect, old, new)
}

fn tagged(schema: &Value, tag: &str) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(schema) = &mut schema {
        if let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) {
            properties.insert("tag".to_owned(), json!({ "const": tag }));
        }
        if let Value::Array(names) = schema.entry("required").or_insert_with(|| json!([])) {
            names.insert(0, json!("tag"));
        }
    }
    schema
}

/// Two branches of a tagged union, made of a real object.
fn tagged_pair(spot: &Spot<'_>) -> Option<[Value; 2]> {
    let clashes = spot.properties()?.contains_key("tag") || spot.required().iter().any(|name| name == "tag");
    if spot.is_root() || clashes || spot.has_any(&["anyOf", "oneOf", "allOf", "$ref", "$id", "$defs"]) {
        return None;
    }
    let real = tagged(&Value::Object(spot.schema.clone()), "real");
    let made = tagged(&json!({ "type": "object", "properties": { "made": { "type": "integer" } } }), "made");
    Some([real, made])
}

fn tagged_branch_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let [one, other] = tagged_pair(spot)?;
    let third = tagged(&json!({ "type": "object", "properties": { "third": { "type": "string" } } }), "third");
    let keyword = if spot.random.one_in(2) { "oneOf" } else { "anyOf" };
    let (old, new) = (json!({ keyword: [one, other] }), json!({ keyword: [one, other, third] }));
    moved(spot, Effect::Loosens, old, new)
}

fn tagged_branch_changed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let [one, other] = tagged_pair(spot)?;
    let changed = tagged(&json!({ "type": "object", "properties": { "made": { "type": "boolean" } } }), "made");
    moved(spot, Effect::Any, json!({ "oneOf": [one, other] }), json!({ "oneOf": [one, changed] }))
}

fn tag_renamed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let [one, other] = tagged_pair(spot)?;
    let mut changed = other.clone();
    *changed.pointer_mut("/properties/tag/const")? = json!("renamed");
    moved(spot, Effect::Any, json!({ "oneOf": [one, other] }), json!({ "oneOf": [one, changed] }))
}

fn reordered(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (keyword, mut branches) = branches(spot).map(|(keyword, branches)| (keyword, branches.clone()))?;
    let inside = format!("{}/{keyword}", spot.site.pointer);
    if branches.len() < 2 || crate::drift::site::is_referred_into(spot.document, &inside) {
        return None;
    }
    branches.reverse();
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert(keyword.to_owned(), json!(branches))))
}

fn any_required(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (one, other) = (spot.property()?, spot.property()?);
    (one != other && branches(spot).is_none()).then_some(())?;
    let keyword = if spot.random.one_in(2) { "oneOf" } else { "anyOf" };
    let demand = json!([{ "required": [one] }, { "required": [other] }]);
    spot.edit(Effect::Tightens, |schema| drop(schema.insert(keyword.to_owned(), demand)))
}

fn beside_any_of(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (one, other) = (spot.property()?, spot.property()?);
    (one != other && branches(spot).is_none()).then_some(())?;
    let with = |more: Option<Value>| {
        spot.with(|schema: &mut Map<String, Value>| {
            schema.insert("anyOf".to_owned(), json!([{ "minProperties": 1 }, { "required": [one.clone()] }]));
            schema.extend(more.map(|more| ("oneOf".to_owned(), more)));
        })
    };
    let (old, new) = (
        with(None),
        with(Some(json!([{ "required": [one.clone()] }, { "required": [other] }, { "maxProperties": 0 }]))),
    );
    spot.between(Effect::Tightens, old, new)
}

fn one_of_to_any_of(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (keyword, branches) = branches(spot).map(|(keyword, branches)| (keyword, branches.clone()))?;
    let inside = format!("{}/{keyword}", spot.site.pointer);
    if spot.has("anyOf") && spot.has("oneOf") || crate::drift::site::is_referred_into(spot.document, &inside) {
        return None;
    }
    let with = |to: &str| {
        spot.with(|schema| {
            schema.shift_remove(keyword);
            schema.insert(to.to_owned(), json!(branches));
        })
    };
    let (old, new) = (with("oneOf"), with("anyOf"));
    spot.between(Effect::Loosens, old, new)
}
