//! Checks whether a possible value of a term matches a shape.

use std::collections::HashMap;
use std::ops::Range;

use mcp_bindgen_schema::{Kinds, Shape, ShapeId, Shapes, Slot, StructShape, UnionShape, same};
use serde_json::{Number, Value};

use crate::ast::{Part, Term, Text};

/// Deeper than terms and types go; what lies beyond is for the tool to judge.
const DEEPEST: usize = 300;
/// The first number that 64 bits with a sign do not hold.
const SIGNED: f64 = 9_223_372_036_854_775_808.0;

/// Answers for one term, each question once: choices within choices would otherwise multiply.
pub(super) struct Acceptance<'s> {
    shapes: &'s Shapes,
    known: HashMap<(*const Term, ShapeId), bool>,
    depth: usize,
}

impl<'s> Acceptance<'s> {
    pub(super) fn new(shapes: &'s Shapes) -> Self {
        Self { shapes, known: HashMap::new(), depth: 0 }
    }

    /// Returns `true` if the term can be such a value, or if its value is not known yet.
    pub(super) fn slot(&mut self, term: &Term, slot: Slot) -> bool {
        match term {
            Term::Variable(_) => true,
            Term::Literal(Value::Null) if slot.nullable => true,
            _ => self.shape(term, slot.shape),
        }
    }

    fn shape(&mut self, term: &Term, id: ShapeId) -> bool {
        if self.depth > DEEPEST {
            return true;
        }
        let key = (std::ptr::from_ref(term), id);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        // A choice that only leads back to itself has no value.
        self.known.insert(key, false);
        self.depth += 1;
        let accepts = self.within(term, self.shapes.get(id));
        self.depth -= 1;
        self.known.insert(key, accepts);
        accepts
    }

    fn within(&mut self, term: &Term, shape: &'s Shape) -> bool {
        match (shape, term) {
            (Shape::Anything | Shape::Opaque, _) | (_, Term::Variable(_)) => true,
            (Shape::Union(union), _) => self.union(term, union),
            (Shape::Named(slot), _) => self.slot(term, *slot),
            (_, Term::Literal(value)) => takes(shape, value),
            (Shape::LiteralEnum(values), _) => values.iter().any(|value| can_be(term, value)),
            (Shape::Text, Term::Text(_)) | (Shape::FreeMap, Term::Object(_)) => true,
            (Shape::TextEnum(names), Term::Text(text)) => names.iter().any(|name| text.may_be(name)),
            (Shape::AnyOf(kinds), Term::Text(_)) if kinds.has(Kinds::STRING) => true,
            (Shape::AnyOf(kinds), Term::List(_)) => kinds.has(Kinds::ARRAY),
            (Shape::AnyOf(kinds), Term::Object(_)) => kinds.has(Kinds::OBJECT),
            (_, Term::Text(text)) => spelled(text, shape),
            (_, Term::List(items)) if shape.has_length(items.len()) => {
                let mut places = items.iter().enumerate();
                places.all(|(index, term)| shape.item(index).is_some_and(|slot| self.slot(term, slot)))
            }
            (Shape::Map(value), Term::Object(fields)) => fields.iter().all(|(_, term)| self.slot(term, *value)),
            (Shape::Struct(object), Term::Object(fields)) => {
                let has = has(fields);
                // The union around it has looked at the tag.
                let mut accepts = |(key, term): &(String, Term)| {
                    object.tag.as_ref() == Some(key) || object.slot(key).is_some_and(|slot| self.slot(term, slot))
                };
                absent(object, &has).is_empty() && unmet(object, &has).is_none() && fields.iter().all(&mut accepts)
            }
            _ => false,
        }
    }

    fn union(&mut self, term: &Term, union: &'s UnionShape) -> bool {
        let tag = tag(union, term);
        union.branches.iter().any(|branch| {
            let is_meant = tag.as_ref().is_none_or(|tag| branch.tag.as_ref().is_none_or(|of| of == tag));
            is_meant && self.shape(term, branch.shape)
        })
    }
}

/// Returns the tag of an object in the form of branches, or `None` if it is missing or not known yet.
pub(super) fn tag(union: &UnionShape, term: &Term) -> Option<String> {
    let (Some(key), Term::Object(fields)) = (&union.tag, term) else { return None };
    let (_, value) = fields.iter().find(|(name, _)| *name == key.name)?;
    match value {
        Term::Text(text) if key.is_text => text.plain().map(str::to_owned),
        Term::Literal(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns whether an object has a property.
pub(super) fn has(fields: &[(String, Term)]) -> impl Fn(&str) -> bool {
    move |key| fields.iter().any(|(name, _)| name == key)
}

/// Returns the required properties that are missing.
pub(super) fn absent(object: &StructShape, has: impl Fn(&str) -> bool) -> Vec<&str> {
    let tag = object.tag.iter().filter(|tag| !object.required.contains(tag));
    object.required.iter().chain(tag).map(String::as_str).filter(|key| !has(key)).collect()
}

/// Returns sets of properties of which one has to be present, and none is.
pub(super) fn unmet(object: &StructShape, has: impl Fn(&str) -> bool) -> Option<&Vec<Vec<String>>> {
    object.require_any.iter().find(|sets| !sets.iter().any(|set| set.iter().all(|key| has(key))))
}

/// Returns `true` if a number, a boolean or `null` has a shape.
pub(super) fn takes(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Boolean, Value::Bool(_)) | (Shape::Number, Value::Number(_)) | (Shape::Null, Value::Null) => true,
        (Shape::I64, Value::Number(number)) => number.is_i64() || is_whole(number, -SIGNED..SIGNED),
        (Shape::U64, Value::Number(number)) => number.is_u64() || is_whole(number, 0.0..2.0 * SIGNED),
        (Shape::LiteralEnum(values), _) => values.iter().any(|listed| same(listed, value)),
        (Shape::AnyOf(kinds), _) => kinds.has(Kinds::of(value)),
        _ => false,
    }
}

/// Returns `true` for a number like `5.0` in a range.
fn is_whole(number: &Number, range: Range<f64>) -> bool {
    let is_in = |value: f64| value.fract() == 0.0 && range.contains(&value);
    !number.is_i64() && !number.is_u64() && number.as_f64().is_some_and(is_in)
}

/// Returns `true` if a text with expressions can become a number or a boolean of a shape. The literal parts must belong
/// to such a spelling.
fn spelled(text: &Text, shape: &Shape) -> bool {
    if text.plain().is_some() {
        return false;
    }
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let is_number = text.parts.iter().all(|part| match part {
        Part::Literal(literal) => literal.chars().all(is_digit),
        Part::Expression(_) => true,
    });
    let mut booleans = [(true, "true"), (false, "false")].into_iter();
    (is_number && takes(shape, &Value::from(0)))
        || booleans.any(|(value, name)| text.may_be(name) && takes(shape, &Value::from(value)))
}

/// Returns `true` if the term can come out as this value.
fn can_be(term: &Term, value: &Value) -> bool {
    match (term, value) {
        (Term::Variable(_), _) => true,
        (Term::Literal(literal), _) => same(literal, value),
        (Term::Text(text), Value::String(listed)) => text.may_be(listed),
        (Term::Text(text), Value::Number(_) | Value::Bool(_)) => {
            text.plain().is_none() && text.may_be(&value.to_string())
        }
        (Term::List(terms), Value::Array(items)) => {
            terms.len() == items.len() && terms.iter().zip(items).all(|(term, item)| can_be(term, item))
        }
        (Term::Object(fields), Value::Object(members)) => {
            let is_member = |(key, term): &(String, Term)| members.get(key).is_some_and(|value| can_be(term, value));
            fields.len() == members.len() && fields.iter().all(is_member)
        }
        _ => false,
    }
}
