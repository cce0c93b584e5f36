//! One version of a schema document, with everything that a comparison asks about it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::pattern::Patterns;
use crate::diagnostics::Reporter;
use crate::keys::{set, sorted};
use crate::normalize::{Assertions, Condition, Kinds, Node, SchemaId, Schemas, Wraps};
use crate::number::{ByValue, hashed, same};
use crate::shape::{ShapeId, Shapes};
use crate::{Document, Role};

/// Schemas that all apply; an empty list allows anything.
pub(super) type Conjunction = Vec<SchemaId>;

/// The schemas whose own keywords hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) schemas: Conjunction,
}

pub(crate) struct Version<'a> {
    pub(crate) document: Document<'a>,
    assertions: Vec<Assertions>,
    /// `true` for each schema that has a finite value.
    possible: Vec<bool>,
    /// The classes of equal schemas within this version.
    pub(super) equal_to_itself: OnceCell<Equality>,
    indexes: Vec<OnceCell<Index>>,
    /// The steps that are left for judging values.
    steps: Cell<usize>,
    pub(super) patterns: RefCell<Patterns>,
    pub(super) known_cases: RefCell<HashMap<Conjunction, Rc<Vec<Case>>>>,
    /// The work for telling cases apart so far.
    pub(super) work_of_cases: Cell<usize>,
}

/// The classes of equal schemas of two versions.
pub(super) struct Equality {
    pub(super) left: Vec<usize>,
    pub(super) right: Vec<usize>,
}

/// The declarations of a schema, by name.
#[derive(Default)]
struct Index {
    properties: HashMap<String, SchemaId>,
    required: HashSet<String>,
    /// The keys that each key of `dependentRequired` requires.
    needed: HashMap<String, Vec<String>>,
    /// The hash of each listed value, with the places that have it.
    allowed: HashMap<u64, Vec<usize>>,
}

/// The limit on steps for validating values in a document, plus a part for each of its schemas.
const MOST_STEPS: usize = 100_000;
const MOST_STEPS_EACH: usize = 400;

impl<'a> Version<'a> {
    pub(super) fn read(schema: &'a Value, role: Role) -> Self {
        let mut document = Document::read(schema, role, &mut Reporter::new("", 0, ""));
        // Generated types send all properties that they store. For reading this may be omitted: a type that stores more
        // refuses less.
        if role == Role::Input {
            document.keep_declared();
        }
        let mut version = Self::of(document);
        for asserted in &mut version.assertions {
            in_one_form(asserted, &version.document);
        }
        version
    }

    /// Reads a schema that only values are held against.
    pub(super) fn without_shapes(schema: &'a Value, role: Role) -> Self {
        let (schemas, _) = Schemas::new(schema, &mut Reporter::new("", 0, ""));
        Self::of(Document { schemas, shapes: Shapes::default(), root: ShapeId::default(), role })
    }

    pub(crate) fn of(mut document: Document<'a>) -> Self {
        let assertions = document.schemas.assertions();
        Self {
            possible: possible(&document, &assertions),
            equal_to_itself: OnceCell::new(),
            indexes: assertions.iter().map(|_| OnceCell::new()).collect(),
            steps: Cell::new(MOST_STEPS + MOST_STEPS_EACH * assertions.len()),
            patterns: RefCell::default(),
            known_cases: RefCell::default(),
            work_of_cases: Cell::default(),
            document,
            assertions,
        }
    }

    /// Returns the limit on comparisons with another version, after which the rest is undecided.
    pub(super) fn most_comparisons(&self, other: &Version<'_>) -> usize {
        const MOST: usize = 20_000;
        const MOST_EACH: usize = 20;
        MOST + MOST_EACH * (self.assertions.len() + other.assertions.len())
    }

    /// Takes several steps; returns `false` if none was left.
    pub(super) fn has_steps(&self, count: usize) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(count));
        left > 0
    }

    fn index(&self, id: SchemaId) -> Option<&Index> {
        let read = || {
            let node = self.node(id);
            let mut index = Index::default();
            for (place, value) in node.allowed.as_deref().unwrap_or_default().iter().enumerate() {
                index.allowed.entry(hashed(&ByValue(value))).or_default().push(place);
            }
            index.properties.extend(node.properties.iter().cloned());
            index.required.extend(node.required.iter().cloned());
            index.needed.extend(self.assertions(id).dependent_required.iter().cloned());
            index
        };
        self.indexes.get(id.index()).map(|index| index.get_or_init(read))
    }

    /// Returns the schemas, in the order of their numbers.
    pub(super) fn ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        (0..self.assertions.len()).map(SchemaId::nth)
    }

    /// Returns `true` unless a schema is beyond the limit on schemas.
    pub(super) fn has(&self, id: SchemaId) -> bool {
        id.index() < self.assertions.len()
    }

    /// Returns the schemas that a schema puts on a key, each with whether that is sure: of a pattern it may not be known
    /// whether it matches, and then the schema of undeclared properties may hold instead.
    pub(super) fn keyed(&self, id: SchemaId, key: &str) -> Vec<(SchemaId, bool)> {
        let mut keyed: Vec<(SchemaId, bool)> = Vec::new();
        if let Some(schema) = self.index(id).and_then(|index| index.properties.get(key)) {
            keyed.push((*schema, true));
        }
        for (pattern, schema) in &self.assertions(id).patterns {
            let matches = self.patterns.borrow_mut().matches(pattern, key);
            if matches != Some(false) {
                keyed.push((*schema, matches.is_some()));
            }
        }
        let is_known = keyed.iter().any(|(_, is_sure)| *is_sure);
        if let Some(schema) = self.additional(id).filter(|_| !is_known) {
            keyed.push((schema, keyed.is_empty()));
        }
        keyed
    }

    pub(super) fn requires(&self, id: SchemaId, key: &str) -> bool {
        self.index(id).is_some_and(|index| index.required.contains(key))
    }

    /// Returns the keys that `dependentRequired` requires beside a key.
    pub(super) fn needed(&self, id: SchemaId, key: &str) -> &[String] {
        self.index(id).and_then(|index| index.needed.get(key)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns `true` if a schema lists a value, or lists no values at all.
    pub(super) fn lists(&self, id: SchemaId, value: &Value) -> bool {
        let Some(allowed) = &self.node(id).allowed else { return true };
        let Some(index) = self.index(id) else { return true };
        let places = index.allowed.get(&hashed(&ByValue(value))).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| allowed.get(*place)).any(|listed| same(listed, value))
    }

    pub(crate) fn node(&self, id: SchemaId) -> &Node {
        self.document.schemas.get(id)
    }

    pub(crate) fn assertions(&self, id: SchemaId) -> &Assertions {
        static NONE: std::sync::LazyLock<Assertions> = std::sync::LazyLock::new(Assertions::default);
        self.assertions.get(id.index()).unwrap_or(&NONE)
    }

    /// Follows schemas that only refer to another one.
    pub(super) fn followed(&self, mut id: SchemaId) -> SchemaId {
        const LONGEST_CHAIN: usize = 40;
        for _ in 0..LONGEST_CHAIN {
            match self.node(id).wraps() {
                Wraps::One(target) if self.assertions(id).is_empty() => id = target,
                _ => break,
            }
        }
        id
    }

    /// Returns the schema of properties that are not declared.
    pub(super) fn additional(&self, id: SchemaId) -> Option<SchemaId> {
        self.node(id).additional.or(self.assertions(id).others)
    }

    /// Returns the kinds that a schema's own keywords allow.
    pub(super) fn kinds(&self, id: SchemaId) -> Kinds {
        let node = self.node(id);
        if node.never || self.possible.get(id.index()) == Some(&false) {
            return Kinds::NONE;
        }
        let refused = self.assertions(id).not.and_then(|not| self.node(not).kinds_alone(self.assertions(not)));
        node.kinds.unwrap_or(Kinds::ALL).without(refused.unwrap_or(Kinds::NONE))
    }
}

/// Normalizes equivalent assertions: `dependentSchemas` and `if` that only require properties become
/// `dependentRequired`.
fn in_one_form(asserted: &mut Assertions, document: &Document<'_>) {
    let required = |id: SchemaId| document.schemas.get(id).required_alone().filter(|_| id != SchemaId::ROOT);
    asserted.dependent_schemas.retain(|(key, schema)| match required(*schema) {
        Some(needs) => {
            asserted.dependent_required.push((key.clone(), needs.to_vec()));
            false
        }
        None => true,
    });
    if let Some(Condition { test, then: Some(then), otherwise: None }) = &asserted.condition
        && let (Some([key]), Some(needs)) = (required(*test), required(*then))
    {
        asserted.dependent_required.push((key.clone(), needs.to_vec()));
        asserted.condition = None;
    }
    // Each key once.
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (key, needs) in sorted(&asserted.dependent_required, |(key, _)| key) {
        let others = needs.iter().filter(|need| *need != key).cloned();
        match all.last_mut() {
            Some((known, needs)) if known == key => needs.extend(others),
            _ => all.push((key.clone(), others.collect())),
        }
    }
    all.retain(|(_, needs)| !needs.is_empty());
    asserted.dependent_required = all;
}

/// Finds the schemas with a finite value: a schema that requires itself has none.
fn possible(document: &Document<'_>, assertions: &[Assertions]) -> Vec<bool> {
    // Each round finds values that nest one deeper.
    const MOST_ROUNDS: usize = 64;
    let mut possible = vec![false; assertions.len()];
    for _ in 0..MOST_ROUNDS {
        let mut changed = false;
        for index in (0..possible.len()).rev() {
            if possible.get(index) == Some(&false) && has_value(document, &possible, SchemaId::nth(index)) {
                possible.iter_mut().skip(index).take(1).for_each(|known| *known = true);
                changed = true;
            }
        }
        if !changed {
            return possible;
        }
    }
    vec![true; assertions.len()]
}

/// Returns `true` if a schema has a value, given the known schemas.
fn has_value(document: &Document<'_>, possible: &[bool], id: SchemaId) -> bool {
    let node = document.schemas.get(id);
    let is_possible = |id: &SchemaId| possible.get(id.index()) != Some(&false);
    let each = |kind: Kinds| match kind {
        Kinds::OBJECT => {
            let required = set(&node.required);
            node.properties.iter().all(|(key, schema)| !required.contains(key.as_str()) || is_possible(schema))
        }
        Kinds::ARRAY => {
            let count = usize::try_from(node.min_items).unwrap_or(usize::MAX);
            let rest = node.items.iter().filter(|_| count > node.prefix_items.len());
            node.prefix_items.iter().take(count).chain(rest).all(is_possible)
        }
        _ => true,
    };
    !node.never
        && node.parts.iter().all(is_possible)
        && node.choices.iter().all(|choice| choice.branches.iter().any(is_possible))
        && node.kinds.unwrap_or(Kinds::ALL).each().any(each)
}
