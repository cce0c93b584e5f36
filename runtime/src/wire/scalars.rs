use serde_json::{Map, Number, Value};

use super::print::{Form, Items, Members, Print, Stopped};
use super::tape::Token;
use super::{Input, Mismatch, Wire};

pub(super) const NOT_FINITE: &str = "JSON has no NaN and no infinity";

impl Wire for String {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.text().map(str::to_owned)
    }
}

impl Print for String {
    fn form(&self) -> Form<'_> {
        Form::Text(self)
    }
}

impl Print for &str {
    fn form(&self) -> Form<'_> {
        Form::Text(self)
    }
}

impl Wire for bool {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.token() {
            Token::Bool(value) => Ok(*value),
            _ => Err(input.expected("a boolean")),
        }
    }
}

impl Print for bool {
    fn form(&self) -> Form<'_> {
        Form::Bool(*self)
    }
}

impl Wire for () {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        if input.is_null() { Ok(()) } else { Err(input.expected("null")) }
    }
}

impl Print for () {
    fn form(&self) -> Form<'_> {
        Form::Null
    }
}

impl Wire for Value {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.note_undeclared(input.size());
        Ok(input.value())
    }
}

impl Print for Value {
    fn form(&self) -> Form<'_> {
        match self {
            Self::Null => Form::Null,
            Self::Bool(value) => Form::Bool(*value),
            Self::Number(number) => Form::Number(number),
            Self::String(text) => Form::Text(text),
            Self::Array(items) => Form::Array(self, items.len()),
            Self::Object(_) => Form::Object(self),
        }
    }

    fn items(&self, to: &mut Items<'_>) -> Result<(), Stopped> {
        match self {
            Self::Array(items) => items.iter().try_for_each(|item| to.item(item)),
            _ => Ok(()),
        }
    }

    fn members(&self, to: &mut Members<'_>) -> Result<(), Stopped> {
        match self {
            Self::Object(map) => map.members(to),
            _ => Ok(()),
        }
    }
}

impl Wire for Map<String, Value> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.map()
    }
}

impl Print for Map<String, Value> {
    fn form(&self) -> Form<'_> {
        Form::Object(self)
    }

    fn members(&self, to: &mut Members<'_>) -> Result<(), Stopped> {
        self.iter().try_for_each(|(key, value)| to.member(key, value))
    }
}

impl Wire for i64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match whole(input)? {
            Some(whole) => whole.try_into().map_err(|_| outside(input, "a 64-bit signed integer")),
            None => Err(outside(input, "a 64-bit signed integer")),
        }
    }
}

impl Print for i64 {
    fn form(&self) -> Form<'_> {
        Form::Signed(*self)
    }
}

impl Wire for u64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match whole(input)? {
            Some(whole) => whole.try_into().map_err(|_| outside(input, "a 64-bit unsigned integer")),
            None => Err(outside(input, "a 64-bit unsigned integer")),
        }
    }
}

impl Print for u64 {
    fn form(&self) -> Form<'_> {
        Form::Unsigned(*self)
    }
}

impl Wire for f64 {
    /// An integer that an `f64` would round is refused. Of a fraction nothing can be told: it was rounded to the
    /// nearest `f64` when its text was read, as JSON readers do.
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let exactly = "a number that 64 bits hold exactly";
        #[allow(clippy::cast_precision_loss)] // what is lost is seen
        let (rounded, integer) = match input.token() {
            Token::Float(number) => return Ok(*number),
            Token::Unsigned(number) => (*number as Self, i128::from(*number)),
            Token::Signed(number) => (*number as Self, i128::from(*number)),
            Token::Number(number) => {
                let is_fraction = number.to_string().contains(['.', 'e', 'E']);
                return number.as_f64().filter(|_| is_fraction).ok_or_else(|| outside(input, exactly));
            }
            _ => return Err(input.expected("a number")),
        };
        if whole_of(rounded) == Some(integer) { Ok(rounded) } else { Err(outside(input, exactly)) }
    }
}

impl Print for f64 {
    /// An integral value prints without a fraction, as servers that declare `number` expect of a count.
    fn form(&self) -> Form<'_> {
        Form::Float(*self)
    }
}

/// The value of an integral number, however it is written, where 64 bits hold it.
fn whole(input: Input<'_>) -> Result<Option<i128>, Mismatch> {
    match input.token() {
        Token::Unsigned(number) => Ok(Some((*number).into())),
        Token::Signed(number) => Ok(Some((*number).into())),
        Token::Float(number) => Ok(whole_of(*number)),
        Token::Number(_) => Ok(None),
        _ => Err(input.expected("an integer")),
    }
}

pub(super) fn whole_of(value: f64) -> Option<i128> {
    #[allow(clippy::cast_possible_truncation)] // guarded: integral and within 65 bits
    (value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(64)).contains(&value)).then_some(value as i128)
}

/// The double that a number is, if it is one: with `arbitrary_precision` it may have more digits than a double keeps.
pub(super) fn faithful(number: &Number) -> Option<f64> {
    let double = number.as_f64()?;
    if Number::from_f64(double).as_ref() == Some(number) {
        return Some(double);
    }
    let written = number.to_string();
    (written.contains(['.', 'e', 'E']) && digits(&written) == digits(&double.to_string())).then_some(double)
}

/// The significant digits of a number, wherever its point is.
fn digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// Never shows the number: it may be a secret.
fn outside(input: Input<'_>, what: &'static str) -> Mismatch {
    let found = match input.token() {
        Token::Signed(_) => "a negative integer",
        Token::Unsigned(_) => "a larger integer",
        Token::Float(number) if number.fract() != 0.0 => "a fraction",
        Token::Float(number) if *number < 0.0 && whole_of(*number).is_some() => "a negative integer",
        Token::Float(number) if whole_of(*number).is_some() => "a larger integer",
        Token::Number(number) if number.as_f64().is_some_and(|value| value.fract() != 0.0) => "a fraction",
        _ => "a larger number",
    };
    Mismatch::expected(what, found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Wire, from_value, to_value};

    #[track_caller]
    fn refused<T: Wire + std::fmt::Debug>(value: Value) -> String {
        from_value::<T>(&value).unwrap_err().to_string()
    }

    #[test]
    fn integers_come_from_integral_numbers_that_fit() {
        for (value, expected) in [
            (json!(5.0), 5),
            (json!(-0.0), 0),
            (json!(i64::MIN), i64::MIN),
            (json!(-9_223_372_036_854_775_808.0), i64::MIN),
            (json!(1e18), 1_000_000_000_000_000_000),
        ] {
            assert_eq!(from_value::<i64>(&value).unwrap(), expected);
        }
        for value in
            [json!(5.5), json!(u64::MAX), json!(1e19), json!(9_223_372_036_854_775_808.0), json!("5"), json!(1e300)]
        {
            refused::<i64>(value);
        }
        for (value, expected) in [
            (json!(u64::MAX), u64::MAX),
            (json!(5.0), 5),
            (json!(1e19), 10_000_000_000_000_000_000),
            (json!(9_223_372_036_854_775_808.0), 1 << 63),
        ] {
            assert_eq!(from_value::<u64>(&value).unwrap(), expected);
        }
        for value in [json!(-1), json!(-1.0), json!(0.5), json!(18_446_744_073_709_551_616.0), json!(true)] {
            refused::<u64>(value);
        }
        assert_eq!(refused::<u64>(json!(-1)), "expected a 64-bit unsigned integer, found a negative integer");
        assert_eq!(refused::<i64>(json!(0.5)), "expected a 64-bit signed integer, found a fraction");
    }

    #[test]
    fn an_integer_that_a_number_would_round_is_refused() {
        for exact in [json!(1_u64 << 53), json!(9_007_199_254_740_994_u64), json!(i64::MIN), json!(1_u64 << 63)] {
            assert_eq!(to_value(&from_value::<f64>(&exact).unwrap()).unwrap(), exact);
        }
        for rounded in [
            json!(9_007_199_254_740_993_u64),
            json!(-9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(u64::MAX - 1024),
        ] {
            assert!(refused::<f64>(rounded.clone()).contains("hold exactly"), "{rounded}");
        }
        let error = from_value::<Vec<f64>>(&json!([1, 9_007_199_254_740_993_u64])).unwrap_err();
        assert_eq!(error.to_string(), "expected a number that 64 bits hold exactly, found a larger integer at `/1`");
    }

    #[test]
    fn numbers_print_as_they_came() {
        for text in ["5", "5.5", "0.1", "1e300", "-0.0", "31.245270191439438", "121.48791951161945", "5e-324"] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(to_value(&from_value::<f64>(&value).unwrap()).unwrap().to_string(), text.replace("e3", "e+3"));
        }
        assert_eq!(to_value(&5f64).unwrap(), json!(5));
        assert_eq!(to_value(&1e18).unwrap(), json!(1_000_000_000_000_000_000_u64));
        assert!(to_value(&f64::NAN).is_err());
        assert!(to_value(&f64::INFINITY).is_err());
        assert!(serde_json::from_str::<Value>("1e400").is_err());
    }
}
