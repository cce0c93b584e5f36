//! Implements [`Wire`](super::Wire) for types with `serde`'s traits only: typify's, and those of the program.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Unexpected, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::{Number, Value};

use super::mismatch::nothing_read;
use super::number::{faithful, integral, printed};
use super::stream::kind_of;
use super::tape::{Node, Recorded};
use super::{Form, Input, Mismatch};

/// Implements `Wire::read` for a type with `Deserialize`. Unlike those of `serde_json`, errors have a JSON pointer, and
/// contain no values.
///
/// # Errors
/// Fails if the value does not match.
pub fn read_by_serde<T: DeserializeOwned>(input: Input<'_>) -> Result<T, Mismatch> {
    input.recorded(|value| T::deserialize(value))
}

/// Implements `Print::form` for a type with `Serialize`.
pub fn form_by_serde<T: Serialize>(value: &T) -> Form<'static> {
    match serde_json::to_value(value) {
        Ok(mut printed) => {
            print_integral_numbers(&mut printed);
            Form::value(printed)
        }
        Err(error) => Form::Invalid(Mismatch::new(error.to_string())),
    }
}

/// Prints integral floats without a fraction, because some servers refuse `5.0` for `5`.
fn print_integral_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(printed) = faithful(number).and_then(printed) {
                *number = printed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(print_integral_numbers),
        Value::Object(members) => members.values_mut().for_each(print_integral_numbers),
        _ => {}
    }
}

/// Implements `Wire` for a type with `serde`'s derives: an identifier for types of typify, which need the feature, or a
/// path. The type is repeated where its traits are needed, so that rustc's errors point to the user's code.
#[doc(hidden)]
#[macro_export]
macro_rules! __wire_through_serde {
    ($type:ident) => {
        $crate::__wire_of_typify!($type);
    };
    ($type:ty) => {
        impl $crate::__private::Wire for $type {
            fn read(input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::read_by_serde::<$type>(input)
            }
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                $crate::__private::form_by_serde::<$type>(self)
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
        let found = match found {
            // It may be long, and unions drop most mismatches.
            Unexpected::Str(_) => "a string",
            other => kind_of(&other.to_string()),
        };
        Self::new(format!("expected {expected}, found {found}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("expected one of `{}`", expected.join("`, `")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self::new("unknown property").within(field.to_owned())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field)
    }
}

/// `5.0` is an integer in JSON Schema.
macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            match self.node() {
                Node::Number(number) => visit_number(&integral(number), visitor),
                _ => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Recorded<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.node() {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(value),
            Node::Number(number) => visit_number(number, visitor),
            Node::Text(text) => visitor.visit_borrowed_str(text),
            Node::Array(length) => {
                let mut items = Items(self.items().enumerate());
                let value = visitor.visit_seq(&mut items)?;
                match items.0.len() {
                    0 => Ok(value),
                    left => Err(Mismatch::new(format!("expected {} items, found {length}", length - left))),
                }
            }
            Node::Object(_) => visitor.visit_map(Members { members: self.object()?, current: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
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
        match self.node() {
            Node::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
            // `serde`'s default form: the variant's name is the only key.
            Node::Object(1) => {
                let members = Members { members: self.object()?, current: None };
                visitor.visit_enum(MapAccessDeserializer::new(members))
            }
            Node::Object(_) => Err(Mismatch::new("expected an object with one property")),
            _ => Err(self.expected("a string or an object")),
        }
    }

    /// A `serde_json::Map` takes `null` for an empty object.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.is_null() { visitor.visit_unit() } else { self.deserialize_struct("", &[], visitor) }
    }

    /// `serde`'s structs and variants would take an array as well.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_map(Members { members: self.object()?, current: None })
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.is_null() { visitor.visit_unit() } else { Err(self.expected("null")) }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    /// Reads a double exactly; `serde` would round an integer.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_f64(self.read()?)
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 char str string bytes byte_buf unit_struct seq tuple tuple_struct
        identifier ignored_any
    }
}

/// Visits a number, and one of more digits than a double keeps as `serde_json` does.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Mismatch> {
    match (number.as_u64(), number.as_i64(), faithful(number)) {
        (Some(number), ..) => visitor.visit_u64(number),
        (_, Some(number), _) => visitor.visit_i64(number),
        (_, _, Some(number)) => visitor.visit_f64(number),
        _ => number.deserialize_any(visitor).map_err(|error| Mismatch::new(error.to_string())),
    }
}

struct Items<I>(I);

impl<'de, I: ExactSizeIterator<Item = (usize, Recorded<'de>)>> de::SeqAccess<'de> for &mut Items<I> {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(item).map(Some).map_err(|error| error.within_item(index))
    }
}

struct Members<'a, I> {
    members: I,
    current: Option<(&'a str, Recorded<'a>)>,
}

impl<'de, I: Iterator<Item = (&'de str, Recorded<'de>)>> de::MapAccess<'de> for Members<'de, I> {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        self.current = self.members.next();
        self.current.map(|(key, _)| seed.deserialize(BorrowedStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (key, value) = self.current.take().ok_or_else(nothing_read)?;
        seed.deserialize(value).map_err(|error| error.within(key.to_owned()))
    }
}

#[cfg(feature = "typify")]
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::super::{from_value, to_value};
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
        assert_eq!((error.pointer().as_str(), &*error.message()), (pointer, message), "{value}");
    }

    #[test]
    fn values_round_trip() {
        for value in [
            json!({"title": "t", "labels": [], "scores": {}, "place": null, "shape": null}),
            json!({"title": "t", "votes": u64::MAX, "labels": ["bug"], "scores": {"task": -1}, "place": [0.5, 1],
                   "shape": {"Circle": {"radius": 2.5}}}),
            json!({"title": "t", "votes": 5, "labels": ["task"], "scores": {}, "place": null, "shape": {"Line": [1.5]}}),
            json!({"title": "", "votes": 5, "labels": [], "scores": {}, "place": null, "shape": "Point"}),
        ] {
            let issue: Issue = from_value(&value).unwrap();
            assert_eq!(to_value(&issue).unwrap(), value);
        }
    }

    #[test]
    fn integral_floats_decode_as_integers() {
        let issue: Issue = from_value(&json!({"title": "t", "votes": 5.0, "scores": {"bug": -5.0}})).unwrap();
        assert_eq!((issue.votes, issue.scores[&Label::Bug]), (Some(5), -5));
        refused(&json!({"title": "t", "votes": 5.5}), "/votes", "expected u64, found a number");
        refused(&json!({"title": "t", "scores": {"bug": 128.0}}), "/scores/bug", "expected i8, found an integer");
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Numbers {
        any: Value,
        single: f32,
        either: Either,
        nested: Nested,
    }

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Whole(i64),
        Double(f64),
    }

    #[derive(Debug)]
    struct Nested {
        number: Value,
    }

    __wire_through_serde!(self::Numbers);
    crate::__object!(Nested { number: required "number", });

    #[test]
    fn numbers_of_any_kind_keep_their_sign_and_fraction() {
        for number in [json!(-0.0), json!(5.0), json!(1e16), json!(1e19), json!(u64::MAX)] {
            let value = json!({"any": number, "single": number, "either": number, "nested": {"number": number}});
            let read: Numbers = from_value(&value).unwrap();
            let double = number.as_f64().unwrap();
            assert_eq!(read.any.to_string(), number.to_string());
            assert_eq!(read.nested.number.to_string(), number.to_string());
            #[allow(clippy::cast_possible_truncation)] // as `serde` does
            let single = double as f32;
            assert_eq!(read.single.to_bits(), single.to_bits(), "{number}");
            assert!(matches!(read.either, Either::Double(read) if read.to_bits() == double.to_bits()), "{number}");
        }
    }

    #[test]
    fn integer_that_f64_would_round_is_refused() {
        let exact =
            json!({"title": "t", "labels": [], "scores": {}, "place": [9_007_199_254_740_994_u64, 1], "shape": null});
        assert_eq!(to_value(&from_value::<Issue>(&exact).unwrap()).unwrap(), exact);
        refused(
            &json!({"title": "t", "place": [1, 9_007_199_254_740_993_u64]}),
            "/place/1",
            "expected a number that 64 bits hold exactly, found a larger integer",
        );
    }

    #[test]
    fn mismatch_error_shows_the_path_but_not_the_value() {
        let title = "t";
        refused(&json!(["secret"]), "", "expected an object, found an array");
        refused(&json!("secret"), "", "expected an object, found a string");
        refused(&json!({}), "", "missing property `title`");
        refused(&json!({"title": title, "extra": 1}), "/extra", "unknown property");
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
