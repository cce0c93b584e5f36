//! Bounds, patterns, formats.

use serde_json::{Map, Value, json};

use super::{Effect, Kind, Mutation, Spot, both};

pub(super) const KINDS: &[Kind] = &[
    both("number bound tighter", "number bound looser", |spot| {
        tighter(spot, &["integer", "number"], "minimum", "maximum")
    }),
    both("length tighter", "length looser", |spot| tighter(spot, &["string"], "minLength", "maxLength")),
    both("item count tighter", "item count looser", |spot| tighter(spot, &["array"], "minItems", "maxItems")),
    both("property count tighter", "property count looser", |spot| {
        tighter(spot, &["object"], "minProperties", "maxProperties")
    }),
    added!("minimum 0", unsigned),
    both("beyond i64 by maximum", "back within i64", beyond_i64),
    both("bound as exclusive", "exclusive as bound", as_exclusive),
    added!("multipleOf", |spot| added(spot, "integer", "multipleOf", &json!(5))),
    added!("pattern", |spot| added(spot, "string", "pattern", &json!("^[a-z]+[0-9]*$"))),
    added!("format", |spot| added(spot, "string", "format", &json!("date-time"))),
    added!("uniqueItems", |spot| added(spot, "array", "uniqueItems", &json!(true))),
];

fn added(spot: &mut Spot<'_>, kind: &str, keyword: &str, value: &Value) -> Option<Mutation> {
    (spot.is_a(kind) && !spot.has(keyword)).then_some(())?;
    spot.edit(Effect::Tightens, |schema| drop(schema.insert(keyword.to_owned(), value.clone())))
}

fn tighter(spot: &mut Spot<'_>, kinds: &[&str], lower: &str, upper: &str) -> Option<Mutation> {
    spot.kind().filter(|kind| kinds.contains(kind))?;
    let low = spot.random.one_in(2);
    let keyword = if low { lower } else { upper };
    let step = [1, 2, 10].get(spot.random.below(3)).copied()?;
    let bound = match (spot.get(keyword).and_then(Value::as_i64), low) {
        (Some(bound), true) => bound.checked_add(step)?,
        (Some(bound), false) => bound.checked_sub(step).filter(|bound| *bound >= 0 || upper == "maximum")?,
        (None, _) if spot.has(keyword) => return None,
        (None, true) => step,
        (None, false) => step + 2,
    };
    // Bounds that leave nothing are nobody's.
    let other = spot.get(if low { upper } else { lower }).and_then(Value::as_i64);
    if other.is_some_and(|other| if low { bound > other } else { bound < other }) {
        return None;
    }
    spot.edit(Effect::Tightens, |schema| drop(schema.insert(keyword.to_owned(), json!(bound))))
}

fn unsigned(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.is_a("integer") && !spot.has_any(&["minimum", "maximum", "exclusiveMinimum"])).then_some(())?;
    spot.edit(Effect::Tightens, |schema| drop(schema.insert("minimum".to_owned(), json!(0))))
}

fn beyond_i64(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.is_a("integer") && !spot.has_any(&["exclusiveMinimum", "exclusiveMaximum"])).then_some(())?;
    let with = |maximum: Value| {
        spot.with(|schema| {
            schema.insert("minimum".to_owned(), json!(0));
            schema.insert("maximum".to_owned(), maximum);
        })
    };
    let (old, new) = (with(json!(i64::MAX)), with(json!(u64::MAX)));
    spot.between(Effect::Loosens, old, new)
}

fn as_exclusive(spot: &mut Spot<'_>) -> Option<Mutation> {
    let old_dialect =
        spot.document.get("$schema").and_then(Value::as_str).is_some_and(|name| name.contains("draft-04"));
    (spot.is_a("integer") && !old_dialect && !spot.has_any(&["exclusiveMinimum", "minimum"])).then_some(())?;
    let least = i64::try_from(spot.random.below(10)).ok()?;
    let with = |keyword: &str, bound: i64| {
        spot.with(|schema: &mut Map<String, Value>| drop(schema.insert(keyword.to_owned(), json!(bound))))
    };
    let (old, new) = (with("minimum", least), with("exclusiveMinimum", least - 1));
    spot.between(Effect::Equivalent, old, new)
}
