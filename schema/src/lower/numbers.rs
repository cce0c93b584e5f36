//! Numbers that a schema allows, as far as they decide about types.

use std::collections::HashSet;

use serde_json::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    Within(Range),
    Only(Vec<Number>),
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

    /// One of these.
    pub(super) fn listed(mut numbers: Vec<Number>) -> Self {
        let mut seen = HashSet::new();
        numbers.retain(|number| seen.insert(Exact::of(number)));
        Self::Only(numbers)
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Only(numbers) if numbers.is_empty())
    }

    /// Whether fractions are allowed, so that the type is that of all numbers.
    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Within(Range { whole: false, .. }))
    }

    pub(super) fn weight(&self) -> usize {
        if let Self::Only(numbers) = self { numbers.len() } else { 0 }
    }

    pub(super) fn union(all: &[&Self]) -> Self {
        let listed: Vec<Number> = all
            .iter()
            .flat_map(|numbers| if let Self::Only(listed) = numbers { listed.as_slice() } else { &[] })
            .cloned()
            .collect();
        let ranges =
            all.iter().filter_map(|numbers| if let Self::Within(range) = numbers { Some(*range) } else { None });
        let Some(united) = ranges.reduce(Range::union) else { return Self::listed(listed) };
        Self::Within(listed.iter().map(Range::of).fold(united, Range::union))
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Within(left), Self::Within(right)) => *left = left.intersection(*right),
            (Self::Within(range), Self::Only(listed)) => {
                let whole = range.whole;
                *self = Self::Only(listed.iter().filter(|number| !whole || is_integral(number)).cloned().collect());
            }
            (Self::Only(listed), Self::Within(range)) => listed.retain(|number| !range.whole || is_integral(number)),
            (Self::Only(listed), Self::Only(others)) => {
                let known: HashSet<Exact> = others.iter().map(Exact::of).collect();
                listed.retain(|number| known.contains(&Exact::of(number)));
            }
        }
    }
}

impl Range {
    /// The range of one number.
    fn of(number: &Number) -> Self {
        match Exact::of(number) {
            Exact::Whole(number) => Self { whole: true, least: Some(number), greatest: Some(number) },
            Exact::Other(_) => Self { whole: false, least: None, greatest: None },
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
            least: self.least.into_iter().chain(other.least).max(),
            greatest: self.greatest.into_iter().chain(other.greatest).min(),
        }
    }
}

/// A number by its value: 5 and 5.0 are the same.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Exact {
    Whole(i128),
    /// The bits of a double.
    Other(u64),
}

impl Exact {
    fn of(number: &Number) -> Self {
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        let double = number.as_f64().unwrap_or(f64::NAN);
        #[allow(clippy::cast_possible_truncation)] // guarded: integral, and within 128 bits
        let integral = || (double.fract() == 0.0 && double.abs() < 2f64.powi(126)).then_some(double as i128);
        whole.or_else(integral).map_or(Self::Other(double.to_bits()), Self::Whole)
    }
}

fn is_integral(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(numbers: serde_json::Value) -> Numbers {
        Numbers::listed(serde_json::from_value(numbers).expect("numbers"))
    }

    #[test]
    fn numbers_are_told_apart_by_value() {
        assert_eq!(listed(json!([5, 5.0, 1e30, 1e30])), listed(json!([5, 1e30])));
        assert_ne!(listed(json!([9007199254740993u64])), listed(json!([9007199254740992.0])));
    }

    #[test]
    fn a_union_is_as_wide_as_its_parts() {
        let from_zero = Numbers::Within(Range { whole: true, least: Some(0), greatest: None });
        let united = Numbers::union(&[&from_zero, &listed(json!([-1]))]);
        assert_eq!(united, Numbers::Within(Range { whole: true, least: Some(-1), greatest: None }));
        assert!(Numbers::union(&[&from_zero, &listed(json!([0.5]))]).is_any());
        assert!(Numbers::union(&[&Numbers::INTEGERS, &Numbers::ANY]).is_any());
    }
}
