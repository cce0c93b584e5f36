//! Shapes printed as schemas of a provider.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::definitions::Definitions;
use super::limits;
use super::names::Aliases;
use super::notes::{Constraint, tighten};
use super::rewrite::{Dialect, Lost, NotStrict, Renamed, Rewrite};
use super::subset::{GEMINI_ENUM, takes};
use super::words;
use crate::drift::version::Version;
use crate::normalize::{Kinds, SchemaId};
use crate::number::distinct;
use crate::shape::{Shape, ShapeId, Slot, UnionShape};

/// Larger schemas are not printed whole.
const MOST_PRINTED: usize = 20_000;
/// The number of printed schemas up to which a schema is repeated in place of a reference, to keep its keywords.
const MOST_REPEATED: usize = 2_000;

pub(super) type Printed = Result<Map<String, Value>, NotStrict>;

pub(super) struct Printer<'r, 'a> {
    pub(super) reading: &'r Version<'a>,
    pub(super) dialect: Dialect,
    pub(super) is_strict: bool,
    pub(super) root: ShapeId,
    definitions: Definitions,
    /// The values of the tags of branches.
    pub(super) tags: HashMap<ShapeId, Value>,
    /// The assertions that the printed schema contains.
    said: HashSet<(SchemaId, &'static str)>,
    lost: Vec<Lost>,
    pub(super) renamed: Vec<Renamed>,
    pub(super) aliases: Aliases,
    printed: usize,
}

/// A place in the document, with its name.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'p> {
    pub(super) schemas: &'p [SchemaId],
    pub(super) name: &'p str,
}

impl<'r, 'a> Printer<'r, 'a> {
    pub(super) fn new(reading: &'r Version<'a>, dialect: Dialect, is_strict: bool) -> Self {
        let root = reading.document.root;
        let mut tags = HashMap::new();
        for id in reading.shapes().ids() {
            let Shape::Union(UnionShape { tag: Some(key), branches }) = reading.shape(id) else { continue };
            for branch in branches {
                tags.insert(branch.shape, key.value(branch.tag.as_deref().unwrap_or_default()));
            }
        }
        Self {
            reading,
            dialect,
            is_strict,
            root,
            definitions: Definitions::of(reading, root),
            tags,
            said: HashSet::new(),
            lost: Vec::new(),
            renamed: Vec::new(),
            aliases: reading.aliases(),
            printed: 0,
        }
    }

    pub(super) fn print(mut self) -> Result<Rewrite, NotStrict> {
        let mut schema = self.whole()?;
        if let Some(circle) = self.definitions.circle.filter(|_| self.is_strict && self.dialect != Dialect::OpenAi) {
            return Err(NotStrict::new(self.reading.pointer(circle), "a schema that leads back to itself"));
        }
        let mut definitions = Vec::new();
        while let Some((id, name)) = self.definitions.next() {
            let place = Place { schemas: self.reading.origin(id), name: "" };
            definitions.push((name, Value::Object(self.shape(id, place, true)?)));
        }
        definitions.sort_by(|(left, _), (right, _)| left.cmp(right));
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions.into_iter().collect()));
        }
        self.find_lost();
        let schema = Value::Object(schema);
        let load = limits::load(&schema);
        let (lost, renamed) = (distinct(&self.lost, |lost| lost), distinct(&self.renamed, |renamed| renamed));
        Ok(Rewrite { schema, is_strict: self.is_strict, lost, renamed, load })
    }

    /// Refuses a schema that strict mode cannot express; a loose schema is weaker.
    pub(super) fn refuse(&self, place: &[SchemaId], why: &str) -> Result<(), NotStrict> {
        if !self.is_strict {
            return Ok(());
        }
        let pointer = place.first().map(|id| self.reading.document.schemas.pointer(*id)).unwrap_or_default();
        Err(NotStrict::new(pointer, why))
    }

    pub(super) fn slot(&mut self, slot: Slot, place: Place<'_>, or_null: bool) -> Printed {
        let origin = self.reading.origin(slot.shape);
        let place = if place.schemas.is_empty() { Place { schemas: origin, ..place } } else { place };
        let schema = match self.definitions.reference(slot.shape, self.root) {
            Some(reference) => self.referred(slot.shape, reference, place)?,
            None => self.shape(slot.shape, place, true)?,
        };
        Ok(if slot.nullable || or_null { with_null(schema) } else { schema })
    }

    /// Prints a reference with the keywords of its place. Only JSON Schema itself takes siblings of `$ref`.
    fn referred(&mut self, id: ShapeId, reference: String, place: Place<'_>) -> Printed {
        let kinds = kinds_of(self.reading.shape(id));
        let target = self.reading.holding(self.reading.origin(id), kinds);
        let mut own = self.reading.holding(place.schemas, kinds);
        own.retain(|schema| !target.contains(schema));
        let mut beside = Map::new();
        self.note(&mut beside, &own, kinds, place.name, false);
        let is_circular = self.definitions.circle.is_some();
        if self.dialect == Dialect::Anthropic && !beside.is_empty() && !is_circular && self.printed < MOST_REPEATED {
            return self.shape(id, place, true);
        }
        self.definitions.ask(id);
        let mut schema = Map::from_iter([("$ref".to_owned(), Value::from(reference))]);
        let is_said = self.dialect != Dialect::Anthropic || !self.is_strict;
        if is_said && !beside.is_empty() {
            schema = Map::from_iter([("anyOf".to_owned(), json!([schema]))]);
            schema.extend(beside);
        }
        Ok(schema)
    }

    pub(super) fn shape(&mut self, id: ShapeId, place: Place<'_>, is_described: bool) -> Printed {
        self.printed += 1;
        if self.printed > MOST_PRINTED {
            self.refuse(place.schemas, "the schemas combine to too much")?;
            return Ok(Map::new());
        }
        let reading = self.reading;
        let shape = reading.shape(id);
        let mut schema = match shape {
            Shape::Anything | Shape::Opaque => {
                let kinds = reading.kinds_of(&reading.holding(place.schemas, Kinds::ALL));
                let kinds = if kinds == Kinds::NONE { Kinds::ALL } else { kinds };
                self.of_kinds(kinds, place)?
            }
            Shape::AnyOf(kinds) => self.of_kinds(*kinds, place)?,
            Shape::Null => typed("null"),
            Shape::Boolean => typed("boolean"),
            Shape::I64 | Shape::U64 => typed("integer"),
            Shape::Number => typed("number"),
            Shape::Text => typed("string"),
            Shape::TextEnum(values) => {
                self.listed(&values.iter().map(|text| text.as_str().into()).collect::<Vec<_>>(), place)?
            }
            Shape::LiteralEnum(values) => self.listed(values, place)?,
            Shape::List(item) => self.list(*item, place)?,
            Shape::Tuple(items) => self.tuple(items, place)?,
            Shape::Prefixed(items, rest) => {
                let all: Vec<Slot> = items.iter().chain(rest).copied().collect();
                self.by_place(&all, place, |_| Some(json!([items.len()])))?
            }
            Shape::Map(value) => self.map(*value, place)?,
            Shape::FreeMap => {
                self.refuse(place.schemas, "an object of any keys")?;
                typed("object")
            }
            Shape::Struct(object) => self.object(id, object, place)?,
            Shape::Union(union) => self.union(id, union)?,
            Shape::Named(inner) => {
                let schema = self.shape(inner.shape, place, is_described)?;
                return Ok(if inner.nullable { with_null(schema) } else { schema });
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
        Ok(schema)
    }

    fn of_kinds(&mut self, kinds: Kinds, place: Place<'_>) -> Printed {
        if kinds.has(Kinds::ARRAY) || kinds.has(Kinds::OBJECT) {
            self.refuse(place.schemas, "any value")?;
        }
        Ok(if kinds == Kinds::ALL { Map::new() } else { typed_as(kinds) })
    }

    fn listed(&mut self, values: &[Value], place: Place<'_>) -> Printed {
        let kinds = values.iter().map(Kinds::of).fold(Kinds::NONE, |all, kind| all | kind);
        let has_nested = kinds.intersects(Kinds::ARRAY | Kinds::OBJECT);
        if has_nested {
            self.refuse(place.schemas, "listed values that are objects or arrays")?;
        }
        let mut schema = typed_as(kinds);
        if self.dialect == Dialect::Gemini && (values.len() > GEMINI_ENUM || has_nested) {
            self.refuse(place.schemas, "more listed values than are taken")?;
            if let Some(first) = place.schemas.first() {
                self.lose(Constraint { schema: *first, keyword: "enum", value: values.into() });
            }
        } else {
            schema.insert("enum".to_owned(), values.into());
        }
        Ok(schema)
    }

    fn list(&mut self, item: Slot, place: Place<'_>) -> Printed {
        if matches!(self.reading.shape(item.shape), Shape::Anything) && self.reading.origin(item.shape).is_empty() {
            self.refuse(place.schemas, "items of any kind")?;
        }
        let item = self.slot(item, Place::default(), false)?;
        let mut schema = typed("array");
        schema.insert("items".to_owned(), Value::Object(item));
        Ok(schema)
    }

    /// Prints a tuple. No provider takes items by position, so it becomes a list of that length with any of the items.
    fn tuple(&mut self, items: &[Slot], place: Place<'_>) -> Printed {
        let lengths = ["minItems", "maxItems"];
        let length = Value::from(items.len());
        let is_said = lengths.iter().all(|keyword| takes(self.dialect, self.is_strict, keyword, &length));
        let mut schema =
            self.by_place(items, place, |kinds| (kinds > 1 || !is_said).then(|| json!([length, kinds])))?;
        for keyword in lengths {
            if takes(self.dialect, self.is_strict, keyword, &length) {
                schema.insert(keyword.to_owned(), length.clone());
            }
        }
        Ok(schema)
    }

    /// Returns an array of any of these items in any position. `lost` describes the lost information, given the number
    /// of kinds.
    fn by_place(&mut self, items: &[Slot], place: Place<'_>, lost: impl FnOnce(usize) -> Option<Value>) -> Printed {
        let mut printed: Vec<Value> = Vec::new();
        for &item in items {
            if matches!(self.reading.shape(item.shape), Shape::Anything) {
                self.refuse(place.schemas, "items of any kind")?;
            }
            let item = Value::Object(self.slot(item, Place::default(), false)?);
            if !printed.contains(&item) {
                printed.push(item);
            }
        }
        let mut schema = typed("array");
        if let (Some(value), Some(first)) = (lost(printed.len()), place.schemas.first()) {
            let words = self.lose(Constraint { schema: *first, keyword: "prefixItems", value });
            schema.extend(words.map(|words| ("description".to_owned(), words.into())));
        }
        let item = if printed.len() == 1 { printed.pop() } else { Some(json!({ "anyOf": printed })) };
        schema.insert("items".to_owned(), item.unwrap_or_default());
        Ok(schema)
    }

    fn map(&mut self, value: Slot, place: Place<'_>) -> Printed {
        if self.dialect != Dialect::Gemini {
            self.refuse(place.schemas, "an object of any keys")?;
        }
        let value = self.slot(value, Place::default(), false)?;
        let mut schema = typed("object");
        schema.insert("additionalProperties".to_owned(), Value::Object(value));
        Ok(schema)
    }

    fn union(&mut self, id: ShapeId, union: &UnionShape) -> Printed {
        let mut printed: Vec<Value> = Vec::new();
        for branch in &union.branches {
            let place = Place { schemas: self.reading.origin(branch.shape), name: "" };
            let branch = match self.definitions.reference(branch.shape, self.root) {
                Some(reference) => self.referred(branch.shape, reference, place)?,
                None => self.shape(branch.shape, place, place.schemas != self.reading.origin(id))?,
            };
            // Alternatives of alternatives are alternatives.
            match branch.get("anyOf") {
                Some(Value::Array(inner)) if branch.len() == 1 => printed.extend(inner.iter().cloned()),
                _ => printed.push(Value::Object(branch)),
            }
        }
        let printed = distinct(&printed, ToString::to_string);
        let plain =
            |branch: &Value| branch.as_object().filter(|it| it.len() == 1)?.get("type")?.as_str().map(str::to_owned);
        let types: Option<Vec<String>> = printed.iter().map(plain).collect();
        if let Some(types) = types.filter(|types| types.iter().all(|name| name != "object" && name != "array")) {
            return Ok(Map::from_iter([("type".to_owned(), types.into())]));
        }
        Ok(Map::from_iter([("anyOf".to_owned(), Value::Array(printed))]))
    }

    /// Adds the assertions of schemas beside a shape, and their descriptions.
    fn note(&mut self, schema: &mut Map<String, Value>, from: &[SchemaId], kinds: Kinds, name: &str, has_place: bool) {
        let reading = self.reading;
        let mut words = self.constrain(schema, from, kinds, has_place);
        for hint in reading.hints(from) {
            words.extend(words::of(&hint));
        }
        if let (Some(value), Some(first)) = (reading.default(from), from.first()) {
            let is_taken = has_place && (!self.is_strict || self.dialect != Dialect::OpenAi);
            if is_taken && schema.get("$ref").is_none() {
                schema.insert("default".to_owned(), value);
            } else {
                words.extend(words::of(&Constraint { schema: *first, keyword: "default", value }));
            }
        }
        let mut words = distinct(&words, |words| words);
        // The description that the object has for its keys.
        if let Some(Value::String(known)) = schema.remove("description") {
            words.insert(0, known);
        }
        if let Some(description) = words::described(reading.description(from, name), &words) {
            schema.insert("description".to_owned(), description.into());
        }
    }

    /// Adds assertions as keywords that the provider accepts, and returns the rest in words.
    fn constrain(
        &mut self,
        schema: &mut Map<String, Value>,
        from: &[SchemaId],
        kinds: Kinds,
        has_place: bool,
    ) -> Vec<String> {
        let mut words = Vec::new();
        for constraint in self.reading.constraints(from, kinds) {
            let said = (constraint.schema, constraint.keyword);
            let constraint = self.inclusive(constraint, kinds);
            let is_taken = has_place && takes(self.dialect, self.is_strict, constraint.keyword, &constraint.value);
            self.said.insert(said);
            if !(is_taken && tighten(schema, constraint.keyword, &constraint.value)) {
                words.extend(self.lose(Constraint { keyword: said.1, ..constraint }));
            }
        }
        words
    }

    /// Makes the exclusive bounds of integers inclusive, because Gemini has no exclusive bounds.
    fn inclusive(&self, constraint: Constraint, kinds: Kinds) -> Constraint {
        let next = match constraint.keyword {
            "exclusiveMinimum" => 1,
            "exclusiveMaximum" => -1,
            _ => return constraint,
        };
        match constraint.value.as_i64().and_then(|value| value.checked_add(next)) {
            Some(value) if self.dialect == Dialect::Gemini && kinds == Kinds::INTEGER => {
                Constraint { keyword: if next > 0 { "minimum" } else { "maximum" }, value: value.into(), ..constraint }
            }
            _ => constraint,
        }
    }

    pub(super) fn lose(&mut self, constraint: Constraint) -> Option<String> {
        let words = words::of(&constraint);
        self.lose_as(constraint.schema, constraint.keyword, words.clone());
        words
    }

    fn lose_as(&mut self, schema: SchemaId, keyword: &str, words: Option<String>) {
        let pointer = self.reading.document.schemas.pointer(schema).to_owned();
        self.lost.push(Lost { pointer, keyword: keyword.to_owned(), words });
    }

    /// Finds the assertions that no place of the printed schema contains.
    fn find_lost(&mut self) {
        let reading = self.reading;
        for id in reading.reachable() {
            for constraint in reading.constraints(&[id], Kinds::ALL) {
                if self.said.insert((id, constraint.keyword)) {
                    self.lose_as(id, constraint.keyword, None);
                }
            }
            if let Some(branches) = reading.node(id).one_of.as_ref().filter(|_| !self.is_strict)
                && !reading.exclude_each_other(id, branches)
            {
                self.lose_as(id, "oneOf", None);
            }
        }
    }
}

pub(super) fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

/// Returns a schema of any value of these kinds.
fn typed_as(kinds: Kinds) -> Map<String, Value> {
    let names = kinds.names();
    let names = if let [only] = names.as_slice() { (*only).into() } else { names.into() };
    let mut schema = Map::from_iter([("type".to_owned(), names)]);
    if kinds.has(Kinds::ARRAY) {
        schema.insert("items".to_owned(), json!({}));
    }
    schema
}

fn kinds_of(shape: &Shape) -> Kinds {
    if matches!(shape, Shape::LiteralEnum(_)) { Kinds::ALL } else { shape.kinds() }
}

/// Adds `null` to a schema.
pub(super) fn with_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    let null = || Value::Object(typed("null"));
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.contains(&null()) {
            branches.push(null());
        }
        return schema;
    }
    let of_type = schema.get("type").cloned();
    let mut names: Vec<Value> = match of_type {
        Some(Value::Array(names)) => names,
        Some(name) => vec![name],
        None if schema.contains_key("$ref") => Vec::new(),
        // Anything.
        None => return schema,
    };
    let is_plain = |name: &Value| name != "object" && name != "array";
    if names.is_empty() || !names.iter().all(is_plain) {
        let description = schema.remove("description");
        let mut either = Map::from_iter([("anyOf".to_owned(), Value::from(vec![Value::Object(schema), null()]))]);
        either.extend(description.map(|text| ("description".to_owned(), text)));
        return either;
    }
    if !names.contains(&"null".into()) {
        names.push("null".into());
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    if let Some(slot) = schema.get_mut("type") {
        *slot = names.into();
    }
    schema
}
