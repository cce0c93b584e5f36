//! Numbers, texts and arrays: their bounds, and items place by place.

use std::cmp::Ordering;

use serde_json::{Number, Value, json};

use super::super::failure::{Failure, Reason, add};
use super::super::samples::{MOST_ITEMS, integer};
use super::super::sent::Sent;
use super::super::{format, pattern};
use super::{Inclusion, Part};
use crate::normalize::{Kinds, Limit, SchemaId};
use crate::number::{floor, is_multiple, order};

/// Returns `true` if values above `limit` are above `asked` too; `towards` is the order of a tighter bound.
fn implies(limit: &Limit, asked: &Limit, towards: Ordering) -> bool {
    match order(&limit.value, &asked.value) {
        Ordering::Equal => limit.exclusive || !asked.exclusive,
        order => order == towards,
    }
}

impl Inclusion<'_> {
    pub(super) fn numbers(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, asked) = (self.left, self.right.assertions(right));
        let is_integer = part.kind == Kinds::INTEGER;
        // No integer beyond 64 bits is ever sent; the default type of integers holds those without bounds.
        let (least, greatest) = part.case.integers(left);
        let least = least.unwrap_or(i64::MIN.into()).max(i64::MIN.into());
        let unbounded = if self.is_read { i64::MAX.into() } else { u64::MAX.into() };
        let greatest = greatest.unwrap_or(unbounded).min(u64::MAX.into());
        let from_below = |limit: &&Limit| match is_integer {
            true => limit.least() <= least,
            false => part.case.minimum(left).any(|known| implies(known, limit, Ordering::Greater)),
        };
        let from_above = |limit: &&Limit| match is_integer {
            true => limit.greatest() >= greatest,
            false => part.case.maximum(left).any(|known| implies(known, limit, Ordering::Less)),
        };
        let below = asked.minimum.iter().filter(|limit| !from_below(limit)).map(|limit| ("minimum", limit));
        let above = asked.maximum.iter().filter(|limit| !from_above(limit)).map(|limit| ("maximum", limit));
        let mut failures = Vec::new();
        for (keyword, limit) in below.chain(above) {
            let between = part
                .case
                .minimum(left)
                .chain(part.case.maximum(left))
                .filter_map(|known| Some(json!(f64::midpoint(known.value.as_f64()?, limit.value.as_f64()?))));
            let beyond = around(&limit.value).into_iter().chain(between);
            failures.push(self.keyword(part, keyword, beyond.filter(|value| Kinds::of(value) == part.kind)));
        }
        if let Some(step) = &asked.multiple_of {
            let mut known = part.case.assertions(left).filter_map(|known| known.multiple_of.as_ref());
            let every_integer = is_integer && is_multiple(&Number::from(1), step) == Some(true);
            if !every_integer && !known.any(|known| is_multiple(known, step) == Some(true)) {
                let mut failure = self.keyword(part, "multipleOf", None);
                if let Some(step) = step.as_f64() {
                    failure.candidates.extend([json!(step / 2.0), json!(step + 1.0)]);
                }
                failures.push(failure);
            }
        }
        failures
    }

    pub(super) fn texts(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, asked) = (self.left, self.right.assertions(right));
        let known: Vec<_> = part.case.assertions(left).collect();
        let formats = || part.case.schemas.iter().filter_map(move |id| format::named(left, *id));
        let mut failures = Vec::new();
        let least = known.iter().filter_map(|known| known.min_length).max().unwrap_or_default();
        let most = known.iter().filter_map(|known| known.max_length).min();
        let shorter = asked.min_length.filter(|wanted| *wanted > least);
        let longer = asked.max_length.filter(|wanted| most.is_none_or(|most| most > *wanted));
        for (keyword, length) in [
            ("minLength", shorter.map(|wanted| wanted.saturating_sub(1).min(5000))),
            ("maxLength", longer.map(|wanted| wanted.saturating_add(1).min(100_000))),
        ] {
            let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else { continue };
            let formatted = formats().filter_map(|name| format::of_length(name, length));
            failures.push(self.keyword(part, keyword, formatted.chain(["a".repeat(length)]).map(Value::from)));
        }
        let has = |wanted: &&String| known.iter().any(|known| known.pattern.as_ref() == Some(wanted));
        if let Some(wanted) = asked.pattern.as_ref().filter(|wanted| !has(wanted) && !pattern::is_everywhere(wanted)) {
            let other = pattern::sample(wanted).map(|text| format!("\u{1}{text}\u{1}")).unwrap_or_default();
            let blank = " ".repeat(usize::try_from(least.clamp(1, 5000)).unwrap_or_default());
            failures.push(self.keyword(part, "pattern", [other.into(), blank.into()]));
        }
        // A format that is named in a dialect without formats is meant all the same.
        if asked.format.as_deref().is_some_and(|wanted| !formats().any(|known| known == wanted)) {
            failures.push(self.keyword(part, "format", [json!("")]));
        }
        failures
    }

    pub(super) fn arrays(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (node, asked) = (self.right.node(right), self.right.assertions(right));
        let (least, most) = (part.case.fewest_items(self.left), part.case.most_items(self.left));
        let mut failures = Vec::new();
        // The length of a tuple is one demand.
        let (fewest, greatest) = if self.is_read { ("items", "items") } else { ("minItems", "maxItems") };
        if least < node.min_items {
            failures.push(self.of_length(part, fewest, least));
        }
        if let Some(wanted) = node.max_items.filter(|wanted| most.is_none_or(|most| most > *wanted)) {
            add(&mut failures, [self.of_length(part, greatest, wanted.saturating_add(1))]);
        }
        let is_unique = part.case.assertions(self.left).any(|asserted| asserted.unique_items);
        if asked.unique_items && !is_unique && most.is_none_or(|most| most > 1) {
            let mut failure = self.of_length(part, "uniqueItems", least.max(2));
            let items = failure.candidates.iter().filter_map(|array| array.as_array()?.first());
            let doubled: Vec<Value> = items.map(|item| json!([item, item])).collect();
            failure.candidates.splice(0..0, doubled);
            failures.push(failure);
        }
        add(&mut failures, self.items(part, right, most));
        failures.extend(self.contains(part, right));
        failures
    }

    fn items(&mut self, part: &Part<'_>, right: SchemaId, most: Option<u64>) -> Vec<Failure> {
        let (left, node) = (self.left, self.right.node(right));
        // From here on, all items are alike on both sides.
        let alike = part.case.prefix(left).max(node.prefix_items.len());
        let mut failures = Vec::new();
        for index in (0..=alike).take_while(|index| most.is_none_or(|most| (*index as u64) < most)) {
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
        let array = self.sampler.array_of(part.case, length);
        self.keyword(part, keyword, array)
    }

    fn contains(&mut self, part: &Part<'_>, right: SchemaId) -> Option<Failure> {
        let wanted = self.right.assertions(right).contains.as_ref()?;
        let states_it = self.states(part, wanted.schema, |asserted| {
            let known = asserted.contains.as_ref()?;
            let has_most = wanted.most.is_none_or(|most| known.most.is_some_and(|known| known <= most));
            (known.least >= wanted.least && has_most).then_some(known.schema)
        });
        let is_long = part.case.fewest_items(self.left) >= wanted.least.max(1) && part.case.prefix(self.left) == 0;
        let mut are_all = || {
            let asked = part.case.item(self.left, 0).filter(|_| is_long);
            asked.is_some_and(|asked| self.place(&asked, &Sent::Anything, wanted.schema).is_empty())
        };
        if states_it || (wanted.most.is_none() && (wanted.least == 0 || are_all())) {
            return None;
        }
        // Just more matches than allowed, and just fewer than required.
        let counts = [wanted.most.unwrap_or_default().saturating_add(1), wanted.least.saturating_sub(1)];
        let counts = counts.into_iter().filter_map(|count| usize::try_from(count).ok());
        let value = self.singled_out.values(&vec![wanted.schema]).first().cloned();
        let arrays = counts.filter(|count| *count <= MOST_ITEMS);
        let arrays: Vec<Value> = arrays.filter_map(|count| Some(vec![value.clone()?; count].into())).collect();
        Some(self.keyword(part, "contains", arrays))
    }
}

/// Numbers at and just beyond a bound.
fn around(number: &Number) -> Vec<Value> {
    let floor = floor(number);
    let mut values: Vec<Value> = [1, -1].into_iter().filter_map(|step| integer(floor.saturating_add(step))).collect();
    values.push(Value::Number(number.clone()));
    if let Some(value) = number.as_f64() {
        values.extend([json!(value - 0.5), json!(value + 0.5), json!(value.floor() - 1.0), json!(value.ceil() + 1.0)]);
    }
    values
}
