//! Changes keywords that only people read.

use serde_json::{Value, json};

use super::{Effect, Kind, Mutation, Spot, kind};
use crate::drift::site::mentions;

pub(super) const KINDS: &[Kind] = &[
    kind("description changed", |spot| said(spot, "description", json!("Other words."))),
    kind("title changed", title),
    kind("examples changed", |spot| said(spot, "examples", json!(["another example"]))),
    kind("default changed", default),
    kind("$comment changed", |spot| said(spot, "$comment", json!("A note."))),
    kind("deprecated", deprecated),
];

fn said(spot: &mut Spot<'_>, keyword: &str, text: Value) -> Option<Mutation> {
    // Under a reference of the older dialects it would not even be read.
    (spot.get(keyword) != Some(&text)).then_some(())?;
    spot.edit(Effect::Wording, |schema| drop(schema.insert(keyword.to_owned(), text)))
}

/// Code that names what is deprecated no longer compiles where warnings are denied.
fn deprecated(spot: &mut Spot<'_>) -> Option<Mutation> {
    (spot.get("deprecated") != Some(&json!(true))).then_some(())?;
    spot.edit(Effect::Equivalent, |schema| drop(schema.insert("deprecated".to_owned(), json!(true))))
}

/// A title names the branch of a choice in code, and says of a result that it wraps another: elsewhere it is wording.
fn title(spot: &mut Spot<'_>) -> Option<Mutation> {
    (!spot.site.pointer.is_empty() || !mcp_bindgen_schema::wraps_result(spot.document)).then_some(())?;
    (!mentions(spot.document, &["anyOf", "oneOf"]) && !spot.get("type").is_some_and(Value::is_array)).then_some(())?;
    said(spot, "title", json!("Another Title"))
}

/// A default of `null` says that absent means null, which code follows: no wording.
fn default(spot: &mut Spot<'_>) -> Option<Mutation> {
    spot.get("default").filter(|default| !default.is_null())?;
    said(spot, "default", json!("another default"))
}
