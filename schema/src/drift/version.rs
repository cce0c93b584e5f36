//! One version of a schema document, with everything that a comparison asks about it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::pattern::Patterns;
use crate::diagnostics::Reporter;
use crate::normalize::{Assertions, Condition, Kinds, Node, SchemaId, Schemas};
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
    indexes: Vec<OnceCell<Index>>,
    outlines: Vec<OnceCell<Outline>>,
    /// The steps that are left for judging values.
    steps: Cell<usize>,
    pub(super) patterns: RefCell<Patterns>,
    pub(super) known_cases: RefCell<HashMap<Conjunction, Rc<Vec<Case>>>>,
    /// The work for telling cases apart so far.
    pub(super) work_of_cases: Cell<usize>,
}

/// The declarations of a schema, by name.
#[derive(Default)]
struct Index {
    properties: HashMap<String, SchemaId>,
    required: HashSet<String>,
    /// The hash of each listed value, with the places that have it.
    allowed: HashMap<u64, Vec<usize>>,
}

/// A schema in one form.
pub(super) struct Outline {
    /// Its keywords, without the schemas that they hold.
    pub(super) keywords: Value,
    /// The hash of the keywords: equal schemas have equal hashes.
    pub(super) hash: u64,
    /// The schemas that it holds, in an order that its keywords decide.
    pub(super) held: Vec<SchemaId>,
    /// The hash of its own hash and of those of the held schemas.
    nested: OnceCell<u64>,
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
            indexes: assertions.iter().map(|_| OnceCell::new()).collect(),
            outlines: assertions.iter().map(|_| OnceCell::new()).collect(),
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
            for (place, value) in node.allowed.iter().flatten().enumerate() {
                index.allowed.entry(hashed(&ByValue(value))).or_default().push(place);
            }
            index.properties.extend(node.properties.iter().cloned());
            index.required.extend(node.required.iter().cloned());
            index
        };
        self.indexes.get(id.index()).map(|index| index.get_or_init(read))
    }

    /// Returns the outline of a schema, or `None` beyond the limit on schemas.
    pub(super) fn outline(&self, id: SchemaId) -> Option<&Outline> {
        self.outlines.get(id.index()).map(|outline| outline.get_or_init(|| self.outlined(id)))
    }

    /// Returns the hash of an outline together with those of the schemas that it holds.
    pub(super) fn nested_hash(&self, own: &Outline) -> u64 {
        let hash = |id: &SchemaId| self.outline(*id).map(|held| held.hash);
        *own.nested.get_or_init(|| hashed(&(own.hash, own.held.iter().map(hash).collect::<Vec<_>>())))
    }

    fn outlined(&self, id: SchemaId) -> Outline {
        let (node, asserted) = (self.node(id), self.assertions(id));
        let (mut held, mut said): (Vec<SchemaId>, Vec<Value>) = (Vec::new(), Vec::new());
        for named in [&node.properties, &asserted.patterns, &asserted.dependent_schemas] {
            let mut named: Vec<&(String, SchemaId)> = named.iter().collect();
            named.sort_unstable();
            held.extend(named.iter().map(|(_, schema)| *schema));
            said.push(named.iter().map(|(name, _)| name.as_str()).collect());
        }
        let (contains, condition) = (asserted.contains.as_ref(), asserted.condition.as_ref());
        for single in [
            node.reference,
            self.additional(id),
            node.items,
            asserted.not,
            asserted.property_names,
            contains.map(|contains| contains.schema),
            condition.map(|condition| condition.test),
            condition.and_then(|condition| condition.then),
            condition.and_then(|condition| condition.otherwise),
        ] {
            held.extend(single);
            said.push(single.is_some().into());
        }
        for list in [Some(&node.prefix_items), Some(&node.all_of), node.any_of.as_ref(), node.one_of.as_ref()] {
            held.extend(list.into_iter().flatten());
            said.push(list.map(Vec::len).into());
        }
        // Most schemas say nothing but their kinds.
        let is_leaf = held.is_empty() && node.any_of.is_none() && node.one_of.is_none() && asserted.is_empty();
        let is_bare = !node.never && node.allowed.is_none() && node.required.is_empty();
        if is_leaf && is_bare && (node.min_items, node.max_items) == (0, None) {
            said = Vec::new();
        } else {
            said.extend([node.never, asserted.unique_items].map(Value::from));
            said.push(node.allowed.as_ref().map(|values| set_of(values)).into());
            said.push(keys_of(&node.required));
            said.push(asserted.dependent_required.iter().map(|(key, needs)| (key.as_str(), keys_of(needs))).collect());
            let counts = [Some(node.min_items), node.max_items, asserted.min_properties, asserted.max_properties];
            said.extend(counts.map(Value::from));
            let counts = [contains.map(|contains| contains.least), contains.and_then(|contains| contains.most)];
            said.extend(counts.map(Value::from));
            for (keyword, value) in asserted.of_numbers().into_iter().chain(asserted.of_texts()) {
                said.push(keyword.into());
                said.push(value);
            }
            for text in [&asserted.format, &asserted.unevaluated, &asserted.unresolved] {
                said.push(text.as_deref().into());
            }
            held.iter_mut().for_each(|schema| *schema = self.followed(*schema));
        }
        said.push(node.kinds.map(Kinds::names).into());
        let keywords = Value::Array(said);
        Outline { hash: hashed(&ByValue(&keywords)), keywords, held, nested: OnceCell::new() }
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

    /// Returns `true` if a schema lists a value, or lists no values at all.
    pub(super) fn lists(&self, id: SchemaId, value: &Value) -> bool {
        let Some(allowed) = &self.node(id).allowed else { return true };
        let Some(index) = self.index(id) else { return true };
        let places = index.allowed.get(&hashed(&ByValue(value))).into_iter().flatten();
        places.filter_map(|place| allowed.get(*place)).any(|listed| ByValue(listed) == ByValue(value))
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
                crate::normalize::Wraps::One(target) if self.assertions(id).is_empty() => id = target,
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
    let needed = &mut asserted.dependent_required;
    needed.iter_mut().for_each(|(key, needs)| needs.retain(|need| need != key));
    needed.sort_by(|left, right| left.0.cmp(&right.0));
    needed.dedup_by(|next, known| {
        let more = if next.0 == known.0 { Some(&mut next.1) } else { None };
        more.map(|more| known.1.append(more)).is_some()
    });
    needed.retain(|(_, needs)| !needs.is_empty());
}

/// Returns listed values as a set, in which equal ones are there once.
fn set_of(values: &[Value]) -> Value {
    let mut by_hash = Map::new();
    for value in values {
        let alike = by_hash.entry(hashed(&ByValue(value)).to_string()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(alike) = alike
            && !alike.iter().any(|known| same(known, value))
        {
            alike.push(value.clone());
        }
    }
    by_hash.into()
}

/// Returns keys as a set.
fn keys_of(keys: &[String]) -> Value {
    keys.iter().map(|key| (key.as_str(), Value::Null)).collect()
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
            let required: HashSet<&String> = node.required.iter().collect();
            node.properties.iter().all(|(key, schema)| !required.contains(key) || is_possible(schema))
        }
        Kinds::ARRAY => {
            let count = usize::try_from(node.min_items).unwrap_or(usize::MAX);
            let rest = node.items.iter().filter(|_| count > node.prefix_items.len());
            node.prefix_items.iter().take(count).chain(rest).all(is_possible)
        }
        _ => true,
    };
    !node.never
        && node.reference.iter().chain(&node.all_of).all(is_possible)
        && node.any_of.iter().chain(&node.one_of).all(|branches| branches.iter().any(is_possible))
        && node.kinds.unwrap_or(Kinds::ALL).each().any(each)
}
