//! Stage 2: every dialect becomes one. Keywords of draft 4 to 2020-12 and of OpenAPI are read into [`Node`], which has
//! the fields of 2020-12 alone.

mod assertions;
mod keywords;
mod kinds;
mod scalars;

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::bundle::{Bundle, LONGEST, lookup};
use crate::diagnostics::{LIMIT, MALFORMED_KEYWORD, Reporter};
pub(crate) use assertions::{Assertions, Condition};
use keywords::Reading;
pub(crate) use keywords::WORDING;
pub use kinds::Kinds;
pub(crate) use scalars::Limit;
pub(crate) use scalars::Scalars;

/// A schema of a [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(usize);

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
    /// The schemas that hold beside this one: the target of its reference, if it has one, and then those of `allOf`.
    pub(crate) parts: Vec<SchemaId>,
    pub(crate) has_reference: bool,
    /// `anyOf` and `oneOf`.
    pub(crate) choices: Vec<Choice>,
    /// Schemas that hold under a condition: `if`, `then`, `else`, `dependentSchemas`, `not`.
    pub(crate) conditional: Vec<SchemaId>,
    /// `true` if a keyword other than references and combinations restricts or names values.
    narrows: bool,
    pub(crate) default_null: bool,
}

/// Schemas of which one holds: `anyOf`, or `oneOf`, of which exactly one holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) branches: Vec<SchemaId>,
    pub(crate) is_exclusive: bool,
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
            let node = match value {
                Value::Object(map) => Reading { schemas: self, map, pointer: &pointer, reporter }.node(),
                Value::Bool(allowed) => Node { never: !allowed, narrows: !allowed, ..Node::default() },
                _ => {
                    reporter.say(MALFORMED_KEYWORD, &pointer, "a schema is an object, `true` or `false`");
                    Node::default()
                }
            };
            if let Some(slot) = self.nodes.get_mut(id.0) {
                *slot = Node { pointer, ..node };
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
        let target = |id: &SchemaId| {
            let node = self.get(*id);
            node.parts.first().copied().filter(|_| node.has_reference)
        };
        let chain = std::iter::successors(Some(id), target);
        chain.take(MOST_STEPS).filter_map(|id| self.source(id)).collect()
    }

    /// Returns schemas with those that apply because of their references and `allOf`, at most `most`.
    pub(crate) fn holding(&self, schemas: &[SchemaId], most: usize) -> Vec<SchemaId> {
        let mut all: Vec<SchemaId> = Vec::new();
        let mut pending = schemas.to_vec();
        pending.reverse();
        while let Some(id) = pending.pop().filter(|_| all.len() < most) {
            if !all.contains(&id) {
                all.push(id);
                self.get(id).parts.iter().rev().for_each(|part| pending.push(*part));
            }
        }
        all
    }

    /// Returns `true` if one of these schemas is deprecated.
    #[must_use]
    pub fn is_deprecated(&self, ids: &[SchemaId]) -> bool {
        let is_deprecated = |source: &&Map<String, Value>| lookup(source, "deprecated") == Some(&Value::Bool(true));
        ids.iter().any(|id| self.described_by(*id).iter().any(is_deprecated))
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
        self.add(Node { pointer, parts, ..Node::default() })
    }

    /// Returns a schema that no document has: any of the given ones.
    pub(crate) fn any_of(&mut self, pointer: String, branches: Vec<SchemaId>) -> SchemaId {
        self.add(Node { pointer, choices: vec![Choice { branches, is_exclusive: false }], ..Node::default() })
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
}

impl Node {
    /// Returns the schema that this one only wraps.
    pub(crate) fn wraps(&self) -> Wraps<'_> {
        match (self.parts.as_slice(), self.choices.as_slice()) {
            _ if self.narrows => Wraps::Nothing,
            ([target], []) => Wraps::One(*target),
            ([], [choice]) => Wraps::Any(&choice.branches),
            _ => Wraps::Nothing,
        }
    }

    /// Returns `true` if nothing but the schema's own keywords says which properties there are.
    pub(crate) fn stands_alone(&self) -> bool {
        self.parts.is_empty() && self.choices.is_empty() && self.additional.is_none() && self.conditional.is_empty()
    }

    /// Returns the required properties of a schema that asks for nothing else.
    pub(crate) fn required_alone(&self) -> Option<&[String]> {
        let only = Self { pointer: String::new(), required: Vec::new(), narrows: false, ..self.clone() };
        (only == Self::default()).then_some(self.required.as_slice())
    }

    /// Returns the kinds of values of a schema that asks for nothing else.
    pub(crate) fn kinds_alone(&self, asserted: &Assertions) -> Option<Kinds> {
        let kinds =
            self.kinds.filter(|_| asserted.is_empty() && self.properties.is_empty() && self.allowed.is_none())?;
        let only = Self { pointer: String::new(), kinds: None, narrows: false, ..self.clone() };
        (only == Self::default()).then_some(kinds)
    }

    /// Returns the keywords that restrict the length of arrays.
    pub(crate) fn of_lists(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let least = Some(self.min_items).filter(|least| *least > 0);
        let said = [("minItems", least), ("maxItems", self.max_items)];
        said.into_iter().filter_map(|(keyword, count)| Some((keyword, count?.into())))
    }

    /// Returns `true` if only `null` is allowed.
    pub(crate) fn is_null(&self) -> bool {
        self.kinds == Some(Kinds::NULL) && self.allowed.is_none() && self.parts.is_empty()
    }
}

/// The target of a schema that only wraps another one.
#[derive(Debug)]
pub(crate) enum Wraps<'n> {
    Nothing,
    One(SchemaId),
    Any(&'n [SchemaId]),
}
