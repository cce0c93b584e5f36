//! Arrays: their length, and their items place by place.

use serde_json::Value;

use super::super::cases::Asked;
use super::super::failure::{Failure, Reason, add};
use super::super::version::Conjunction;
use super::{Inclusion, Part};
use crate::normalize::SchemaId;

/// Arrays are proved with at most this many items.
const MOST_ITEMS: usize = 200;

impl Inclusion<'_, '_, '_> {
    pub(super) fn arrays(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let (node, asked) = (version.node(right), version.assertions(right));
        let (least, most) = (part.case.fewest_items(left), part.case.most_items(left));
        let mut failures = Vec::new();
        if least < node.min_items {
            failures.push(self.of_length(part, "minItems", least));
        }
        if let Some(wanted) = node.max_items.filter(|wanted| most.is_none_or(|most| most > *wanted)) {
            failures.push(self.of_length(part, "maxItems", wanted.saturating_add(1)));
        }
        let is_unique = part.case.schemas().iter().any(|id| left.assertions(*id).unique_items);
        if asked.unique_items && !is_unique && most.is_none_or(|most| most > 1) {
            let mut failure = self.of_length(part, "uniqueItems", least.max(2));
            let doubled = failure.candidates.iter().filter_map(|array| Some(array.as_array()?.first()?.clone()));
            let doubled: Vec<Value> = doubled.map(|item| Value::from(vec![item.clone(), item])).collect();
            failure.candidates.splice(0..0, doubled);
            failures.push(failure);
        }
        let found = self.items(part, right, most);
        add(&mut failures, found);
        let found = self.contains(part, right);
        add(&mut failures, found);
        failures
    }

    fn items(&mut self, part: &Part<'_>, right: SchemaId, most: Option<u64>) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let node = version.node(right);
        // From here on, all items are alike on both sides.
        let alike = part.case.prefix(left).max(node.prefix_items.len());
        let mut failures = Vec::new();
        for index in 0..=alike {
            if most.is_some_and(|most| index as u64 >= most) {
                break;
            }
            let Some(wanted) = node.prefix_items.get(index).copied().or(node.items) else { continue };
            let Asked::Of(asked) = part.case.item(left, index) else { break };
            let Some(sent) = part.sent.item(&left.document.shapes, index) else { continue };
            let step = index.to_string();
            let steps: &[&str] = if node.prefix_items.len() > index { &["prefixItems", &step] } else { &["items"] };
            let found = if version.node(wanted).never {
                vec![Failure::new(Reason::Keyword("items"), self.sampler.values(&asked).to_vec())]
            } else {
                self.place(&asked, &sent, wanted).to_vec()
            };
            let found: Vec<_> = found
                .into_iter()
                .map(|failure| failure.below(steps, |value| self.array_with(part, index, value)))
                .collect();
            add(&mut failures, found);
        }
        failures
    }

    fn array_with(&mut self, part: &Part<'_>, index: usize, value: &Value) -> Vec<Value> {
        let least = usize::try_from(part.case.fewest_items(self.left)).unwrap_or(usize::MAX);
        let length = least.max(index + 1);
        if length > MOST_ITEMS {
            return Vec::new();
        }
        self.sampler.array(part.case, length, Some((index, value))).into_iter().collect()
    }

    fn of_length(&mut self, part: &Part<'_>, keyword: &'static str, length: u64) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        if let Some(length) = usize::try_from(length).ok().filter(|length| *length <= MOST_ITEMS) {
            failure.candidates.splice(0..0, self.sampler.array(part.case, length, None));
        }
        failure
    }

    fn contains(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let version = self.right;
        let Some(wanted) = &version.assertions(right).contains else { return Vec::new() };
        let left = self.left;
        let says_so = part.case.schemas().iter().filter_map(|id| left.assertions(*id).contains.as_ref()).any(|known| {
            known.least >= wanted.least
                && wanted.most.is_none_or(|most| known.most.is_some_and(|known| known <= most))
                && self.equality.equal(known.schema, wanted.schema)
        });
        let every_item = |inclusion: &mut Self| {
            let Asked::Of(asked) = part.case.item(left, part.case.prefix(left)) else { return false };
            let asked: Conjunction = asked;
            part.case.fewest_items(left) >= wanted.least.max(1)
                && part.case.prefix(left) == 0
                && wanted.most.is_none()
                && inclusion.place(&asked, &super::Sent::Anything, wanted.schema).is_empty()
        };
        let needs_none = wanted.least == 0 && wanted.most.is_none();
        if says_so || needs_none || every_item(self) {
            Vec::new()
        } else {
            let mut failure = self.failure(part, Reason::Keyword("contains"));
            // As many that match as were enough before, and one more than may.
            let values = self.singled_out.values(&vec![wanted.schema]);
            let counts = [wanted.least.saturating_sub(1), wanted.most.unwrap_or_default().saturating_add(1)];
            for count in counts.into_iter().filter_map(|count| usize::try_from(count).ok()) {
                let matching = values.iter().take(1).filter(|_| count <= MOST_ITEMS);
                failure.candidates.splice(0..0, matching.map(|value| vec![value.clone(); count].into()));
            }
            vec![failure]
        }
    }
}
