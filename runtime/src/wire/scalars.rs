use serde_json::{Map, Number, Value};

use super::{Input, Mismatch, Wire};

impl Wire for String {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.value() {
            Value::String(text) => Ok(text.clone()),
            other => Err(Mismatch::expected("a string", other)),
        }
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::String(self.clone()))
    }
}

impl Wire for bool {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.value() {
            Value::Bool(value) => Ok(*value),
            other => Err(Mismatch::expected("a boolean", other)),
        }
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Bool(*self))
    }
}

impl Wire for () {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.value() {
            Value::Null => Ok(()),
            other => Err(Mismatch::expected("null", other)),
        }
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Null)
    }
}

impl Wire for Value {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        Ok(input.value().clone())
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(self.clone())
    }

    fn undeclared(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::undeclared).sum::<usize>(),
            Self::Object(map) => 1 + map.values().map(|value| 1 + value.undeclared()).sum::<usize>(),
            _ => 1,
        }
    }
}

impl Wire for Map<String, Value> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.members().cloned()
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Object(self.clone()))
    }

    fn undeclared(&self) -> usize {
        self.values().map(|value| 1 + value.undeclared()).sum()
    }
}

impl Wire for i64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let number = number(input.value(), "an integer")?;
        number
            .as_i64()
            .or_else(|| whole(number).and_then(|whole| whole.try_into().ok()))
            .ok_or_else(|| outside(number, "a 64-bit signed integer"))
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Number((*self).into()))
    }
}

impl Wire for u64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let number = number(input.value(), "an integer")?;
        number
            .as_u64()
            .or_else(|| whole(number).and_then(|whole| whole.try_into().ok()))
            .ok_or_else(|| outside(number, "a 64-bit unsigned integer"))
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Number((*self).into()))
    }
}

impl Wire for f64 {
    /// An integer that an `f64` would round is refused. Of a fraction nothing can be told: it was rounded to the
    /// nearest `f64` when its text was read, as JSON readers do.
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let number = number(input.value(), "a number")?;
        let value = number.as_f64().ok_or_else(|| outside(number, "a 64-bit number"))?;
        // No fraction and no 64-bit integer either: with `serde_json`'s `arbitrary_precision`, a longer one.
        let is_exact = integer(number).map_or(number.is_f64(), |integer| whole_of(value) == Some(integer));
        if is_exact { Ok(value) } else { Err(outside(number, "a number that 64 bits hold exactly")) }
    }

    /// An integral value prints without a fraction, as servers that declare `number` expect of a count.
    fn write(&self) -> Result<Value, Mismatch> {
        let whole = whole_of(*self).filter(|_| !(*self == 0.0 && self.is_sign_negative()));
        if let Some(number) = whole.and_then(Number::from_i128) {
            return Ok(Value::Number(number));
        }
        Number::from_f64(*self).map(Value::Number).ok_or_else(|| Mismatch::new("JSON has no NaN and no infinity"))
    }
}

fn number<'v>(value: &'v Value, what: &str) -> Result<&'v Number, Mismatch> {
    match value {
        Value::Number(number) => Ok(number),
        other => Err(Mismatch::expected(what, other)),
    }
}

/// The value of a number that is written as an integer.
fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The value of an integral number, however it is written, where 64 bits hold it.
pub(super) fn whole(number: &Number) -> Option<i128> {
    integer(number).or_else(|| number.as_f64().and_then(whole_of))
}

fn whole_of(value: f64) -> Option<i128> {
    #[allow(clippy::cast_possible_truncation)] // guarded: integral and within 65 bits
    (value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(64)).contains(&value)).then_some(value as i128)
}

/// Never shows the number: it may be a secret.
fn outside(number: &Number, what: &str) -> Mismatch {
    let found = match whole(number) {
        Some(whole) if whole < 0 => "a negative integer",
        Some(_) => "a larger integer",
        None if number.as_f64().is_some_and(|value| value.fract() != 0.0) => "a fraction",
        None => "a larger number",
    };
    Mismatch::new(format!("expected {what}, found {found}"))
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
