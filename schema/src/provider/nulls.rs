//! Removes the nulls that strict mode forces models to send.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::names::Aliases;
use super::reading::read;
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Field, Presence, Shape, ShapeId, Shapes, Slot, StructShape};

/// The maximum depth of values; deeper parts are unchanged.
const DEEPEST: usize = 128;
/// Schemas of patterns, at most.
const MOST_PATTERNS: usize = 63;
/// Shapes that a value could be of, at most.
const MOST_CANDIDATES: usize = 64;

/// The nulls to remove from a model's arguments, and the properties to rename, because the model saw a converted
/// schema.
///
/// A `null` of an optional property is removed - if the schema does not allow it there: in strict mode a model must
/// send every property, and `null` means none; - if the schema allows it and it is the property's `default`: then it
/// means the same as a missing property.
///
/// Every other `null` stays: of required properties, in arrays, of undeclared keys or those that another alternative
/// allows as any key, and of optional nullable properties without such a default. For the latter, missing and `null`
/// differ for a server ("keep", "clear"); [`strict`](super::strict) never produces a schema that forces the model to
/// send one of them. So the rule is the same for all providers.
///
/// `patternProperties` are not matched: the value of an undeclared key may match any of them.
///
/// ```
/// use mcp_bindgen_schema::provider::Nulls;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {
///     "title": {"type": "string"},
///     "page": {"type": ["integer", "null"], "default": null},
///     "assignee": {"type": ["string", "null"]},
/// }});
/// let mut arguments = json!({"title": null, "page": null, "assignee": null});
/// Nulls::of(&schema).take_out(&mut arguments);
/// assert_eq!(arguments, json!({"assignee": null}));
/// ```
#[derive(Clone, Debug)]
pub struct Nulls(Arc<Known>);

#[derive(Debug)]
struct Known {
    /// The shapes of the document, and of the schemas of patterns. The fields of objects are sorted by name.
    shapes: Shapes,
    root: ShapeId,
    aliases: Aliases,
    /// The values of the tags of branches.
    tags: HashMap<ShapeId, Value>,
    /// The shapes that take keys which they do not declare.
    open: HashSet<ShapeId>,
    /// The shapes under keys that match patterns, by the object that has the patterns.
    patterns: HashMap<ShapeId, Vec<ShapeId>>,
}

impl Nulls {
    /// Returns those of a schema.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        let mut reading = read(schema);
        let (root, aliases) = (reading.document.root, reading.aliases());
        let (mut open, mut patterns) = (HashSet::new(), HashMap::new());
        let mut roots: HashMap<SchemaId, ShapeId> = HashMap::new();
        let mut pending: VecDeque<ShapeId> = reading.document.shapes.ids().collect();
        while let Some(id) = pending.pop_front() {
            let is_open = match reading.shape(id) {
                Shape::Struct(object) => reading.takes_others(id, object),
                _ => true,
            };
            if is_open {
                open.insert(id);
            }
            if !matches!(reading.shape(id), Shape::Struct(_) | Shape::Map(_) | Shape::FreeMap) {
                continue;
            }
            let mut below = Vec::new();
            for schema in reading.pattern_schemas(id) {
                if !roots.contains_key(&schema) && roots.len() < MOST_PATTERNS {
                    let count = reading.document.shapes.ids().count();
                    roots.insert(schema, reading.document.add_shapes(schema));
                    pending.extend(reading.document.shapes.ids().skip(count));
                }
                below.extend(roots.get(&schema));
            }
            patterns.insert(id, below);
        }
        let tags = reading.tags();
        let mut shapes = std::mem::take(&mut reading.document.shapes);
        for id in shapes.ids() {
            if let Shape::Struct(object) = shapes.get(id) {
                let mut object = object.clone();
                object.fields = object.fields_by_name().into_iter().cloned().collect();
                shapes.set(id, Shape::Struct(object));
            }
        }
        Self(Arc::new(Known { shapes, root, aliases, tags, open, patterns }))
    }

    /// Removes the nulls from a model's arguments, at every depth, and restores the names of properties. Values that
    /// do not match the schema are left unchanged.
    pub fn take_out(&self, arguments: &mut Value) {
        self.0.clean(arguments, &[self.0.root], 0);
    }
}

impl Known {
    fn clean(&self, value: &mut Value, candidates: &[ShapeId], depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let leaves = || self.shapes.leaves_at_most(candidates, MOST_CANDIDATES);
        match value {
            Value::Object(map) => self.object(map, &leaves(), depth),
            Value::Array(items) => {
                let lists = leaves();
                for (index, item) in items.iter_mut().enumerate() {
                    let slots = lists.iter().filter_map(|id| self.shapes.get(*id).item(index));
                    let below: Vec<ShapeId> = slots.map(|slot| slot.shape).collect();
                    self.clean(item, &below, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn object(&self, map: &mut Map<String, Value>, candidates: &[ShapeId], depth: usize) {
        let judged = candidates.iter().filter_map(|id| Some((*id, self.fits(*id, map)?)));
        let (fitting, others): (Vec<_>, Vec<_>) = judged.partition(|(_, fits)| *fits);
        let best = if fitting.is_empty() { others } else { fitting };
        let candidates: Vec<ShapeId> = best.into_iter().map(|(id, _)| id).collect();
        self.rename(map, &candidates);
        map.retain(|key, value| !(value.is_null() && self.is_needless(&candidates, key)));
        for (key, value) in map {
            let below: Vec<ShapeId> = candidates.iter().flat_map(|id| self.below(*id, key)).collect();
            self.clean(value, &below, depth + 1);
        }
    }

    /// Returns the shapes under a key.
    fn below(&self, id: ShapeId, key: &str) -> Vec<ShapeId> {
        let slot = self.slot(id, key);
        let is_declared = matches!(slot, Some((_, Some(_))));
        let mut below = if is_declared { None } else { self.patterns.get(&id).cloned() }.unwrap_or_default();
        // Beside patterns, anything is what matches none of them.
        let is_rest = |id: &ShapeId| !below.is_empty() && matches!(self.shapes.get(*id), Shape::Anything);
        let own = slot.map(|(slot, _)| slot.shape).filter(|id| !is_rest(id));
        below.extend(own);
        below
    }

    /// Restores the original names of aliased keys.
    fn rename(&self, map: &mut Map<String, Value>, candidates: &[ShapeId]) {
        let declares = |key: &str| candidates.iter().any(|id| self.declares(*id, key));
        let own = |key: &String| {
            let wire = self.aliases.wire(key).filter(|wire| !map.contains_key(*wire))?;
            (declares(wire) && !declares(key)).then(|| wire.to_owned())
        };
        let names: Vec<Option<String>> = map.keys().map(own).collect();
        let old = std::mem::take(map).into_iter();
        map.extend(old.zip(names).map(|((key, value), name)| (name.unwrap_or(key), value)));
    }

    /// Returns `true` if some alternative declares a property that need not be there, and none has a `null` for it or
    /// takes any key.
    fn is_needless(&self, candidates: &[ShapeId], key: &str) -> bool {
        let mut is_optional = false;
        for id in candidates {
            match self.slot(*id, key) {
                Some((_, Some(Presence::Optional))) => is_optional = true,
                Some((_, Some(Presence::OptionalOrNull))) => return false,
                Some((slot, _)) if self.shapes.takes_null(slot) => return false,
                None if self.open.contains(id) => return false,
                _ => {}
            }
        }
        is_optional
    }

    /// Returns `true` if an object may match a shape by its keys, tags and listed values. Returns `None` for other
    /// kinds.
    fn fits(&self, id: ShapeId, map: &Map<String, Value>) -> Option<bool> {
        let object = match self.shapes.get(id) {
            Shape::Struct(object) => object,
            Shape::LiteralEnum(_) => return None,
            shape => return shape.kinds().has(Kinds::OBJECT).then_some(true),
        };
        let sent = |wire: &str| map.get(wire).or_else(|| map.get(self.aliases.sent(wire)?));
        if let (Some(name), Some(wanted)) = (&object.tag, self.tags.get(&id)) {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Models mind letters less than servers do.
            if !sent(name).is_some_and(|value| text(value).eq_ignore_ascii_case(&text(wanted))) {
                return Some(false);
            }
        }
        let all_fit = object.fields.iter().all(|field| match sent(&field.wire) {
            None => field.presence != Presence::Required,
            Some(Value::Null) => field.presence != Presence::Required || self.shapes.takes_null(field.slot),
            Some(value) => self.may_be(field.slot.shape, value),
        });
        let is_known =
            |key: &str| self.declares(id, key) || self.aliases.wire(key).is_some_and(|wire| self.declares(id, wire));
        // A model sees no other keys, even if the schema allows them.
        Some(all_fit && (self.open.contains(&id) || map.keys().all(|key| is_known(key))))
    }

    /// Returns `true` if a value could be of a shape, by its kind and by listed values.
    fn may_be(&self, id: ShapeId, value: &Value) -> bool {
        self.shapes.any_reached(&[id], Shape::parts, &mut |id| match self.shapes.get(id) {
            Shape::Union(_) | Shape::Named(_) => false,
            Shape::TextEnum(values) => {
                value.as_str().is_some_and(|text| values.iter().any(|known| known.eq_ignore_ascii_case(text)))
            }
            Shape::LiteralEnum(values) => {
                values.iter().any(|known| known == value || (known.is_number() && known.as_f64() == value.as_f64()))
            }
            shape => shape.kinds().intersects(Kinds::of(value)),
        })
    }

    /// Returns a shape's slot for a property, and its declaration.
    fn slot(&self, id: ShapeId, key: &str) -> Option<(Slot, Option<Presence>)> {
        match self.shapes.get(id) {
            Shape::Struct(object) => match field(object, key) {
                Some(field) => Some((field.slot, Some(field.presence))),
                None => object.unknown.kept().filter(|_| self.open.contains(&id)).map(|slot| (slot, None)),
            },
            Shape::Map(slot) => Some((*slot, None)),
            _ => None,
        }
    }

    /// Returns `true` if an object has a property of that name.
    fn declares(&self, id: ShapeId, key: &str) -> bool {
        matches!(self.shapes.get(id), Shape::Struct(object)
            if object.tag.as_deref() == Some(key) || field(object, key).is_some())
    }
}

fn field<'o>(object: &'o StructShape, key: &str) -> Option<&'o Field> {
    let place = object.fields.binary_search_by(|field| field.wire.as_str().cmp(key)).ok()?;
    object.fields.get(place)
}
