//! The way from types that know only `serde`'s derives to [`Wire`](super::Wire): typify's, and the user's own.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Unexpected, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::{Map, Value, map};

use super::{Input, Mismatch, Wire};

/// `Wire::read` for a type with `Deserialize`. Unlike `serde_json`'s, errors say where, and never show a value.
///
/// # Errors
/// Where the value does not fit.
pub fn read_by_serde<T: DeserializeOwned>(input: Input<'_>) -> Result<T, Mismatch> {
    T::deserialize(Reading(input))
}

/// `Wire::write` for a type with `Serialize`.
///
/// # Errors
/// Where the value has no JSON form.
pub fn write_by_serde<T: Serialize>(value: &T) -> Result<Value, Mismatch> {
    let mut printed = serde_json::to_value(value).map_err(|error| Mismatch::new(error.to_string()))?;
    write_integral_numbers(&mut printed)?;
    Ok(printed)
}

/// `serde_json` prints `5.0` for a float that came as `5`, and there are servers that refuse it.
fn write_integral_numbers(value: &mut Value) -> Result<(), Mismatch> {
    match value {
        Value::Number(number) if number.is_f64() => *value = number.as_f64().unwrap_or(f64::NAN).write()?,
        Value::Array(items) => items.iter_mut().try_for_each(write_integral_numbers)?,
        Value::Object(members) => members.values_mut().try_for_each(write_integral_numbers)?,
        _ => {}
    }
    Ok(())
}

/// `Wire` for a type with `serde`'s derives: an identifier for those of typify, which need the feature, or a path. The type
/// is named where its traits are needed, so that rustc points at what the user wrote when it lacks one.
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_through_serde {
    ($type:ident) => {
        $crate::__wire_of_typify!($type);
    };
    ($type:ty) => {
        impl $crate::wire::Wire for $type {
            fn read(input: $crate::wire::Input<'_>) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                $crate::wire::read_by_serde::<$type>(input)
            }

            fn write(&self) -> ::core::result::Result<$crate::wire::prelude::Value, $crate::wire::Mismatch> {
                $crate::wire::write_by_serde::<$type>(self)
            }
        }
    };
}

#[cfg(feature = "typify")]
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_of_typify {
    ($type:ident) => {
        $crate::__wire_through_serde!(self::$type);
    };
}

#[cfg(not(feature = "typify"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_of_typify {
    ($type:ident) => {
        ::core::compile_error!("bindings with `types = \"typify\"` need feature `typify` of mcp-bindgen");
    };
}

impl de::Error for Mismatch {
    fn custom<M: std::fmt::Display>(message: M) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("expected one of `{}`", expected.join("`, `")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::new("no such property").within(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing property `{}`", field.escape_debug()))
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a number",
        Unexpected::Str(_) | Unexpected::Char(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

struct Reading<'a>(Input<'a>);

/// `5.0` is an integer in JSON Schema.
macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            if !self.0.value().is_f64() {
                return self.deserialize_any(visitor);
            }
            if let Ok(whole) = i64::read(self.0) {
                return visitor.visit_i64(whole);
            }
            match u64::read(self.0) {
                Ok(whole) => visitor.visit_u64(whole),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Reading<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0.value() {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (_, Some(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut reading = Items { input: self.0, items: items.iter(), read: 0 };
                let value = visitor.visit_seq(&mut reading)?;
                match reading.items.len() {
                    0 => Ok(value),
                    _ => Err(Mismatch::new(format!("expected {} items, found {}", reading.read, items.len()))),
                }
            }
            Value::Object(map) => visitor.visit_map(Members { input: self.0, members: map.iter(), current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.0.value().is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0.value() {
            Value::String(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
            Value::Object(map) => visitor.visit_enum(Tagged { input: self.0, map }),
            other => Err(Mismatch::expected("a string or an object", other)),
        }
    }

    /// `serde`'s structs would take an array as well.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0.value() {
            Value::Object(_) => self.deserialize_any(visitor),
            other => Err(Mismatch::expected("an object", other)),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    /// `serde` would round an integer.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_f64(f64::read(self.0)?)
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

struct Items<'a> {
    input: Input<'a>,
    items: std::slice::Iter<'a, Value>,
    read: usize,
}

impl<'de> de::SeqAccess<'de> for &mut Items<'de> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.read;
        self.read += 1;
        seed.deserialize(Reading(self.input.at(item))).map(Some).map_err(|error| error.within(index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'a> {
    input: Input<'a>,
    members: map::Iter<'a>,
    current: Option<(&'a str, &'a Value)>,
}

impl<'de> de::MapAccess<'de> for Members<'de> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.current = Some((key, value));
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, value) = self.current.take().unwrap_or(("", &Value::Null));
        seed.deserialize(Reading(self.input.at(value))).map_err(|error| error.within(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// An enum in `serde`'s default form: an object with the variant's name as its only key.
struct Tagged<'a> {
    input: Input<'a>,
    map: &'a Map<String, Value>,
}

impl<'de> de::EnumAccess<'de> for Tagged<'de> {
    type Error = Mismatch;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>), Mismatch> {
        let mut members = self.map.iter();
        let (Some((key, value)), None) = (members.next(), members.next()) else {
            return Err(Mismatch::new("expected an object with one property"));
        };
        let variant = seed.deserialize(BorrowedStrDeserializer::new(key))?;
        Ok((variant, Content { key, input: self.input.at(value) }))
    }
}

struct Content<'a> {
    key: &'a str,
    input: Input<'a>,
}

impl<'de> de::VariantAccess<'de> for Content<'de> {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        <()>::read(self.input).map_err(|error| error.within(self.key))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(Reading(self.input)).map_err(|error| error.within(self.key))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        Reading(self.input).deserialize_any(visitor).map_err(|error| error.within(self.key))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        Reading(self.input).deserialize_struct("", fields, visitor).map_err(|error| error.within(self.key))
    }
}

#[cfg(all(test, feature = "typify"))]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::super::from_value;
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Issue {
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        votes: Option<u64>,
        #[serde(default)]
        labels: Vec<Label>,
        #[serde(default)]
        scores: BTreeMap<Label, i8>,
        #[serde(default)]
        place: Option<(f64, f64)>,
        #[serde(default)]
        shape: Option<Shape>,
    }

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Label {
        #[serde(rename = "bug")]
        Bug,
        #[serde(rename = "task")]
        Task,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Point,
        Circle { radius: f64 },
        Line(Vec<f64>),
    }

    __wire_through_serde!(self::Issue);

    #[track_caller]
    fn refused(value: &Value, pointer: &str, message: &str) {
        let error = from_value::<Issue>(value).unwrap_err();
        assert_eq!((error.pointer().as_str(), error.message()), (pointer, message), "{value}");
    }

    #[test]
    fn values_come_back_as_they_were() {
        for value in [
            json!({"title": "t", "labels": [], "scores": {}, "place": null, "shape": null}),
            json!({"title": "t", "votes": u64::MAX, "labels": ["bug"], "scores": {"task": -1}, "place": [0.5, 1],
                   "shape": {"Circle": {"radius": 2.5}}}),
            json!({"title": "t", "votes": 5, "labels": ["task"], "scores": {}, "place": null, "shape": {"Line": [1.5]}}),
            json!({"title": "", "votes": 5, "labels": [], "scores": {}, "place": null, "shape": "Point"}),
        ] {
            let issue: Issue = from_value(&value).unwrap();
            assert_eq!(issue.write().unwrap(), value);
        }
    }

    #[test]
    fn integral_numbers_are_integers() {
        let issue: Issue = from_value(&json!({"title": "t", "votes": 5.0, "scores": {"bug": -5.0}})).unwrap();
        assert_eq!((issue.votes, issue.scores[&Label::Bug]), (Some(5), -5));
        refused(&json!({"title": "t", "votes": 5.5}), "/votes", "expected u64, found a number");
        refused(&json!({"title": "t", "scores": {"bug": 128.0}}), "/scores/bug", "expected i8, found an integer");
    }

    #[test]
    fn an_integer_that_a_number_would_round_is_refused() {
        let exact =
            json!({"title": "t", "labels": [], "scores": {}, "place": [9_007_199_254_740_994_u64, 1], "shape": null});
        assert_eq!(from_value::<Issue>(&exact).unwrap().write().unwrap(), exact);
        refused(
            &json!({"title": "t", "place": [1, 9_007_199_254_740_993_u64]}),
            "/place/1",
            "expected a number that 64 bits hold exactly, found a larger integer",
        );
    }

    #[test]
    fn mismatches_say_where_and_never_what() {
        let title = "t";
        refused(&json!(["secret"]), "", "expected an object, found an array");
        refused(&json!("secret"), "", "expected an object, found a string");
        refused(&json!({}), "", "missing property `title`");
        refused(&json!({"title": title, "extra": 1}), "/extra", "no such property");
        refused(&json!({"title": {"a": "secret"}}), "/title", "expected a string, found an object");
        refused(&json!({"title": title, "labels": ["bug", "secret"]}), "/labels/1", "expected one of `bug`, `task`");
        refused(&json!({"title": title, "labels": [null]}), "/labels/0", "expected a string or an object, found null");
        refused(&json!({"title": title, "place": [1, 2, 3]}), "/place", "expected 2 items, found 3");
        refused(
            &json!({"title": title, "shape": {"Line": ["secret"]}}),
            "/shape/Line/0",
            "expected a number, found a string",
        );
        refused(&json!({"title": title, "shape": {}}), "/shape", "expected an object with one property");
        refused(&json!({"title": title, "shape": {"Point": 1}}), "/shape/Point", "expected null, found an integer");
    }
}
