//! Expands a schema to its alternatives: references, `allOf`, `anyOf` and `oneOf` are resolved on one level; nested
//! schemas stay lists.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::Conjunction;
use super::alternatives::Alternatives;
use super::arrays::{ArrayAlternative, Rest};
use super::index;
use super::numbers::{Numbers, Range};
use super::objects::{Additional, ObjectAlternative, merge_requirements};
use crate::diagnostics::{CIRCULAR_REF, LIMIT, Reporter};
use crate::normalize::{Node, SchemaId, Schemas, WORDING, Wraps};

/// References and combinations nest at most this deep on one level.
const DEEPEST: usize = 100;
/// The budget for combining schemas, plus a part for each schema of the document: the cost of comparing and copying.
/// Real documents use less than a tenth.
const COST: usize = 10_000;
const COST_OF_SCHEMA: usize = 150;

#[derive(Debug)]
pub(super) struct Expander {
    known: HashMap<SchemaId, Rc<Alternatives>>,
    /// The schemas being expanded, outermost first.
    open: Vec<SchemaId>,
    /// The outermost index in `open` that a cycle has reached since the last read.
    cycle: Option<usize>,
    names: HashMap<SchemaId, Rc<Vec<String>>>,
    /// The rest of the budget.
    left: usize,
    anything: Rc<Alternatives>,
}

impl Expander {
    pub(super) fn new(schemas: &Schemas<'_>) -> Self {
        Self {
            known: HashMap::new(),
            open: Vec::new(),
            cycle: None,
            names: HashMap::new(),
            left: COST + COST_OF_SCHEMA * schemas.len(),
            anything: Rc::new(Alternatives::anything()),
        }
    }

    pub(super) fn all(
        &mut self,
        schemas: &Schemas<'_>,
        conjunction: &[SchemaId],
        reporter: &mut Reporter,
    ) -> Rc<Alternatives> {
        let mut all: Option<Rc<Alternatives>> = None;
        for id in conjunction {
            if let Some(part) = self.one(schemas, *id, reporter) {
                all = Some(match all {
                    None => part,
                    Some(all) => Rc::new(self.narrowed(Rc::unwrap_or_clone(all), &part)),
                });
            }
        }
        all.unwrap_or_else(|| Rc::clone(&self.anything))
    }

    /// Counts a cost; says whether it can be afforded.
    pub(super) fn affords(&mut self, cost: usize) -> bool {
        let affords = cost <= self.left;
        self.left = if affords { self.left - cost } else { 0 };
        affords
    }

    /// Returns the intersection, or `alternatives` if the intersection is too expensive.
    fn narrowed(&mut self, mut alternatives: Alternatives, other: &Alternatives) -> Alternatives {
        let ways = |one: &Alternatives| 1 + one.arrays.len().max(one.objects.len());
        let cost = alternatives.weight() * ways(other) + other.weight() * ways(&alternatives);
        if self.affords(cost) {
            alternatives.intersect(other);
        }
        alternatives
    }

    /// Expands a schema, or returns `None` if it only refers to itself.
    fn one(&mut self, schemas: &Schemas<'_>, id: SchemaId, reporter: &mut Reporter) -> Option<Rc<Alternatives>> {
        if let Some(known) = self.known.get(&id) {
            return Some(Rc::clone(known));
        }
        let node = schemas.get(id);
        if let Some(place) = self.open.iter().position(|open| *open == id) {
            self.cycle = Some(self.cycle.map_or(place, |cycle| cycle.min(place)));
            return None;
        }
        if self.open.len() >= DEEPEST || !self.affords(1) {
            let message = if self.left == 0 {
                "the schemas combine in too many ways"
            } else {
                "too many levels of references and combinations"
            };
            reporter.say(LIMIT, &node.pointer, message);
            return Some(Rc::clone(&self.anything));
        }
        let outer_cycle = self.cycle.take();
        self.open.push(id);
        let alternatives = match node.wraps() {
            Wraps::One(target) => self.one(schemas, target, reporter).unwrap_or_else(|| {
                if node.reference.is_some() {
                    reporter.say(CIRCULAR_REF, &node.pointer, "");
                }
                Rc::clone(&self.anything)
            }),
            Wraps::Any(_) | Wraps::Nothing => Rc::new(self.expand(schemas, id, node, reporter)),
        };
        self.open.pop();
        let depends_on_outer = self.cycle.is_some_and(|cycle| cycle < self.open.len());
        self.cycle = match (self.cycle.filter(|_| depends_on_outer), outer_cycle) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, right) => left.or(right),
        };
        if alternatives.overflowed {
            reporter.say(LIMIT, &node.pointer, "too many alternatives to tell apart");
        }
        if !depends_on_outer {
            self.known.insert(id, Rc::clone(&alternatives));
        }
        Some(alternatives)
    }

    fn expand(&mut self, schemas: &Schemas<'_>, id: SchemaId, node: &Node, reporter: &mut Reporter) -> Alternatives {
        if node.never {
            return Alternatives::nothing();
        }
        let mut all = own(schemas, id, node);
        if let Some(reference) = node.reference
            && let Some(target) = self.one(schemas, reference, reporter)
        {
            all = self.narrowed(all, &target);
        }
        for part in &node.all_of {
            if let Some(part) = self.one(schemas, *part, reporter) {
                all = self.narrowed(all, &part);
            }
        }
        for branches in node.any_of.iter().chain(&node.one_of) {
            let branches: Vec<_> = branches.iter().filter_map(|branch| self.one(schemas, *branch, reporter)).collect();
            let any = self.any(&branches);
            all = if matches!(node.wraps(), Wraps::Any(_)) { any } else { self.narrowed(all, &any) };
        }
        self.name_conditional_properties(schemas, node, &mut all);
        all
    }

    fn any(&mut self, branches: &[Rc<Alternatives>]) -> Alternatives {
        let ways = |one: &Rc<Alternatives>| one.arrays.len().max(one.objects.len());
        let (ways, weight) =
            branches.iter().fold((1, 0), |(all, weight), one| (all + ways(one), weight + one.weight()));
        // Each way is compared with those before it; most differ at the first look.
        if !self.affords(weight + ways.min(super::alternatives::MOST_ALTERNATIVES) * ways) {
            return Alternatives::anything();
        }
        let mut any = Alternatives::union(branches.iter().map(Rc::as_ref));
        any.objects = merge_requirements(any.objects);
        any
    }

    /// Names conditional properties, which may have any value if their condition is false.
    fn name_conditional_properties(&mut self, schemas: &Schemas<'_>, node: &Node, all: &mut Alternatives) {
        if node.conditional.is_empty() || all.objects.is_empty() {
            return;
        }
        let below: Vec<_> = node.conditional.iter().map(|id| self.names_below(schemas, *id)).collect();
        let count: usize = below.iter().flatten().map(|names| names.len()).sum();
        let is_whole = below.iter().all(Option::is_some) && self.affords(count * all.objects.len());
        let mut known = HashSet::new();
        let names: Vec<String> =
            below.iter().flatten().flat_map(|names| names.iter()).filter(|name| known.insert(*name)).cloned().collect();
        for object in &mut all.objects {
            if is_whole {
                index::extend(&mut object.named, &names);
            } else if object.additional == Additional::Unsaid {
                object.additional = Additional::Of(Conjunction::new());
            }
        }
    }

    /// Returns the keys that a schema declares, requires or names for its object; `None` if there are too many.
    fn names_below(&mut self, schemas: &Schemas<'_>, id: SchemaId) -> Option<Rc<Vec<String>>> {
        if let Some(known) = self.names.get(&id).cloned() {
            return Some(known);
        }
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        let (mut below, mut seen) = (vec![id], HashSet::from([id]));
        while let Some(id) = below.pop() {
            let node = schemas.get(id);
            let branches = node.any_of.iter().chain(&node.one_of).flatten();
            let parts = node.all_of.iter().chain(&node.conditional).chain(&node.reference).chain(branches);
            below.extend(parts.copied().filter(|part| seen.insert(*part)).collect::<Vec<_>>().into_iter().rev());
            let properties = node.properties.iter().map(|(name, _)| name);
            let found = properties.chain(&node.required).chain(&node.named);
            names.extend(found.filter(|name| known.insert(*name)).cloned());
            let cost = 1 + node.properties.len() + node.required.len() + node.named.len() + below.len();
            if !self.affords(cost) {
                return None;
            }
        }
        let names = Rc::new(names);
        self.names.insert(id, Rc::clone(&names));
        Some(names)
    }
}

/// Returns the values that the schema's own keywords allow, leaving out the ones that combine other schemas.
fn own(schemas: &Schemas<'_>, id: SchemaId, node: &Node) -> Alternatives {
    let mut own = node.kinds.map_or_else(Alternatives::anything, Alternatives::of_kinds);
    if let Some(values) = &node.allowed {
        own.intersect(&Alternatives::of_values(values));
    }
    if let Numbers::Within(Range { least, greatest, .. }) = &mut own.numbers {
        *least = node.least;
        *greatest = node.greatest;
    }
    for array in &mut own.arrays {
        *array = array_of(schemas, node);
    }
    for object in &mut own.objects {
        *object = object_of(id, node, schemas);
    }
    own
}

fn array_of(schemas: &Schemas<'_>, node: &Node) -> ArrayAlternative {
    let rest = match node.items {
        Some(items) if schemas.get(items).never => Rest::Closed,
        items => Rest::Of(items.into_iter().collect()),
    };
    let longest = if rest == Rest::Closed { u64::try_from(node.prefix_items.len()).ok() } else { None };
    ArrayAlternative {
        prefix: node.prefix_items.iter().map(|item| vec![*item]).collect(),
        rest,
        least: node.min_items,
        most: node.max_items.into_iter().chain(longest).min(),
    }
}

fn object_of(id: SchemaId, node: &Node, schemas: &Schemas<'_>) -> ObjectAlternative {
    let additional = match (node.additional, node.patterns.as_slice()) {
        (Some(additional), []) if schemas.get(additional).never => Additional::Denied,
        (Some(additional), [pattern]) if schemas.get(additional).never => Additional::Of(vec![*pattern]),
        (Some(additional), []) if is_anything(schemas, additional) => Additional::Of(Conjunction::new()),
        (Some(additional), []) => Additional::Of(vec![additional]),
        (None, []) if !node.open_ended => Additional::Unsaid,
        _ => Additional::Of(Conjunction::new()),
    };
    ObjectAlternative {
        properties: node.properties.iter().map(|(name, schema)| (name.clone(), vec![*schema])).collect(),
        required: node.required.clone(),
        additional,
        require_any: Vec::new(),
        named: node.named.clone(),
        origin: Some(id),
    }
}

fn is_anything(schemas: &Schemas<'_>, id: SchemaId) -> bool {
    // Annotations do not make it a separate type.
    schemas.source(id).is_none_or(|source| source.keys().all(|key| WORDING.contains(&key.as_str())))
}
