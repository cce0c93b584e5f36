//! Checks whether a part and a schema provably share no value.

use serde_json::Value;

use super::super::validity::{is_valid, may_be_valid};
use super::super::version::Conjunction;
use super::{Inclusion, Part};
use crate::normalize::{Kinds, SchemaId};
use crate::number;

const DEEPEST: usize = 12;
/// The limit on steps of this search, for each step that the comparison may take.
const STEPS_EACH: usize = 10;

impl Inclusion<'_> {
    /// Returns `true` if surely no value of all the left schemas is one of the right schema.
    #[cfg(feature = "provider")]
    pub(crate) fn excludes(&mut self, left: &Conjunction, right: SchemaId) -> bool {
        self.places_apart(left, &super::Sent::Anything, right, 0)
    }

    /// Returns `true` if they have surely no value in common.
    pub(super) fn disjoint(&mut self, part: &Part<'_>, right: SchemaId) -> bool {
        self.is_disjoint(part, right, 0)
    }

    fn is_disjoint(&mut self, part: &Part<'_>, right: SchemaId, depth: usize) -> bool {
        self.disjoint_steps += 1;
        if depth > DEEPEST || self.disjoint_steps > STEPS_EACH * self.most_steps {
            return false;
        }
        let version = self.right;
        let (node, asserted) = (version.node(right), version.assertions(right));
        if let Some(values) = &part.values {
            return values.iter().all(|value| is_valid(version, right, value) == Some(false));
        }
        if node.never || node.kinds.is_some_and(|kinds| !kinds.has(part.kind)) {
            return true;
        }
        if let Some(allowed) = &node.allowed {
            let refused = |value: &Value| {
                !part.kind.intersects(Kinds::of(value)) || !may_be_valid(self.left, part.case.schemas(), value)
            };
            if allowed.iter().all(refused) {
                return true;
            }
        }
        let own = match part.kind {
            Kinds::INTEGER | Kinds::FRACTION => self.numbers_apart(part, right),
            Kinds::STRING => self.lengths_apart(part, right),
            Kinds::OBJECT => self.objects_apart(part, right, depth),
            _ => false,
        };
        // The negation of an assertion of all values excludes them all.
        let negated =
            asserted.not.is_some_and(|negated| part.case.schemas().iter().any(|id| self.equality.equal(*id, negated)));
        own || negated
            || node.reference.iter().chain(&node.all_of).any(|schema| self.is_disjoint(part, *schema, depth + 1))
            || [&node.any_of, &node.one_of]
                .into_iter()
                .flatten()
                .any(|branches| branches.iter().all(|branch| self.is_disjoint(part, *branch, depth + 1)))
    }

    fn numbers_apart(&self, part: &Part<'_>, right: SchemaId) -> bool {
        let asserted = self.right.assertions(right);
        let apart = |low: &crate::normalize::Limit, high: &crate::normalize::Limit| {
            let order = number::order(&low.value, &high.value);
            order.is_gt() || (order.is_eq() && (low.exclusive || high.exclusive))
        };
        part.case.minimum(self.left).any(|low| asserted.maximum.iter().any(|high| apart(low, high)))
            || part.case.maximum(self.left).any(|high| asserted.minimum.iter().any(|low| apart(low, high)))
    }

    fn lengths_apart(&self, part: &Part<'_>, right: SchemaId) -> bool {
        let asserted = self.right.assertions(right);
        let below = |most: Option<u64>, least: Option<u64>| most.zip(least).is_some_and(|(most, least)| most < least);
        part.case
            .assertions(self.left)
            .any(|known| below(asserted.max_length, known.min_length) || below(known.max_length, asserted.min_length))
    }

    fn objects_apart(&mut self, part: &Part<'_>, right: SchemaId, depth: usize) -> bool {
        let (left, version) = (self.left, self.right);
        let node = version.node(right);
        for key in &node.required {
            let can = part.sent.property(&left.document.shapes, key).is_some();
            if !can || part.case.property(left, key).is_none() {
                return true;
            }
        }
        for key in part.case.required(left).into_iter().chain(node.required.iter().map(String::as_str)) {
            let declared = version.property(right, key);
            let is_required = part.case.requires(left, key);
            let wanted = match (declared, version.additional(right)) {
                (Some(schema), _) => schema,
                (None, Some(additional)) if is_required && version.assertions(right).patterns.is_empty() => additional,
                _ => continue,
            };
            let Some(asked) = part.case.property(left, key) else { return true };
            let sent = part.sent.property(&left.document.shapes, key);
            if sent.is_some_and(|sent| self.places_apart(&asked, &sent, wanted, depth)) {
                return true;
            }
        }
        false
    }

    fn places_apart(&mut self, asked: &Conjunction, sent: &super::Sent, right: SchemaId, depth: usize) -> bool {
        let cases = self.left.cases(asked);
        cases.iter().all(|case| {
            case.kinds(self.left).each().all(|kind| {
                let part = Part { case, kind, sent, values: case.listed(self.left, kind) };
                self.is_disjoint(&part, right, depth + 1)
            })
        })
    }
}
