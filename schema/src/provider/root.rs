//! The schema of the arguments as a whole: always an object with `properties`, for every provider refuses other roots.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::objects::either;
use super::print::{Place, Printed, Printer, typed};
use super::reading::declared;
use super::words;
use crate::number::distinct;
use crate::shape::{Shape, ShapeId, StructShape, UnionShape, Unknown};

/// The maximum number of alternatives whose required properties are described.
const MOST_TOLD: usize = 8;

impl Printer<'_, '_> {
    pub(super) fn whole(&mut self) -> Printed {
        let root = self.root;
        let place = Place { schemas: self.reading.origin(root), name: "" };
        let mut objects = Vec::new();
        self.alternatives(root, &mut objects);
        let mut schema = match (self.reading.shape(root), objects.as_slice()) {
            (Shape::Struct(_), _) => self.shape(root, place, true)?,
            (_, [only]) => self.shape(*only, place, true)?,
            _ => {
                self.refuse(place.schemas, "alternatives of the arguments as a whole")?;
                self.flattened(&objects, place)?
            }
        };
        if !schema.contains_key("properties") {
            schema.insert("properties".to_owned(), json!({}));
        }
        Ok(schema)
    }

    /// Collects the possible objects of the arguments.
    fn alternatives(&self, id: ShapeId, found: &mut Vec<ShapeId>) {
        match self.reading.shape(id) {
            Shape::Struct(_) if !found.contains(&id) => found.push(id),
            Shape::Named(inner) if found.is_empty() && inner.shape != id => self.alternatives(inner.shape, found),
            Shape::Union(UnionShape { branches, .. }) => {
                for branch in branches {
                    if matches!(self.reading.shape(branch.shape), Shape::Struct(_)) && !found.contains(&branch.shape) {
                        found.push(branch.shape);
                    }
                }
            }
            _ => {}
        }
    }

    /// Merges all alternatives into one object, which allows more: a property is required only if all alternatives
    /// require it.
    fn flattened(&mut self, objects: &[ShapeId], place: Place<'_>) -> Printed {
        let reading = self.reading;
        let mut properties: Map<String, Value> = Map::new();
        let mut required: Option<Vec<String>> = None;
        let (mut told, mut is_closed) = (Vec::new(), true);
        let mut others: Vec<(HashSet<String>, Option<Value>)> = Vec::new();
        for id in objects {
            let Shape::Struct(object) = reading.shape(*id) else { continue };
            let (schemas, own) = self.properties(*id, object)?;
            others.push((schemas.iter().map(|(name, _)| name.clone()).collect(), self.other(*id, object)?));
            for (name, schema) in schemas {
                match properties.get_mut(&name) {
                    Some(known) => *known = either(known.take(), schema),
                    None => drop(properties.insert(name, schema)),
                }
            }
            told.push(self.told(*id, object));
            required = Some(match required {
                None => own,
                Some(known) => {
                    let own: HashSet<String> = own.into_iter().collect();
                    known.into_iter().filter(|name| own.contains(name)).collect()
                }
            });
            is_closed &= object.unknown == Unknown::Deny;
        }
        for (declared, other) in others {
            let Some(other) = other else { continue };
            for (_, schema) in properties.iter_mut().filter(|(name, _)| !declared.contains(*name)) {
                *schema = either(schema.take(), other.clone());
            }
        }
        let mut schema = typed("object");
        schema.insert("properties".to_owned(), Value::Object(merged_tags(properties)));
        if let Some(required) = required.filter(|required| !required.is_empty()) {
            schema.insert("required".to_owned(), required.into());
        }
        // A map or a value of any kind may be among the alternatives.
        let is_whole = match reading.shape(self.root) {
            Shape::Union(union) => union.branches.len() == objects.len(),
            _ => false,
        };
        if is_closed && is_whole {
            schema.insert("additionalProperties".to_owned(), false.into());
        } else if !is_whole {
            schema.remove("required");
        }
        let mut told = distinct(&told, |words| words);
        told.truncate(MOST_TOLD);
        let holding = reading.holding(place.schemas, crate::normalize::Kinds::OBJECT);
        let said = if told.len() > 1 { vec![format!("either {}", told.join(", or "))] } else { Vec::new() };
        if let Some(text) = words::described(reading.description(&holding, ""), &said) {
            schema.insert("description".to_owned(), text.into());
        }
        Ok(schema)
    }

    /// Returns the schema for an alternative's undeclared keys, if they are allowed.
    fn other(&mut self, id: ShapeId, object: &StructShape) -> Result<Option<Value>, super::NotStrict> {
        let kept = object.unknown.kept().filter(|_| self.reading.is_open(id, object.unknown));
        kept.map(|slot| self.slot(slot, Place::default(), false).map(Value::Object)).transpose()
    }

    /// Returns an alternative in words.
    fn told(&self, id: ShapeId, object: &StructShape) -> String {
        const MOST_KEYS: usize = 6;
        let told = |wire| self.aliases.told(self.dialect, wire);
        let tag = object.tag.as_deref().zip(self.tags.get(&id)).map(|(name, value)| format!("{} {value}", told(name)));
        let mut keys: Vec<&str> = object.required.iter().map(String::as_str).collect();
        if keys.is_empty() {
            keys = declared(object).collect();
            keys.sort_unstable();
        }
        keys.retain(|key| object.tag.as_deref() != Some(*key) && !key.is_empty() && !key.chars().any(char::is_control));
        keys.truncate(MOST_KEYS);
        let keys: Vec<&str> = keys.into_iter().map(told).collect();
        let keys = if keys.is_empty() { None } else { Some(keys.join(" and ")) };
        tag.into_iter().chain(keys).collect::<Vec<_>>().join(" with ")
    }
}

/// Enumerations of one type that are alternatives of each other become one.
fn merged_tags(properties: Map<String, Value>) -> Map<String, Value> {
    let merged = |schema: Value| {
        let Some(Value::Array(branches)) =
            schema.get("anyOf").filter(|_| schema.as_object().is_some_and(|it| it.len() == 1))
        else {
            return schema;
        };
        let mut values: Vec<Value> = Vec::new();
        let mut kind: Option<&Value> = None;
        for branch in branches {
            let only_enum = branch.as_object().is_some_and(|it| it.keys().all(|key| key == "type" || key == "enum"));
            let Some(Value::Array(listed)) = branch.get("enum").filter(|_| only_enum) else { return schema };
            if kind.is_some_and(|kind| Some(kind) != branch.get("type")) {
                return schema;
            }
            kind = branch.get("type");
            values.extend(listed.iter().filter(|value| !values.contains(value)).cloned().collect::<Vec<_>>());
        }
        match kind {
            Some(kind) => json!({"type": kind, "enum": values}),
            None => schema,
        }
    };
    properties.into_iter().map(|(name, schema)| (name, merged(schema))).collect()
}
