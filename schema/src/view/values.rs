//! The check of a value of an argument.

use std::cell::OnceCell;

use serde_json::{Map, Value};

use crate::checks::Checks;
use crate::diagnostics::Reporter;
use crate::normalize::Kinds;
use crate::number::{is_integral, same};
use crate::texts::{listed, text_or_json};
use crate::{Document, Role, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};

/// Returns the type of a value, with its article: `a string`.
///
/// ```
/// assert_eq!(mcp_bindgen_schema::type_in_words(&serde_json::json!([])), "an array");
/// ```
#[must_use]
pub fn type_in_words(value: &Value) -> &'static str {
    kinds_in_words(if value.is_number() { Kinds::NUMBER } else { Kinds::of(value) })
}

/// Returns the values of a kind, with their article.
fn kinds_in_words(kinds: Kinds) -> &'static str {
    match kinds {
        Kinds::NULL => "null",
        Kinds::BOOLEAN => "a boolean",
        Kinds::INTEGER => "a whole number",
        Kinds::NUMBER => "a number",
        Kinds::STRING => "a string",
        Kinds::ARRAY => "an array",
        Kinds::OBJECT => "an object",
        _ => "another type",
    }
}

/// Deeper than values and types go.
const DEEPEST: usize = 100;

/// Checks a value of an argument against a schema that declares it.
///
/// # Errors
/// Fails with the expected value. Assertions that types do not have are checked if they are bounds, lengths or patterns.
pub(super) fn check(schema: &Value, argument: &str, value: &Value) -> Result<(), String> {
    let mut reporter = Reporter::new("", 0, "");
    let document = Document::read(schema, Role::Input, &mut reporter);
    let checks = document.checks(&mut reporter).into_iter().map(|(id, schema)| (id, schema, OnceCell::new()));
    let values = Values { document: &document, checks: checks.collect() };
    for id in document.shapes.leaves(&[document.root]) {
        if let Shape::Struct(object) = document.shapes.get(id)
            && let Some(field) = object.field(argument)
        {
            return values.slot(field.slot, value, 0);
        }
    }
    Err("expected no value at all".to_owned())
}

struct Values<'d> {
    document: &'d Document<'d>,
    /// The schemas of checks, sorted, and compiled when the first value needs them.
    checks: Vec<(ShapeId, Value, OnceCell<Checks>)>,
}

impl Values<'_> {
    fn slot(&self, slot: Slot, value: &Value, depth: usize) -> Result<(), String> {
        if value.is_null() && slot.nullable { Ok(()) } else { self.shape(slot.shape, value, depth) }
    }

    fn shape(&self, id: ShapeId, value: &Value, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Ok(());
        }
        let place = self.checks.binary_search_by_key(&id, |(id, ..)| *id);
        let checks = match place.ok().and_then(|place| self.checks.get(place)) {
            Some((_, schema, compiled)) => compiled.get_or_init(|| Checks::parse(&schema.to_string())),
            None => &Checks::default(),
        };
        let shape = self.document.shapes.get(id);
        match (shape, value) {
            (Shape::Named(slot), _) => self.slot(*slot, value, depth + 1),
            (Shape::Union(union), _) => self.union(union, value, depth),
            (Shape::TextEnum(names), _) if !names.iter().any(|name| value == name) => one_of(names.clone()),
            (Shape::LiteralEnum(values), _) if !values.iter().any(|listed| same(listed, value)) => {
                one_of(values.iter().map(Value::to_string).collect())
            }
            (Shape::I64 | Shape::U64, Value::Number(number)) if !is_integral(number) => {
                Err(format!("expected a whole number, found {number}"))
            }
            (shape, value) if !shape.kinds().has(Kinds::of(value)) => {
                Err(format!("expected {}, found {}", kinds_in_words(shape.kinds()), type_in_words(value)))
            }
            (Shape::U64, Value::Number(number)) if number.as_f64().is_some_and(|number| number < 0.0) => {
                Err(format!("expected at least 0, found {number}"))
            }
            (_, Value::Number(number)) => checks.number(number),
            (_, Value::String(text)) => checks.text(text),
            (_, Value::Array(items)) if shape.is_array() => {
                checks.length(items.len())?;
                let other_length = || format!("expected an array of another length, found {} items", items.len());
                shape.has_length(items.len()).then_some(()).ok_or_else(other_length)?;
                items.iter().enumerate().try_for_each(|(index, item)| {
                    let slot = shape.item(index).ok_or_else(other_length)?;
                    self.slot(slot, item, depth + 1).map_err(|why| below(&index.to_string(), &why))
                })
            }
            (Shape::Map(slot), Value::Object(members)) => members
                .iter()
                .try_for_each(|(key, value)| self.slot(*slot, value, depth + 1).map_err(|why| below(key, &why))),
            (Shape::Struct(object), Value::Object(members)) => self.object(object, members, depth),
            _ => Ok(()),
        }
    }

    fn object(&self, object: &StructShape, members: &Map<String, Value>, depth: usize) -> Result<(), String> {
        let missing = object.required.iter().chain(&object.tag).find(|key| !members.contains_key(*key));
        if let Some(missing) = missing {
            return Err(format!("`{missing}` is missing"));
        }
        for (key, value) in members {
            let outcome = match object.slot(key) {
                _ if object.tag.as_ref() == Some(key) => Ok(()),
                Some(slot) => self.slot(slot, value, depth + 1),
                None if object.unknown == Unknown::Deny => Err("expected no value at all".to_owned()),
                None => Ok(()),
            };
            outcome.map_err(|why| below(key, &why))?;
        }
        Ok(())
    }

    fn union(&self, union: &UnionShape, value: &Value, depth: usize) -> Result<(), String> {
        let tag = union.tag.as_ref().and_then(|tag| value.get(&tag.name)).map(text_or_json);
        let mut fault = "expected a value of one of its alternatives".to_owned();
        let meant = union.branches.iter().filter(|branch| branch.tag.is_none() || branch.tag == tag);
        for (index, branch) in meant.enumerate() {
            match self.shape(branch.shape, value, depth + 1) {
                Ok(()) => return Ok(()),
                Err(why) if index == 0 => fault = why,
                Err(_) => {}
            }
        }
        Err(fault)
    }
}

fn one_of(values: Vec<String>) -> Result<(), String> {
    const MOST: usize = 20;
    Err(format!("expected one of {}", listed(values.into_iter().map(|value| format!("`{value}`")), MOST)))
}

fn below(key: &str, why: &str) -> String {
    format!("in `{key}`: {why}")
}
