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
        if own.hash != other.hash {
            return false;
        }
        if let Some(known) = self.known.get(&pair) {
            return known;
        }
        // Most schemas with the same keywords differ in those of a schema that they hold, which needs no step.
        let held = || own.held.iter().copied().zip(other.held.iter().copied());
        let hash = |version: &Version<'_>, held| version.outline(held).map(|outline| outline.hash);
        if held().any(|(left, right)| hash(self.left, left) != hash(self.right, right)) {
            return false;
        }
        self.steps += 1;
        if self.depth > DEEPEST || self.steps > MOST_STEPS {
            return false;
        }
        self.known.open(&pair, Some(true));
        self.depth += 1;
        let equal = same(&own.keywords, &other.keywords) && held().all(|(left, right)| self.equal(left, right));
        self.depth -= 1;
        self.known.close(pair, equal, equal);
        equal
    }
}
