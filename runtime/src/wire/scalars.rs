use serde_json::{Map, Number, Value};

use super::{Input, Mismatch, Wire};

/// The first integer above which `f64` no longer holds every integer: 2^53.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

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
}

impl Wire for Map<String, Value> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.value() {
            Value::Object(map) => Ok(map.clone()),
            other => Err(Mismatch::expected("an object", other)),
        }
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Object(self.clone()))
    }
}

impl Wire for i64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let Value::Number(number) = input.value() else {
            return Err(Mismatch::expected("an integer", input.value()));
        };
        #[allow(clippy::cast_possible_truncation)] // guarded: integral and under 2^63
        let whole = |value: f64| {
            (value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value)).then_some(value as i64)
        };
        number
            .as_i64()
            .or_else(|| number.as_f64().filter(|_| !number.is_u64()).and_then(whole))
            .ok_or_else(|| outside(number, "a 64-bit signed integer"))
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Number((*self).into()))
    }
}

impl Wire for u64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let Value::Number(number) = input.value() else {
            return Err(Mismatch::expected("an integer", input.value()));
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // guarded: integral and within 0..2^64
        let whole =
            |value: f64| (value.fract() == 0.0 && (0.0..2f64.powi(64)).contains(&value)).then_some(value as u64);
        number
            .as_u64()
            .or_else(|| number.as_f64().filter(|_| !number.is_i64()).and_then(whole))
            .ok_or_else(|| outside(number, "a 64-bit unsigned integer"))
    }

    fn write(&self) -> Result<Value, Mismatch> {
        Ok(Value::Number((*self).into()))
    }
}

impl Wire for f64 {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        match input.value() {
            Value::Number(number) => number.as_f64().ok_or_else(|| outside(number, "a 64-bit number")),
            other => Err(Mismatch::expected("a number", other)),
        }
    }

    /// An integral value prints without a fraction, as servers that declare `number` expect of a count.
    fn write(&self) -> Result<Value, Mismatch> {
        if self.fract() == 0.0 && self.abs() <= EXACT_INTEGERS && !(*self == 0.0 && self.is_sign_negative()) {
            #[allow(clippy::cast_possible_truncation)] // guarded: integral and within 2^53
            return Ok(Value::Number((*self as i64).into()));
        }
        Number::from_f64(*self).map(Value::Number).ok_or_else(|| Mismatch::new("JSON has no NaN and no infinity"))
    }
}

fn outside(number: &Number, what: &str) -> Mismatch {
    Mismatch::new(format!("expected {what}, found {number}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{from_value, to_value};

    #[test]
    fn integers_come_from_integral_numbers_only() {
        assert_eq!(from_value::<i64>(&json!(5.0)).unwrap(), 5);
        assert_eq!(from_value::<i64>(&json!(i64::MIN)).unwrap(), i64::MIN);
        assert!(from_value::<i64>(&json!(5.5)).is_err());
        assert!(from_value::<i64>(&json!(u64::MAX)).is_err());
        assert!(from_value::<i64>(&json!(1e19)).is_err());
        assert!(from_value::<i64>(&json!("5")).is_err());
        assert_eq!(from_value::<u64>(&json!(u64::MAX)).unwrap(), u64::MAX);
        assert!(from_value::<u64>(&json!(-1)).is_err());
        assert!(from_value::<u64>(&json!(-1.0)).is_err());
    }

    #[test]
    fn numbers_print_as_they_came() {
        assert_eq!(to_value(&5f64).unwrap(), json!(5));
        assert_eq!(to_value(&5.5f64).unwrap(), json!(5.5));
        assert_eq!(to_value(&1e300f64).unwrap(), json!(1e300));
        assert_eq!(to_value(&-0.0f64).unwrap().to_string(), "-0.0");
        assert!(to_value(&f64::NAN).is_err());
    }
}
