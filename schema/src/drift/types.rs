//! The values that generated types send and read, as a schema (`schema_of`), and the values that arguments send at a
//! position (`Sent`). Types of results are tolerant: they ignore bounds, patterns and undeclared keys, and read
//! unlisted strings. `Sent` leaves out keys without a field.

use serde_json::{Map, Value, json};

use crate::names::Enumeration;
use crate::shape::{Presence, Shape, ShapeId, Shapes, Slot, StructShape, UnionShape, Unknown};
use crate::{Document, Kinds, Role};

/// A double holds every integer up to here.
const EXACT: i64 = 1 << 53;
/// A double holds every 64-bit multiple of this number, and every greater double is such a multiple.
const EXACT_BEYOND: i64 = 1 << 11;

/// Returns whether a type takes unlisted strings. A constant does not, because it distinguishes branches.
pub(super) fn enumeration(role: Role, values: &[String]) -> Enumeration {
    if role == Role::Output && values.len() > 1 { Enumeration::Open } else { Enumeration::Closed }
}

/// Returns the schema of the values that the types of a document send without a change, or read.
pub(super) fn schema_of(document: &Document<'_>) -> Value {
    let mut types = Types { document, pending: Vec::new(), definitions: Map::new() };
    let root = types.slot(Slot { shape: document.root, nullable: false });
    while let Some(slot) = types.pending.pop() {
        let definition = types.definition(slot);
        types.definitions.insert(name(slot), definition);
    }
    object_of(vec![("allOf", vec![root].into()), ("$defs", types.definitions.into())])
}

struct Types<'d> {
    document: &'d Document<'d>,
    /// The definitions that are yet to be written.
    pending: Vec<Slot>,
    /// The requested definitions; `null` until they are written.
    definitions: Map<String, Value>,
}

/// Returns an object with these members.
fn object_of(members: Vec<(&str, Value)>) -> Value {
    let mut object = Map::new();
    for (key, value) in members {
        object.insert(key.to_owned(), value);
    }
    object.into()
}

/// Returns the name of the definition of a slot.
fn name(slot: Slot) -> String {
    format!("{}{}", slot.shape.index(), if slot.nullable { "-or-null" } else { "" })
}

impl Types<'_> {
    fn slot(&mut self, slot: Slot) -> Value {
        let name = name(slot);
        let reference = format!("#/$defs/{name}");
        if !self.definitions.contains_key(&name) {
            self.definitions.insert(name, Value::Null);
            self.pending.push(slot);
        }
        object_of(vec![("$ref", reference.into())])
    }

    fn slots(&mut self, slots: &[Slot]) -> Value {
        slots.iter().map(|slot| self.slot(*slot)).collect()
    }

    /// Returns `true` for the types of arguments.
    fn sends(&self) -> bool {
        self.document.role == Role::Input
    }

    fn definition(&mut self, slot: Slot) -> Value {
        let shape = self.document.shapes.get(slot.shape);
        let mut said = match shape {
            Shape::Named(inner) => {
                return self.slot(Slot { nullable: inner.nullable || slot.nullable, ..*inner });
            }
            Shape::Union(UnionShape { tag: None, branches }) => {
                let branches = branches.iter().map(|branch| self.slot(Slot { shape: branch.shape, nullable: false }));
                let mut branches: Vec<Value> = branches.collect();
                branches.extend(slot.nullable.then(|| json!({ "type": "null" })));
                return object_of(vec![("anyOf", branches.into())]);
            }
            Shape::Union(union) => self.tagged(union),
            Shape::Struct(object) => self.object(object),
            Shape::I64 => object_of(vec![("minimum", i64::MIN.into()), ("maximum", i64::MAX.into())]),
            Shape::U64 => object_of(vec![("minimum", 0.into()), ("maximum", u64::MAX.into())]),
            Shape::Number if self.sends() => {
                let near = object_of(vec![("minimum", (-EXACT).into()), ("maximum", EXACT.into())]);
                let beyond = object_of(vec![("multipleOf", EXACT_BEYOND.into())]);
                object_of(vec![("anyOf", vec![near, beyond].into())])
            }
            Shape::TextEnum(values) if enumeration(self.document.role, values) == Enumeration::Closed => {
                object_of(vec![("enum", values.clone().into())])
            }
            Shape::LiteralEnum(values) => object_of(vec![("enum", values.clone().into())]),
            Shape::List(item) => object_of(vec![("items", self.slot(*item))]),
            Shape::Tuple(items) => {
                let (slots, count) = (self.slots(items), items.len());
                object_of(vec![("prefixItems", slots), ("minItems", count.into()), ("maxItems", count.into())])
            }
            Shape::Prefixed(items, rest) => {
                let rest = rest.map_or(Value::Bool(false), |rest| self.slot(rest));
                object_of(vec![("prefixItems", self.slots(items)), ("items", rest)])
            }
            Shape::Map(value) => object_of(vec![("additionalProperties", self.slot(*value))]),
            _ => object_of(Vec::new()),
        };
        let kinds = if matches!(shape, Shape::Union(_)) { Kinds::OBJECT } else { shape.kinds() };
        let kinds = if slot.nullable { kinds | Kinds::NULL } else { kinds };
        if let Value::Object(said) = &mut said {
            if let Some(Value::Array(values)) = said.get_mut("enum") {
                values.extend(slot.nullable.then_some(Value::Null));
            }
            said.insert("type".to_owned(), kinds.names().into());
        }
        said
    }

    fn object(&mut self, object: &StructShape) -> Value {
        let mut properties = Map::from_iter(object.tag.iter().map(|tag| (tag.clone(), true.into())));
        for field in &object.fields {
            let nullable = match field.presence {
                // `null` is read as absence, and absence is sent for it.
                Presence::Optional => !self.sends(),
                Presence::Required | Presence::OptionalOrNull => field.slot.nullable,
            };
            properties.insert(field.wire.clone(), self.slot(Slot { nullable, ..field.slot }));
        }
        let required = object.fields.iter().filter(|field| field.presence == Presence::Required);
        let required: Vec<Value> = required.map(|field| field.wire.as_str().into()).collect();
        let mut all = Vec::new();
        for sets in &object.require_any {
            let required = |set: &Vec<String>| object_of(vec![("required", set.clone().into())]);
            let sets: Vec<Value> = sets.iter().map(required).collect();
            all.push(object_of(vec![("anyOf", sets.into())]));
        }
        let mut said =
            vec![("properties", properties.into()), ("required", required.into()), ("allOf", Value::Array(all))];
        let others = match object.unknown {
            Unknown::Keep(slot) => Some(self.slot(slot)),
            Unknown::Ignore | Unknown::Deny => self.sends().then_some(false.into()),
        };
        said.extend(others.map(|others| ("additionalProperties", others)));
        object_of(said)
    }

    /// Returns the schema of a union whose branches a property distinguishes. Results with an unlisted tag are read as
    /// plain values.
    fn tagged(&mut self, union: &UnionShape) -> Value {
        let Some(tag) = &union.tag else { return json!({}) };
        let name = tag.name.as_str();
        let required = || Value::from(vec![name]);
        let (mut values, mut branches): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        for branch in &union.branches {
            let value = tag.value(branch.tag.as_deref().unwrap_or_default());
            let tagged = object_of(vec![(name, object_of(vec![("const", value.clone())]))]);
            let is_meant = vec![("type", "object".into()), ("properties", tagged), ("required", required())];
            let then = self.slot(Slot { shape: branch.shape, nullable: false });
            branches.push(object_of(vec![("if", object_of(is_meant)), ("then", then)]));
            values.push(value);
        }
        let kinds = if tag.is_text { Kinds::STRING } else { Kinds::ALL.without(Kinds::STRING) };
        let listed = if self.sends() { ("enum", values.into()) } else { ("type", kinds.names().into()) };
        let tagged = object_of(vec![(name, object_of(vec![listed]))]);
        object_of(vec![("properties", tagged), ("required", required()), ("allOf", branches.into())])
    }
}

/// The values that are sent at a position: those that the shapes print, and `null` if it is nullable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    shapes: Vec<ShapeId>,
    is_nullable: bool,
}

impl Sent {
    /// Returns the types of a place that may have any JSON.
    pub(super) fn anything() -> Self {
        Self { shapes: vec![ShapeId::ANYTHING], is_nullable: true }
    }

    /// Returns all that a document's types print.
    pub(super) fn by(document: &Document<'_>) -> Self {
        Self { shapes: vec![document.root], is_nullable: false }
    }

    /// Returns `true` if `null` may be sent.
    pub(super) fn may_be_null(&self, shapes: &Shapes) -> bool {
        self.is_nullable || self.shapes.iter().any(|shape| shapes.takes_null(Slot { shape: *shape, nullable: false }))
    }

    /// Returns the types under a key, or under all undeclared keys; `None` if nothing is ever sent there.
    pub(super) fn property(&self, shapes: &Shapes, key: Option<&str>) -> Option<Self> {
        self.below(shapes, &|shape| match shape {
            Shape::Struct(object) if key.is_some() && object.tag.as_deref() == key => Some(Slot::ANYTHING),
            Shape::Struct(object) => match key.and_then(|key| object.field(key)) {
                // If `null` means absence, it is sent as absence.
                Some(field) => {
                    let nullable = field.slot.nullable && field.presence != Presence::Optional;
                    Some(Slot { nullable, ..field.slot })
                }
                None => object.unknown.kept(),
            },
            Shape::Map(slot) => Some(*slot),
            shape => shape.kinds().has(Kinds::OBJECT).then_some(Slot::ANYTHING),
        })
    }

    /// Returns the types at an index.
    pub(super) fn item(&self, shapes: &Shapes, index: usize) -> Option<Self> {
        self.below(shapes, &|shape| match shape {
            shape if shape.is_array() => shape.item(index),
            shape => shape.kinds().has(Kinds::ARRAY).then_some(Slot::ANYTHING),
        })
    }

    fn below(&self, shapes: &Shapes, step: &dyn Fn(&Shape) -> Option<Slot>) -> Option<Self> {
        let (mut found, mut is_nullable) = (Vec::new(), false);
        for slot in shapes.leaves(&self.shapes).into_iter().filter_map(|id| step(shapes.get(id))) {
            if matches!(shapes.get(slot.shape), Shape::Anything) {
                return Some(Self::anything());
            }
            if let Err(place) = found.binary_search(&slot.shape) {
                found.insert(place, slot.shape);
            }
            is_nullable |= slot.nullable;
        }
        (!found.is_empty()).then_some(Self { shapes: found, is_nullable })
    }
}
