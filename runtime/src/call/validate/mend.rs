//! Rewrites schemas of servers so that a validator accepts them: invalid keywords are removed and reported, keywords of
//! other versions of JSON Schema are translated, and each reference is the JSON pointer of a definition.

use std::collections::HashSet;

use jsonschema::{Draft, ValidationError, Validator};
use mcp_bindgen_schema::{Draft as Dialect, NAMED_SCHEMAS, SCHEMA, SCHEMA_LIST, below};
use serde_json::{Map, Value, json};

use super::Skipped;
use super::links::{Links, Schema, is_unused};
use super::violation::LONGEST_VALUE;
use crate::ground::redact::Redactor;

/// Every version of JSON Schema has this keyword.
const DEFINITIONS: &str = "definitions";
/// The keywords whose values hold no schemas, and do more than to describe values.
const ASSERTIONS: &str = "\
    type,enum,const,multipleOf,maximum,exclusiveMaximum,minimum,exclusiveMinimum,maxLength,minLength,pattern,maxItems,\
    minItems,uniqueItems,maxContains,minContains,maxProperties,minProperties,required,dependentRequired";

/// Returns a document that the validator may take, and its skipped parts. If `is_tried`, the validator tries every keyword
/// separately; otherwise only the form of the schemas is checked.
pub(super) fn mend(links: &Links<'_>, draft: Draft, is_tried: bool) -> (Value, Vec<Skipped>) {
    let mut mender = Mender { links, draft, is_tried, skipped: Vec::new(), definitions: Map::new() };
    let mut document = mender.schema(0);
    for target in (1..links.schemas.len()).filter(|index| links.targets.contains(index)) {
        mender.schema(target);
    }
    if let Value::Object(root) = &mut document
        && !mender.definitions.is_empty()
    {
        root.insert(DEFINITIONS.to_owned(), mender.definitions.into());
    }
    // A schema can be copied for several paths.
    let mut seen = HashSet::new();
    mender.skipped.retain(|skipped| seen.insert(skipped.pointer.clone()));
    (document, mender.skipped)
}

/// Compiles a document. Nothing is fetched.
pub(super) fn compile(draft: Draft, schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().with_draft(draft).offline().should_validate_formats(false).build(schema)
}

struct Mender<'l> {
    links: &'l Links<'l>,
    draft: Draft,
    is_tried: bool,
    skipped: Vec<Skipped>,
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
            Value::Object(map) => self.object(map, index, schema).into(),
            Value::Bool(_) => schema.value.clone(),
            value => {
                self.skip(schema.pointer.clone(), value, "a schema is an object, `true` or `false`");
                json!({})
            }
        }
    }

    fn object(&mut self, map: &Map<String, Value>, index: usize, schema: &Schema<'l>) -> Map<String, Value> {
        let pointer = &schema.pointer;
        let (recursive, references): (Vec<_>, Vec<_>) =
            schema.references.iter().partition(|(keyword, _)| *keyword == "$recursiveRef");
        let mut mended: Map<String, Value> =
            references.into_iter().map(|(keyword, target)| (keyword.to_owned(), definition(target).into())).collect();
        let is_reference = self.links.is_reference(schema.value);
        for (keyword, value) in map.iter().filter(|(keyword, _)| !is_reference || *keyword == "$ref") {
            if is_unused(self.links.draft, keyword, value) || mended.contains_key(keyword) {
                continue;
            }
            if self.links.draft == Dialect::D4 && keyword.starts_with("exclusive") && value.is_number() {
                self.skip(below(pointer, keyword), value, "in draft 4, the keyword is `true` or `false`");
                continue;
            }
            mended.insert(keyword.clone(), self.keyword(index, keyword, value, &below(pointer, keyword)));
        }
        translate(&mut mended, self.draft);
        mended.retain(|keyword, value| {
            let is_reference = value.is_string() && (keyword == "$ref" || keyword == "$dynamicRef");
            let is_taken = is_reference || holds_schemas(keyword, value) || self.takes(keyword, value);
            if !is_taken {
                self.skip(below(pointer, keyword), value, reason(keyword, value));
            }
            is_taken
        });
        // A validator does not read the value of `$recursiveRef`.
        for (_, target) in recursive {
            let references = mended.remove("$ref").into_iter().chain([definition(target).into()]);
            if let Value::Array(all) = mended.entry("allOf").or_insert_with(|| json!([])) {
                all.extend(references.map(|reference| json!({ "$ref": reference })));
            }
        }
        self.loosen(map, &mut mended, pointer);
        mended
    }

    fn keyword(&mut self, holder: usize, keyword: &str, value: &Value, here: &str) -> Value {
        match value {
            _ if !holds_schemas(keyword, value) => salvaged(keyword, value),
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
                mended.insert(name.clone(), entry.clone());
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
            self.skipped.iter().any(|skipped| skipped.pointer.starts_with(&inside))
        };
        let size = |map: &Map<String, Value>, keyword: &str| {
            map.get(keyword).map(|value: &Value| value.as_object().map_or(1, Map::len))
        };
        let mut dropped = Vec::new();
        if has_lost("not") {
            dropped.push("not");
        }
        if has_lost("if") {
            dropped.extend(["if", "then", "else"]);
        }
        if has_lost("contains") {
            dropped.push("maxContains");
        }
        if has_lost("oneOf") {
            if mended.contains_key("anyOf") {
                dropped.push("oneOf");
            } else if let Some(branches) = mended.remove("oneOf") {
                mended.insert("anyOf".to_owned(), branches);
            }
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
        let is_known = keyword.starts_with('$')
            || ASSERTIONS.split(',').any(|known| known == keyword)
            || [SCHEMA, SCHEMA_LIST, NAMED_SCHEMAS].iter().any(|known| known.contains(&keyword));
        !self.is_tried || !is_known || compile(self.draft, &json!({ keyword: value })).is_ok()
    }

    fn skip(&mut self, pointer: String, value: &Value, reason: &str) {
        let value = Redactor::default().shown_line(&value.to_string(), LONGEST_VALUE);
        self.skipped.push(Skipped { pointer, value, reason: reason.to_owned() });
    }
}

fn definition(index: usize) -> String {
    format!("#/{DEFINITIONS}/{index}")
}

fn reason(keyword: &str, value: &Value) -> &'static str {
    let is_pattern = value.is_string() && ["pattern", "patternProperties"].contains(&keyword);
    if is_pattern { "the regex engine does not support the pattern" } else { "the keyword's value is malformed" }
}

/// Returns `true` if the value of a keyword holds schemas. If a branch is not a schema, it could match anything, and the
/// other branches have no meaning.
fn holds_schemas(keyword: &str, value: &Value) -> bool {
    let is_schema = |value: &Value| value.is_object() || value.is_boolean();
    match value {
        Value::Object(_) if NAMED_SCHEMAS.contains(&keyword) => true,
        Value::Array(items) if SCHEMA_LIST.contains(&keyword) => match keyword {
            "items" => true,
            "anyOf" | "oneOf" => !items.is_empty() && items.iter().all(is_schema),
            _ => !items.is_empty(),
        },
        _ => is_schema(value) && SCHEMA.contains(&keyword),
    }
}

/// Returns the usable part of a list with entries that do not belong there.
fn salvaged(keyword: &str, value: &Value) -> Value {
    let Value::Array(entries) = value else { return value.clone() };
    if !["required", "type", "enum"].contains(&keyword) {
        return value.clone();
    }
    let mut seen = HashSet::new();
    let kept = entries.iter().filter(|entry| (keyword != "required" || entry.is_string()) && seen.insert(*entry));
    kept.cloned().collect()
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
        match schema.get(exclusive) {
            Some(Value::Bool(false)) => drop(schema.remove(exclusive)),
            Some(Value::Bool(true)) => {
                if let Some(limit) = schema.remove(bound) {
                    schema.insert(exclusive.to_owned(), limit);
                }
            }
            _ => {}
        }
    }
    // Before 2020-12, a list is in `items`, and `additionalItems` is for the rest.
    if draft == Draft::Draft202012 && schema.get("items").is_some_and(Value::is_array) {
        let items = schema.remove("items");
        let rest = schema.remove("additionalItems");
        if let (Some(items), false) = (items, schema.contains_key("prefixItems")) {
            if items.as_array().is_some_and(|items| !items.is_empty()) {
                schema.insert("prefixItems".to_owned(), items);
            }
            schema.extend(rest.map(|rest| ("items".to_owned(), rest)));
        }
    }
}
