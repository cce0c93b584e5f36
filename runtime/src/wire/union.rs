use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::{Number, Value};

use super::scalars::whole;
use super::{Input, Mismatch, Wire};

/// Picks the branch of an untagged union that loses nothing: of those that print what was read, the first that holds
/// least of it without a type, or else the one that keeps most of the value.
#[derive(Debug)]
pub struct Pick<'a, T> {
    input: Input<'a>,
    /// What this value was known to be before.
    known: Option<Known>,
    trials_left: u32,
    branches: usize,
    best: Option<Best<T>>,
    mismatch: Option<Mismatch>,
}

#[derive(Debug)]
struct Best<T> {
    value: T,
    branch: usize,
    fit: Fit,
}

/// How well a branch fits; the greatest fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Loses { keeps: usize, undeclared: Reverse<usize> },
    IsExact { undeclared: Reverse<usize> },
}

impl Fit {
    const PERFECT: Self = Self::IsExact { undeclared: Reverse(0) };

    fn of<B: Wire>(branch: &B, value: &Value) -> Result<Self, Mismatch> {
        let printed = branch.write()?;
        let undeclared = Reverse(branch.undeclared());
        let is_exact = same_json(&printed, value);
        Ok(if is_exact { Self::IsExact { undeclared } } else { Self::Loses { keeps: size(&printed), undeclared } })
    }
}

/// What became of values that took many trials. The branches of a union around them read them again and again: without
/// this, every level of nesting would multiply the trials.
#[derive(Debug, Default)]
pub(super) struct Picked(RefCell<HashMap<TrialKey, Known>>);

/// A union's name and a value, by where they lie.
type TrialKey = (*const u8, usize, *const Value);

#[derive(Clone, Debug)]
enum Known {
    Branch(usize),
    Mismatch(Mismatch),
}

/// From this many trials on, what became of a value is kept.
const WORTH_KEEPING: u32 = 16;

impl<'a, T> Pick<'a, T> {
    /// A choice among branches that are yet to be tried.
    #[must_use]
    pub fn of(input: Input<'a>) -> Self {
        let known = input.reading.picked.0.borrow().get(&Self::key(input)).cloned();
        let trials_left = input.reading.trials_left.get();
        Self { input, known, trials_left, branches: 0, best: None, mismatch: None }
    }

    fn key(input: Input<'a>) -> TrialKey {
        let name = std::any::type_name::<T>();
        (name.as_ptr(), name.len(), input.value())
    }

    /// Tries a branch.
    pub fn branch<B: Wire>(&mut self, wrap: fn(B) -> T) {
        let branch = self.branches;
        self.branches += 1;
        let is_open = match self.known {
            Some(Known::Branch(known)) => known == branch,
            Some(Known::Mismatch(_)) => false,
            None => !self.is_settled(),
        };
        if is_open && let Err(mismatch) = self.input.count_trial().and_then(|()| self.read_branch(branch, wrap)) {
            self.miss(mismatch);
        }
    }

    /// The caller's frame is on the stack once for every level of a value: it stays small.
    fn read_branch<B: Wire>(&mut self, branch: usize, wrap: fn(B) -> T) -> Result<(), Mismatch> {
        let value = B::read(self.input)?;
        let fit = if self.known.is_some() { Fit::PERFECT } else { Fit::of(&value, self.input.value())? };
        if self.best.as_ref().is_none_or(|best| fit > best.fit) {
            self.best = Some(Best { value: wrap(value), branch, fit });
        }
        Ok(())
    }

    fn miss(&mut self, mismatch: Mismatch) {
        if self.mismatch.as_ref().is_none_or(|known| mismatch.depth() > known.depth()) {
            self.mismatch = Some(mismatch);
        }
    }

    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.fit == Fit::PERFECT)
    }

    /// Takes any value of these kinds, if no branch fits exactly.
    pub fn rest(&mut self, kinds: &[&str], wrap: fn(Value) -> T) {
        let kind = match self.input.value() {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_exact = self.best.as_ref().is_some_and(|best| matches!(best.fit, Fit::IsExact { .. }));
        let is_refused = matches!(self.known, Some(Known::Mismatch(_)));
        if !is_exact && !is_refused && kinds.contains(&kind) {
            let value = wrap(self.input.value().clone());
            self.best = Some(Best { value, branch: self.branches, fit: Fit::PERFECT });
        }
    }

    /// The picked branch.
    ///
    /// # Errors
    /// Where no branch fits: the mismatch that lies deepest, for it belongs to the branch that was meant.
    pub fn finish(self) -> Result<T, Mismatch> {
        let reading = self.input.reading;
        if reading.trials_left.get() == 0 {
            // The best of the branches that were tried may not be the one that was meant.
            return Err(too_many_trials());
        }
        let is_new = self.known.is_none();
        let result = match (self.known, self.best, self.mismatch) {
            (Some(Known::Mismatch(mismatch)), ..) => Err(mismatch),
            (_, Some(best), _) => Ok(best),
            (_, None, Some(mismatch)) if mismatch.depth() > 0 => Err(mismatch),
            (_, None, _) => Err(Mismatch::expected("one of the alternatives", self.input.value())),
        };
        if is_new && self.trials_left.saturating_sub(reading.trials_left.get()) >= WORTH_KEEPING {
            let known = match &result {
                Ok(best) => Known::Branch(best.branch),
                Err(mismatch) => Known::Mismatch(mismatch.clone()),
            };
            reading.picked.0.borrow_mut().insert(Self::key(self.input), known);
        }
        result.map(|best| best.value)
    }
}

pub(super) fn too_many_trials() -> Mismatch {
    Mismatch::new("there are too many ways to read this value")
}

/// Whether two JSON values are the same: numbers by value, objects whatever the order of their keys.
#[must_use]
pub fn same_json(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_json(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same_json(value, other)))
        }
        _ => left == right,
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    match (whole(left), whole(right)) {
        (None, None) => left.as_f64() == right.as_f64(),
        (left, right) => left == right,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same_json(&json!([5, {"a": 1.0}]), &json!([5.0, {"a": 1}])));
        assert!(!same_json(&json!(u64::MAX), &json!(u64::MAX - 1)));
        assert!(!same_json(&json!({"a": null}), &json!({})));
    }
}
