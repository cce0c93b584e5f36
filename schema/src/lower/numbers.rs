//! Numbers that a schema allows, as far as they decide about types.

use serde_json::Value;

use crate::normalize::Kinds;
use crate::number::{ByValue, by_value, distinct, floor, is_integral, smaller};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    Within(Range),
    Only(Vec<Value>),
}

/// Every number, or every integer, between bounds. Bounds of numbers that need not be whole decide nothing, until
/// another schema asks for whole ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) whole: bool,
    pub(super) least: Option<i128>,
    pub(super) greatest: Option<i128>,
}

impl Numbers {
    pub(super) const ANY: Self = Self::Within(Range { whole: false, least: None, greatest: None });
    pub(super) const INTEGERS: Self = Self::Within(Range { whole: true, least: None, greatest: None });
    pub(super) const NONE: Self = Self::Only(Vec::new());

    /// Creates a choice of the listed numbers.
    pub(super) fn listed(numbers: &[Value]) -> Self {
        Self::Only(distinct(numbers, ByValue))
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Only(numbers) if numbers.is_empty())
    }

    /// Returns `true` if fractions are allowed, so that the type is that of all numbers.
    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Within(Range { whole: false, .. }))
    }

    pub(super) fn weight(&self) -> usize {
        if let Self::Only(numbers) = self { numbers.len() } else { 0 }
    }

    pub(super) fn union(all: &[&Self]) -> Self {
        let (mut listed, mut united) = (Vec::new(), None);
        for numbers in all {
            match numbers {
                Self::Only(numbers) => listed.extend_from_slice(numbers),
                Self::Within(range) => united = Some(united.map_or(*range, |united: Range| united.union(*range))),
            }
        }
        let Some(mut united) = united else { return Self::listed(&listed) };
        for number in &listed {
            united = united.union(Range::of(number));
        }
        Self::Within(united)
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        *self = match (&*self, other) {
            (Self::Within(left), Self::Within(right)) => Self::Within(left.intersection(*right)),
            (Self::Within(range), Self::Only(listed)) | (Self::Only(listed), Self::Within(range)) => {
                let mut listed = listed.clone();
                listed.retain(|number| !range.whole || Kinds::of(number) == Kinds::INTEGER);
                Self::Only(listed)
            }
            (Self::Only(listed), Self::Only(others)) => {
                let (known, mut listed) = (by_value(others), listed.clone());
                listed.retain(|number| known.contains(&ByValue(number)));
                Self::Only(listed)
            }
        };
    }
}

impl Range {
    /// Creates the range of one number.
    fn of(number: &Value) -> Self {
        match whole(number) {
            Some(number) => Self { whole: true, least: Some(number), greatest: Some(number) },
            None => Self { whole: false, least: None, greatest: None },
        }
    }

    fn union(self, other: Self) -> Self {
        Self {
            whole: self.whole && other.whole,
            least: self.least.zip(other.least).map(|(left, right)| left.min(right)),
            greatest: self.greatest.zip(other.greatest).map(|(left, right)| left.max(right)),
        }
    }

    fn intersection(self, other: Self) -> Self {
        Self {
            whole: self.whole || other.whole,
            least: self.least.max(other.least),
            greatest: smaller(self.greatest, other.greatest),
        }
    }
}

/// Returns the value of a number without a fraction, within 128 bits.
fn whole(number: &Value) -> Option<i128> {
    let number = number.as_number().filter(|number| is_integral(number))?;
    Some(floor(number)).filter(|whole| whole.unsigned_abs() < 1 << 126)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(numbers: Value) -> Numbers {
        Numbers::listed(numbers.as_array().expect("numbers"))
    }

    #[test]
    fn numbers_are_distinguished_by_value() {
        assert_eq!(listed(json!([5, 5.0, 1e30, 1e30])), listed(json!([5, 1e30])));
        assert_ne!(listed(json!([9007199254740993u64])), listed(json!([9007199254740992.0])));
    }

    #[test]
    fn union_range_covers_all_its_parts() {
        let from_zero = Numbers::Within(Range { whole: true, least: Some(0), greatest: None });
        let united = Numbers::union(&[&from_zero, &listed(json!([-1]))]);
        assert_eq!(united, Numbers::Within(Range { whole: true, least: Some(-1), greatest: None }));
        assert!(Numbers::union(&[&from_zero, &listed(json!([0.5]))]).is_any());
        assert!(Numbers::union(&[&Numbers::INTEGERS, &Numbers::ANY]).is_any());
    }
}
