//! Stage 2: every dialect becomes one. Keywords of draft 4 to 2020-12 and of OpenAPI are read into [`Node`], which has
//! the fields of 2020-12 alone.

#[cfg(feature = "drift")]
mod assertions;
mod keywords;
mod scalars;

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::bundle::{Bundle, Draft, LONGEST, Target, below, lookup};
use crate::diagnostics::{CIRCULAR_REF, DANGLING_REF, EXTERNAL_REF, LIMIT, MALFORMED_KEYWORD, NOT_IN_TYPES, Reporter};
#[cfg(feature = "drift")]
pub(crate) use assertions::{Assertions, Condition};
pub use keywords::Kinds;
pub(crate) use keywords::WORDING;
#[cfg(feature = "drift")]
pub(crate) use scalars::Limit;
pub(crate) use scalars::Scalars;

/// A schema of a [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(usize);

#[cfg(feature = "drift")]
impl SchemaId {
    /// The schema of the whole document.
    pub(crate) const ROOT: Self = Self(0);

    /// Returns the id of the schema with this number.
    pub(crate) fn nth(index: usize) -> Self {
        Self(index)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// One schema, normalized.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) pointer: String,
    /// `true` if the schema is `false`, or cannot be satisfied.
    pub(crate) never: bool,
    pub(crate) kinds: Option<Kinds>,
    /// `enum` and `const`.
    pub(crate) allowed: Option<Vec<Value>>,
    /// The least and the greatest integer within the bounds.
    pub(crate) least: Option<i128>,
    pub(crate) greatest: Option<i128>,
    pub(crate) properties: Vec<(String, SchemaId)>,
    pub(crate) required: Vec<String>,
    /// Keys that are named and no more: by `dependentRequired`, or beside a `$ref` that hides its siblings.
    pub(crate) named: Vec<String>,
    pub(crate) additional: Option<SchemaId>,
    pub(crate) patterns: Vec<SchemaId>,
    /// The schema may declare properties in ways that depend on the value.
    pub(crate) open_ended: bool,
    pub(crate) prefix_items: Vec<SchemaId>,
    pub(crate) items: Option<SchemaId>,
    pub(crate) min_items: u64,
    pub(crate) max_items: Option<u64>,
    pub(crate) reference: Option<SchemaId>,
    pub(crate) all_of: Vec<SchemaId>,
    pub(crate) any_of: Option<Vec<SchemaId>>,
    pub(crate) one_of: Option<Vec<SchemaId>>,
    /// Schemas that hold under a condition: `if`, `then`, `else`, `dependentSchemas`, `not`.
    pub(crate) conditional: Vec<SchemaId>,
    pub(crate) default_null: bool,
}

/// The schemas of a document, by their positions.
#[derive(Debug)]
pub struct Schemas<'a> {
    bundle: Bundle<'a>,
    nodes: Vec<Node>,
    /// The source of each schema that is an object.
    sources: Vec<Option<&'a Map<String, Value>>>,
    by_pointer: HashMap<String, SchemaId>,
    pending: VecDeque<(SchemaId, &'a Value)>,
    /// The length of all pointers.
    pointers: usize,
    is_cut: bool,
}

/// Beyond this many schemas in a document, the rest is untyped.
const MOST_SCHEMAS: usize = 50_000;
/// The memory limit of their pointers, in bytes: a key counts for each schema below it.
const MOST_POINTERS: usize = 8 << 20;
/// The schema that replaces every schema beyond the limits; it allows anything.
const BEYOND_LIMITS: SchemaId = SchemaId(usize::MAX);

impl<'a> Schemas<'a> {
    /// Normalizes a document; the root is the first schema.
    pub(crate) fn new(root: &'a Value, reporter: &mut Reporter) -> (Self, SchemaId) {
        let mut schemas = Self {
            bundle: Bundle::new(root),
            nodes: Vec::new(),
            sources: Vec::new(),
            by_pointer: HashMap::new(),
            pending: VecDeque::new(),
            pointers: 0,
            is_cut: false,
        };
        let id = schemas.reserve(String::new(), root, reporter);
        schemas.normalize_pending(reporter);
        (schemas, id)
    }

    fn normalize_pending(&mut self, reporter: &mut Reporter) {
        while let Some((id, value)) = self.pending.pop_front() {
            let pointer = self.nodes.get_mut(id.0).map(|node| std::mem::take(&mut node.pointer)).unwrap_or_default();
            let node = self.normalize(pointer, value, reporter);
            if let Some(slot) = self.nodes.get_mut(id.0) {
                *slot = node;
            }
        }
    }

    pub(crate) fn get(&self, id: SchemaId) -> &Node {
        static ANYTHING: LazyLock<Node> = LazyLock::new(Node::default);
        self.nodes.get(id.0).unwrap_or_else(|| &ANYTHING)
    }

    /// Returns the JSON pointer of a schema in its document.
    #[must_use]
    pub fn pointer(&self, id: SchemaId) -> &str {
        &self.get(id).pointer
    }

    /// Returns the schema at a JSON pointer, if a reference leads to it.
    pub(crate) fn referred(&self, pointer: &str) -> Option<SchemaId> {
        self.by_pointer.get(pointer).copied()
    }

    /// Returns `true` if the document has more schemas than are read.
    #[cfg(feature = "drift")]
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns how many schemas there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the JSON of a schema; `None` if it is not an object.
    #[must_use]
    pub fn source(&self, id: SchemaId) -> Option<&'a Map<String, Value>> {
        *self.sources.get(id.0)?
    }

    /// Returns a schema and the targets of its plain references, the nearest first: all describe the same value.
    #[must_use]
    pub fn described_by(&self, id: SchemaId) -> Vec<&'a Map<String, Value>> {
        const MOST_STEPS: usize = 8;
        let mut sources = Vec::new();
        let mut next = Some(id);
        for _ in 0..MOST_STEPS {
            let Some(id) = next else { break };
            sources.extend(self.source(id));
            next = self.get(id).reference;
        }
        sources
    }

    /// Returns schemas with those that apply because of their references and `allOf`, at most `most`.
    pub(crate) fn holding(&self, schemas: &[SchemaId], most: usize) -> Vec<SchemaId> {
        let mut all: Vec<SchemaId> = Vec::new();
        let mut pending: Vec<SchemaId> = schemas.iter().rev().copied().collect();
        while let Some(id) = pending.pop().filter(|_| all.len() < most) {
            if !all.contains(&id) {
                all.push(id);
                let node = self.get(id);
                pending.extend(node.all_of.iter().rev());
                pending.extend(node.reference);
            }
        }
        all
    }

    /// Returns `true` if one of these schemas is deprecated.
    #[must_use]
    pub fn is_deprecated(&self, ids: &[SchemaId]) -> bool {
        let mut sources = ids.iter().flat_map(|id| self.described_by(*id));
        sources.any(|source| lookup(source, "deprecated") == Some(&Value::Bool(true)))
    }

    /// Returns the name of a schema in `$defs` or `definitions`.
    #[must_use]
    pub fn definition(&self, id: SchemaId) -> Option<String> {
        let (parent, name) = self.get(id).pointer.rsplit_once('/')?;
        let is_definition = parent.ends_with("/$defs") || parent.ends_with("/definitions");
        is_definition.then(|| mcp_bindgen_model::pointer_key(name))
    }

    /// Returns a schema that no document has: all of the given ones.
    pub(crate) fn all_of(&mut self, pointer: String, parts: Vec<SchemaId>) -> SchemaId {
        self.add(Node { pointer, all_of: parts, ..Node::default() })
    }

    /// Returns a schema that no document has: any of the given ones.
    pub(crate) fn any_of(&mut self, pointer: String, branches: Vec<SchemaId>) -> SchemaId {
        self.add(Node { pointer, any_of: Some(branches), ..Node::default() })
    }

    fn add(&mut self, node: Node) -> SchemaId {
        self.sources.push(self.bundle.at(&node.pointer).and_then(Value::as_object));
        self.nodes.push(node);
        SchemaId(self.nodes.len() - 1)
    }

    fn reserve(&mut self, pointer: String, value: &'a Value, reporter: &mut Reporter) -> SchemaId {
        let has_references = self.bundle.has_references;
        if let Some(known) = self.by_pointer.get(&pointer).filter(|_| has_references) {
            return *known;
        }
        let id = SchemaId(self.nodes.len());
        self.pointers += pointer.len();
        if id.0 >= MOST_SCHEMAS || pointer.len() > LONGEST || self.pointers > MOST_POINTERS {
            if !std::mem::replace(&mut self.is_cut, true) {
                let message = format!("the document has more than {MOST_SCHEMAS} schemas, or its keys are too long");
                reporter.say(LIMIT, "", message);
            }
            return BEYOND_LIMITS;
        }
        if has_references {
            self.by_pointer.insert(pointer.clone(), id);
        }
        self.nodes.push(Node { pointer, ..Node::default() });
        self.sources.push(value.as_object());
        self.pending.push_back((id, value));
        id
    }

    fn normalize(&mut self, pointer: String, value: &'a Value, reporter: &mut Reporter) -> Node {
        let map = match value {
            Value::Object(map) => map,
            Value::Bool(allowed) => return Node { pointer, never: !allowed, ..Node::default() },
            _ => {
                reporter.say(MALFORMED_KEYWORD, &pointer, "a schema is an object, `true` or `false`");
                return Node { pointer, ..Node::default() };
            }
        };
        keywords::say_what_was_unreadable(map, &pointer, reporter);
        let mut reading = keywords::Reading { map, pointer: &pointer, draft: self.bundle.draft, reporter };
        let mut node = Node { default_null: lookup(map, "default") == Some(&Value::Null), ..Node::default() };
        if !(self.bundle.draft.ref_stands_alone() && lookup(map, "$ref").is_some_and(Value::is_string)) {
            reading.scalars(&mut node);
            self.children(&mut node, map, &pointer, reporter);
        } else {
            node.named = keywords::declared(map);
        }
        node.reference = self.reference(map, &pointer, reporter);
        for keyword in
            ["not", "contains", "propertyNames", "dependentRequired", "unevaluatedProperties", "unevaluatedItems"]
        {
            if lookup(map, keyword).is_some() {
                reporter.say(NOT_IN_TYPES, &pointer, format!("`{keyword}`"));
            }
        }
        node.pointer = pointer;
        node
    }

    fn children(&mut self, node: &mut Node, map: &'a Map<String, Value>, pointer: &str, reporter: &mut Reporter) {
        node.properties = self.named(map, "properties", pointer, reporter);
        node.patterns = self.named(map, "patternProperties", pointer, reporter).into_iter().map(|(_, id)| id).collect();
        node.additional = self.one(map, "additionalProperties", pointer, reporter);
        node.all_of = self.listed(map, "allOf", pointer, reporter).unwrap_or_default();
        node.any_of = self.listed(map, "anyOf", pointer, reporter);
        node.one_of = self.listed(map, "oneOf", pointer, reporter);
        // Before 2020-12 the list is in `items`, and `prefixItems` is unknown.
        if lookup(map, "items").is_some_and(Value::is_array) {
            node.prefix_items = self.listed(map, "items", pointer, reporter).unwrap_or_default();
            node.items = self.one(map, "additionalItems", pointer, reporter);
        } else {
            if self.bundle.draft >= Draft::D2020 {
                node.prefix_items = self.listed(map, "prefixItems", pointer, reporter).unwrap_or_default();
            }
            node.items = self.one(map, "items", pointer, reporter);
        }
        let has_conditions = self.bundle.draft >= Draft::D7;
        for keyword in ["if", "then", "else"].into_iter().filter(|_| has_conditions) {
            node.conditional.extend(self.one(map, keyword, pointer, reporter));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            node.conditional.extend(self.named(map, keyword, pointer, reporter).into_iter().map(|(_, id)| id));
        }
        if lookup(map, "not").is_some_and(keywords::may_name_properties) {
            node.conditional.extend(self.one(map, "not", pointer, reporter));
        }
        node.open_ended = lookup(map, "unevaluatedProperties").is_some_and(|value| *value != Value::Bool(false));
    }

    fn one(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        pointer: &str,
        reporter: &mut Reporter,
    ) -> Option<SchemaId> {
        let value = lookup(map, keyword)?;
        let place = below(pointer, keyword);
        if !matches!(value, Value::Object(_) | Value::Bool(_)) {
            reporter.say(MALFORMED_KEYWORD, &place, "a schema is an object, `true` or `false`");
            return None;
        }
        Some(self.reserve(place, value, reporter))
    }

    fn listed(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        pointer: &str,
        reporter: &mut Reporter,
    ) -> Option<Vec<SchemaId>> {
        let value = lookup(map, keyword)?;
        let place = below(pointer, keyword);
        let Value::Array(items) = value else {
            reporter.say(MALFORMED_KEYWORD, &place, "expected an array of schemas");
            return None;
        };
        if items.is_empty() && keyword != "items" {
            reporter.say(MALFORMED_KEYWORD, &place, "expected at least one schema");
            return None;
        }
        let items = items.iter().enumerate();
        Some(items.map(|(index, item)| self.reserve(format!("{place}/{index}"), item, reporter)).collect())
    }

    fn named(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        pointer: &str,
        reporter: &mut Reporter,
    ) -> Vec<(String, SchemaId)> {
        let Some(value) = lookup(map, keyword) else { return Vec::new() };
        let place = below(pointer, keyword);
        let Value::Object(entries) = value else {
            reporter.say(MALFORMED_KEYWORD, &place, "expected an object of schemas");
            return Vec::new();
        };
        entries
            .iter()
            // `dependencies` may also hold lists of names.
            .filter(|(_, schema)| !(keyword == "dependencies" && schema.is_array()))
            .map(|(name, schema)| (name.clone(), self.reserve(below(&place, name), schema, reporter)))
            .collect()
    }

    /// Follows `$ref`, or `$dynamicRef` and `$recursiveRef` if their targets are known.
    fn reference(&mut self, map: &'a Map<String, Value>, pointer: &str, reporter: &mut Reporter) -> Option<SchemaId> {
        let draft = self.bundle.draft;
        let text = |keyword: &str| lookup(map, keyword).and_then(Value::as_str).filter(|_| draft.refers_by(keyword));
        let (reference, target) = if let Some(reference) = text("$ref") {
            (reference, Some(self.bundle.resolve(pointer, reference)))
        } else if let Some(reference) = text("$dynamicRef") {
            (reference, self.bundle.resolve_dynamic(pointer, reference))
        } else if text("$recursiveRef").is_some() {
            ("#", (!self.bundle.has_dynamic_anchors()).then(|| self.bundle.resolve(pointer, "#")))
        } else {
            if let Some(malformed) = lookup(map, "$ref") {
                let message = format!("expected a string, found {malformed}");
                reporter.say(MALFORMED_KEYWORD, &format!("{pointer}/$ref"), message);
            }
            return None;
        };
        let place = format!("{pointer}/$ref");
        match target? {
            Target::Here(target) if target == pointer => {
                reporter.say(CIRCULAR_REF, &place, reference);
                None
            }
            Target::Here(target) => {
                let value = self.bundle.at(&target)?;
                Some(self.reserve(target, value, reporter))
            }
            Target::Nowhere => {
                reporter.say(DANGLING_REF, &place, reference);
                None
            }
            Target::Elsewhere => {
                reporter.say(EXTERNAL_REF, &place, reference);
                None
            }
        }
    }
}

impl Node {
    /// Returns the schema that this one only wraps.
    pub(crate) fn wraps(&self) -> Wraps<'_> {
        let narrows = self.never
            || self.kinds.is_some()
            || self.allowed.is_some()
            || self.least.is_some()
            || self.greatest.is_some()
            || !self.properties.is_empty()
            || !self.required.is_empty()
            || !self.named.is_empty()
            || self.additional.is_some()
            || !self.patterns.is_empty()
            || self.open_ended
            || !self.prefix_items.is_empty()
            || self.items.is_some()
            || self.min_items > 0
            || self.max_items.is_some()
            || !self.conditional.is_empty();
        match (self.reference, self.all_of.as_slice(), &self.any_of, &self.one_of) {
            _ if narrows => Wraps::Nothing,
            (Some(target), [], None, None) => Wraps::One(target),
            (None, [target], None, None) => Wraps::One(*target),
            (None, [], Some(branches), None) | (None, [], None, Some(branches)) => Wraps::Any(branches),
            _ => Wraps::Nothing,
        }
    }

    /// Returns `true` if nothing but the schema's own keywords says which properties there are.
    #[cfg(feature = "drift")]
    pub(crate) fn stands_alone(&self) -> bool {
        self.reference.is_none()
            && self.all_of.is_empty()
            && self.any_of.is_none()
            && self.one_of.is_none()
            && self.additional.is_none()
            && self.conditional.is_empty()
    }

    /// Returns the required properties of a schema that asks for nothing else.
    #[cfg(feature = "drift")]
    pub(crate) fn required_alone(&self) -> Option<&[String]> {
        let only = Self { pointer: String::new(), required: Vec::new(), ..self.clone() };
        (only == Self::default()).then_some(self.required.as_slice())
    }

    /// Returns the kinds of values of a schema that asks for nothing else.
    #[cfg(feature = "drift")]
    pub(crate) fn kinds_alone(&self, asserted: &Assertions) -> Option<Kinds> {
        let kinds =
            self.kinds.filter(|_| asserted.is_empty() && self.properties.is_empty() && self.allowed.is_none())?;
        let only = Self { pointer: String::new(), kinds: None, ..self.clone() };
        (only == Self::default()).then_some(kinds)
    }

    /// Returns `true` if only `null` is allowed.
    pub(crate) fn is_null(&self) -> bool {
        self.kinds == Some(Kinds::NULL) && self.allowed.is_none() && self.reference.is_none() && self.all_of.is_empty()
    }
}

/// The target of a schema that only wraps another one.
#[derive(Debug)]
pub(crate) enum Wraps<'n> {
    Nothing,
    One(SchemaId),
    Any(&'n [SchemaId]),
}
