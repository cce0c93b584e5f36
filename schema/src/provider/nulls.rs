//! Removes the nulls that strict mode forces models to send.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::names::Aliases;
use super::reading::read;
use crate::drift::version::Version;
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Field, Presence, Shape, ShapeId, Shapes, Slot, StructShape, UnionShape, Unknown};

/// The maximum depth of values; deeper parts are unchanged.
const DEEPEST: usize = 128;
/// Schemas of patterns, at most.
const MOST_ARENAS: usize = 64;
/// The fields of larger objects are looked up.
const FEW_FIELDS: usize = 8;
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
pub struct Nulls {
    known: Arc<Known>,
}

#[derive(Debug)]
struct Known {
    /// The shapes of the document, then those of each pattern.
    arenas: Vec<Arena>,
    aliases: Aliases,
}

/// The shapes of one schema.
#[derive(Debug)]
struct Arena {
    shapes: Shapes,
    root: ShapeId,
    tags: HashMap<ShapeId, String>,
    /// The objects that take keys which they do not declare.
    open: HashSet<ShapeId>,
    /// The places of the fields of large objects.
    places: HashMap<ShapeId, HashMap<String, usize>>,
    /// The arena indices of the schemas for key patterns, by the object that has them.
    patterns: HashMap<ShapeId, Vec<usize>>,
}

/// A shape of an arena.
type Candidate = (usize, ShapeId);

impl Nulls {
    /// Returns those of a schema.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        let mut reading = read(schema);
        let aliases = reading.aliases();
        let shapes = std::mem::take(&mut reading.document.shapes);
        let mut arenas = vec![Arena::of(&reading, shapes, reading.document.root)];
        let mut known: HashMap<SchemaId, usize> = HashMap::new();
        let mut place = 0;
        while place < arenas.len() {
            add_patterns(&mut reading, &mut arenas, place, &mut known);
            place += 1;
        }
        Self { known: Arc::new(Known { arenas, aliases }) }
    }

    /// Removes the nulls from a model's arguments, at every depth, and restores the names of properties. Values that
    /// do not match the schema are left unchanged.
    pub fn take_out(&self, arguments: &mut Value) {
        if let Some(whole) = self.known.arenas.first() {
            self.known.clean(arguments, &[(0, whole.root)], 0);
        }
    }
}

fn add_patterns(
    reading: &mut Version<'_>,
    arenas: &mut Vec<Arena>,
    place: usize,
    known: &mut HashMap<SchemaId, usize>,
) {
    let Some(arena) = arenas.get(place) else { return };
    let mut found: Vec<(ShapeId, Vec<SchemaId>)> = Vec::new();
    for id in arena.shapes.ids() {
        if matches!(arena.shapes.get(id), Shape::Struct(_) | Shape::Map(_) | Shape::FreeMap) {
            found.push((id, reading.pattern_schemas(arena.shapes.origin(id))));
        }
    }
    let mut patterns = HashMap::new();
    for (id, schemas) in found {
        let mut places = Vec::new();
        for schema in schemas {
            if let Some(place) = known.get(&schema) {
                places.push(*place);
            } else if arenas.len() < MOST_ARENAS {
                let (shapes, root) = reading.document.shapes_of(schema);
                known.insert(schema, arenas.len());
                places.push(arenas.len());
                arenas.push(Arena::of(reading, shapes, root));
            }
        }
        if !places.is_empty() {
            patterns.insert(id, places);
        }
    }
    if let Some(arena) = arenas.get_mut(place) {
        arena.patterns = patterns;
    }
}

impl Known {
    fn arena(&self, candidate: &Candidate) -> Option<&Arena> {
        self.arenas.get(candidate.0)
    }

    fn clean(&self, value: &mut Value, candidates: &[Candidate], depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Object(map) => self.object(map, &self.alternatives(candidates), depth),
            Value::Array(items) => {
                let candidates = self.alternatives(candidates);
                for (index, item) in items.iter_mut().enumerate() {
                    let mut below: Vec<Candidate> = Vec::new();
                    for (place, id) in &candidates {
                        let Some(arena) = self.arenas.get(*place) else { continue };
                        below.extend(arena.shapes.get(*id).item(index).map(|slot| (*place, slot.shape)));
                    }
                    self.clean(item, &below, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn alternatives(&self, candidates: &[Candidate]) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        for (place, id) in candidates {
            let Some(arena) = self.arenas.get(*place) else { continue };
            for id in arena.shapes.leaves([*id]).take(MOST_CANDIDATES - found.len()) {
                if !found.contains(&(*place, id)) {
                    found.push((*place, id));
                }
            }
        }
        found
    }

    fn object(&self, map: &mut Map<String, Value>, candidates: &[Candidate], depth: usize) {
        let judged: Vec<(Candidate, bool)> = candidates
            .iter()
            .filter_map(|candidate| Some((*candidate, self.arena(candidate)?.fits(candidate.1, map, &self.aliases)?)))
            .collect();
        let any_fits = judged.iter().any(|(_, fits)| *fits);
        let fitting: Vec<Candidate> =
            judged.into_iter().filter(|(_, fits)| *fits || !any_fits).map(|(candidate, _)| candidate).collect();
        self.rename(map, &fitting);
        map.retain(|key, value| !(value.is_null() && self.is_needless(&fitting, key)));
        for (key, value) in map {
            let below: Vec<Candidate> = fitting.iter().flat_map(|candidate| self.below(candidate, key)).collect();
            self.clean(value, &below, depth + 1);
        }
    }

    /// Returns the candidates under a key.
    fn below(&self, candidate: &Candidate, key: &str) -> Vec<Candidate> {
        let Some(arena) = self.arena(candidate) else { return Vec::new() };
        let slot = arena.slot(candidate.1, key);
        let is_declared = slot.is_some_and(|(_, presence)| presence.is_some());
        let patterns = arena.patterns.get(&candidate.1).filter(|_| !is_declared);
        // Beside patterns, anything is what matches none of them.
        let is_rest = |slot: &Slot| patterns.is_some() && matches!(arena.shapes.get(slot.shape), Shape::Anything);
        let slot = slot.map(|(slot, _)| slot).filter(|slot| !is_rest(slot));
        let patterns = patterns.into_iter().flatten();
        let patterns = patterns.filter_map(|place| Some((*place, self.arenas.get(*place)?.root)));
        slot.map(|slot| (candidate.0, slot.shape)).into_iter().chain(patterns).collect()
    }

    /// Restores the original names of aliased keys.
    fn rename(&self, map: &mut Map<String, Value>, shapes: &[Candidate]) {
        let declares =
            |key: &str| shapes.iter().any(|shape| self.arena(shape).is_some_and(|arena| arena.declares(shape.1, key)));
        let own = |key: &str| {
            let wire = self.aliases.wire(key).filter(|wire| !map.contains_key(*wire))?;
            (declares(wire) && !declares(key)).then(|| wire.to_owned())
        };
        let names: Vec<Option<String>> = map.keys().map(|key| own(key)).collect();
        if names.iter().all(Option::is_none) {
            return;
        }
        let old = std::mem::take(map);
        for ((key, value), name) in old.into_iter().zip(names) {
            map.insert(name.unwrap_or(key), value);
        }
    }

    /// Returns `true` if some alternative declares a property that need not be there, and none has a `null` for it or
    /// takes any key.
    fn is_needless(&self, candidates: &[Candidate], key: &str) -> bool {
        let mut is_optional = false;
        for candidate in candidates {
            let Some(arena) = self.arena(candidate) else { continue };
            match arena.slot(candidate.1, key) {
                Some((_, Some(Presence::Optional))) => is_optional = true,
                Some((_, Some(Presence::OptionalOrNull))) => return false,
                Some((slot, Some(Presence::Required))) if arena.shapes.takes_null(slot) => return false,
                Some((slot, None)) if arena.shapes.takes_null(slot) => return false,
                None if arena.takes_any_key(candidate.1) => return false,
                _ => {}
            }
        }
        is_optional
    }
}

impl Arena {
    fn of(reading: &Version<'_>, shapes: Shapes, root: ShapeId) -> Self {
        let (mut tags, mut open, mut places) = (HashMap::new(), HashSet::new(), HashMap::new());
        for id in shapes.ids() {
            match shapes.get(id) {
                Shape::Union(UnionShape { tag: Some(_), branches }) => {
                    tags.extend(branches.iter().filter_map(|branch| Some((branch.shape, branch.tag.clone()?))));
                }
                Shape::Struct(object) => {
                    if reading.takes_others(&shapes, id, object) {
                        open.insert(id);
                    }
                    if object.fields.len() > FEW_FIELDS {
                        let fields = object.fields.iter().enumerate();
                        places.insert(id, fields.map(|(place, field)| (field.wire.clone(), place)).collect());
                    }
                }
                _ => {}
            }
        }
        Self { shapes, root, tags, open, places, patterns: HashMap::new() }
    }

    /// Returns `true` if an object may match a shape by its keys, tags and listed values. Returns `None` for other
    /// kinds.
    fn fits(&self, id: ShapeId, map: &Map<String, Value>, aliases: &Aliases) -> Option<bool> {
        let object = match self.shapes.get(id) {
            Shape::Struct(object) => object,
            Shape::Map(_) | Shape::FreeMap | Shape::Anything | Shape::Opaque => return Some(true),
            Shape::AnyOf(kinds) => return kinds.has(Kinds::OBJECT).then_some(true),
            _ => return None,
        };
        let sent = |wire: &str| map.get(wire).or_else(|| map.get(aliases.sent(wire)?));
        if let (Some(name), Some(wanted)) = (&object.tag, self.tags.get(&id)) {
            let text = match sent(name) {
                Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                Some(other) => Cow::Owned(other.to_string()),
                None => return Some(false),
            };
            // Models mind letters less than servers do.
            if !text.eq_ignore_ascii_case(wanted) {
                return Some(false);
            }
        }
        let all_fit = object.fields.iter().all(|field| match sent(&field.wire) {
            None => field.presence != Presence::Required,
            Some(Value::Null) => field.presence != Presence::Required || self.shapes.takes_null(field.slot),
            Some(value) => self.may_be(field.slot.shape, value, 0),
        });
        let is_known =
            |key: &str| self.declares(id, key) || aliases.wire(key).is_some_and(|wire| self.declares(id, wire));
        // A model sees no other keys, even if the schema allows them.
        Some(all_fit && (self.open.contains(&id) || map.keys().all(|key| is_known(key))))
    }

    /// Returns `true` if a value could be of a shape, by its kind and by listed values.
    fn may_be(&self, id: ShapeId, value: &Value, depth: usize) -> bool {
        match self.shapes.get(id) {
            Shape::TextEnum(values) => {
                value.as_str().is_some_and(|text| values.iter().any(|known| known.eq_ignore_ascii_case(text)))
            }
            Shape::LiteralEnum(values) => {
                values.iter().any(|known| known == value || (known.is_number() && known.as_f64() == value.as_f64()))
            }
            Shape::Union(union) => {
                depth > DEEPEST || union.branches.iter().any(|branch| self.may_be(branch.shape, value, depth + 1))
            }
            Shape::Named(inner) => depth > DEEPEST || self.may_be(inner.shape, value, depth + 1),
            shape => shape.kinds().intersects(Kinds::of(value)),
        }
    }

    /// Returns a shape's slot for a property, and its declaration.
    fn slot(&self, id: ShapeId, key: &str) -> Option<(Slot, Option<Presence>)> {
        match self.shapes.get(id) {
            Shape::Struct(object) => match self.field(id, object, key) {
                Some(field) => Some((field.slot, Some(field.presence))),
                None => object.unknown.kept().filter(|_| self.open.contains(&id)).map(|slot| (slot, None)),
            },
            Shape::Map(slot) => Some((*slot, None)),
            _ => None,
        }
    }

    fn field<'o>(&self, id: ShapeId, object: &'o StructShape, key: &str) -> Option<&'o Field> {
        match self.places.get(&id) {
            Some(places) => object.fields.get(*places.get(key)?),
            None => object.field(key),
        }
    }

    /// Returns `true` if an object has a property of that name.
    fn declares(&self, id: ShapeId, key: &str) -> bool {
        match self.shapes.get(id) {
            Shape::Struct(object) => object.tag.as_deref() == Some(key) || self.field(id, object, key).is_some(),
            _ => false,
        }
    }

    /// Returns `true` if any value is allowed under an undeclared key.
    fn takes_any_key(&self, id: ShapeId) -> bool {
        match self.shapes.get(id) {
            Shape::FreeMap | Shape::Anything | Shape::Opaque => true,
            Shape::AnyOf(kinds) => kinds.has(Kinds::OBJECT),
            Shape::Struct(object) => object.unknown == Unknown::Ignore && self.open.contains(&id),
            _ => false,
        }
    }
}
