//! Shapes printed as schemas of a provider.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::definitions::{Definitions, hoist};
use super::names::Aliases;
use super::reading::Constraint;
use super::subset::{GEMINI_ENUM, Size, takes};
use super::words::{self, describe};
use super::{Dialect, Lost, NotStrict, Renamed, Rewrite};
use crate::drift::version::Version;
use crate::normalize::{Kinds, SchemaId};
use crate::number::distinct;
use crate::shape::{Shape, ShapeId, Slot, UnionShape};

/// Larger schemas are not printed whole.
const MOST_PRINTED: usize = 20_000;
/// The number of printed schemas up to which a schema is repeated in place of a reference, to keep its keywords.
const MOST_REPEATED: usize = 2_000;
/// The depth up to which it is.
const DEEPEST_REPEATED: usize = 32;

/// The keywords of a printed schema.
pub(super) type Keywords = Map<String, Value>;

pub(super) struct Printer<'r> {
    pub(super) reading: &'r Version<'r>,
    pub(super) dialect: Dialect,
    pub(super) is_strict: bool,
    definitions: Definitions,
    /// The values of the tags of branches.
    pub(super) tags: HashMap<ShapeId, Value>,
    pub(super) aliases: Aliases,
    /// The assertions that the printed schema contains.
    said: HashSet<(SchemaId, &'static str)>,
    lost: Vec<Lost>,
    pub(super) renamed: Vec<Renamed>,
    printed: usize,
    /// The number of shapes around the one that is printed.
    depth: usize,
    /// The first reason why a strict schema would exclude a valid value. What is printed after it is of no use.
    refused: Option<NotStrict>,
}

/// A place in the document, with its name.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'p> {
    pub(super) schemas: &'p [SchemaId],
    pub(super) name: &'p str,
}

impl<'r> Printer<'r> {
    pub(super) fn new(reading: &'r Version<'r>, dialect: Dialect, is_strict: bool) -> Self {
        Self {
            reading,
            dialect,
            is_strict,
            definitions: Definitions::of(reading),
            tags: reading.tags(),
            aliases: reading.aliases(),
            said: HashSet::new(),
            lost: Vec::new(),
            renamed: Vec::new(),
            printed: 0,
            depth: 0,
            refused: None,
        }
    }

    /// Prints the whole document. With a reason why it cannot be strict, the rewrite is of no use.
    pub(super) fn print(mut self) -> (Rewrite, Option<NotStrict>) {
        let reading = self.reading;
        let mut schema = self.whole();
        if let Some(circle) = self.definitions.circle.filter(|_| self.dialect != Dialect::OpenAi) {
            self.refuse(reading.origin(circle), "a schema that leads back to itself");
        }
        let mut definitions = Map::new();
        while let Some((id, name)) = self.definitions.next() {
            let definition = self.shape(id, Place { schemas: reading.origin(id), name: "" }, true);
            definitions.insert(name, definition.into());
        }
        definitions.sort_keys();
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), definitions.into());
        }
        let mut schema = Value::Object(schema);
        if self.refused.is_none() {
            self.find_lost();
            hoist(&mut schema);
        }
        let size = Size::of(&schema);
        if let Some(why) = size.excess().filter(|_| self.dialect == Dialect::OpenAi) {
            self.refuse_at(String::new(), why);
        }
        let (lost, renamed) = (distinct(&self.lost, |lost| lost), distinct(&self.renamed, |renamed| renamed));
        (Rewrite { schema, is_strict: self.is_strict, lost, renamed, load: size.load }, self.refused)
    }

    /// Refuses a schema that strict mode cannot express; a loose schema is weaker.
    pub(super) fn refuse(&mut self, place: &[SchemaId], why: &str) {
        self.refuse_at(self.reading.pointer(place), why);
    }

    fn refuse_at(&mut self, pointer: String, why: &str) {
        if self.is_strict && self.refused.is_none() {
            self.refused = Some(NotStrict { pointer, why: why.to_owned() });
        }
    }

    /// Returns `true` for strict schemas of OpenAI, which have no optional properties.
    pub(super) fn must_send_all(&self) -> bool {
        self.is_strict && self.dialect == Dialect::OpenAi
    }

    pub(super) fn slot(&mut self, slot: Slot, place: Place<'_>, or_null: bool) -> Keywords {
        let schemas = if place.schemas.is_empty() { self.reading.origin(slot.shape) } else { place.schemas };
        let schema = self.referred(slot.shape, Place { schemas, ..place }, true);
        if slot.nullable || or_null { with_null(schema) } else { schema }
    }

    /// Prints a shape, or a reference to it with the keywords of its place. Only JSON Schema itself takes siblings of
    /// `$ref`.
    fn referred(&mut self, id: ShapeId, place: Place<'_>, is_described: bool) -> Keywords {
        let Some(reference) = self.definitions.references.get(&id).cloned() else {
            return self.inside(id, place, is_described);
        };
        let kinds = kinds_of(self.reading.shape(id));
        let target = self.reading.holding(self.reading.origin(id), kinds);
        let mut own = self.reading.holding(place.schemas, kinds);
        own.retain(|schema| !target.contains(schema));
        let mut beside = Map::new();
        self.note(&mut beside, &own, kinds, place.name, false);
        let is_circular = self.definitions.circle.is_some();
        let is_anthropic = self.dialect == Dialect::Anthropic;
        let is_repeated = self.printed < MOST_REPEATED && self.depth < DEEPEST_REPEATED;
        if is_anthropic && !beside.is_empty() && !is_circular && is_repeated {
            return self.inside(id, place, true);
        }
        self.definitions.ask(id);
        let reference = keyword("$ref", reference);
        if beside.is_empty() || (is_anthropic && self.is_strict) {
            return reference;
        }
        keyword("anyOf", json!([reference])).into_iter().chain(beside).collect()
    }

    fn inside(&mut self, id: ShapeId, place: Place<'_>, is_described: bool) -> Keywords {
        self.depth += 1;
        let schema = self.shape(id, place, is_described);
        self.depth -= 1;
        schema
    }

    pub(super) fn shape(&mut self, id: ShapeId, place: Place<'_>, is_described: bool) -> Keywords {
        self.printed += 1;
        if self.printed > MOST_PRINTED {
            self.refuse(place.schemas, "the schemas combine to too much");
        }
        if self.printed > MOST_PRINTED || self.refused.is_some() {
            return Map::new();
        }
        let reading = self.reading;
        let shape = reading.shape(id);
        let mut schema = match shape {
            Shape::Anything | Shape::Opaque => {
                let kinds = reading.kinds_of(&reading.holding(place.schemas, Kinds::ALL));
                self.of_kinds(if kinds == Kinds::NONE { Kinds::ALL } else { kinds }, place)
            }
            Shape::AnyOf(kinds) => self.of_kinds(*kinds, place),
            Shape::Null | Shape::Boolean | Shape::I64 | Shape::U64 | Shape::Number | Shape::Text => {
                typed_as(shape.kinds())
            }
            Shape::TextEnum(values) => self.listed(values.iter().cloned().map(Value::from).collect(), place),
            Shape::LiteralEnum(values) => self.listed(values.clone(), place),
            Shape::List(item) => {
                if reading.is_anything(item.shape) && reading.origin(item.shape).is_empty() {
                    self.refuse(place.schemas, "items of any kind");
                }
                typed("array", "items", self.slot(*item, Place::default(), false))
            }
            Shape::Tuple(items) => self.tuple(items, place),
            Shape::Prefixed(items, rest) => {
                let all: Vec<Slot> = items.iter().chain(rest).copied().collect();
                self.by_place(&all, place, |_| Some(json!([items.len()])))
            }
            Shape::Map(value) => {
                if self.dialect != Dialect::Gemini {
                    self.refuse(place.schemas, "an object of any keys");
                }
                typed("object", "additionalProperties", self.slot(*value, Place::default(), false))
            }
            Shape::FreeMap => {
                self.refuse(place.schemas, "an object of any keys");
                typed_as(Kinds::OBJECT)
            }
            Shape::Struct(object) => self.object(id, object, place),
            Shape::Union(union) => self.union(id, union),
            Shape::Named(inner) => {
                let schema = self.shape(inner.shape, place, is_described);
                return if inner.nullable { with_null(schema) } else { schema };
            }
        };
        let kinds = kinds_of(shape);
        let holding = reading.holding(place.schemas, kinds);
        let is_listed = matches!(shape, Shape::TextEnum(_) | Shape::LiteralEnum(_));
        if is_listed {
            self.said.extend(reading.constraints(&holding, kinds).into_iter().map(|it| (it.schema, it.keyword)));
        }
        if is_described || matches!(shape, Shape::Anything | Shape::Opaque | Shape::AnyOf(_)) {
            self.note(&mut schema, &holding, if is_listed { Kinds::NULL } else { kinds }, place.name, true);
        } else {
            self.constrain(&mut schema, &reading.holding(reading.origin(id), kinds), kinds, true);
        }
        schema
    }

    fn of_kinds(&mut self, kinds: Kinds, place: Place<'_>) -> Keywords {
        if kinds.intersects(Kinds::ARRAY | Kinds::OBJECT) {
            self.refuse(place.schemas, "any value");
        }
        if kinds == Kinds::ALL { Map::new() } else { typed_as(kinds) }
    }

    fn listed(&mut self, values: Vec<Value>, place: Place<'_>) -> Keywords {
        let kinds = Kinds::of_all(&values);
        let has_nested = kinds.intersects(Kinds::ARRAY | Kinds::OBJECT);
        if has_nested {
            self.refuse(place.schemas, "listed values that are objects or arrays");
        }
        let mut schema = typed_as(kinds);
        if self.dialect == Dialect::Gemini && (values.len() > GEMINI_ENUM || has_nested) {
            self.refuse(place.schemas, "more listed values than are taken");
            self.lose(place.schemas, "enum", &values.into());
        } else {
            schema.insert("enum".to_owned(), values.into());
        }
        schema
    }

    /// Prints a tuple. No provider takes items by position, so it becomes a list of that length with any of the items.
    fn tuple(&mut self, items: &[Slot], place: Place<'_>) -> Keywords {
        let length = Value::from(items.len());
        let mut lengths = vec!["minItems", "maxItems"];
        lengths.retain(|keyword| takes(self.dialect, self.is_strict, keyword, &length));
        let is_said = lengths.len() == 2;
        let mut schema = self.by_place(items, place, |kinds| (kinds > 1 || !is_said).then(|| json!([length, kinds])));
        schema.extend(lengths.into_iter().map(|keyword| (keyword.to_owned(), length.clone())));
        schema
    }

    /// Returns an array of any of these items in any position. `lost` describes the lost information, given the number
    /// of kinds.
    fn by_place(&mut self, items: &[Slot], place: Place<'_>, lost: impl FnOnce(usize) -> Option<Value>) -> Keywords {
        let mut printed: Vec<Value> = Vec::new();
        for &item in items {
            if self.reading.is_anything(item.shape) {
                self.refuse(place.schemas, "items of any kind");
            }
            let item = Value::Object(self.slot(item, Place::default(), false));
            if !printed.contains(&item) {
                printed.push(item);
            }
        }
        let mut schema = keyword("type", "array");
        let words = lost(printed.len()).and_then(|value| self.lose(place.schemas, "prefixItems", &value));
        schema.extend(words.map(|words| ("description".to_owned(), words.into())));
        let item = if printed.len() == 1 { printed.pop() } else { Some(json!({ "anyOf": printed })) };
        schema.insert("items".to_owned(), item.unwrap_or_default());
        schema
    }

    fn union(&mut self, id: ShapeId, union: &UnionShape) -> Keywords {
        let mut printed: Vec<Value> = Vec::new();
        for branch in &union.branches {
            let schemas = self.reading.origin(branch.shape);
            let is_described = schemas != self.reading.origin(id);
            let branch = self.referred(branch.shape, Place { schemas, name: "" }, is_described);
            printed.extend(alternatives(branch.into()));
        }
        let printed = distinct(&printed, ToString::to_string);
        let plain = |branch: &Value| branch.as_object().filter(|it| it.len() == 1)?.get("type").cloned();
        let types: Option<Vec<Value>> = printed.iter().map(plain).collect();
        match types.filter(|types| types.iter().all(|name| name.is_string() && is_plain(name))) {
            Some(types) => keyword("type", types),
            None => keyword("anyOf", printed),
        }
    }

    /// Adds the assertions of schemas beside a shape, and their descriptions.
    fn note(&mut self, schema: &mut Keywords, from: &[SchemaId], kinds: Kinds, name: &str, has_place: bool) {
        let reading = self.reading;
        let mut words = self.constrain(schema, from, kinds, has_place);
        words.extend(reading.hints(from));
        if let Some(value) = reading.default(from) {
            if has_place && !self.must_send_all() {
                schema.insert("default".to_owned(), value.clone());
            } else {
                words.extend(words::of("default", value));
            }
        }
        let mut words = distinct(&words, |words| words);
        // The description that the object has for its keys.
        if let Some(Value::String(known)) = schema.remove("description") {
            words.insert(0, known);
        }
        describe(schema, reading.description(from, name), &words);
    }

    /// Adds assertions as keywords that the provider accepts, and returns the rest in words.
    fn constrain(&mut self, schema: &mut Keywords, from: &[SchemaId], kinds: Kinds, has_place: bool) -> Vec<String> {
        let mut words = Vec::new();
        for Constraint { schema: id, keyword, value } in self.reading.constraints(from, kinds) {
            let (bound, limit) = self.inclusive(keyword, &value, kinds);
            let is_taken = has_place && takes(self.dialect, self.is_strict, bound, &limit);
            self.said.insert((id, keyword));
            if !(is_taken && tighten(schema, bound, limit)) {
                words.extend(self.lose(&[id], keyword, &value));
            }
        }
        words
    }

    /// Makes the exclusive bounds of integers inclusive, because Gemini has no exclusive bounds.
    fn inclusive(&self, keyword: &'static str, value: &Value, kinds: Kinds) -> (&'static str, Value) {
        let (bound, step) = match keyword {
            "exclusiveMinimum" if self.dialect == Dialect::Gemini && kinds == Kinds::INTEGER => ("minimum", 1),
            "exclusiveMaximum" if self.dialect == Dialect::Gemini && kinds == Kinds::INTEGER => ("maximum", -1),
            _ => return (keyword, value.clone()),
        };
        let next = value.as_i64().and_then(|value| value.checked_add(step));
        next.map_or_else(|| (keyword, value.clone()), |next| (bound, next.into()))
    }

    /// Records a keyword of a place that the schema cannot express, and returns it in words.
    pub(super) fn lose(&mut self, place: &[SchemaId], keyword: &str, value: &Value) -> Option<String> {
        let schema = place.first()?;
        let words = words::of(keyword, value);
        self.lose_as(*schema, keyword, words.clone());
        words
    }

    fn lose_as(&mut self, schema: SchemaId, keyword: &str, words: Option<String>) {
        self.lost.push(Lost { pointer: self.reading.pointer(&[schema]), keyword: keyword.to_owned(), words });
    }

    /// Finds the assertions that no place of the printed schema contains, and each `oneOf` with branches that a value
    /// may fit both of: as `anyOf` it means something else.
    fn find_lost(&mut self) {
        let reading = self.reading;
        for id in reading.reachable() {
            for Constraint { schema: id, keyword, .. } in reading.constraints(&[id], Kinds::ALL) {
                if self.said.insert((id, keyword)) {
                    self.lose_as(id, keyword, None);
                }
            }
            let mut choices = reading.node(id).choices.iter().filter(|choice| choice.is_exclusive);
            if !choices.all(|choice| reading.exclude_each_other(id, &choice.branches)) {
                self.lose_as(id, "oneOf", None);
                let pointer = format!("{}/oneOf", reading.pointer(&[id]));
                self.refuse_at(pointer, "branches of `oneOf` that a value may fit several of");
            }
        }
    }
}

/// Returns a schema of one keyword.
pub(super) fn keyword(name: &str, value: impl Into<Value>) -> Keywords {
    Map::from_iter([(name.to_owned(), value.into())])
}

/// Returns a schema of a type, with another keyword.
pub(super) fn typed(name: &str, keyword: &str, value: impl Into<Value>) -> Keywords {
    Map::from_iter([("type".to_owned(), name.into()), (keyword.to_owned(), value.into())])
}

/// Returns a schema of any value of these kinds.
pub(super) fn typed_as(kinds: Kinds) -> Keywords {
    let names = kinds.names();
    let mut schema = keyword("type", if let [only] = names.as_slice() { (*only).into() } else { Value::from(names) });
    if kinds.has(Kinds::ARRAY) {
        schema.insert("items".to_owned(), json!({}));
    }
    schema
}

fn kinds_of(shape: &Shape) -> Kinds {
    if matches!(shape, Shape::LiteralEnum(_)) { Kinds::ALL } else { shape.kinds() }
}

/// Returns `true` for the name of a type whose values have no parts.
fn is_plain(name: &Value) -> bool {
    name != "object" && name != "array"
}

/// Returns the alternatives of a schema that is nothing but a choice, or the schema as the only one.
pub(super) fn alternatives(mut schema: Value) -> Vec<Value> {
    let is_choice = schema.as_object().is_some_and(|keywords| keywords.len() == 1);
    match schema.get_mut("anyOf") {
        Some(Value::Array(branches)) if is_choice => std::mem::take(branches),
        _ => vec![schema],
    }
}

/// Adds `null` to a schema.
fn with_null(mut schema: Keywords) -> Keywords {
    let null = Value::Object(typed_as(Kinds::NULL));
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.contains(&null) {
            branches.push(null);
        }
        return schema;
    }
    let mut names = match schema.get("type") {
        Some(Value::Array(names)) => names.clone(),
        Some(name) => vec![name.clone()],
        None if schema.contains_key("$ref") => Vec::new(),
        // Anything.
        None => return schema,
    };
    if names.is_empty() || !names.iter().all(is_plain) {
        let description = schema.remove("description");
        let mut either = keyword("anyOf", vec![schema.into(), null]);
        either.extend(description.map(|text| ("description".to_owned(), text)));
        return either;
    }
    if !names.contains(&"null".into()) {
        names.push("null".into());
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    schema.insert("type".to_owned(), names.into());
    schema
}

/// Adds a bound to a schema, and keeps the tighter of two bounds. Returns `false` if they cannot be compared.
fn tighten(schema: &mut Keywords, keyword: &str, value: Value) -> bool {
    let known = schema.get(keyword);
    let is_tighter = match known.map(|known| (known.as_f64(), value.as_f64())) {
        None => true,
        Some((Some(old), Some(new))) if keyword.starts_with("min") || keyword == "exclusiveMinimum" => new > old,
        Some((Some(old), Some(new))) if keyword.starts_with("max") || keyword == "exclusiveMaximum" => new < old,
        _ => return known == Some(&value),
    };
    if is_tighter {
        schema.insert(keyword.to_owned(), value);
    }
    true
}
