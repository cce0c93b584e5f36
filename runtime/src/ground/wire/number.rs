//! The exact values of numbers.

use serde_json::Number;

use super::mismatch::Mismatch;

pub(super) const NOT_FINITE: &str = "JSON has no NaN and no infinity";
const EXACTLY: &str = "a number that 64 bits hold exactly";

/// Returns the integer of a number, however it is written.
pub(super) fn whole<I: TryFrom<i128>>(number: &Number, what: &'static str) -> Result<I, Mismatch> {
    exact(number).and_then(|whole| whole.try_into().ok()).ok_or_else(|| outside(number, what))
}

/// Returns a number as a double. Fails for an integer that a double would round. A fraction was rounded when its text was
/// read, as JSON readers do, so it cannot be checked.
pub(super) fn double(number: &Number) -> Result<f64, Mismatch> {
    let is_exact =
        |double: &f64| number.is_f64() || integer(number).is_some_and(|integer| whole_of(*double) == Some(integer));
    number.as_f64().filter(is_exact).ok_or_else(|| outside(number, EXACTLY))
}

/// Returns a range error, which never shows the number, because it may be secret.
#[cold]
fn outside(number: &Number, what: &'static str) -> Mismatch {
    let double = number.as_f64().filter(|_| number.is_f64());
    let found = match exact(number) {
        Some(whole) if whole < 0 => "a negative integer",
        Some(_) => "a larger integer",
        // A double may have lost the digits of the fraction.
        None if double.is_some_and(|double| double.fract() != 0.0 || whole_of(double).is_some()) => "a fraction",
        None => "a larger number",
    };
    Mismatch::expected(what, found)
}

/// Returns a number without the fraction of an integral one, because `5.0` is an integer in JSON Schema.
pub(super) fn integral(number: &Number) -> Number {
    exact(number).and_then(Number::from_i128).unwrap_or_else(|| number.clone())
}

/// Returns the number that a double prints as, if JSON has one. Servers that declare `number` for a count expect no
/// fraction.
pub(super) fn printed(double: f64) -> Option<Number> {
    let integer = whole_of(double).filter(|_| double != 0.0 || double.is_sign_positive());
    integer.and_then(Number::from_i128).or_else(|| Number::from_f64(double))
}

/// Returns the integer that a number is, however it is written, if 64 bits hold it.
fn exact(number: &Number) -> Option<i128> {
    integer(number).or_else(|| whole_of(faithful(number)?))
}

/// Returns the integer that a double is, within what 64 bits hold with or without a sign.
#[inline]
fn whole_of(value: f64) -> Option<i128> {
    // Nearly all are small: a conversion there and back costs less than looking at the fraction.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // what is lost is seen
    let small = (value as i64, value as i64 as f64);
    if small.0.unsigned_abs() < 1 << 53 {
        #[allow(clippy::float_cmp)] // an integer is exactly what it is
        return (small.1 == value).then_some(small.0.into());
    }
    #[allow(clippy::cast_possible_truncation)] // guarded: integral and within 65 bits
    (value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(64)).contains(&value)).then_some(value as i128)
}

/// Returns the integer of a number that is written as one, if 64 bits hold it.
pub(super) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Returns the double that a number is, unless it is written as an integer: with `arbitrary_precision` it may have more
/// digits than a double keeps.
pub(super) fn faithful(number: &Number) -> Option<f64> {
    let double = number.as_f64().filter(|_| number.is_f64())?;
    let is_kept = || digits(&number.to_string()) == digits(&double.to_string());
    (Number::from_f64(double).as_ref() == Some(number) || is_kept()).then_some(double)
}

/// Returns the significant digits of a number, wherever its point is.
fn digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
