//! From one schema to its alternatives: references, `allOf`, `anyOf` and `oneOf` are resolved on the schema's own
//! level; what lies below stays a list of schemas.

use std::collections::HashMap;

use super::alternatives::{Alternatives, Conjunction, Numbers};
use super::arrays::{ArrayAlternative, Rest};
use super::objects::{Additional, ObjectAlternative, merge_requirements};
use crate::diagnostics::{CIRCULAR_REF, LIMIT, Reporter};
use crate::normalize::{Node, SchemaId, Schemas, Wraps};

/// References and combinations nest at most this deep on one level.
const DEEPEST: usize = 100;
/// Schemas in cycles are expanded anew for each that leads to them; this bounds how often.
const MOST_WORK: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Expander {
    known: HashMap<SchemaId, Alternatives>,
    /// The schemas being expanded, outermost first.
    open: Vec<SchemaId>,
    /// The outermost place of `open` to which a cycle led back since it was last asked for.
    cycle: Option<usize>,
    work: usize,
}

impl Expander {
    pub(super) fn all(
        &mut self,
        schemas: &Schemas<'_>,
        conjunction: &[SchemaId],
        reporter: &mut Reporter,
    ) -> Alternatives {
        conjunction.iter().fold(Alternatives::anything(), |all, id| match self.one(schemas, *id, reporter) {
            Some(alternatives) => all.intersection(alternatives),
            None => all,
        })
    }

    /// `None` where the schema only leads back to itself.
    fn one(&mut self, schemas: &Schemas<'_>, id: SchemaId, reporter: &mut Reporter) -> Option<Alternatives> {
        if let Some(known) = self.known.get(&id) {
            return Some(known.clone());
        }
        let node = schemas.get(id);
        if let Some(place) = self.open.iter().position(|open| *open == id) {
            self.cycle = Some(self.cycle.map_or(place, |cycle| cycle.min(place)));
            return None;
        }
        self.work += 1;
        if self.open.len() >= DEEPEST || self.work > MOST_WORK {
            reporter.say(LIMIT, &node.pointer, "too many levels of references and combinations");
            return Some(Alternatives::anything());
        }
        let outer_cycle = self.cycle.take();
        self.open.push(id);
        let alternatives = self.expand(schemas, id, node, reporter);
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
            self.known.insert(id, alternatives.clone());
        }
        Some(alternatives)
    }

    fn expand(&mut self, schemas: &Schemas<'_>, id: SchemaId, node: &Node, reporter: &mut Reporter) -> Alternatives {
        if node.never {
            return Alternatives::nothing();
        }
        let mut all = own(schemas, id, node);
        if let Some(reference) = node.reference {
            match self.one(schemas, reference, reporter) {
                Some(target) => all = all.intersection(target),
                None if matches!(node.wraps(), Wraps::One(_)) => {
                    reporter.say(CIRCULAR_REF, &node.pointer, "");
                }
                None => {}
            }
        }
        for part in &node.all_of {
            if let Some(part) = self.one(schemas, *part, reporter) {
                all = all.intersection(part);
            }
        }
        for branches in node.any_of.iter().chain(&node.one_of) {
            let mut any = Alternatives::nothing();
            for branch in branches {
                if let Some(branch) = self.one(schemas, *branch, reporter) {
                    any = any.union(branch);
                }
            }
            any.objects = merge_requirements(any.objects);
            all = all.intersection(any);
        }
        self.add_conditional_properties(schemas, node, &mut all);
        all
    }

    /// A property that is declared only under a condition can be anything when the condition does not hold.
    fn add_conditional_properties(&mut self, schemas: &Schemas<'_>, node: &Node, all: &mut Alternatives) {
        let mut names = Vec::new();
        for id in &node.conditional {
            collect_properties(schemas, *id, 0, &mut names);
        }
        for object in &mut all.objects {
            for name in &names {
                if object.additional == Additional::Unsaid && object.property(name).is_none() {
                    object.properties.push((name.clone(), Conjunction::new()));
                }
            }
        }
    }
}

fn collect_properties(schemas: &Schemas<'_>, id: SchemaId, depth: usize, names: &mut Vec<String>) {
    const DEEPEST_CONDITION: usize = 8;
    if depth > DEEPEST_CONDITION {
        return;
    }
    let node = schemas.get(id);
    for (name, _) in &node.properties {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let branches = node.any_of.iter().chain(&node.one_of).flatten();
    for part in node.all_of.iter().chain(&node.conditional).chain(&node.reference).chain(branches) {
        collect_properties(schemas, *part, depth + 1, names);
    }
}

/// What the schema's own keywords allow, leaving out the ones that combine other schemas.
fn own(schemas: &Schemas<'_>, id: SchemaId, node: &Node) -> Alternatives {
    let mut own = node.kinds.map_or_else(Alternatives::anything, Alternatives::of_kinds);
    if let Some(values) = &node.allowed {
        own = own.intersection(Alternatives::of_values(values));
    }
    if let Numbers::Integers { least, greatest } = &mut own.numbers {
        *least = node.minimum.map(crate::normalize::Bound::least);
        *greatest = node.maximum.map(crate::normalize::Bound::greatest);
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
        origin: Some(id),
    }
}

fn is_anything(schemas: &Schemas<'_>, id: SchemaId) -> bool {
    schemas.source(id).is_none_or(serde_json::Map::is_empty)
}
