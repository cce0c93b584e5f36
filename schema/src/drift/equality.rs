//! Checks whether two schemas are structurally equal: references are followed, and annotations ignored.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::memo::Memo;
use super::version::Version;
use crate::normalize::{Assertions, Limit, SchemaId};
use crate::number::{self, ByValue};

pub(super) struct Equality<'v> {
    left: &'v Version<'v>,
    right: &'v Version<'v>,
    known: Memo<(SchemaId, SchemaId), bool>,
    depth: usize,
    steps: usize,
}

/// Comparisons beyond this are not made, and count as different.
const MOST_STEPS: usize = 50_000;

/// Values below this depth are not compared, and count as different.
const DEEPEST: usize = 128;

impl<'v> Equality<'v> {
    pub(super) fn of(left: &'v Version<'v>, right: &'v Version<'v>) -> Self {
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
        let together = |left: &[(String, Vec<String>)], right: &[(String, Vec<String>)]| {
            let known: HashMap<&String, &Vec<String>> = right.iter().map(|(key, needs)| (key, needs)).collect();
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, names)| known.get(key).is_some_and(|needs| same_set(names, needs, |name| name)))
        };
        let lengths = |asserted: &Assertions| {
            [asserted.min_length, asserted.max_length, asserted.min_properties, asserted.max_properties]
        };
        agree(node.allowed.as_ref(), other.allowed.as_ref(), |left, right| same_set(left, right, ByValue))
            && (node.never, node.kinds, node.min_items) == (other.never, other.kinds, other.min_items)
            && node.max_items == other.max_items
            && same_set(&node.required, &other.required, |name| name)
            && lengths(asserted) == lengths(other_asserted)
            && limits(&asserted.minimum, &other_asserted.minimum)
            && limits(&asserted.maximum, &other_asserted.maximum)
            && asserted.multiple_of.as_ref().map(number::Decimal::of)
                == other_asserted.multiple_of.as_ref().map(number::Decimal::of)
            && (&asserted.pattern, &asserted.format) == (&other_asserted.pattern, &other_asserted.format)
            && asserted.unique_items == other_asserted.unique_items
            && asserted.unevaluated == other_asserted.unevaluated
            && asserted.unresolved == other_asserted.unresolved
            && together(&asserted.dependent_required, &other_asserted.dependent_required)
    }

    fn same_schemas(&mut self, left: SchemaId, right: SchemaId) -> bool {
        let (old, new) = (self.left, self.right);
        let (node, other) = (old.node(left), new.node(right));
        let (asserted, other_asserted) = (old.assertions(left), new.assertions(right));
        agree(asserted.condition.as_ref(), other_asserted.condition.as_ref(), |left, right| {
            self.equal(left.test, right.test)
                && self.optional(left.then, right.then)
                && self.optional(left.otherwise, right.otherwise)
        }) && agree(asserted.contains.as_ref(), other_asserted.contains.as_ref(), |left, right| {
            (left.least, left.most) == (right.least, right.most) && self.equal(left.schema, right.schema)
        }) && self.optional(node.reference, other.reference)
            && self.optional(old.additional(left), new.additional(right))
            && self.optional(node.items, other.items)
            && self.optional(asserted.not, other_asserted.not)
            && self.optional(asserted.property_names, other_asserted.property_names)
            && self.lists(&node.prefix_items, &other.prefix_items)
            && self.lists(&node.all_of, &other.all_of)
            && agree(node.any_of.as_ref(), other.any_of.as_ref(), |left, right| self.lists(left, right))
            && agree(node.one_of.as_ref(), other.one_of.as_ref(), |left, right| self.lists(left, right))
            && self.named(&node.properties, &other.properties)
            && self.named(&asserted.patterns, &other_asserted.patterns)
            && self.named(&asserted.dependent_schemas, &other_asserted.dependent_schemas)
    }

    fn optional(&mut self, left: Option<SchemaId>, right: Option<SchemaId>) -> bool {
        agree(left, right, |left, right| self.equal(left, right))
    }

    fn lists(&mut self, left: &[SchemaId], right: &[SchemaId]) -> bool {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.equal(*left, *right))
    }

    fn named(&mut self, left: &[(String, SchemaId)], right: &[(String, SchemaId)]) -> bool {
        let by_name: HashMap<&String, SchemaId> = right.iter().map(|(name, schema)| (name, *schema)).collect();
        left.len() == right.len()
            && left.iter().all(|(key, schema)| by_name.get(key).is_some_and(|other| self.equal(*schema, *other)))
    }
}

/// Returns `true` if both are absent, or both are there and equal.
fn agree<T>(left: Option<T>, right: Option<T>, equal: impl FnOnce(T, T) -> bool) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right),
        _ => false,
    }
}

/// Returns `true` if lists have the same members, in any order.
fn same_set<'v, T, K: Eq + Hash>(left: &'v [T], right: &'v [T], key: impl Fn(&'v T) -> K) -> bool {
    let [left, right] = [left, right].map(|list| list.iter().map(&key).collect::<HashSet<K>>());
    left == right
}

/// Returns `true` if bounds are the same, in their order.
fn limits(left: &[Limit], right: &[Limit]) -> bool {
    let is_same = |(left, right): (&Limit, &Limit)| {
        left.exclusive == right.exclusive && number::order(&left.value, &right.value).is_eq()
    };
    left.len() == right.len() && left.iter().zip(right).all(is_same)
}
