use std::cmp::Reverse;

use serde_json::{Number, Value};

use super::scalars::whole;
use super::{Input, Mismatch, Wire};

/// Picks the branch of an untagged union that loses nothing: of those that print what was read, the first with the
/// fewest properties it does not declare, or else the one that keeps most of the value.
#[derive(Debug)]
pub struct Pick<'a, T> {
    input: Input<'a>,
    best: Option<(T, Fit)>,
    mismatch: Option<Mismatch>,
}

/// How well a branch fits; the greatest fits best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    is_exact: bool,
    declares: Reverse<usize>,
    keeps: usize,
}

impl Fit {
    const PERFECT: Self = Self { is_exact: true, declares: Reverse(0), keeps: usize::MAX };

    fn of<B: Wire>(branch: &B, printed: &Value, value: &Value) -> Self {
        let is_exact = same_json(printed, value);
        let declares = Reverse(branch.undeclared());
        if is_exact && declares == Reverse(0) {
            Self::PERFECT
        } else {
            Self { is_exact, declares, keeps: size(printed) }
        }
    }
}

impl<'a, T> Pick<'a, T> {
    /// A choice among branches that are yet to be tried.
    #[must_use]
    pub fn of(input: Input<'a>) -> Self {
        Self { input, best: None, mismatch: None }
    }

    /// Tries a branch.
    #[must_use]
    pub fn branch<B: Wire>(mut self, wrap: fn(B) -> T) -> Self {
        if self.is_settled() {
            return self;
        }
        let tried = self.input.count_trial().and_then(|()| B::read(self.input)).and_then(|branch| {
            let fit = Fit::of(&branch, &branch.write()?, self.input.value());
            Ok((branch, fit))
        });
        match tried {
            Ok((branch, fit)) => {
                if self.best.as_ref().is_none_or(|(_, best)| fit > *best) {
                    self.best = Some((wrap(branch), fit));
                }
            }
            Err(mismatch) => {
                if self.mismatch.as_ref().is_none_or(|known| mismatch.depth() > known.depth()) {
                    self.mismatch = Some(mismatch);
                }
            }
        }
        self
    }

    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(|(_, fit)| *fit == Fit::PERFECT)
    }

    /// Takes any value of these kinds, if no branch fits exactly.
    #[must_use]
    pub fn rest(mut self, kinds: &[&str], wrap: fn(Value) -> T) -> Self {
        let kind = match self.input.value() {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_exact = self.best.as_ref().is_some_and(|(_, fit)| fit.is_exact);
        if !is_exact && kinds.contains(&kind) {
            self.best = Some((wrap(self.input.value().clone()), Fit::PERFECT));
        }
        self
    }

    /// The picked branch.
    ///
    /// # Errors
    /// Where no branch fits: the mismatch that lies deepest, for it belongs to the branch that was meant.
    pub fn finish(self) -> Result<T, Mismatch> {
        match (self.best, self.mismatch) {
            (Some((value, _)), _) => Ok(value),
            (None, Some(mismatch)) if mismatch.depth() > 0 => Err(mismatch),
            (None, _) => Err(Mismatch::expected("one of the alternatives", self.input.value())),
        }
    }
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
