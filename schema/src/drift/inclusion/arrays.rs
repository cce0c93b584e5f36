//! Arrays: their length, and their items place by place.

use serde_json::Value;

use super::super::failure::{Failure, Reason, add};
use super::super::samples::MOST_ITEMS;
use super::{Inclusion, Part};
use crate::normalize::SchemaId;

impl Inclusion<'_> {
    pub(super) fn arrays(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let (node, asked) = (version.node(right), version.assertions(right));
        let (least, most) = (part.case.fewest_items(left), part.case.most_items(left));
        let mut failures = Vec::new();
        // The length of a tuple is one demand.
        let (fewest, greatest) = if self.is_read { ("items", "items") } else { ("minItems", "maxItems") };
        if least < node.min_items {
            add(&mut failures, [self.of_length(part, fewest, least)]);
        }
        if let Some(wanted) = node.max_items.filter(|wanted| most.is_none_or(|most| most > *wanted)) {
            add(&mut failures, [self.of_length(part, greatest, wanted.saturating_add(1))]);
        }
        let is_unique = part.case.assertions(left).any(|asserted| asserted.unique_items);
        if asked.unique_items && !is_unique && most.is_none_or(|most| most > 1) {
            let mut failure = self.of_length(part, "uniqueItems", least.max(2));
            let doubled = failure.candidates.iter().filter_map(|array| Some(array.as_array()?.first()?.clone()));
            let doubled: Vec<Value> = doubled.map(|item| Value::from(vec![item.clone(), item])).collect();
            failure.candidates.splice(0..0, doubled);
            failures.push(failure);
        }
        add(&mut failures, self.items(part, right, most));
        add(&mut failures, self.contains(part, right));
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
            let Some(asked) = part.case.item(left, index) else { break };
            let Some(sent) = part.sent.item(&left.document.shapes, index) else { continue };
            let found = self.place_or(&asked, &sent, wanted, Reason::Keyword("items"));
            let prefix = if self.is_read { part.case.prefix(left) } else { node.prefix_items.len() };
            add(&mut failures, self.sampler.at(part.case, found, index, prefix > index));
        }
        failures
    }

    fn of_length(&mut self, part: &Part<'_>, keyword: &'static str, length: u64) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        failure.candidates.splice(0..0, self.sampler.array_of(part.case, length));
        failure
    }

    fn contains(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let version = self.right;
        let Some(wanted) = &version.assertions(right).contains else { return Vec::new() };
        let left = self.left;
        let says_so = part.case.assertions(left).filter_map(|asserted| asserted.contains.as_ref()).any(|known| {
            known.least >= wanted.least
                && wanted.most.is_none_or(|most| known.most.is_some_and(|known| known <= most))
                && self.equality.equal(known.schema, wanted.schema)
        });
        let every_item = |inclusion: &mut Self| {
            let Some(asked) = part.case.item(left, part.case.prefix(left)) else { return false };
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
            // Just fewer matches than required, and just more than allowed.
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
