//! A schema document with all that its rewriting asks about it.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::names::Aliases;
use super::rewrite::NotStrict;
use crate::diagnostics::Reporter;
use crate::drift::inclusion::Inclusion;
use crate::drift::version::Version;
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Shape, ShapeId, Shapes, StructShape, Unknown};
use crate::{Document, Role};

/// More schemas than this do not hold together at one place.
const MOST_HOLDING: usize = 96;
/// Schemas that lead back to themselves are followed this far.
const DEEPEST: usize = 8;

/// Reads a schema of arguments.
pub(super) fn read(schema: &Value) -> Version<'_> {
    Version::of(Document::read(schema, Role::Input, &mut Reporter::new("", 0, "")))
}

impl<'a> Version<'a> {
    pub(super) fn shapes(&self) -> &Shapes {
        &self.document.shapes
    }

    pub(super) fn shape(&self, id: ShapeId) -> &Shape {
        self.document.shapes.get(id)
    }

    pub(super) fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.document.shapes.origin(id)
    }

    pub(super) fn source(&self, id: SchemaId) -> Option<&'a Map<String, Value>> {
        self.document.schemas.source(id)
    }

    /// Returns the pointer of the schema of a shape.
    pub(super) fn pointer(&self, id: ShapeId) -> String {
        self.origin(id).first().map(|schema| self.document.schemas.pointer(*schema).to_owned()).unwrap_or_default()
    }

    /// Returns the schemas that hold for each value of these kinds at a place, the nearest first: references and
    /// `allOf` followed, and the branch that is the only one of these kinds.
    pub(super) fn holding(&self, place: &[SchemaId], kinds: Kinds) -> Vec<SchemaId> {
        let mut found = Vec::new();
        let mut pending: VecDeque<SchemaId> = place.iter().copied().collect();
        while let Some(id) = pending.pop_front() {
            if found.contains(&id) || found.len() >= MOST_HOLDING {
                continue;
            }
            found.push(id);
            let node = self.node(id);
            pending.extend(node.reference.iter().chain(&node.all_of));
            for branches in node.any_of.iter().chain(&node.one_of) {
                let mut fitting = branches.iter().filter(|branch| self.allows(**branch, kinds, 0));
                if let (Some(only), None) = (fitting.next(), fitting.next()) {
                    pending.push_back(*only);
                }
            }
        }
        found
    }

    /// Returns `true` if a value of these kinds may be valid, by types and listed values.
    fn allows(&self, id: SchemaId, kinds: Kinds, depth: usize) -> bool {
        let node = self.node(id);
        if node.never
            || node.kinds.is_some_and(|own| !own.intersects(kinds))
            || node
                .allowed
                .as_ref()
                .is_some_and(|values| !values.iter().any(|value| kinds.intersects(Kinds::of(value))))
        {
            return false;
        }
        depth > DEEPEST
            || (node.reference.iter().chain(&node.all_of).all(|part| self.allows(*part, kinds, depth + 1))
                && [&node.any_of, &node.one_of]
                    .into_iter()
                    .flatten()
                    .all(|branches| branches.iter().any(|branch| self.allows(*branch, kinds, depth + 1))))
    }

    /// Returns the kinds that schemas which hold together allow by their types.
    pub(super) fn kinds_of(&self, holding: &[SchemaId]) -> Kinds {
        holding.iter().filter_map(|id| self.node(*id).kinds).fold(Kinds::ALL, Kinds::intersection)
    }

    /// Returns `true` if a schema explicitly allows undeclared keys; a schema that does not mention them does not
    /// count.
    pub(super) fn says_open(&self, place: &[SchemaId]) -> bool {
        self.holding(place, Kinds::OBJECT).into_iter().any(|id| {
            let node = self.node(id);
            node.open_ended || !node.patterns.is_empty() || node.additional.is_some_and(|other| !self.node(other).never)
        })
    }

    /// Returns `true` if an object keeps undeclared properties because the schema allows them explicitly.
    pub(super) fn is_open(&self, id: ShapeId, unknown: Unknown) -> bool {
        unknown.kept().is_some_and(|slot| !self.is_anything(slot.shape) || self.says_open(self.origin(id)))
    }

    /// Returns `true` if an object takes keys that it does not declare: because the schema says so, or declares none at
    /// all.
    pub(super) fn takes_others(&self, shapes: &Shapes, id: ShapeId, object: &StructShape) -> bool {
        match object.unknown {
            Unknown::Deny => false,
            Unknown::Keep(slot) if !matches!(shapes.get(slot.shape), Shape::Anything) => true,
            Unknown::Keep(_) | Unknown::Ignore => {
                (object.fields.is_empty() && object.tag.is_none()) || self.says_open(shapes.origin(id))
            }
        }
    }

    /// Returns the aliases of properties whose names a provider does not take.
    pub(super) fn aliases(&self) -> Aliases {
        let shapes = self.shapes();
        let objects = shapes.ids().filter_map(|id| match shapes.get(id) {
            Shape::Struct(object) => Some((object, self.takes_others(shapes, id, object))),
            _ => None,
        });
        Aliases::of(objects.flat_map(|(object, is_open)| declared(object).map(move |name| (name, is_open))))
    }

    /// Returns the schemas of the keys that match patterns of a place.
    pub(super) fn pattern_schemas(&self, place: &[SchemaId]) -> Vec<SchemaId> {
        let holding = self.holding(place, Kinds::OBJECT);
        holding.iter().flat_map(|id| self.assertions(*id).patterns.iter().map(|(_, schema)| *schema)).collect()
    }

    /// Returns `true` if a shape is any value at all.
    pub(super) fn is_anything(&self, id: ShapeId) -> bool {
        matches!(self.shape(id), Shape::Anything)
    }

    /// Returns the schemas that values are held against: all but definitions that nothing refers to, and conditions.
    pub(super) fn reachable(&self) -> Vec<SchemaId> {
        let mut seen = HashSet::from([SchemaId::ROOT]);
        let mut found = Vec::new();
        let mut pending = VecDeque::from([SchemaId::ROOT]);
        while let Some(id) = pending.pop_front() {
            found.push(id);
            let (node, assertions) = (self.node(id), self.assertions(id));
            let below = node.properties.iter().map(|(_, schema)| *schema);
            let below = below.chain(node.additional).chain(node.items).chain(node.reference);
            let below = below.chain(node.prefix_items.iter().chain(&node.all_of).copied());
            let below = below.chain(node.any_of.iter().chain(&node.one_of).flatten().copied());
            for id in below.chain(assertions.patterns.iter().map(|(_, schema)| *schema)) {
                if seen.insert(id) {
                    pending.push_back(id);
                }
            }
        }
        found
    }

    /// Returns `true` if no value fits two of the branches of this schema.
    pub(super) fn exclude_each_other(&self, holder: SchemaId, branches: &[SchemaId]) -> bool {
        let mut inclusion = Inclusion::of(self, self);
        branches.iter().enumerate().all(|(index, left)| {
            let both = vec![*left, holder];
            branches.iter().skip(index + 1).all(|right| inclusion.excludes(&both, *right))
        })
    }

    /// Refuses a `oneOf` with branches that a value may fit both of: as `anyOf` it would mean something else.
    pub(super) fn exclusive(&self) -> Result<(), NotStrict> {
        for id in self.reachable() {
            let Some(branches) = &self.node(id).one_of else { continue };
            if !self.exclude_each_other(id, branches) {
                let pointer = format!("{}/oneOf", self.document.schemas.pointer(id));
                return Err(NotStrict::new(pointer, "branches of `oneOf` that a value may fit several of"));
            }
        }
        Ok(())
    }
}

/// Returns the keys of an object.
pub(super) fn declared(object: &StructShape) -> impl Iterator<Item = &str> {
    object.fields.iter().map(|field| field.wire.as_str()).chain(object.tag.as_deref())
}
