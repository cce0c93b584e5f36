//! Checks whether two schemas are structurally equal: references are followed, and annotations ignored.

use std::collections::{HashMap, HashSet};

use super::memo::Memo;
use super::version::Version;
use crate::normalize::{Assertions, Limit, SchemaId};
use crate::number::{self, ByValue};

pub(super) struct Equality<'v, 'a, 'b> {
    left: &'v Version<'a>,
    right: &'v Version<'b>,
    known: Memo<(SchemaId, SchemaId), bool>,
    depth: usize,
    steps: usize,
}

/// Comparisons beyond this are not made, and count as different.
const MOST_STEPS: usize = 50_000;

/// Values below this depth are not compared, and count as different.
const DEEPEST: usize = 128;

impl<'v, 'a, 'b> Equality<'v, 'a, 'b> {
    pub(super) fn of(left: &'v Version<'a>, right: &'v Version<'b>) -> Self {
        Self { left, right, known: Memo::new(), depth: 0, steps: 0 }
    }

    pub(super) fn equal(&mut self, left: SchemaId, right: SchemaId) -> bool {
        let pair = (self.left.followed(left), self.right.followed(right));
        if self.left.fingerprint(pair.0) != self.right.fingerprint(pair.1) {
            return false;
        }
        if let Some(known) = self.known.get(&pair) {
            return known;
        }
        self.steps += 1;
        if self.depth > DEEPEST || self.steps > MOST_STEPS {
            return false;
        }
        let opened = self.known.open(&pair, Some(true));
        self.depth += 1;
        let equal = self.same_values(pair.0, pair.1) && self.same_schemas(pair.0, pair.1);
        self.depth -= 1;
        self.known.close(opened, pair, equal, equal);
        equal
    }

    fn same_values(&self, left: SchemaId, right: SchemaId) -> bool {
        let (node, other) = (self.left.node(left), self.right.node(right));
        let (asserted, other_asserted) = (self.left.assertions(left), self.right.assertions(right));
        let sets_equal = |left: &[String], right: &[String]| {
            let [left, right] = [left, right].map(|names| names.iter().collect::<HashSet<_>>());
            left == right
        };
        let together = |left: &[(String, Vec<String>)], right: &[(String, Vec<String>)]| {
            let known: HashMap<&String, &Vec<String>> = right.iter().map(|(key, needs)| (key, needs)).collect();
            left.len() == right.len()
                && left.iter().all(|(key, names)| known.get(key).is_some_and(|needs| sets_equal(names, needs)))
        };
        let allowed = match (&node.allowed, &other.allowed) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                let [left, right] = [left, right].map(|values| values.iter().map(ByValue).collect::<HashSet<_>>());
                left == right
            }
            _ => false,
        };
        let ranges = |left: &Assertions, right: &Assertions| {
            left.min_length == right.min_length
                && left.max_length == right.max_length
                && left.min_properties == right.min_properties
                && left.max_properties == right.max_properties
                && limits(&left.minimum, &right.minimum)
                && limits(&left.maximum, &right.maximum)
        };
        allowed
            && node.never == other.never
            && node.kinds == other.kinds
            && sets_equal(&node.required, &other.required)
            && (node.min_items, node.max_items) == (other.min_items, other.max_items)
            && ranges(asserted, other_asserted)
            && asserted.multiple_of.as_ref().map(number::Exact)
                == other_asserted.multiple_of.as_ref().map(number::Exact)
            && asserted.pattern == other_asserted.pattern
            && asserted.format == other_asserted.format
            && asserted.unique_items == other_asserted.unique_items
            && asserted.unevaluated == other_asserted.unevaluated
            && asserted.unresolved == other_asserted.unresolved
            && together(&asserted.dependent_required, &other_asserted.dependent_required)
    }

    fn same_schemas(&mut self, left: SchemaId, right: SchemaId) -> bool {
        let (old, new) = (self.left, self.right);
        let (node, other) = (old.node(left), new.node(right));
        let (asserted, other_asserted) = (old.assertions(left), new.assertions(right));
        let conditions = match (&asserted.condition, &other_asserted.condition) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                self.equal(left.test, right.test)
                    && self.optional(left.then, right.then)
                    && self.optional(left.otherwise, right.otherwise)
            }
            _ => false,
        };
        let contains = match (&asserted.contains, &other_asserted.contains) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                (left.least, left.most) == (right.least, right.most) && self.equal(left.schema, right.schema)
            }
            _ => false,
        };
        conditions
            && contains
            && self.optional(node.reference, other.reference)
            && self.optional(old.additional(left), new.additional(right))
            && self.optional(node.items, other.items)
            && self.optional(asserted.not, other_asserted.not)
            && self.optional(asserted.property_names, other_asserted.property_names)
            && self.lists(&node.prefix_items, &other.prefix_items)
            && self.lists(&node.all_of, &other.all_of)
            && self.optional_lists(node.any_of.as_ref(), other.any_of.as_ref())
            && self.optional_lists(node.one_of.as_ref(), other.one_of.as_ref())
            && self.named(&node.properties, &other.properties)
            && self.named(&asserted.patterns, &other_asserted.patterns)
            && self.named(&asserted.dependent_schemas, &other_asserted.dependent_schemas)
    }

    fn optional(&mut self, left: Option<SchemaId>, right: Option<SchemaId>) -> bool {
        match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => self.equal(left, right),
            _ => false,
        }
    }

    fn lists(&mut self, left: &[SchemaId], right: &[SchemaId]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.equal(*left, *right))
    }

    fn optional_lists(&mut self, left: Option<&Vec<SchemaId>>, right: Option<&Vec<SchemaId>>) -> bool {
        match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => self.lists(left, right),
            _ => false,
        }
    }

    fn named(&mut self, left: &[(String, SchemaId)], right: &[(String, SchemaId)]) -> bool {
        let by_name: HashMap<&String, SchemaId> = right.iter().map(|(name, schema)| (name, *schema)).collect();
        left.len() == right.len()
            && left.iter().all(|(key, schema)| by_name.get(key).is_some_and(|other| self.equal(*schema, *other)))
    }
}

/// Returns `true` if bounds are the same, in their order.
fn limits(left: &[Limit], right: &[Limit]) -> bool {
    let is_same = |(left, right): (&Limit, &Limit)| {
        left.exclusive == right.exclusive && number::order(&left.value, &right.value).is_eq()
    };
    left.len() == right.len() && left.iter().zip(right).all(is_same)
}
