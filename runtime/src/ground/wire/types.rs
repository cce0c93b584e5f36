//! Types of the standard library and of `serde_json`, and [`Nullable`].

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::input::{Fields, Sink, Unknown};
use super::mismatch::nothing_read;
use super::print::{Form, Parts, Print, Printing};
use super::{Input, Mismatch, Wire};

/// `Wire` and `Print` of types that a sink knows.
macro_rules! scalars {
    ($($type:ty: $sink:ident, |$value:ident| $form:expr;)*) => {$(
        impl Wire for $type {
            fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                let mut place = None;
                input.give(Sink::$sink(&mut place))?;
                place.ok_or_else(nothing_read)
            }

            #[inline]
            fn sink(place: &mut Option<Self>) -> Sink<'_> {
                Sink::$sink(place)
            }
        }

        impl Print for $type {
            #[inline]
            fn form(&self) -> Form<'_> {
                let $value = self;
                $form
            }
        }
    )*};
}

scalars! {
    (): Null, |_value| Form::Null;
    bool: Bool, |value| Form::Bool(*value);
    i64: Signed, |value| Form::Number((*value).into());
    u64: Unsigned, |value| Form::Number((*value).into());
    f64: Float, |value| Form::double(*value);
    String: Text, |value| Form::Text(value);
}

impl Wire for Value {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.recorded(|input| {
            input.reading.note_undeclared(input.size());
            Ok(input.value())
        })
    }
}

impl Print for Value {
    fn form(&self) -> Form<'_> {
        match self {
            Self::Null => Form::Null,
            Self::Bool(value) => Form::Bool(*value),
            Self::Number(number) => Form::Number(number.clone()),
            Self::String(text) => Form::Text(text),
            Self::Array(items) => Form::Array(items, items.len()),
            Self::Object(map) => map.form(),
        }
    }
}

impl Wire for Map<String, Value> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        input.recorded(|input| {
            drop(input.object()?);
            input.reading.note_undeclared(input.size() - 1);
            Ok(input.map())
        })
    }
}

impl Print for Map<String, Value> {
    fn form(&self) -> Form<'_> {
        Form::Object(self)
    }

    fn parts(&self, to: &mut Parts<'_>) -> Printing {
        self.iter().try_for_each(|(key, value)| to.member(key, value.form()))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut place = None;
        input.stream.give(T::sink(&mut place), true, input.reading)?;
        Ok(place)
    }
}

impl<T: Print> Print for Option<T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        self.as_ref().map_or(Form::Null, T::form)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        T::read(input).map(Self::new)
    }
}

impl<T: Print> Print for Box<T> {
    fn form(&self) -> Form<'_> {
        (**self).form()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut items = Self::new();
        input.give(Sink::Items(&mut |item: Input<'_>| {
            items.push(T::read(item)?);
            Ok(())
        }))?;
        Ok(items)
    }
}

impl<T: Print> Print for Vec<T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        Form::Array(self, self.len())
    }

    fn parts(&self, to: &mut Parts<'_>) -> Printing {
        self.iter().try_for_each(|item| to.item(item.form()))
    }
}

impl<T: Wire> Wire for BTreeMap<String, T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        let mut map = Self::new();
        input.give(Sink::Object(&mut Fields::new(&[], &mut [], Unknown::Keep(&mut map), &[])))?;
        Ok(map)
    }
}

impl<T: Print> Print for BTreeMap<String, T> {
    #[inline]
    fn form(&self) -> Form<'_> {
        Form::Object(self)
    }

    fn parts(&self, to: &mut Parts<'_>) -> Printing {
        self.iter().try_for_each(|(key, value)| to.member(key, value.form()))
    }
}

/// A value or an explicit `null`, if `null` differs from a missing property: an optional nullable property that does
/// not default to `null` has the type `Option<Nullable<T>>`.
///
/// ```
/// use mcp_bindgen_runtime::Nullable;
///
/// let cleared: Option<Nullable<String>> = Some(Nullable::Null); // sent as `null`
/// let set: Option<Nullable<String>> = Some("done".to_owned().into()); // sent as `"done"`
/// let untouched: Option<Nullable<String>> = None; // not sent
/// # assert_ne!(cleared, set);
/// # assert_ne!(cleared, untouched);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nullable<T> {
    /// An explicit `null`.
    #[default]
    Null,
    /// A value.
    Value(T),
}

impl<T> Nullable<T> {
    /// Returns the value, if it is not `null`.
    pub fn as_option(&self) -> Option<&T> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    /// Returns the value, if it is not `null`.
    pub fn into_option(self) -> Option<T> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

impl<T> From<T> for Nullable<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T> From<Option<T>> for Nullable<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }
}

impl From<&str> for Nullable<String> {
    fn from(value: &str) -> Self {
        Self::Value(value.to_owned())
    }
}

impl<T: Wire> Wire for Nullable<T> {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        Option::read(input).map(Self::from)
    }
}

impl<T: Print> Print for Nullable<T> {
    fn form(&self) -> Form<'_> {
        self.as_option().map_or(Form::Null, T::form)
    }
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
    fn integers_decode_from_integral_numbers_in_range() {
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
        assert_eq!(refused::<i64>(json!(-1e300)), "expected a 64-bit signed integer, found a larger number");
    }

    #[test]
    fn tuple_error_has_both_counts() {
        assert_eq!(refused::<(i64, i64)>(json!([1])), "expected 2 items, found 1");
        assert_eq!(refused::<(i64, i64)>(json!([1, 2, "three"])), "expected 2 items, found 3");
    }

    #[test]
    fn integer_that_f64_would_round_is_refused() {
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
    fn numbers_print_unchanged() {
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
