//! One version of a schema document, with everything that a comparison asks about it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde_json::{Value, json};

use super::pattern::Patterns;
use crate::diagnostics::Reporter;
use crate::normalize::{Assertions, Condition, Kinds, Node, SchemaId, Schemas};
use crate::number::{ByValue, distinct, hashed};
use crate::shape::{ShapeId, Shapes};
use crate::{Document, Role};

/// Schemas that all apply; an empty list allows anything.
pub(super) type Conjunction = Vec<SchemaId>;

/// The schemas whose own keywords hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
            let mut allowed: HashMap<u64, Vec<usize>> = HashMap::new();
            for (place, value) in node.allowed.iter().flatten().enumerate() {
                allowed.entry(hashed(&ByValue(value))).or_default().push(place);
            }
            Index {
                properties: node.properties.iter().cloned().collect(),
                required: node.required.iter().cloned().collect(),
                allowed,
            }
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
        let mut held: Vec<SchemaId> = Vec::new();
        let mut names = [&node.properties, &asserted.patterns, &asserted.dependent_schemas].map(Clone::clone);
        for named in &mut names {
            named.sort_unstable();
            held.extend(named.iter().map(|(_, schema)| *schema));
        }
        let condition = asserted.condition.as_ref();
        let single = [
            node.reference,
            self.additional(id),
            node.items,
            asserted.not,
            asserted.property_names,
            asserted.contains.as_ref().map(|contains| contains.schema),
            condition.map(|condition| condition.test),
            condition.and_then(|condition| condition.then),
            condition.and_then(|condition| condition.otherwise),
        ];
        let lists = [Some(&node.prefix_items), Some(&node.all_of), node.any_of.as_ref(), node.one_of.as_ref()];
        held.extend(single.iter().flatten().chain(lists.into_iter().flatten().flatten()));
        let made_of = |keywords: Value, held| Outline {
            hash: hashed(&ByValue(&keywords)),
            keywords,
            held,
            nested: OnceCell::new(),
        };
        // Most schemas say nothing but their kinds.
        let is_leaf = held.is_empty() && node.any_of.is_none() && node.one_of.is_none() && asserted.is_empty();
        let is_bare = !node.never && node.allowed.is_none() && node.required.is_empty();
        if is_leaf && is_bare && (node.min_items, node.max_items) == (0, None) {
            return made_of(json!(node.kinds.map(Kinds::names)), held);
        }
        // Listed values are a set, like required properties.
        let mut allowed = node.allowed.as_ref().map(|values| distinct(values, ByValue));
        allowed
            .iter_mut()
            .for_each(|values| values.sort_by_cached_key(|value| (hashed(&ByValue(value)), value.to_string())));
        let needed = asserted.dependent_required.iter().map(|(key, needs)| (key, BTreeSet::from_iter(needs)));
        let keywords = json!([
            names.map(|named| named.into_iter().map(|(name, _)| name).collect::<Vec<_>>()),
            [single.map(|schema| schema.is_some())],
            lists.map(|list| list.map(Vec::len)),
            [node.never, asserted.unique_items],
            [node.kinds.map(Kinds::names)],
            allowed,
            BTreeSet::from_iter(&node.required),
            needed.collect::<BTreeMap<_, _>>(),
            [Some(node.min_items), node.max_items, asserted.min_properties, asserted.max_properties],
            asserted.contains.as_ref().map(|contains| (contains.least, contains.most)),
            asserted.of_numbers(),
            asserted.of_texts().collect::<Vec<_>>(),
            [&asserted.format, &asserted.unevaluated, &asserted.unresolved],
        ]);
        held.iter_mut().for_each(|schema| *schema = self.followed(*schema));
        made_of(keywords, held)
    }

    /// Returns the schemas that a schema puts on a key, each with whether that is sure: of a pattern it may not be known
    /// whether it matches, and then the schema of undeclared properties may hold instead.
    pub(super) fn keyed(&self, id: SchemaId, key: &str) -> impl Iterator<Item = (SchemaId, bool)> + use<> {
        let declared = self.index(id).and_then(|index| index.properties.get(key)).map(|schema| (*schema, true));
        let mut matched: Vec<(SchemaId, bool)> = Vec::new();
        for (pattern, schema) in &self.assertions(id).patterns {
            let matches = self.patterns.borrow_mut().matches(pattern, key);
            if matches != Some(false) {
                matched.push((*schema, matches.is_some()));
            }
        }
        let is_known = declared.is_some() || matched.iter().any(|(_, is_sure)| *is_sure);
        let other = self.additional(id).filter(|_| !is_known).map(|schema| (schema, matched.is_empty()));
        declared.into_iter().chain(matched).chain(other)
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
    let mut needed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, mut needs) in asserted.dependent_required.drain(..) {
        needs.retain(|need| *need != key);
        needed.entry(key).or_default().append(&mut needs);
    }
    asserted.dependent_required.extend(needed.into_iter().filter(|(_, needs)| !needs.is_empty()));
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
