//! Expands a schema to its alternatives: references, `allOf`, `anyOf` and `oneOf` are resolved on one level; nested
//! schemas stay lists.

use std::collections::HashSet;
use std::rc::Rc;

use super::alternatives::{Alternatives, MOST_ALTERNATIVES};
use super::arrays::ArrayAlternative;
use super::objects::{Additional, ObjectAlternative, merge_requirements};
use super::{Conjunction, Lowering};
use crate::diagnostics::{CIRCULAR_REF, LIMIT};
use crate::keys::extend;
use crate::normalize::{Node, SchemaId, Schemas, WORDING, Wraps};
use crate::number::smaller;

/// References and combinations nest at most this deep on one level.
const DEEPEST: usize = 100;
/// The budget for combining schemas, plus a part for each schema of the document: the cost of comparing and copying.
/// Real documents use less than a tenth.
pub(super) const COST: usize = 10_000;
pub(super) const COST_OF_SCHEMA: usize = 150;

impl Lowering<'_, '_> {
    /// Returns the values that schemas allow.
    pub(super) fn allowed(&mut self, schemas: &[SchemaId]) -> Rc<Alternatives> {
        let mut all: Option<Rc<Alternatives>> = None;
        for id in schemas {
            if let Some(part) = self.one(*id) {
                all = Some(match all {
                    None => part,
                    Some(all) => Rc::new(self.narrowed(Rc::unwrap_or_clone(all), &part)),
                });
            }
        }
        all.unwrap_or_else(|| Rc::new(Alternatives::anything()))
    }

    /// Counts a cost; says whether it can be afforded.
    pub(super) fn affords(&mut self, cost: usize) -> bool {
        let affords = cost <= self.cost_left;
        self.cost_left = if affords { self.cost_left - cost } else { 0 };
        affords
    }

    /// Returns the intersection, or `alternatives` if the intersection is too expensive.
    fn narrowed(&mut self, mut alternatives: Alternatives, other: &Alternatives) -> Alternatives {
        let cost = alternatives.weight() * (1 + other.ways()) + other.weight() * (1 + alternatives.ways());
        if self.affords(cost) {
            alternatives.intersect(other);
        }
        alternatives
    }

    /// Expands a schema, or returns `None` if it only refers to itself.
    fn one(&mut self, id: SchemaId) -> Option<Rc<Alternatives>> {
        if let Some(known) = self.expanded.get(&id) {
            return Some(Rc::clone(known));
        }
        if let Some(place) = self.open.iter().position(|open| *open == id) {
            self.cycle = smaller(self.cycle, Some(place));
            return None;
        }
        if self.open.len() >= DEEPEST || !self.affords(1) {
            let message = if self.cost_left == 0 {
                "the schemas combine in too many ways"
            } else {
                "too many levels of references and combinations"
            };
            self.say(LIMIT, &[id], message);
            return Some(Rc::new(Alternatives::anything()));
        }
        let outer_cycle = self.cycle.take();
        self.open.push(id);
        let node = self.schemas.get(id);
        let alternatives = if let Wraps::One(target) = node.wraps() {
            let is_reference = node.has_reference;
            self.one(target).unwrap_or_else(|| {
                if is_reference {
                    self.say(CIRCULAR_REF, &[id], "");
                }
                Rc::new(Alternatives::anything())
            })
        } else {
            Rc::new(self.expand(id))
        };
        self.open.pop();
        let depends_on_outer = self.cycle.is_some_and(|cycle| cycle < self.open.len());
        self.cycle = smaller(self.cycle.filter(|_| depends_on_outer), outer_cycle);
        if alternatives.overflowed {
            self.say(LIMIT, &[id], "too many alternatives to tell apart");
        }
        if !depends_on_outer {
            self.expanded.insert(id, Rc::clone(&alternatives));
        }
        Some(alternatives)
    }

    fn expand(&mut self, id: SchemaId) -> Alternatives {
        let node = self.schemas.get(id);
        if node.never {
            return Alternatives::nothing();
        }
        let (parts, choices) = (node.parts.clone(), node.choices.clone());
        let is_choice = matches!(node.wraps(), Wraps::Any(_));
        let mut all = own(self.schemas, id);
        for part in parts {
            if let Some(part) = self.one(part) {
                all = self.narrowed(all, &part);
            }
        }
        for choice in choices {
            let branches: Vec<_> = choice.branches.into_iter().filter_map(|branch| self.one(branch)).collect();
            let any = self.any(&branches);
            all = if is_choice { any } else { self.narrowed(all, &any) };
        }
        self.name_conditional_properties(id, &mut all);
        all
    }

    fn any(&mut self, branches: &[Rc<Alternatives>]) -> Alternatives {
        let ways = 1 + branches.iter().map(|one| one.ways()).sum::<usize>();
        let weight: usize = branches.iter().map(|one| one.weight()).sum();
        // Each way is compared with those before it; most differ at the first look.
        if !self.affords(weight + ways.min(MOST_ALTERNATIVES) * ways) {
            return Alternatives::anything();
        }
        let mut any = Alternatives::union(branches);
        any.objects = merge_requirements(any.objects);
        any
    }

    /// Names conditional properties, which may have any value if their condition is false.
    fn name_conditional_properties(&mut self, id: SchemaId, all: &mut Alternatives) {
        if self.schemas.get(id).conditional.is_empty() || all.objects.is_empty() {
            return;
        }
        let names = self.conditional_names(id).filter(|names| self.affords(names.len() * all.objects.len()));
        for object in &mut all.objects {
            match &names {
                Some(names) => extend(&mut object.named, names),
                None if object.additional == Additional::Unsaid => {
                    object.additional = Additional::Of(Conjunction::new());
                }
                None => {}
            }
        }
    }

    /// Returns the keys that the conditional schemas of a schema declare, require or name for its object; `None` if
    /// there are too many.
    fn conditional_names(&mut self, id: SchemaId) -> Option<Vec<String>> {
        let (mut names, mut known, mut seen, mut cost) = (Vec::new(), HashSet::new(), HashSet::new(), 0);
        for root in &self.schemas.get(id).conditional {
            let mut below = vec![*root];
            below.retain(|root| seen.insert(*root));
            while let Some(id) = below.pop() {
                let node = self.schemas.get(id);
                let (all_of, reference) = (node.parts.iter(), node.parts.iter());
                let all_of = all_of.skip(usize::from(node.has_reference)).chain(&node.conditional);
                let mut parts: Vec<SchemaId> = all_of.copied().collect();
                parts.extend(reference.take(usize::from(node.has_reference)));
                node.choices.iter().for_each(|choice| parts.extend_from_slice(&choice.branches));
                parts.retain(|part| seen.insert(*part));
                parts.reverse();
                below.append(&mut parts);
                let properties = node.properties.iter().map(|(name, _)| name);
                for name in properties.chain(&node.required).chain(&node.named) {
                    if known.insert(name.as_str()) {
                        names.push(name.clone());
                    }
                }
                cost += 1 + node.properties.len() + node.required.len() + node.named.len() + below.len();
                if cost > self.cost_left {
                    self.cost_left = 0;
                    return None;
                }
            }
        }
        self.affords(cost).then_some(names)
    }
}

/// Returns the values that the schema's own keywords allow, leaving out the ones that combine other schemas.
fn own(schemas: &Schemas<'_>, id: SchemaId) -> Alternatives {
    let node = schemas.get(id);
    let mut own = node.kinds.map_or_else(Alternatives::anything, Alternatives::of_kinds);
    if let Some(values) = &node.allowed {
        own.intersect(&Alternatives::of_values(values));
    }
    if let Some(range) = &mut own.numbers {
        (range.least, range.greatest) = (node.least, node.greatest);
    }
    own.arrays.fill_with(|| array_of(schemas, node));
    own.objects.fill_with(|| object_of(id, node, schemas));
    own
}

fn array_of(schemas: &Schemas<'_>, node: &Node) -> ArrayAlternative {
    let rest = match node.items {
        Some(items) if schemas.get(items).never => None,
        items => Some(items.as_slice().to_vec()),
    };
    let prefix = node.prefix_items.iter().map(|item| vec![*item]).collect();
    let array = ArrayAlternative { prefix, rest, least: node.min_items, most: node.max_items };
    ArrayAlternative { most: array.longest(), ..array }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::diagnostics::Reporter;
    use crate::shape::Shape;
    use crate::{Document, Role};

    #[test]
    fn conditional_names_keep_the_order_of_keywords() {
        let schema = json!({
            "type": "object",
            "properties": {},
            "if": {
                "$ref": "#/$defs/R",
                "allOf": [{ "required": ["a"] }],
                "if": { "required": ["b"] },
                "anyOf": [{ "required": ["d"] }],
            },
            "$defs": { "R": { "required": ["c"] } },
        });
        let document = Document::read(&schema, Role::Input, &mut Reporter::new("t", 0, "/inputSchema"));
        let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("arguments are an object") };
        assert_eq!(object.fields.iter().map(|field| field.wire.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}
