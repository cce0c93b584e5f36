//! Checks whether two schemas are structurally equal: references are followed, and annotations ignored.

use super::memo::Memo;
use super::version::Version;
use crate::normalize::SchemaId;
use crate::number::same;

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
        let (Some(own), Some(other)) = (self.left.outline(pair.0), self.right.outline(pair.1)) else { return false };
        // Most schemas with the same keywords differ in those of a schema that they hold, which needs no step.
        if own.hash != other.hash || self.left.nested_hash(own) != self.right.nested_hash(other) {
            return false;
        }
        if let Some(known) = self.known.get(&pair) {
            return known;
        }
        self.steps += 1;
        if self.depth > DEEPEST || self.steps > MOST_STEPS {
            return false;
        }
        self.known.open(&pair, Some(true));
        self.depth += 1;
        let mut held = own.held.iter().zip(&other.held);
        let equal = same(&own.keywords, &other.keywords) && held.all(|(left, right)| self.equal(*left, *right));
        self.depth -= 1;
        self.known.close(pair, equal, equal);
        equal
    }
}
