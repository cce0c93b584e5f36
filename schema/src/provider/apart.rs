//! Checks whether the branches of a `oneOf` surely exclude each other.

use serde_json::Value;

use super::reading::Reading;
use crate::normalize::{Kinds, SchemaId};
use crate::number::same;

const DEEPEST: usize = 6;
/// More schemas than this do not hold together.
const MOST_HOLDING: usize = 48;
/// Comparing more than this is given up.
const MOST_STEPS: usize = 20_000;

impl Reading<'_> {
    /// Returns `true` if no value fits two of the branches of this schema.
    pub(super) fn are_apart(&self, holder: SchemaId, branches: &[SchemaId]) -> bool {
        let mut proof = Proof { reading: self, steps: 0 };
        branches.iter().enumerate().all(|(index, left)| {
            let others = branches.iter().skip(index + 1);
            others.into_iter().all(|right| proof.apart(&[*left, holder], &[*right, holder], 0))
        })
    }
}

struct Proof<'r, 'a> {
    reading: &'r Reading<'a>,
    steps: usize,
}

/// The demands on an object's key of schemas that hold together.
enum Asked {
    Nothing,
    Never,
    Of(Vec<SchemaId>),
}

impl Proof<'_, '_> {
    fn apart(&mut self, left: &[SchemaId], right: &[SchemaId], depth: usize) -> bool {
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS {
            return false;
        }
        // References and `allOf` are followed, alternatives left alone.
        let [left, right] = [left, right].map(|side| self.reading.document.schemas.holding(side, MOST_HOLDING));
        let never = |side: &[SchemaId]| side.iter().any(|id| self.reading.node(*id).never);
        let kinds = self.reading.kinds(&left).intersection(self.reading.kinds(&right));
        if never(&left) || never(&right) || kinds == Kinds::NONE {
            return true;
        }
        let both: Vec<SchemaId> = left.iter().chain(&right).copied().collect();
        let mut listed = both.iter().filter_map(|id| self.reading.node(*id).allowed.as_ref());
        if let Some(values) = listed.next() {
            let lists: Vec<&Vec<Value>> = listed.collect();
            let is_common = |value: &&Value| {
                kinds.intersects(Kinds::of(value))
                    && lists.iter().all(|list| list.iter().any(|other| same(other, value)))
            };
            if !values.iter().any(|value| is_common(&value)) {
                return true;
            }
        }
        if kinds == Kinds::OBJECT && self.objects_apart(&left, &right, depth) {
            return true;
        }
        self.branches_apart(&left, &right, depth) || self.branches_apart(&right, &left, depth)
    }

    /// Returns `true` if no branch of a choice on the left goes with the right. The choice that is asked about holds
    /// for both sides.
    fn branches_apart(&mut self, left: &[SchemaId], right: &[SchemaId], depth: usize) -> bool {
        let reading = self.reading;
        let own: Vec<SchemaId> = left.iter().filter(|id| !right.contains(id)).copied().collect();
        own.into_iter().any(|id| {
            let node = reading.node(id);
            [&node.any_of, &node.one_of]
                .into_iter()
                .flatten()
                .any(|branches| branches.iter().all(|branch| self.apart(&[*branch], right, depth + 1)))
        })
    }

    fn objects_apart(&mut self, left: &[SchemaId], right: &[SchemaId], depth: usize) -> bool {
        let reading = self.reading;
        let required: Vec<&String> = left.iter().chain(right).flat_map(|id| &reading.node(*id).required).collect();
        required.into_iter().any(|key| match (self.asked(left, key), self.asked(right, key)) {
            (Asked::Never, _) | (_, Asked::Never) => true,
            (Asked::Of(left), Asked::Of(right)) => self.apart(&left, &right, depth + 1),
            _ => false,
        })
    }

    fn asked(&self, schemas: &[SchemaId], key: &str) -> Asked {
        let mut asked = Vec::new();
        for id in schemas {
            let node = self.reading.node(*id);
            let before = asked.len();
            asked.extend(node.properties.iter().filter(|(name, _)| name == key).map(|(_, schema)| *schema));
            let is_declared = asked.len() > before || !node.patterns.is_empty() || node.open_ended;
            asked.extend(node.additional.filter(|_| !is_declared));
        }
        if asked.iter().any(|id| self.reading.node(*id).never) {
            Asked::Never
        } else if asked.is_empty() {
            Asked::Nothing
        } else {
            Asked::Of(asked)
        }
    }
}
