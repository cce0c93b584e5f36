//! Properties: which there are, which have to be there, and what else may be.

use serde_json::{Map, Value, json};

use super::{Effect, Kind, Mutation, Spot, both, kind, simple};
use crate::drift::site::mentions;

pub(super) const KINDS: &[Kind] = &[
    both("required", "no longer required", required),
    both("undeclared key required", "undeclared key dropped", undeclared_required),
    added!("optional property", optional_added),
    added!("required property", required_added),
    kind("property renamed", renamed),
    kind("required property removed and another added", swapped),
    both("closed", "opened", closed),
    both("explicitly open", "implicitly open", explicitly_open),
    both("open keys typed", "open keys untyped", open_typed),
    converted!("closed", "typed", closed_to_typed),
    both("free-form closed", "free-form opened", free_form_closed),
    both("free-form typed", "free-form untyped", free_form_typed),
    both("property denied", "property allowed", property_denied),
    added!("patternProperties", patterns_added),
    added!("propertyNames", names_added),
    added!("dependentRequired", dependent_required),
    added!("dependentSchemas", dependent_schemas),
    kind("properties reordered", properties_reordered),
    kind("required reordered", required_reordered),
];

/// The keywords that combine with `properties`, so that `properties` alone does not decide.
const COMBINE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if", "dependentSchemas", "unevaluatedProperties", "not"];

/// Returns the effects of declaring a key that was undeclared. `additionalProperties` may be absent, `true`, `false`
/// or a schema.
fn of_undeclared(spot: &Spot<'_>) -> (Effect, Effect) {
    let declared = |name: &String| spot.properties().is_some_and(|properties| properties.contains_key(name));
    // A key that is only required is one that bindings send.
    let is_plain = !mentions(spot.document, &COMBINE) && spot.required().iter().all(declared);
    match spot.get("additionalProperties") {
        None if is_plain => (Effect::TightensUndeclared, Effect::TightensUndeclared),
        None | Some(Value::Bool(true)) => (Effect::Tightens, Effect::Tightens),
        Some(Value::Bool(false)) => (Effect::Loosens, Effect::Any),
        _ => (Effect::Any, Effect::Any),
    }
}

fn insert(schema: &mut Map<String, Value>, key: &str, property: Value) {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(key.to_owned(), property);
    }
}

fn require(schema: &mut Map<String, Value>, key: &str) {
    if let Value::Array(names) = schema.entry("required").or_insert_with(|| json!([])) {
        names.push(key.into());
    }
}

fn required(spot: &mut Spot<'_>) -> Option<Mutation> {
    let key = spot.property().filter(|key| !spot.required().contains(key))?;
    spot.edit(Effect::Tightens, |schema| require(schema, &key))
}

fn undeclared_required(spot: &mut Spot<'_>) -> Option<Mutation> {
    let open = spot.get("additionalProperties") != Some(&Value::Bool(false));
    (spot.is_a("object") && open && !spot.has_any(&["allOf", "$ref"])).then_some(())?;
    spot.edit(Effect::Tightens, |schema| require(schema, "only_named"))
}

fn optional_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.properties()?;
    let (effect, _) = of_undeclared(spot);
    let property = simple(spot.random, None);
    spot.edit(effect, |schema| insert(schema, "new_property", property))
}

fn required_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.properties()?;
    // The new key is required, whatever the effect on undeclared keys.
    let effect = match spot.get("additionalProperties") {
        None | Some(Value::Bool(true)) => Effect::Tightens,
        _ => Effect::Any,
    };
    let property = simple(spot.random, None);
    spot.edit(effect, |schema| {
        insert(schema, "new_property", property);
        require(schema, "new_property");
    })
}

fn renamed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let key = spot.property()?;
    spot.edit(Effect::Any, |schema| {
        rename(schema.get_mut("properties"), &key);
        if let Some(Value::Array(names)) = schema.get_mut("required") {
            names.iter_mut().filter(|name| **name == key.as_str()).for_each(|name| *name = json!("renamed_property"));
        }
    })
}

fn rename(properties: Option<&mut Value>, key: &str) {
    let Some(Value::Object(properties)) = properties else { return };
    let renamed = |name: String| if name == key { "renamed_property".to_owned() } else { name };
    *properties = std::mem::take(properties).into_iter().map(|(name, schema)| (renamed(name), schema)).collect();
}

fn swapped(spot: &mut Spot<'_>) -> Option<Mutation> {
    let declared = spot.properties()?.clone();
    let key = spot.required().into_iter().find(|key| declared.contains_key(key))?;
    spot.edit(Effect::Any, |schema| {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.shift_remove(&key);
        }
        if let Some(Value::Array(names)) = schema.get_mut("required") {
            names.retain(|name| *name != key.as_str());
        }
        insert(schema, "successor", json!({ "type": "string" }));
        require(schema, "successor");
    })
}

fn additional(spot: &Spot<'_>, effect: Effect, said: Value) -> Option<Mutation> {
    spot.edit(effect, |schema| drop(schema.insert("additionalProperties".to_owned(), said)))
}

fn closed(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.properties()?;
    let (_, effect) = of_undeclared(spot);
    (spot.get("additionalProperties") != Some(&json!(false))).then_some(())?;
    let effect = if effect == Effect::Any { Effect::Tightens } else { effect };
    additional(spot, effect, json!(false))
}

fn explicitly_open(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.is_a("object") && !spot.has("additionalProperties")).then_some(())?;
    additional(spot, Effect::Equivalent, json!(true))
}

fn open_typed(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.properties().is_some() && !spot.has("additionalProperties")).then_some(())?;
    let (_, effect) = of_undeclared(spot);
    let schema = simple(spot.random, None);
    additional(spot, effect, schema)
}

fn closed_to_typed(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.get("additionalProperties") == Some(&json!(false))).then_some(())?;
    let schema = simple(spot.random, None);
    additional(spot, Effect::Loosens, schema)
}

fn is_free_form(spot: &Spot<'_>) -> bool {
    let free = |said: &Value| matches!(said, Value::Bool(true)) || said.as_object().is_some_and(Map::is_empty);
    spot.is_a("object")
        && !spot.has_any(&["properties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "required"])
        && spot.get("additionalProperties").is_none_or(free)
}

fn free_form_closed(spot: &mut Spot<'_>) -> Option<Mutation> {
    is_free_form(spot).then_some(())?;
    spot.edit(Effect::Tightens, |schema| {
        schema.insert("additionalProperties".to_owned(), json!(false));
        insert(schema, "only", json!({ "type": "string" }));
    })
}

fn free_form_typed(spot: &mut Spot<'_>) -> Option<Mutation> {
    is_free_form(spot).then_some(())?;
    let schema = simple(spot.random, None);
    additional(spot, Effect::Tightens, schema)
}

fn property_denied(spot: &mut Spot<'_>) -> Option<Mutation> {
    let key = spot.property().filter(|key| !spot.required().contains(key))?;
    spot.edit(Effect::Tightens, |schema| insert(schema, &key, json!(false)))
}

fn patterns_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.is_a("object") && !spot.has("patternProperties")).then_some(())?;
    let effect = match spot.get("additionalProperties") {
        None | Some(Value::Bool(true)) => Effect::Tightens,
        _ => Effect::Any,
    };
    let schema = simple(spot.random, None);
    let pattern = ["^x-", "_id$", "^[a-z]+$"].get(spot.random.below(3)).copied()?;
    spot.edit(effect, |map| drop(map.insert("patternProperties".to_owned(), json!({ pattern: schema }))))
}

fn names_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.is_a("object") && !spot.has("propertyNames")).then_some(())?;
    spot.edit(Effect::Tightens, |schema| {
        schema.insert("propertyNames".to_owned(), json!({ "maxLength": 9 }));
    })
}

const DEPENDENT: [&str; 3] = ["dependentRequired", "dependentSchemas", "dependencies"];

/// Up to draft 7 one keyword was both.
fn dependent(spot: &Spot<'_>, keyword: &'static str) -> &'static str {
    if mcp_samples::references::ref_stands_alone(spot.document) { "dependencies" } else { keyword }
}

fn dependent_required(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (key, other) = (spot.property()?, spot.property()?);
    (key != other && !spot.has_any(&DEPENDENT)).then_some(())?;
    let keyword = dependent(spot, "dependentRequired");
    spot.edit(Effect::Tightens, |schema| drop(schema.insert(keyword.to_owned(), json!({ key: [other] }))))
}

fn dependent_schemas(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (key, other) = (spot.property()?, spot.property()?);
    (!spot.has_any(&DEPENDENT)).then_some(())?;
    let demand = match spot.random.below(3) {
        0 => json!({ "required": [other] }),
        1 => json!({ "properties": { other: simple(spot.random, None) } }),
        _ => json!({ "required": ["only_then"] }),
    };
    let keyword = dependent(spot, "dependentSchemas");
    spot.edit(Effect::Tightens, |schema| drop(schema.insert(keyword.to_owned(), json!({ key: demand }))))
}

fn properties_reordered(spot: &mut Spot<'_>) -> Option<Mutation> {
    let properties = spot.properties().filter(|properties| properties.len() > 1)?;
    let reversed: Map<String, Value> = properties.clone().into_iter().rev().collect();
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert("properties".to_owned(), Value::Object(reversed))))
}

fn required_reordered(spot: &mut Spot<'_>) -> Option<Mutation> {
    let mut names = spot.required();
    (names.len() > 1).then_some(())?;
    names.reverse();
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert("required".to_owned(), json!(names))))
}
