//! Reading and printing by generated types: whether they read a value, and how they print it.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use crate::number::{floor, is_integral, same};
use crate::shape::{Presence, Shape, ShapeId, Shapes, Slot, StructShape, UnionShape, Unknown};
use crate::texts::text_or_json;
use crate::{Kinds, Role};

/// The work that one value may cost.
const MOST_STEPS: usize = 20_000;

pub(super) struct Types<'s> {
    shapes: &'s Shapes,
    role: Role,
    steps: usize,
}

/// Prints a value like the types of a document, or returns `None` if they do not read it.
pub(super) fn printed(document: &crate::Document<'_>, value: &Value) -> Option<Value> {
    printed_at(document, Slot { shape: document.root, nullable: false }, value)
}

/// Prints a value as the types of one place do.
pub(super) fn printed_at(document: &crate::Document<'_>, slot: Slot, value: &Value) -> Option<Value> {
    Types { shapes: &document.shapes, role: document.role, steps: 0 }.slot(slot, value)
}

/// Returns `true` if an enumeration takes unlisted strings. A constant does not, because it distinguishes branches.
pub(super) fn is_open(role: Role, values: &[String]) -> bool {
    role == Role::Output && values.len() > 1
}

impl Types<'_> {
    fn slot(&mut self, slot: Slot, value: &Value) -> Option<Value> {
        if slot.nullable && value.is_null() { Some(Value::Null) } else { self.shape(slot.shape, value) }
    }

    fn shape(&mut self, id: ShapeId, value: &Value) -> Option<Value> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return None;
        }
        let shapes = self.shapes;
        let shape = shapes.get(id);
        match (shape, value) {
            (Shape::Anything, _) => Some(value.clone()),
            (Shape::AnyOf(kinds), _) => kinds.has(Kinds::of(value)).then(|| value.clone()),
            (Shape::Null, Value::Null) | (Shape::Boolean, Value::Bool(_)) | (Shape::FreeMap, Value::Object(_)) => {
                Some(value.clone())
            }
            (Shape::I64, Value::Number(number)) => {
                within(number, i64::MIN.into(), i64::MAX.into()).then(|| value.clone())
            }
            (Shape::U64, Value::Number(number)) => within(number, 0, u64::MAX.into()).then(|| value.clone()),
            (Shape::Number, Value::Number(number)) => is_double(number).then(|| value.clone()),
            (Shape::Text, Value::String(_)) => Some(value.clone()),
            (Shape::TextEnum(values), Value::String(text)) => {
                (is_open(self.role, values) || values.contains(text)).then(|| value.clone())
            }
            (Shape::LiteralEnum(values), _) => values.iter().any(|known| same(known, value)).then(|| value.clone()),
            (_, Value::Array(items)) if shape.has_length(items.len()) => {
                items.iter().enumerate().map(|(index, value)| self.slot(shape.item(index)?, value)).collect()
            }
            (Shape::Map(slot), Value::Object(map)) => {
                let entries = map.iter().map(|(key, value)| Some((key.clone(), self.slot(*slot, value)?)));
                entries.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            (Shape::Struct(object), Value::Object(map)) => self.object(object, map).map(Value::Object),
            (Shape::Union(union), _) => self.union_branch(union, value),
            (Shape::Named(inner), _) => self.slot(*inner, value),
            _ => None,
        }
    }

    fn object(&mut self, object: &StructShape, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut printed = Map::new();
        for field in &object.fields {
            match (field.presence, map.get(&field.wire)) {
                (Presence::Required, None) => return None,
                (Presence::Optional, Some(Value::Null)) | (_, None) => {}
                (_, Some(value)) => {
                    printed.insert(field.wire.clone(), self.slot(field.slot, value)?);
                }
            }
        }
        if let Some((tag, value)) = object.tag.as_ref().and_then(|tag| Some((tag, map.get(tag)?))) {
            printed.insert(tag.clone(), value.clone());
        }
        let known: HashSet<&str> =
            object.fields.iter().map(|field| field.wire.as_str()).chain(object.tag.as_deref()).collect();
        for (key, value) in map.iter().filter(|(key, _)| !known.contains(key.as_str())) {
            match object.unknown {
                Unknown::Keep(slot) => {
                    printed.insert(key.clone(), self.slot(slot, value)?);
                }
                Unknown::Deny if self.role == Role::Input => return None,
                Unknown::Deny | Unknown::Ignore => {}
            }
        }
        let complete = |sets: &Vec<Vec<String>>| sets.iter().any(|set| set.iter().all(|key| map.contains_key(key)));
        object.require_any.iter().all(complete).then_some(printed)
    }

    fn union_branch(&mut self, union: &UnionShape, value: &Value) -> Option<Value> {
        let Some(tag) = &union.tag else {
            let mut read: Option<Value> = None;
            for branch in &union.branches {
                match self.shape(branch.shape, value) {
                    Some(printed) if same(&printed, value) => return Some(printed),
                    printed => read = read.or(printed),
                }
            }
            return read;
        };
        let found = value.as_object()?.get(&tag.name)?;
        let text = Some(text_or_json(found)).filter(|_| found.is_string() == tag.is_text)?;
        match union.branches.iter().find(|branch| branch.tag.as_ref() == Some(&text)) {
            Some(branch) => self.shape(branch.shape, value),
            // A tagged union from the server may grow branches.
            None => (self.role == Role::Output).then(|| value.clone()),
        }
    }
}

/// Returns the value of an integral number.
fn integer(number: &Number) -> Option<i128> {
    is_integral(number).then(|| floor(number))
}

fn within(number: &Number, least: i128, most: i128) -> bool {
    integer(number).is_some_and(|value| (least..=most).contains(&value))
}

/// Returns `true` if a double holds the number as it is.
fn is_double(number: &Number) -> bool {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // that is the question
    let survives = |whole: i128| (whole as f64) as i128 == whole;
    number.is_f64() || integer(number).is_some_and(survives)
}
