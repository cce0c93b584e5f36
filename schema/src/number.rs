//! Equality of JSON values: numbers by value at any size, objects in any order of keys.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::{Number, Value};

/// A number as exact decimal digits: `0.DIGITS` times ten to the power of `point`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decimal {
    negative: bool,
    /// The digits without zeros at either end; empty for zero.
    digits: String,
    point: i64,
}

impl Decimal {
    pub(crate) fn of(number: &Number) -> Self {
        let text = number.to_string();
        let (negative, text) = text.strip_prefix('-').map_or((false, text.as_str()), |text| (true, text));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        // An exponent beyond 64 bits is as good as any other that large.
        let limit = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.parse().unwrap_or(limit).clamp(i64::MIN / 2, i64::MAX / 2);
        let zeros = all.len() - digits.len();
        let shift = i64::try_from(whole.len()).unwrap_or_default() - i64::try_from(zeros).unwrap_or_default();
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, point: 0 };
        }
        Self { negative, digits, point: exponent + shift }
    }

    /// Returns the size without the sign, in an order.
    fn size(&self) -> (bool, i64, &str) {
        (!self.digits.is_empty(), self.point, &self.digits)
    }

    /// Returns the power of ten of the last digit.
    fn scale(&self) -> i64 {
        self.point - i64::try_from(self.digits.len()).unwrap_or_default()
    }
}

/// Compares two numbers of any size.
pub(crate) fn order(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return left.cmp(&right);
    }
    let (left, right) = (Decimal::of(left), Decimal::of(right));
    let sizes = left.size().cmp(&right.size());
    right.negative.cmp(&left.negative).then(if left.negative { sizes.reverse() } else { sizes })
}

/// Returns `true` if a number has no fraction.
pub(crate) fn is_integral(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || Decimal::of(number).scale() >= 0
}

/// Returns the greatest integer that is not above a number, clamped to 128 bits.
pub(crate) fn floor(number: &Number) -> i128 {
    const MOST_DIGITS: i64 = 38;
    if let Some(whole) = number.as_i64() {
        return whole.into();
    }
    let decimal = Decimal::of(number);
    let size = match decimal.point {
        ..=0 => 0,
        point if point > MOST_DIGITS => i128::MAX,
        point => {
            let digits = usize::try_from(point).unwrap_or_default();
            format!("{:0<digits$.digits$}", decimal.digits).parse().unwrap_or(i128::MAX)
        }
    };
    if decimal.negative { (-size).saturating_sub(i128::from(decimal.scale() < 0)) } else { size }
}

/// Returns `true` if a number is a multiple of a step, or `None` if the step has too many digits.
pub(crate) fn is_multiple(number: &Number, step: &Number) -> Option<bool> {
    const MOST_DIGITS: usize = 36;
    // Beyond this many tens, one more takes no factor out of the step.
    const MOST_TENS: i64 = 120;
    let (number, step) = (Decimal::of(number), Decimal::of(step));
    if number.digits.is_empty() || step.digits.is_empty() {
        return Some(true);
    }
    if step.digits.len() > MOST_DIGITS {
        return None;
    }
    let tens = number.scale().saturating_sub(step.scale());
    let step: u128 = step.digits.parse().ok()?;
    let of_digits = number.digits.bytes().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % step);
    Some(tens >= 0 && (0..tens.min(MOST_TENS)).fold(of_digits, |rest, _| rest * 10 % step) == 0)
}

/// Returns `true` if two JSON values are equal: numbers by value at any size, objects in any order of keys.
///
/// ```
/// use serde_json::json;
///
/// assert!(mcp_bindgen_schema::same(&json!({"a": 1, "b": [100]}), &json!({"b": [1e2], "a": 1.0})));
/// assert!(!mcp_bindgen_schema::same(&json!(9007199254740992_u64), &json!(9007199254740993_u64)));
/// ```
#[must_use]
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || order(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// A value that is compared and hashed by its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByValue<'a>(pub(crate) &'a Value);

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        same(self.0, other.0)
    }
}

impl Eq for ByValue<'_> {}

impl Hash for ByValue<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self.0).hash(state);
        match self.0 {
            Value::Null => {}
            Value::Bool(value) => value.hash(state),
            Value::Number(number) => Decimal::of(number).hash(state),
            Value::String(text) => text.hash(state),
            Value::Array(items) => {
                items.len().hash(state);
                items.iter().for_each(|item| ByValue(item).hash(state));
            }
            Value::Object(members) => {
                let hashes = members.iter().map(|(key, value)| hashed(&(key, ByValue(value))));
                hashes.fold(0, u64::wrapping_add).hash(state);
            }
        }
    }
}

/// Returns the hash of a value's meaning.
pub(crate) fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the first value for each key.
pub(crate) fn distinct<'v, T: Clone, K: Eq + Hash>(values: &'v [T], key: impl Fn(&'v T) -> K) -> Vec<T> {
    let (mut seen, mut distinct) = (HashSet::new(), Vec::new());
    for value in values {
        if seen.insert(key(value)) {
            distinct.push(value.clone());
        }
    }
    distinct
}

/// Returns the set of some values.
pub(crate) fn by_value(values: &[Value]) -> HashSet<ByValue<'_>> {
    values.iter().map(ByValue).collect()
}

/// Returns the smaller of two values that there may be.
pub(crate) fn smaller<T: Copy + Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        _ => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn empty_values_of_two_types_have_two_hashes() {
        for (left, right) in [(json!(null), json!(false)), (json!([]), json!({})), (json!(""), json!(0))] {
            assert_ne!(hashed(&ByValue(&left)), hashed(&ByValue(&right)), "{left} {right}");
        }
        assert_eq!(hashed(&ByValue(&json!([1.0]))), hashed(&ByValue(&json!([1]))));
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (left, right) in [("1", "1.0"), ("0", "-0.0"), ("100", "1e2"), ("0.1", "10e-2"), ("12.50", "1.25e1")] {
            assert!(order(&number(left), &number(right)).is_eq(), "{left} {right}");
            let (left, right) = (json!([number(left)]), json!([number(right)]));
            assert_eq!(distinct(&[left, right], ByValue).len(), 1);
        }
        assert_eq!(distinct(&[json!({ "a": 1, "b": 2 }), json!({ "b": 2.0, "a": 1.0 })], ByValue).len(), 1);
        assert_eq!(distinct(&[json!({ "a": 1 }), json!({ "a": 2 }), json!([1]), json!(1)], ByValue).len(), 4);
    }

    #[test]
    fn number_order_is_exact_where_f64_would_round() {
        let ascending = [
            "-1e300",
            "-9007199254740993",
            "-9007199254740992.0",
            "-1",
            "-0.5",
            "0",
            "1e-10",
            "0.09",
            "0.1",
            "1",
            "9007199254740992.0",
            "9007199254740993",
            "18446744073709551615",
            "1e300",
        ];
        for pair in ascending.windows(2) {
            assert!(order(&number(pair[0]), &number(pair[1])).is_lt(), "{pair:?}");
            assert!(order(&number(pair[1]), &number(pair[0])).is_gt(), "{pair:?}");
        }
    }

    #[test]
    fn floor_is_exact() {
        for (value, floor) in [
            ("0.5", 0),
            ("-0.5", -1),
            ("-2.0", -2),
            ("1e3", 1000),
            ("12.75", 12),
            ("0", 0),
            ("18446744073709551615", 18_446_744_073_709_551_615),
            ("1e300", i128::MAX),
            ("-1e300", -i128::MAX),
        ] {
            assert_eq!(super::floor(&number(value)), floor, "{value}");
        }
    }

    #[test]
    fn multiple_of_is_exact() {
        for (value, step, multiple) in [
            ("0.3", "0.1", true),
            ("1e-10", "1", false),
            ("1", "1e-10", true),
            ("1e300", "7", false),
            ("1e300", "1024", true),
            ("1e300", "1e-300", true),
            ("7.5", "2.5", true),
            ("7.4", "2.5", false),
            ("0", "3", true),
            ("9007199254740993", "2", false),
        ] {
            assert_eq!(is_multiple(&number(value), &number(step)), Some(multiple), "{value} {step}");
        }
    }
}
