use serde_json::{Number, Value};

use super::{Input, Mismatch, Wire};

/// Picks the branch of an untagged union that loses nothing: the first one that prints what was read, or else the
/// one that keeps most of it.
#[derive(Debug)]
pub struct Pick<'a, T> {
    input: Input<'a>,
    exact: bool,
    best: Option<(T, usize)>,
    mismatch: Option<Mismatch>,
}

impl<'a, T> Pick<'a, T> {
    /// A choice among branches that are yet to be tried.
    #[must_use]
    pub fn of(input: Input<'a>) -> Self {
        Self { input, exact: false, best: None, mismatch: None }
    }

    /// Tries a branch.
    #[must_use]
    pub fn branch<B: Wire>(mut self, wrap: fn(B) -> T) -> Self {
        if self.exact {
            return self;
        }
        match self.input.count_trial().and_then(|()| B::read(self.input)).and_then(|branch| {
            let printed = branch.write()?;
            Ok((branch, printed))
        }) {
            Ok((branch, printed)) => {
                self.exact = same_json(&printed, self.input.value());
                let kept = size(&printed);
                if self.exact || self.best.as_ref().is_none_or(|(_, best)| kept > *best) {
                    self.best = Some((wrap(branch), kept));
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
        if !self.exact && kinds.contains(&kind) {
            self.exact = true;
            self.best = Some((wrap(self.input.value().clone()), usize::MAX));
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
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
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
