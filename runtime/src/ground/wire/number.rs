//! Scalars, and the kinds of numbers.

use serde_json::{Number, Value};

use super::mismatch::Mismatch;

pub(super) const NOT_FINITE: &str = "JSON has no NaN and no infinity";
const EXACTLY: &str = "a number that 64 bits hold exactly";

/// A value that is neither array nor object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    /// The digits of a number that no other variant holds.
    Digits(&'t str),
    Text(&'t str),
}

impl<'t> Scalar<'t> {
    /// Creates a scalar from a number with these digits.
    pub(super) fn of(number: &Number, digits: &'t str) -> Self {
        let integer = number.as_u64().map(Self::Unsigned).or_else(|| number.as_i64().map(Self::Signed));
        integer.or_else(|| faithful(number).map(Self::Float)).unwrap_or(Self::Digits(digits))
    }

    pub(super) fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Signed(number) => Value::Number(number.into()),
            Self::Unsigned(number) => Value::Number(number.into()),
            Self::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Self::Digits(digits) => digits.parse().map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::String(text.to_owned()),
        }
    }

    /// Returns an integer, however it is written.
    pub(super) fn whole<I: TryFrom<i128>>(self, what: &'static str) -> Result<I, Mismatch> {
        let whole = match self {
            Self::Signed(number) => Some(number.into()),
            Self::Unsigned(number) => Some(number.into()),
            Self::Float(number) => whole_of(number),
            _ => None,
        };
        whole.and_then(|whole| whole.try_into().ok()).ok_or_else(|| self.outside(what))
    }

    /// Returns the number as a double. Fails for an integer that a double would round. A fraction was rounded when its
    /// text was read, as JSON readers do, so it cannot be checked.
    pub(super) fn double(self) -> Result<f64, Mismatch> {
        #[allow(clippy::cast_precision_loss)] // what is lost is seen
        let (rounded, integer) = match self {
            Self::Float(number) => return Ok(number),
            Self::Unsigned(number) if number < 1 << 53 => return Ok(number as f64),
            Self::Unsigned(number) => (number as f64, i128::from(number)),
            Self::Signed(number) => (number as f64, i128::from(number)),
            Self::Digits(digits) if !is_integer(digits) => {
                let double = digits.parse().ok().filter(|double: &f64| double.is_finite());
                return double.ok_or_else(|| self.outside("a 64-bit number"));
            }
            _ => return Err(self.outside(EXACTLY)),
        };
        if whole_of(rounded) == Some(integer) { Ok(rounded) } else { Err(self.outside(EXACTLY)) }
    }

    /// Returns a range error, which never shows the number, because it may be secret.
    fn outside(self, what: &'static str) -> Mismatch {
        let found = match self {
            Self::Signed(_) => "a negative integer",
            Self::Unsigned(_) => "a larger integer",
            Self::Float(number) if number.fract() != 0.0 => "a fraction",
            Self::Float(number) if whole_of(number).is_some() && number < 0.0 => "a negative integer",
            Self::Float(number) if whole_of(number).is_some() => "a larger integer",
            Self::Digits(digits) if !is_integer(digits) => "a fraction",
            _ => "a larger number",
        };
        Mismatch::expected(what, found)
    }

    pub(super) fn is_number(self) -> bool {
        !matches!(self, Self::Null | Self::Bool(_) | Self::Text(_))
    }

    /// Returns the kind of a value, never its content: arguments may hold secrets.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Signed(_) | Self::Unsigned(_) => "an integer",
            Self::Float(_) | Self::Digits(_) => "a number",
            Self::Text(_) => "a string",
        }
    }
}

/// Returns the integer that a double is.
#[inline]
pub(super) fn integer_of(value: f64) -> Option<Scalar<'static>> {
    let whole = whole_of(value)?;
    u64::try_from(whole).map(Scalar::Unsigned).or_else(|_| i64::try_from(whole).map(Scalar::Signed)).ok()
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

/// Returns the double that a number is, if it is one: with `arbitrary_precision` it may have more digits than a double
/// keeps.
fn faithful(number: &Number) -> Option<f64> {
    let double = number.as_f64()?;
    if Number::from_f64(double).as_ref() == Some(number) {
        return Some(double);
    }
    let written = number.to_string();
    (!is_integer(&written) && digits(&written) == digits(&double.to_string())).then_some(double)
}

fn is_integer(written: &str) -> bool {
    !written.contains(['.', 'e', 'E'])
}

/// Returns the significant digits of a number, wherever its point is.
fn digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
