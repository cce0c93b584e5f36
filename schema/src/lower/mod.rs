//! Stage 3: lowers schemas to shapes.
//!
//! Every place of the document is first expanded to its allowed values, by kind ([`alternatives`]). The result contains
//! at least all valid values. A shape is then the simplest type for that set.

mod alternatives;
mod arrays;
mod expand;
mod nesting;
mod objects;
mod unions;

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use alternatives::{Alternatives, Range};
use objects::{Additional, ObjectAlternative, Property};

use crate::Role;
use crate::diagnostics::{Code, LIMIT, NEVER_VALID, Reporter, WIDE_INTEGER};
use crate::keys::set;
use crate::normalize::{Kinds, SchemaId, Schemas, Wraps};
use crate::shape::{Field, Presence, Shape, ShapeId, Shapes, Slot, StructShape, Unknown};

/// Schemas that all apply, sorted; an empty list allows anything.
type Conjunction = Vec<SchemaId>;

fn both(left: &[SchemaId], right: &[SchemaId]) -> Conjunction {
    let mut all = [left, right].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// The maximum depth of types. rustc and rustdoc fail if a proof about a type takes more than 128 steps, so each layer
/// counts with its steps.
const DEEPEST: usize = 40;
const LAYER: usize = 2;
const LIST_LAYER: usize = 3;
const MAP_LAYER: usize = 4;
/// Chains of references are followed this far.
const LONGEST_CHAIN: usize = 40;
/// The limit on types and fields of a document, plus a part for each of its schemas. Combinations below properties
/// multiply: two definitions for each level would have no end.
const MOST_PLACES: usize = 200;
const PLACES_OF_SCHEMA: usize = 4;

/// Returns the shapes of a document, and the one of its root, which has a name.
pub(crate) fn lower(
    schemas: &mut Schemas<'_>,
    root: SchemaId,
    role: Role,
    opaque: Vec<SchemaId>,
    reporter: &mut Reporter,
) -> (Shapes, ShapeId) {
    let mut lowering = Lowering {
        cost_left: expand::COST + expand::COST_OF_SCHEMA * schemas.len(),
        places_left: MOST_PLACES + PLACES_OF_SCHEMA * schemas.len(),
        opaque,
        schemas,
        reporter,
        expanded: HashMap::new(),
        open: Vec::new(),
        cycle: None,
        shapes: Shapes::default(),
        known: HashMap::new(),
        structs: HashMap::new(),
        untyped: None,
        pending: VecDeque::new(),
    };
    let root = lowering.root(root, role);
    while let Some(job) = lowering.pending.pop_front() {
        lowering.finish(job);
    }
    let mut shapes = lowering.shapes;
    unions::try_untyped_branches_last(&mut shapes);
    let root = if root.nullable || !shapes.get(root.shape).is_named() {
        let origin = shapes.origin(root.shape).to_vec();
        shapes.add(Shape::Named(root), origin)
    } else {
        root.shape
    };
    nesting::name_deep_types(&mut shapes, root);
    (shapes, root)
}

struct Lowering<'l, 'a> {
    schemas: &'l mut Schemas<'a>,
    reporter: &'l mut Reporter,
    expanded: HashMap<SchemaId, Rc<Alternatives>>,
    /// The schemas being expanded, outermost first.
    open: Vec<SchemaId>,
    /// The outermost index in `open` that a cycle has reached since the last read.
    cycle: Option<usize>,
    /// The rest of the budget for combining schemas.
    cost_left: usize,
    shapes: Shapes,
    known: HashMap<Conjunction, Slot>,
    /// By the schema that they come from.
    structs: HashMap<Option<SchemaId>, Vec<(ObjectAlternative, StructMode, ShapeId)>>,
    places_left: usize,
    /// The shape of places beyond the limit.
    untyped: Option<ShapeId>,
    /// The definitions that are not looked into.
    opaque: Vec<SchemaId>,
    pending: VecDeque<Job>,
}

/// A shape that has its place, and is yet to be made.
struct Job {
    id: ShapeId,
    depth: usize,
    work: Work,
}

/// The values of a shape that is yet to be made.
enum Work {
    /// The alternatives of a place, and whether `null` is left out.
    Place(Rc<Alternatives>, bool),
    Struct(ObjectAlternative, StructMode),
}

/// How a struct is used.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StructMode {
    /// On its own.
    Plain,
    /// The arguments of a tool, which are a struct even without properties.
    Arguments,
    /// A branch of an untagged union. It keeps unknown properties if they are allowed, because they may belong to
    /// another branch.
    Untagged,
    /// A branch of a union whose tag is this property.
    Tagged(String),
}

impl Lowering<'_, '_> {
    fn root(&mut self, root: SchemaId, role: Role) -> Slot {
        let conjunction = vec![root];
        if self.is_opaque(&self.followed(&conjunction).0) {
            return self.slot(&conjunction, 0);
        }
        let alternatives = self.allowed(&conjunction);
        if role == Role::Output {
            return self.place_of(conjunction, alternatives, 0);
        }
        let mut objects = alternatives.objects.clone();
        if objects.is_empty() {
            self.reporter.say(NEVER_VALID, "", "arguments are an object");
            objects.push(ObjectAlternative { origin: Some(root), ..ObjectAlternative::default() });
        }
        let [only] = objects.as_mut_slice() else {
            let alternatives = Alternatives { objects, ..Alternatives::nothing() };
            return self.place_of(conjunction, Rc::new(alternatives), 0);
        };
        let says_properties = self.schemas.source(root).is_some_and(|source| source.contains_key("properties"));
        if only.is_open() && !says_properties {
            only.additional = Additional::Of(Conjunction::new());
        }
        let shape = self.structure(only.clone(), StructMode::Arguments, 0, conjunction.clone());
        let slot = Slot { shape, nullable: false };
        self.known.insert(conjunction, slot);
        slot
    }

    /// Returns the shape of a place, to be made later.
    fn slot(&mut self, conjunction: &Conjunction, depth: usize) -> Slot {
        let (conjunction, or_null) = self.followed(conjunction);
        let slot = match self.known.get(&conjunction).copied() {
            Some(slot) => slot,
            None if self.has_place(&conjunction, 1) => {
                let alternatives = self.allowed(&conjunction);
                self.place_of(conjunction.clone(), alternatives, depth)
            }
            None => return Slot { shape: self.untyped(), nullable: false },
        };
        Slot { nullable: slot.nullable || or_null && !self.allowed(&conjunction).has_null(), ..slot }
    }

    /// Returns `true` if `count` more types or fields are within the limit.
    fn has_place(&mut self, conjunction: &Conjunction, count: usize) -> bool {
        if self.places_left < count {
            self.say(LIMIT, conjunction, "the schemas combine to too many types");
            return false;
        }
        self.places_left -= count;
        true
    }

    fn untyped(&mut self) -> ShapeId {
        let shapes = &mut self.shapes;
        *self.untyped.get_or_insert_with(|| shapes.add(Shape::Anything, Vec::new()))
    }

    fn place_of(&mut self, conjunction: Conjunction, alternatives: Rc<Alternatives>, depth: usize) -> Slot {
        let nullable = alternatives.has_null() && !alternatives.is_empty() && !alternatives.takes_null();
        let shape = if self.is_opaque(&conjunction) {
            self.shapes.add(Shape::Opaque, conjunction.clone())
        } else {
            self.later(Work::Place(alternatives, nullable), conjunction.clone(), depth)
        };
        let slot = Slot { shape, nullable };
        self.known.insert(conjunction, slot);
        slot
    }

    /// Returns a shape that is made later.
    fn later(&mut self, work: Work, origin: Conjunction, depth: usize) -> ShapeId {
        let id = self.shapes.add(Shape::Anything, origin);
        self.pending.push_back(Job { id, depth, work });
        id
    }

    /// Returns `true` if schemas are one definition that is not looked into, and nothing else.
    fn is_opaque(&self, conjunction: &Conjunction) -> bool {
        matches!(conjunction.as_slice(), [only] if self.opaque.contains(only))
    }

    /// Returns the shape of an opaque definition, if a branch of a union is exactly that definition.
    fn opaque_branch(&mut self, object: &ObjectAlternative) -> Option<ShapeId> {
        let definition = vec![object.origin.filter(|id| self.opaque.contains(id))?];
        let allowed = self.allowed(&definition);
        let open = allowed.open.intersection(Kinds::NULL);
        let only = Alternatives { objects: vec![object.clone()], open, ..Alternatives::nothing() };
        (*allowed == only).then(|| self.slot(&definition, 0).shape)
    }

    /// Replaces references that add nothing by their targets, so that all of them share one shape. Also returns whether
    /// `null` is allowed beside the target.
    fn followed(&self, conjunction: &Conjunction) -> (Conjunction, bool) {
        let mut or_null = false;
        let only = conjunction.len() == 1;
        let mut followed = Conjunction::new();
        for id in conjunction {
            let mut id = *id;
            for _ in 0..LONGEST_CHAIN {
                match self.schemas.get(id).wraps() {
                    Wraps::One(target) => id = target,
                    Wraps::Any([target, null] | [null, target]) if only && self.schemas.get(*null).is_null() => {
                        (id, or_null) = (*target, true);
                    }
                    Wraps::Any(_) | Wraps::Nothing => break,
                }
            }
            followed.push(id);
        }
        followed.sort_unstable();
        followed.dedup();
        (followed, or_null)
    }

    fn finish(&mut self, Job { id, depth, work }: Job) {
        let origin = self.shapes.origin(id).to_vec();
        if depth > DEEPEST {
            self.say(LIMIT, &origin, "too many levels of types");
            return;
        }
        let shape = match work {
            Work::Place(alternatives, without_null) => {
                let mut alternatives = Rc::unwrap_or_clone(alternatives);
                if without_null {
                    alternatives.open = alternatives.open.without(Kinds::NULL);
                }
                self.shape_of(&origin, alternatives, depth)
            }
            Work::Struct(object, mode) => self.object(&object, &mode, depth),
        };
        self.shapes.set(id, shape);
    }

    fn shape_of(&mut self, conjunction: &Conjunction, mut alternatives: Alternatives, depth: usize) -> Shape {
        if alternatives.is_anything() {
            return Shape::Anything;
        }
        if let Some(shape) = alternatives.enumeration() {
            return shape;
        }
        if alternatives.is_empty() {
            if alternatives.has_null() {
                return Shape::Null;
            }
            self.say(NEVER_VALID, conjunction, "");
            return Shape::Anything;
        }
        if alternatives.count() != 1 || alternatives.has_literals() {
            return self.union_shape(alternatives, conjunction, depth);
        }
        match (alternatives.objects.pop(), alternatives.arrays.pop()) {
            (Some(object), _) => self.object(&object, &StructMode::Plain, depth),
            (_, Some(array)) => self.array(&array, depth),
            _ if alternatives.open.has(Kinds::BOOLEAN) => Shape::Boolean,
            _ if alternatives.has_strings() => Shape::Text,
            _ => self.number(alternatives.numbers, conjunction),
        }
    }

    fn place(&self, conjunction: &[SchemaId]) -> String {
        conjunction.first().map(|id| self.schemas.pointer(*id).to_owned()).unwrap_or_default()
    }

    /// Reports a diagnostic at the first of some schemas.
    fn say(&mut self, code: Code, conjunction: &[SchemaId], message: &str) {
        self.reporter.say(code, &self.place(conjunction), message);
    }

    fn number(&mut self, numbers: Option<Range>, conjunction: &Conjunction) -> Shape {
        let Some(Range { whole: true, least, greatest: most }) = numbers else { return Shape::Number };
        // JavaScript writes the bounds of 64 bits as the doubles next to them, which lie outside.
        #[allow(clippy::cast_precision_loss)]
        let is_bound = |value: i128, bits: i32| value as f64 == 2f64.powi(bits);
        // Bounds below `i64::MIN` do not ask for integers of more than 64 bits.
        let least = least.unwrap_or(i64::MIN.into());
        let greatest = most.filter(|most| *most <= u64::MAX.into());
        let is_wide = greatest.is_none() && most.is_some_and(|most| !is_bound(most, 64));
        let shape = match greatest {
            _ if least > u64::MAX.into() => Shape::Anything,
            Some(greatest) if greatest <= i64::MAX.into() => Shape::I64,
            _ if least >= 0 => Shape::U64,
            Some(greatest) if !is_bound(greatest, 63) => Shape::Anything,
            _ => Shape::I64,
        };
        if is_wide || shape == Shape::Anything {
            self.say(WIDE_INTEGER, conjunction, "");
        }
        shape
    }

    /// Returns a struct with a place of its own; the same object used in the same way has one place.
    fn structure(&mut self, object: ObjectAlternative, mode: StructMode, depth: usize, origin: Conjunction) -> ShapeId {
        let known = self.structs.entry(object.origin).or_default();
        let cost = known.len() + object.weight();
        if let Some((.., id)) = known.iter().find(|(known, how, _)| *how == mode && *known == object) {
            return *id;
        }
        if !self.affords(cost) || !self.has_place(&origin, 1) {
            return self.untyped();
        }
        let id = self.later(Work::Struct(object.clone(), mode.clone()), origin, depth);
        self.structs.entry(object.origin).or_default().push((object, mode, id));
        id
    }

    fn object(&mut self, object: &ObjectAlternative, mode: &StructMode, depth: usize) -> Shape {
        if object.properties.is_empty() && object.required.is_empty() && *mode == StructMode::Plain {
            return match &object.additional {
                Additional::Unsaid => Shape::FreeMap,
                Additional::Of(value) if value.is_empty() => Shape::FreeMap,
                Additional::Of(value) => Shape::Map(self.slot(value, depth + MAP_LAYER)),
                Additional::Denied => Shape::Struct(StructShape { unknown: Unknown::Deny, ..StructShape::default() }),
            };
        }
        let unknown = match &object.additional {
            Additional::Denied => Unknown::Deny,
            Additional::Of(value) => Unknown::Keep(self.slot(value, depth + MAP_LAYER)),
            Additional::Unsaid if *mode == StructMode::Untagged => {
                Unknown::Keep(self.slot(&Conjunction::new(), depth + LAYER))
            }
            Additional::Unsaid => Unknown::Ignore,
        };
        let tag = if let StructMode::Tagged(tag) = mode { Some(tag.clone()) } else { None };
        let mut properties: Vec<Property> = object.properties.clone();
        properties.extend(object.undeclared());
        properties.retain(|(key, _)| tag.as_ref() != Some(key));
        let origin = object.origin.as_slice().to_vec();
        if *mode != StructMode::Arguments && !self.has_place(&origin, properties.len()) {
            return Shape::FreeMap;
        }
        let (required, require_any) = (object.required.clone(), object.require_any.clone());
        let is_required = set(&required);
        let mut fields = Vec::new();
        for (key, schemas) in properties {
            let is_required = is_required.contains(key.as_str());
            if let Some(field) = self.field(key, is_required, schemas, depth) {
                fields.push(field);
            }
        }
        Shape::Struct(StructShape { fields, required, tag, unknown, require_any })
    }

    fn field(&mut self, key: String, is_required: bool, schemas: Conjunction, depth: usize) -> Option<Field> {
        let alternatives = self.allowed(&schemas);
        if !is_required && !alternatives.has_null() && alternatives.is_empty() {
            self.say(NEVER_VALID, &schemas, "");
            return None;
        }
        let slot = self.slot(&schemas, depth + LAYER);
        let presence = if is_required {
            Presence::Required
        } else if alternatives.has_null()
            && !(slot.nullable && schemas.iter().any(|id| self.schemas.get(*id).default_null))
        {
            Presence::OptionalOrNull
        } else {
            Presence::Optional
        };
        Some(Field { wire: key, slot, presence, schemas })
    }
}
