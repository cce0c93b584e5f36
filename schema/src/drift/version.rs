//! One version of a schema document, with everything that a comparison asks about it.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::normalize::{Assertions, Kinds, Node, SchemaId};
use crate::number::ByValue;
use crate::{Document, Role};

/// Schemas that hold together; none means anything.
pub(super) type Conjunction = Vec<SchemaId>;

pub(super) struct Version<'a> {
    pub(super) document: Document<'a>,
    assertions: Vec<Assertions>,
    /// The schema of the whole document.
    pub(super) root: SchemaId,
    indexes: Vec<OnceCell<Index>>,
    /// The steps that are left for judging values.
    steps: Cell<usize>,
}

/// The declarations of a schema, by name.
struct Index {
    properties: HashMap<String, SchemaId>,
    required: HashSet<String>,
    /// The hash of each listed value, with the places that have it.
    allowed: HashMap<u64, Vec<usize>>,
}

/// Judging values costs at most so many steps in a document, and so many more for each of its schemas.
const MOST_STEPS: usize = 100_000;
const MOST_STEPS_EACH: usize = 400;

impl<'a> Version<'a> {
    pub(super) fn read(schema: &'a Value, role: Role) -> Self {
        let mut reporter = Reporter::new("", 0, "");
        let mut document = Document::read(schema, role, &mut reporter);
        let assertions = document.schemas.assertions();
        let indexes = assertions.iter().map(|_| OnceCell::new()).collect();
        let steps = Cell::new(MOST_STEPS + MOST_STEPS_EACH * assertions.len());
        Self { document, assertions, root: SchemaId::ROOT, indexes, steps }
    }

    /// After so many comparisons of places with another version, the rest is undecided.
    pub(super) fn most_comparisons(&self, other: &Version<'_>) -> usize {
        const MOST: usize = 20_000;
        const MOST_EACH: usize = 20;
        MOST + MOST_EACH * (self.assertions.len() + other.assertions.len())
    }

    /// Takes a step; false when there is none left.
    pub(super) fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    fn index(&self, id: SchemaId) -> Option<&Index> {
        let read = || {
            let node = self.node(id);
            let mut allowed: HashMap<u64, Vec<usize>> = HashMap::new();
            for (place, value) in node.allowed.iter().flatten().enumerate() {
                allowed.entry(ByValue(value).hashed()).or_default().push(place);
            }
            Index {
                properties: node.properties.iter().cloned().collect(),
                required: node.required.iter().cloned().collect(),
                allowed,
            }
        };
        self.indexes.get(id.index()).map(|index| index.get_or_init(read))
    }

    /// The schema that a schema declares for a key.
    pub(super) fn property(&self, id: SchemaId, key: &str) -> Option<SchemaId> {
        self.index(id)?.properties.get(key).copied()
    }

    pub(super) fn requires(&self, id: SchemaId, key: &str) -> bool {
        self.index(id).is_some_and(|index| index.required.contains(key))
    }

    /// Whether a value is among those that a schema lists; true where it lists none.
    pub(super) fn lists(&self, id: SchemaId, value: &Value) -> bool {
        let Some(allowed) = &self.node(id).allowed else { return true };
        let Some(index) = self.index(id) else { return true };
        let places = index.allowed.get(&ByValue(value).hashed()).into_iter().flatten();
        places.filter_map(|place| allowed.get(*place)).any(|listed| ByValue(listed) == ByValue(value))
    }

    pub(super) fn node(&self, id: SchemaId) -> &Node {
        self.document.schemas.get(id)
    }

    pub(super) fn assertions(&self, id: SchemaId) -> &Assertions {
        static NONE: std::sync::LazyLock<Assertions> = std::sync::LazyLock::new(Assertions::default);
        self.assertions.get(id.index()).unwrap_or(&NONE)
    }

    /// What a schema leads to that says nothing of its own.
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

    /// The kinds that a schema's own keywords allow.
    pub(super) fn kinds(&self, id: SchemaId) -> Kinds {
        let node = self.node(id);
        if node.never { Kinds::NONE } else { node.kinds.unwrap_or(Kinds::ALL) }
    }
}
