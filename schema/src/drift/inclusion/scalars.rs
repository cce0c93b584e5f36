//! Numbers and texts.

use std::cmp::Ordering;

use serde_json::{Number, Value, json};

use super::super::failure::{Failure, Reason};
use super::super::format;
use super::super::pattern;
use super::{Inclusion, Part};
use crate::normalize::{Kinds, Limit, SchemaId};
use crate::number::{is_integral, is_multiple, order};

/// Returns `true` if values above `limit` are above `asked` too; `towards` is the order of a tighter bound.
fn implies(limit: &Limit, asked: &Limit, towards: Ordering) -> bool {
    match order(&limit.value, &asked.value) {
        Ordering::Equal => limit.exclusive || !asked.exclusive,
        order => order == towards,
    }
}

impl Inclusion<'_> {
    pub(super) fn numbers(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let asked = version.assertions(right);
        let is_integer = part.kind == Kinds::INTEGER;
        // No integer beyond 64 bits is ever sent; the default type of integers holds those without bounds.
        let (least, greatest) = part.case.integers(left);
        let least = least.unwrap_or(i64::MIN.into()).max(i64::MIN.into());
        let unbounded = if self.is_read { i64::MAX.into() } else { u64::MAX.into() };
        let greatest = greatest.unwrap_or(unbounded).min(u64::MAX.into());
        let from_below = |limit: &Limit| match is_integer {
            true => limit.least() <= least,
            false => part.case.minimum(left).any(|known| implies(known, limit, Ordering::Greater)),
        };
        let from_above = |limit: &Limit| match is_integer {
            true => limit.greatest() >= greatest,
            false => part.case.maximum(left).any(|known| implies(known, limit, Ordering::Less)),
        };
        let mut failures = Vec::new();
        for (keyword, failing) in [
            ("minimum", asked.minimum.iter().filter(|limit| !from_below(limit)).collect::<Vec<_>>()),
            ("maximum", asked.maximum.iter().filter(|limit| !from_above(limit)).collect()),
        ] {
            for limit in failing {
                let mut failure = self.failure(part, Reason::Keyword(keyword));
                let known = part.case.minimum(left).chain(part.case.maximum(left));
                let between = known.filter_map(|known| between(&known.value, &limit.value));
                let beyond = around(&limit.value)
                    .into_iter()
                    .chain(between)
                    .filter(|value| matches!(value, Value::Number(number) if is_integral(number) == is_integer));
                failure.candidates.splice(0..0, beyond);
                failures.push(failure);
            }
        }
        if let Some(step) = &asked.multiple_of {
            let is_known = |id: &SchemaId| {
                let known = left.assertions(*id).multiple_of.as_ref();
                known.is_some_and(|known| is_multiple(known, step) == Some(true))
            };
            let every_integer = is_integer && is_multiple(&Number::from(1), step) == Some(true);
            if !every_integer && !part.case.schemas().iter().any(is_known) {
                let mut failure = self.failure(part, Reason::Keyword("multipleOf"));
                if let Some(step) = step.as_f64() {
                    failure.candidates.extend([json!(step / 2.0), json!(step + 1.0)]);
                }
                failures.push(failure);
            }
        }
        failures
    }

    pub(super) fn texts(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let asked = version.assertions(right);
        let known: Vec<_> = part.case.assertions(left).collect();
        let mut failures = Vec::new();
        let least = known.iter().filter_map(|known| known.min_length).max().unwrap_or_default();
        let most = known.iter().filter_map(|known| known.max_length).min();
        if let Some(wanted) = asked.min_length.filter(|wanted| *wanted > least) {
            failures.push(self.text_of_length(part, "minLength", wanted.saturating_sub(1).min(5000)));
        }
        if let Some(wanted) = asked.max_length.filter(|wanted| most.is_none_or(|most| most > *wanted)) {
            failures.push(self.text_of_length(part, "maxLength", wanted.saturating_add(1).min(100_000)));
        }
        let has = |wanted: &&String| known.iter().any(|known| known.pattern.as_ref() == Some(wanted));
        let pattern = asked.pattern.as_ref().filter(|wanted| !has(wanted) && !pattern::is_everywhere(wanted));
        if let Some(wanted) = pattern {
            let other = pattern::sample(wanted).map(|text| format!("\u{1}{text}\u{1}")).unwrap_or_default();
            let mut failure = self.with_candidate(part, "pattern", other);
            let blank = " ".repeat(usize::try_from(least.clamp(1, 5000)).unwrap_or_default());
            failure.candidates.insert(1, blank.into());
            failures.push(failure);
        }
        // A format that is named in a dialect without formats is meant all the same.
        let names = |wanted: &str| part.case.schemas().iter().any(|id| format::named(left, *id) == Some(wanted));
        if asked.format.as_deref().is_some_and(|wanted| !names(wanted)) {
            failures.push(self.with_candidate(part, "format", String::new()));
        }
        failures
    }

    /// Returns a failure with strings of a length as its first candidates, those of the required formats foremost.
    fn text_of_length(&mut self, part: &Part<'_>, keyword: &'static str, length: u64) -> Failure {
        let length = usize::try_from(length).unwrap_or_default();
        let mut failure = self.with_candidate(part, keyword, "a".repeat(length));
        let formats = part.case.schemas().iter().filter_map(|id| format::named(self.left, *id));
        let texts = formats.filter_map(|name| format::of_length(name, length)).map(Value::from);
        failure.candidates.splice(0..0, texts);
        failure
    }

    fn with_candidate(&mut self, part: &Part<'_>, keyword: &'static str, text: String) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        failure.candidates.insert(0, text.into());
        failure
    }
}

/// Returns a number between two bounds.
fn between(known: &Number, asked: &Number) -> Option<Value> {
    Some(json!(f64::midpoint(known.as_f64()?, asked.as_f64()?)))
}

/// Numbers at and just beyond a bound.
fn around(number: &Number) -> Vec<Value> {
    let mut values = Vec::new();
    if let Some(whole) = number.as_i64() {
        let above = whole.checked_add(1).map_or_else(|| json!(1_u64 << 63), Value::from);
        values.extend([above].into_iter().chain(whole.checked_sub(1).map(Value::from)));
    }
    values.push(Value::Number(number.clone()));
    if let Some(value) = number.as_f64() {
        values.extend([json!(value - 0.5), json!(value + 0.5), json!(value.floor() - 1.0), json!(value.ceil() + 1.0)]);
    }
    values
}
