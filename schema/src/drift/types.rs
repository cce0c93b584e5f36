//! The values of generated types. As a schema: those that the types of arguments send, and those that the types of
//! results read. The types of results are tolerant: they ignore bounds, patterns and undeclared keys, and read unlisted
//! strings. And by place: those that the types of arguments send, which leave out the keys without a field.

use std::collections::HashSet;

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
    let root = Slot { shape: document.root, nullable: false };
    let mut types = Types { document, pending: Vec::new(), known: HashSet::new() };
    let mut schema = Map::from_iter([("allOf".to_owned(), json!([types.slot(root)]))]);
    let mut definitions = Map::new();
    while let Some(slot) = types.pending.pop() {
        definitions.insert(name(slot), types.definition(slot));
    }
    schema.insert("$defs".to_owned(), definitions.into());
    schema.into()
}

struct Types<'d> {
    document: &'d Document<'d>,
    /// The definitions that are yet to be written.
    pending: Vec<Slot>,
    known: HashSet<Slot>,
}

/// Returns the name of the definition of a slot.
fn name(slot: Slot) -> String {
    format!("{}{}", slot.shape.index(), if slot.nullable { "-or-null" } else { "" })
}

impl Types<'_> {
    fn slot(&mut self, slot: Slot) -> Value {
        if self.known.insert(slot) {
            self.pending.push(slot);
        }
        json!({ "$ref": format!("#/$defs/{}", name(slot)) })
    }

    fn slots(&mut self, slots: &[Slot]) -> Vec<Value> {
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
                let null = slot.nullable.then(|| json!({ "type": "null" }));
                return json!({ "anyOf": branches.chain(null).collect::<Vec<_>>() });
            }
            Shape::Union(union) => self.tagged(union),
            Shape::Struct(object) => self.object(object),
            Shape::I64 => json!({ "minimum": i64::MIN, "maximum": i64::MAX }),
            Shape::U64 => json!({ "minimum": 0, "maximum": u64::MAX }),
            Shape::Number if self.sends() => {
                json!({ "anyOf": [{ "minimum": -EXACT, "maximum": EXACT }, { "multipleOf": EXACT_BEYOND }] })
            }
            Shape::TextEnum(values) if enumeration(self.document.role, values) == Enumeration::Closed => {
                json!({ "enum": values })
            }
            Shape::LiteralEnum(values) => json!({ "enum": values }),
            Shape::List(item) => json!({ "items": self.slot(*item) }),
            Shape::Tuple(items) => {
                json!({ "prefixItems": self.slots(items), "minItems": items.len(), "maxItems": items.len() })
            }
            Shape::Prefixed(items, rest) => {
                let rest = rest.map_or(Value::Bool(false), |rest| self.slot(rest));
                json!({ "prefixItems": self.slots(items), "items": rest })
            }
            Shape::Map(value) => json!({ "additionalProperties": self.slot(*value) }),
            _ => json!({}),
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
        let required: Vec<&str> = required.map(|field| field.wire.as_str()).collect();
        let sets = object.require_any.iter().map(|sets| {
            let sets: Vec<Value> = sets.iter().map(|set| json!({ "required": set })).collect();
            json!({ "anyOf": sets })
        });
        let mut said = Map::from_iter([
            ("properties".to_owned(), properties.into()),
            ("required".to_owned(), required.into()),
            ("allOf".to_owned(), sets.collect()),
        ]);
        let others = match object.unknown {
            Unknown::Keep(slot) => Some(self.slot(slot)),
            Unknown::Ignore | Unknown::Deny => self.sends().then_some(false.into()),
        };
        said.extend(others.map(|others| ("additionalProperties".to_owned(), others)));
        said.into()
    }

    /// Returns the schema of a union whose branches a property distinguishes. Results with an unlisted tag are read as
    /// plain values.
    fn tagged(&mut self, union: &UnionShape) -> Value {
        let Some(tag) = &union.tag else { return json!({}) };
        let name = &tag.name;
        let values = || union.branches.iter().map(|branch| tag.value(branch.tag.as_deref().unwrap_or_default()));
        let kinds = if tag.is_text { Kinds::STRING } else { Kinds::ALL.without(Kinds::STRING) };
        let listed = if self.sends() {
            json!({ "enum": values().collect::<Vec<_>>() })
        } else {
            json!({ "type": kinds.names() })
        };
        let branches = union.branches.iter().zip(values()).map(|(branch, value)| {
            let is_meant = json!({ "type": "object", "properties": { name: { "const": value } }, "required": [name] });
            json!({ "if": is_meant, "then": self.slot(Slot { shape: branch.shape, nullable: false }) })
        });
        let branches: Vec<Value> = branches.collect();
        json!({ "properties": { name: listed }, "required": [name], "allOf": branches })
    }
}

/// The types of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    /// Any JSON.
    Anything,
    /// The values that these shapes print, and `null` if `null` is set.
    Shapes { shapes: Vec<ShapeId>, null: bool },
}

impl Sent {
    /// Returns all that a document's types print.
    pub(super) fn by(document: &Document<'_>) -> Self {
        Self::Shapes { shapes: vec![document.root], null: false }
    }

    /// Returns `true` if `null` may be sent.
    pub(super) fn null(&self, shapes: &Shapes) -> bool {
        let Self::Shapes { shapes: ids, null } = self else { return true };
        *null || ids.iter().any(|shape| shapes.takes_null(Slot { shape: *shape, nullable: false }))
    }

    /// Returns the types under a key, or under all undeclared keys; `None` if nothing is ever sent there.
    pub(super) fn property(&self, shapes: &Shapes, key: Option<&str>) -> Option<Self> {
        self.below(shapes, |shape| match shape {
            Shape::Struct(object) if key.is_some() && object.tag.as_deref() == key => Some(Below::Anything),
            Shape::Struct(object) => match key.and_then(|key| object.field(key)) {
                // If `null` means absence, it is sent as absence.
                Some(field) => {
                    let nullable = field.slot.nullable && field.presence != Presence::Optional;
                    Some(Below::Slot(Slot { nullable, ..field.slot }))
                }
                None => object.unknown.kept().map(Below::Slot),
            },
            Shape::Map(slot) => Some(Below::Slot(*slot)),
            shape => anything(shape, Kinds::OBJECT),
        })
    }

    /// Returns the types at an index.
    pub(super) fn item(&self, shapes: &Shapes, index: usize) -> Option<Self> {
        self.below(shapes, |shape| shape.item(index).map(Below::Slot).or_else(|| anything(shape, Kinds::ARRAY)))
    }

    fn below(&self, shapes: &Shapes, step: impl Fn(&Shape) -> Option<Below>) -> Option<Self> {
        let Self::Shapes { shapes: ids, .. } = self else { return Some(Self::Anything) };
        let mut found = Vec::new();
        let mut null = false;
        for below in shapes.leaves(ids).into_iter().filter_map(|id| step(shapes.get(id))) {
            let Below::Slot(slot) = below else { return Some(Self::Anything) };
            found.push(slot.shape);
            null |= slot.nullable;
        }
        found.sort_unstable();
        found.dedup();
        (!found.is_empty()).then_some(Self::Shapes { shapes: found, null })
    }
}

enum Below {
    Anything,
    Slot(Slot),
}

fn anything(shape: &Shape, kind: Kinds) -> Option<Below> {
    let is_anything = match shape {
        Shape::Anything | Shape::LiteralEnum(_) => true,
        Shape::FreeMap => kind == Kinds::OBJECT,
        Shape::AnyOf(kinds) => kinds.has(kind),
        _ => false,
    };
    is_anything.then_some(Below::Anything)
}
