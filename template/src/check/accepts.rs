//! Checks whether a possible value of a term matches a shape.

use std::collections::HashMap;

use mcp_bindgen_schema::{Kinds, Shape, ShapeId, Shapes, Slot, StructShape, UnionShape, same};
use serde_json::{Number, Value};

use crate::ast::{Part, Term, Text};

/// Deeper than terms and types go; what lies beyond is for the tool to judge.
const DEEPEST: usize = 300;

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
            (Shape::AnyOf(kinds), Term::Text(text)) => {
                kinds.has(Kinds::STRING) || spelled(text, |_, kind| kinds.has(kind))
            }
            (Shape::AnyOf(kinds), _) => kinds.has(kind(term)),
            (Shape::LiteralEnum(values), _) => values.iter().any(|value| can_be(term, value)),
            (Shape::TextEnum(names), Term::Text(text)) => names.iter().any(|name| text.may_be(name)),
            (Shape::Text, Term::Text(_))
            | (Shape::Null, Term::Literal(Value::Null))
            | (Shape::Boolean, Term::Literal(Value::Bool(_)))
            | (Shape::Number, Term::Literal(Value::Number(_)))
            | (Shape::FreeMap, Term::Object(_)) => true,
            (Shape::Boolean | Shape::I64 | Shape::U64 | Shape::Number, Term::Text(text)) => {
                spelled(text, |literal, _| takes(shape, literal))
            }
            (Shape::I64 | Shape::U64, Term::Literal(value)) => takes(shape, value),
            (_, Term::List(items)) if shape.has_length(items.len()) => {
                let mut places = items.iter().enumerate();
                places.all(|(index, term)| shape.item(index).is_some_and(|slot| self.slot(term, slot)))
            }
            (Shape::Map(value), Term::Object(fields)) => fields.iter().all(|(_, term)| self.slot(term, *value)),
            (Shape::Struct(object), Term::Object(fields)) => self.object(object, fields),
            _ => false,
        }
    }

    fn object(&mut self, object: &StructShape, fields: &[(String, Term)]) -> bool {
        let has = |key: &str| fields.iter().any(|(name, _)| name == key);
        is_complete(object, has) && fields.iter().all(|(key, term)| self.member(object, key, term))
    }

    pub(super) fn member(&mut self, object: &StructShape, key: &str, term: &Term) -> bool {
        // The union around it has looked at the tag.
        object.tag.as_deref() == Some(key) || object.slot(key).is_some_and(|slot| self.slot(term, slot))
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

/// Returns `true` if all required properties are present.
pub(super) fn is_complete(object: &StructShape, has: impl Fn(&str) -> bool) -> bool {
    let is_whole = |set: &Vec<String>| set.iter().all(|key| has(key));
    object.required.iter().chain(&object.tag).all(|key| has(key))
        && object.require_any.iter().all(|sets| sets.iter().any(is_whole))
}

/// Returns `true` if a number or a boolean has a shape of its kind.
pub(super) fn takes(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Boolean, Value::Bool(_)) | (Shape::Number, Value::Number(_)) => true,
        (Shape::I64, Value::Number(number)) => number.is_i64() || whole(number).is_some_and(is_signed),
        (Shape::U64, Value::Number(number)) => number.is_u64() || whole(number).is_some_and(|whole| whole >= 0.0),
        (Shape::LiteralEnum(values), _) => values.iter().any(|listed| same(listed, value)),
        (Shape::AnyOf(kinds), Value::Bool(_) | Value::Number(_)) => kinds.has(Kinds::of(value)),
        _ => false,
    }
}

/// Returns the integer of a number like `5.0`.
fn whole(number: &Number) -> Option<f64> {
    let value = number.as_f64()?;
    // The first that 64 bits without a sign do not hold.
    (!number.is_i64() && !number.is_u64() && value.fract() == 0.0 && value < 18_446_744_073_709_551_616.0)
        .then_some(value)
}

fn is_signed(value: f64) -> bool {
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value)
}

/// Returns the kind of a term that is not a variable.
fn kind(term: &Term) -> Kinds {
    match term {
        Term::Literal(value) => Kinds::of(value),
        Term::Text(_) => Kinds::STRING,
        Term::List(_) => Kinds::ARRAY,
        Term::Object(_) => Kinds::OBJECT,
        Term::Variable(_) => Kinds::NULL,
    }
}

/// Returns `true` if a text with expressions can become an accepted number or boolean. The literal parts must belong to
/// such a spelling.
fn spelled(text: &Text, takes: impl Fn(&Value, Kinds) -> bool) -> bool {
    if text.plain().is_some() {
        return false;
    }
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let mut literals = text.parts.iter().filter_map(|part| match part {
        Part::Literal(literal) => Some(literal),
        Part::Expression(_) => None,
    });
    let is_number = literals.all(|literal| literal.chars().all(is_digit));
    let booleans = [(true, "true"), (false, "false")].map(|(value, name)| (Value::from(value), name));
    (is_number && takes(&Value::from(0), Kinds::INTEGER))
        || booleans.iter().any(|(value, name)| text.may_be(name) && takes(value, Kinds::BOOLEAN))
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
