//! Rewrites schemas of servers so that a validator accepts them: invalid keywords are removed and reported, keywords of
//! other versions of JSON Schema are translated, and each reference is the JSON pointer of a definition.

use std::collections::{BTreeSet, HashSet};

use jsonschema::{Draft, ValidationError, Validator};
use mcp_bindgen_schema::{Draft as Dialect, NAMED_SCHEMAS, SCHEMA, SCHEMA_LIST, below};
use serde_json::{Map, Value, json};

use super::links::{DEFINITIONS, Links, MOST_COPIED, Schema, TOO_MANY_TARGETS, definition};
use super::violation::LONGEST_VALUE;
use super::{Skipped, UnusableSchema};
use crate::ground::redact::Redactor;
use crate::ground::wire::size_of_value;

/// The keywords that restrict values without holding schemas, and `nullable` of `OpenAPI`.
const ASSERTIONS: &str = "\
    type,enum,const,multipleOf,maximum,exclusiveMaximum,minimum,exclusiveMinimum,maxLength,minLength,pattern,maxItems,\
    minItems,uniqueItems,maxContains,minContains,maxProperties,minProperties,required,dependentRequired,nullable";

/// Compiles a document, and returns its skipped parts. With `is_tried`, the validator tries every keyword separately;
/// without it, only if it rejects the document.
pub(super) fn compile(
    links: &Links<'_>,
    draft: Draft,
    is_tried: bool,
) -> Result<(Validator, Vec<Skipped>), UnusableSchema> {
    let (skipped, places, definitions) = (Vec::new(), BTreeSet::new(), Map::new());
    let mut mender = Mender { links, draft, is_tried, left: MOST_COPIED, skipped, places, definitions };
    let mut document = mender.schema(0);
    for target in (1..links.schemas.len()).filter(|index| links.targets.contains(index)) {
        mender.schema(target);
    }
    if mender.left == 0 {
        return Err(UnusableSchema::new("", TOO_MANY_TARGETS));
    }
    if let Value::Object(root) = &mut document {
        root.insert(DEFINITIONS.to_owned(), mender.definitions.into());
    }
    match build(draft, &document) {
        Ok(compiled) => Ok((compiled, mender.skipped)),
        Err(_) if !is_tried => compile(links, draft, true),
        Err(error) => Err(UnusableSchema::new("", error.masked().to_string())),
    }
}

/// Compiles a mended document. Nothing is fetched.
fn build(draft: Draft, schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().with_draft(draft).offline().should_validate_formats(false).build(schema)
}

struct Mender<'l> {
    links: &'l Links<'l>,
    draft: Draft,
    is_tried: bool,
    /// The remaining size of values in copies. At zero, mending stops.
    left: usize,
    skipped: Vec<Skipped>,
    /// The pointers of the skipped parts.
    places: BTreeSet<String>,
    /// The targets of references, by their indexes.
    definitions: Map<String, Value>,
}

impl<'l> Mender<'l> {
    /// Mends a schema, and returns what is written in its place: a reference, if other schemas refer to it too.
    fn schema(&mut self, index: usize) -> Value {
        let links = self.links;
        let Some(schema) = links.schemas.get(index) else { return Value::Bool(true) };
        if !links.targets.contains(&index) {
            return self.mended(index, schema);
        }
        if !self.definitions.contains_key(&index.to_string()) {
            let mended = self.mended(index, schema);
            self.definitions.insert(index.to_string(), mended);
        }
        json!({ "$ref": definition(index) })
    }

    fn mended(&mut self, index: usize, schema: &Schema<'l>) -> Value {
        match schema.value {
            _ if self.left == 0 => Value::Null,
            Value::Object(map) => self.object(map, index, schema).into(),
            Value::Bool(_) => schema.value.clone(),
            value => {
                self.skip(schema.pointer.clone(), value, "a schema is an object, `true` or `false`");
                json!({})
            }
        }
    }

    fn object(&mut self, map: &Map<String, Value>, index: usize, schema: &Schema<'l>) -> Map<String, Value> {
        let (pointer, draft) = (&schema.pointer, self.links.draft);
        let is_reference = self.links.is_reference(schema.value);
        let mut mended = Map::new();
        for (keyword, value) in map.iter().filter(|(keyword, value)| !is_reference && is_used(draft, keyword, value)) {
            if draft == Dialect::D4 && keyword.starts_with("exclusive") && value.is_number() {
                self.skip(below(pointer, keyword), value, "in draft 4, the keyword is `true` or `false`");
            } else {
                mended.insert(keyword.clone(), self.keyword(index, keyword, value, &below(pointer, keyword)));
            }
        }
        translate(&mut mended, self.draft);
        mended.retain(|keyword, value| {
            let is_taken = holds_schemas(keyword, value) || self.takes(keyword, value);
            if !is_taken {
                self.skip(below(pointer, keyword), value, reason(keyword, value));
            }
            is_taken
        });
        // An object has one `$ref`; several references are in `allOf`.
        if let [reference] = schema.references.as_slice() {
            mended.shift_insert(0, "$ref".to_owned(), reference.as_str().into());
        } else if !schema.references.is_empty()
            && let Value::Array(all) = mended.entry("allOf").or_insert_with(|| json!([]))
        {
            all.extend(schema.references.iter().map(|reference| json!({ "$ref": reference })));
        }
        self.loosen(map, &mut mended, pointer);
        mended
    }

    fn keyword(&mut self, holder: usize, keyword: &str, value: &Value, here: &str) -> Value {
        match value {
            _ if !holds_schemas(keyword, value) => self.salvaged(holder, keyword, value),
            Value::Array(items) => items.iter().map(|item| self.held(holder, item)).collect(),
            Value::Object(entries) if NAMED_SCHEMAS.contains(&keyword) => {
                self.named(holder, keyword, entries, here).into()
            }
            _ => self.held(holder, value),
        }
    }

    /// Mends a schema that another holds.
    fn held(&mut self, holder: usize, value: &Value) -> Value {
        self.links.held(holder, value).map_or(Value::Bool(true), |index| self.schema(index))
    }

    fn named(&mut self, holder: usize, keyword: &str, entries: &Map<String, Value>, here: &str) -> Map<String, Value> {
        let mut mended = Map::new();
        for (name, entry) in entries {
            let place = below(here, name);
            // `dependencies` may also hold lists of names.
            let is_list = keyword == "dependencies" && entry.is_array();
            let tried = if is_list { entry.clone() } else { json!({}) };
            if (is_list || keyword == "patternProperties") && !self.takes(keyword, &json!({ name: tried })) {
                let name = Value::from(name.as_str());
                self.skip(place, &name, reason(keyword, &name));
            } else if is_list {
                mended.insert(name.clone(), self.salvaged(holder, keyword, entry));
            } else {
                mended.insert(name.clone(), self.held(holder, entry));
            }
        }
        mended
    }

    /// Drops keywords that would refuse more because something beside or inside them was left out.
    fn loosen(&mut self, original: &Map<String, Value>, mended: &mut Map<String, Value>, pointer: &str) {
        let has_lost = |keyword: &str| {
            let inside = below(pointer, keyword) + "/";
            self.places.range(inside.clone()..).next().is_some_and(|place| place.starts_with(&inside))
        };
        let size =
            |map: &Map<String, Value>, keyword: &str| map.get(keyword).map(|value| value.as_object().map(Map::len));
        let depending: [(&str, &[&str]); 3] =
            [("not", &["not"]), ("if", &["if", "then", "else"]), ("contains", &["maxContains"])];
        let lost = depending.iter().filter(|(keyword, _)| has_lost(keyword));
        let mut dropped: Vec<&str> = lost.flat_map(|(_, keywords)| *keywords).copied().collect();
        if has_lost("oneOf")
            && let Some(branches) = mended.remove("oneOf")
            && let Value::Array(all) = mended.entry("allOf").or_insert_with(|| json!([]))
        {
            all.push(json!({ "anyOf": branches }));
        }
        if ["properties", "patternProperties"].iter().any(|keyword| size(original, keyword) != size(mended, keyword)) {
            dropped.extend(["additionalProperties", "unevaluatedProperties"]);
        }
        for keyword in dropped {
            if let Some(value) = mended.remove(keyword) {
                self.skip(below(pointer, keyword), &value, "it depends on a part that is not validated");
            }
        }
    }

    /// Returns `true` if the validator takes a keyword alone, or is not asked.
    fn takes(&self, keyword: &str, value: &Value) -> bool {
        !self.is_tried || build(self.draft, &json!({ keyword: value })).is_ok()
    }

    /// Returns a keyword's value without entries that do not belong there.
    fn salvaged(&mut self, holder: usize, keyword: &str, value: &Value) -> Value {
        if self.links.schemas.get(holder).is_some_and(|schema| schema.is_copy) {
            self.left = self.left.saturating_sub(size_of_value(value));
        }
        match value {
            Value::Array(entries) if ["required", "type", "enum"].contains(&keyword) => {
                let mut seen = HashSet::new();
                let belongs = |entry: &&Value| keyword != "required" || entry.is_string();
                entries.iter().filter(belongs).filter(|entry| seen.insert(*entry)).cloned().collect()
            }
            _ => value.clone(),
        }
    }

    /// Reports a part that is skipped, once: a schema can be copied for several paths.
    fn skip(&mut self, pointer: String, value: &Value, reason: &str) {
        if self.places.insert(pointer.clone()) {
            let value = Redactor::default().shown_line(&value.to_string(), LONGEST_VALUE);
            self.skipped.push(Skipped { pointer, value, reason: reason.to_owned() });
        }
    }
}

fn reason(keyword: &str, value: &Value) -> &'static str {
    let is_pattern = value.is_string() && ["pattern", "patternProperties"].contains(&keyword);
    if is_pattern { "the regex engine does not support the pattern" } else { "the keyword's value is malformed" }
}

/// Returns `true` if a keyword restricts values in its dialect, or is malformed. References are read before.
fn is_used(draft: Dialect, keyword: &str, value: &Value) -> bool {
    match keyword {
        "$ref" | "$dynamicRef" | "$recursiveRef" | "$id" | "$anchor" | "$dynamicAnchor" => !value.is_string(),
        "const" | "contains" | "propertyNames" if draft == Dialect::D4 => false,
        "$defs" | "definitions" => false,
        _ => {
            ASSERTIONS.split(',').any(|known| known == keyword)
                || [SCHEMA, SCHEMA_LIST, NAMED_SCHEMAS].iter().any(|known| known.contains(&keyword))
        }
    }
}

/// Returns `true` if the value of a keyword holds schemas.
fn holds_schemas(keyword: &str, value: &Value) -> bool {
    match value {
        Value::Object(_) => SCHEMA.contains(&keyword) || NAMED_SCHEMAS.contains(&keyword),
        Value::Array(items) => SCHEMA_LIST.contains(&keyword) && (keyword == "items" || !items.is_empty()),
        _ => value.is_boolean() && SCHEMA.contains(&keyword),
    }
}

/// Translates keywords of other versions of JSON Schema, and `nullable` of `OpenAPI`.
fn translate(schema: &mut Map<String, Value>, draft: Draft) {
    if schema.remove("nullable") == Some(Value::Bool(true)) {
        let null = Value::from("null");
        match schema.get_mut("type") {
            Some(Value::Array(names)) if !names.is_empty() && !names.contains(&null) => names.push(null),
            Some(name @ Value::String(_)) if *name != null => *name = Value::Array(vec![name.take(), null]),
            _ => {}
        }
    }
    // In draft 4, a boolean makes the bound beside it exclusive.
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(Value::Bool(is_exclusive)) = schema.get(exclusive).cloned() {
            if !is_exclusive {
                schema.remove(exclusive);
            } else if let Some(limit) = schema.remove(bound) {
                schema.insert(exclusive.to_owned(), limit);
            }
        }
    }
    // Before 2020-12, a list is in `items`, and `additionalItems` is for the rest.
    if draft == Draft::Draft202012 && schema.get("items").is_some_and(Value::is_array) {
        let list = schema.remove("items").filter(|list| *list != json!([]));
        let rest = schema.remove("additionalItems");
        if !schema.contains_key("prefixItems") {
            schema.extend(list.map(|list| ("prefixItems".to_owned(), list)));
            schema.extend(rest.map(|rest| ("items".to_owned(), rest)));
        }
    }
}
