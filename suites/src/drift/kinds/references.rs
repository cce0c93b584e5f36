//! Schemas behind references, in every form of one.

use serde_json::{Map, Value, json};

use super::{Apply, Effect, Kind, Mutation, Spot, all, both, kind, simple};
use crate::drift::site::{Holder, Site, define, is_referred_into};

pub(super) const KINDS: &[Kind] = &[
    both("moved behind $ref", "taken from behind $ref", |spot| moved(spot, Form::Plain)),
    both("moved behind percent-encoded $ref", "taken from behind percent-encoded $ref", |spot| {
        moved(spot, Form::Percent)
    }),
    both("moved behind $anchor", "taken from behind $anchor", |spot| moved(spot, Form::Anchor)),
    both("moved behind $id", "taken from behind $id", |spot| moved(spot, Form::Id)),
    both("moved behind allOf of $ref", "taken from behind allOf of $ref", |spot| moved(spot, Form::AllOf)),
    kind("target of $ref changed", |spot| target_changed(spot, Form::Plain)),
    kind("target of percent-encoded $ref changed", |spot| target_changed(spot, Form::Percent)),
    kind("target of $anchor changed", |spot| target_changed(spot, Form::Anchor)),
    kind("target of $id changed", |spot| target_changed(spot, Form::Id)),
    kind("target of allOf of $ref changed", |spot| target_changed(spot, Form::AllOf)),
    added!("$ref with sibling", sibling_added),
    kind("$ref to another definition", retargeted),
    both("recursion made nullable", "recursion no longer nullable", recursion_nullable),
    kind("recursive definition changed", recursion_changed),
    both("recursion unrolled", "recursion rolled up", recursion_unrolled),
];

pub(super) const REWRITINGS: &[Apply] = &[
    |spot| moved(spot, Form::Plain),
    |spot| moved(spot, Form::Percent),
    |spot| moved(spot, Form::Anchor),
    |spot| moved(spot, Form::AllOf),
];

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Percent,
    Anchor,
    Id,
    AllOf,
}

/// The document with the schema moved to a definition, and where that is.
fn behind(spot: &Spot<'_>, form: Form) -> Option<(Value, String)> {
    let is_old = mcp_samples::references::ref_stands_alone(spot.document);
    let names = spot.has_any(&["$id", "$anchor", "id", "$dynamicAnchor"]);
    if spot.is_root() || names || is_referred_into(spot.document, &spot.site.pointer) {
        return None;
    }
    let anchor = unused(spot.document, "moved-here");
    let id = unused(spot.document, "https://example.com/moved");
    let mut moved = spot.schema.clone();
    let mut add = |keyword: &str, text: &str| drop(moved.insert(keyword.to_owned(), json!(text)));
    match form {
        Form::Anchor if is_old => return None,
        Form::Anchor => add("$anchor", &anchor),
        // Inside a schema with a base of its own, references would lead elsewhere.
        Form::Id if is_old || Value::Object(spot.schema.clone()).to_string().contains("$ref") => return None,
        Form::Id => add("$id", &id),
        _ => {}
    }
    let mut document = spot.replaced(Value::Null)?;
    let name = if form == Form::Percent { "moved é/50%" } else { "Moved" };
    let pointer = define(&mut document, name, Value::Object(moved))?;
    let reference = match form {
        Form::Anchor => format!("#{anchor}"),
        Form::Id => id,
        _ => format!("#{}", encoded(&pointer)),
    };
    let reference = json!({ "$ref": reference });
    *document.pointer_mut(&spot.site.pointer)? =
        if form == Form::AllOf { json!({ "allOf": [reference] }) } else { reference };
    Some((document, pointer))
}

/// A name that the document does not have yet.
fn unused(document: &Value, wanted: &str) -> String {
    let text = document.to_string();
    let mut name = wanted.to_owned();
    while text.contains(&name) {
        name.push('x');
    }
    name
}

fn encoded(pointer: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/$-_.~".contains(&byte);
    pointer
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn moved(spot: &mut Spot<'_>, form: Form) -> Option<Mutation> {
    let (new, _) = behind(spot, form)?;
    Some(spot.change(spot.document.clone(), new, Effect::Equivalent))
}

fn target_changed(spot: &mut Spot<'_>, form: Form) -> Option<Mutation> {
    let (document, pointer) = behind(spot, form)?;
    let schema = document.pointer(&pointer)?.as_object()?;
    let site = Site { pointer, holder: Holder::Definition };
    // These come in files before this one; a change of references would not be one of the target.
    let plain: Vec<Kind> = all().into_iter().take_while(|kind| kind.name != "wrapped in allOf").collect();
    for _ in 0..20 {
        let kind = spot.random.pick(&plain).copied()?;
        let mut inner = Spot { document: &document, site: &site, schema, random: spot.random };
        let change = (kind.apply)(&mut inner);
        if change.is_some() {
            return change;
        }
    }
    None
}

fn sibling_added(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (document, _) = behind(spot, Form::Plain)?;
    let sibling = match spot.kind()? {
        "string" => json!({ "minLength": 2 }),
        "integer" | "number" => json!({ "maximum": 5 }),
        "array" => json!({ "maxItems": 0 }),
        "object" => json!({ "required": [spot.property()?] }),
        _ => return None,
    };
    let mut new = document.clone();
    let schema = new.pointer_mut(&spot.site.pointer)?.as_object_mut()?;
    schema.extend(sibling.as_object()?.clone());
    Some(spot.change(document, new, Effect::Tightens))
}

fn retargeted(spot: &mut Spot<'_>) -> Option<Mutation> {
    (!spot.is_root()).then_some(())?;
    let mut document = spot.document.clone();
    let one = define(&mut document, "One", simple(spot.random, None))?;
    let other = define(&mut document, "Other", simple(spot.random, None))?;
    let mut new = document.clone();
    *document.pointer_mut(&spot.site.pointer)? = json!({ "$ref": format!("#{one}") });
    *new.pointer_mut(&spot.site.pointer)? = json!({ "$ref": format!("#{other}") });
    (!is_referred_into(spot.document, &spot.site.pointer)).then(|| spot.change(document, new, Effect::Any))
}

/// The document with a tree here, whose `l` and `r` are given, and where its definition is.
fn tree(spot: &Spot<'_>, children: &Value) -> Option<(Value, String)> {
    if spot.is_root() || is_referred_into(spot.document, &spot.site.pointer) {
        return None;
    }
    let mut document = spot.document.clone();
    let mut value = spot.schema.clone();
    value.shift_remove("$id");
    let schema = json!({
        "type": "object",
        "properties": { "value": Value::Object(value), "l": children, "r": children },
        "required": ["value"],
    });
    let pointer = define(&mut document, "Tree", schema)?;
    let text = document.pointer(&pointer)?.to_string().replace("\"#tree\"", &json!(format!("#{pointer}")).to_string());
    *document.pointer_mut(&pointer)? = serde_json::from_str(&text).ok()?;
    *document.pointer_mut(&spot.site.pointer)? = json!({ "$ref": format!("#{pointer}") });
    Some((document, pointer))
}

fn at(mutation: Option<((Value, String), (Value, String))>, effect: Effect) -> Option<Mutation> {
    let ((old, old_place), (new, new_place)) = mutation?;
    Some(Mutation { old, new, old_place, new_place, effect })
}

fn recursion_nullable(spot: &mut Spot<'_>) -> Option<Mutation> {
    let child = json!({ "$ref": "#tree" });
    let nullable = json!({ "anyOf": [child, { "type": "null" }] });
    at(tree(spot, &child).zip(tree(spot, &nullable)), Effect::Loosens)
}

fn recursion_changed(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (old, pointer) = tree(spot, &json!({ "$ref": "#tree" }))?;
    let mut new = old.clone();
    let known = spot.kind().map(str::to_owned);
    let changed = simple(spot.random, known.as_deref());
    let properties: &mut Map<String, Value> = new.pointer_mut(&format!("{pointer}/properties"))?.as_object_mut()?;
    properties.insert("value".to_owned(), changed);
    at(Some(((old, pointer.clone()), (new, pointer))), Effect::Any)
}

/// The same trees, with one level of the definition written out.
fn recursion_unrolled(spot: &mut Spot<'_>) -> Option<Mutation> {
    let (old, pointer) = tree(spot, &json!({ "$ref": "#tree" }))?;
    let mut new = old.clone();
    let once = old.pointer(&pointer)?.clone();
    let properties = new.pointer_mut(&format!("{pointer}/properties"))?.as_object_mut()?;
    properties.insert("l".to_owned(), once);
    at(Some(((old, pointer.clone()), (new, pointer))), Effect::Equivalent)
}
