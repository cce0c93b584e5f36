//! Compares a value with its copy after a round trip.

use serde_json::{Number, Value};

use crate::Place;
use crate::references::step;

/// A place where two values differ.
#[derive(Debug)]
pub struct Difference<'a> {
    /// Where, as a JSON pointer.
    pub pointer: String,
    /// The schemas of that place.
    pub place: Place<'a>,
    /// The object that the place is a property of, and the property's name.
    pub within: Option<(Place<'a>, String)>,
    /// The value at that place on the left; `None` if it is absent.
    pub left: Option<Value>,
    /// The value at that place on the right; `None` if it is absent.
    pub right: Option<Value>,
}

impl Difference<'_> {
    /// Returns `true` if readers of the value see no difference. The number has another form, or a `null` is omitted
    /// on the right where the schema is nullable and defaults to null.
    #[must_use]
    pub fn is_licensed(&self) -> bool {
        match (&self.left, &self.right) {
            (Some(Value::Number(left)), Some(Value::Number(right))) => same_number(left, right),
            (Some(Value::Null), None) => self.place.defaults_to_null(),
            _ => false,
        }
    }

    /// Returns `true` if the schema declares the property that differs.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        self.within.as_ref().is_none_or(|(object, key)| object.declared(key).is_some())
    }
}

/// Every place where the printed forms of two values differ, what the left one has before what only the right one has.
#[must_use]
pub fn differences<'a>(schema: &'a Value, left: &Value, right: &Value) -> Vec<Difference<'a>> {
    let mut walk = Walk { found: Vec::new() };
    walk.compare(&Spot { place: Place::root(schema), within: None, pointer: String::new() }, Some(left), Some(right));
    walk.found
}

struct Walk<'a> {
    found: Vec<Difference<'a>>,
}

struct Spot<'a> {
    place: Place<'a>,
    within: Option<(Place<'a>, String)>,
    pointer: String,
}

impl<'a> Walk<'a> {
    fn compare(&mut self, spot: &Spot<'a>, left: Option<&Value>, right: Option<&Value>) {
        match (left, right) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                let added = other.keys().filter(|key| !one.contains_key(*key));
                for key in one.keys().chain(added) {
                    let below = Spot {
                        place: spot.place.property(key),
                        within: Some((spot.place.clone(), key.clone())),
                        pointer: format!("{}/{}", spot.pointer, step(key)),
                    };
                    self.compare(&below, one.get(key), other.get(key));
                }
            }
            (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
                for (index, (left, right)) in one.iter().zip(other).enumerate() {
                    let place = spot.place.item(index);
                    let below = Spot { place, within: None, pointer: format!("{}/{index}", spot.pointer) };
                    self.compare(&below, Some(left), Some(right));
                }
            }
            (Some(Value::Number(one)), Some(Value::Number(other))) if one.to_string() == other.to_string() => {}
            (one, other) if one == other => {}
            _ => self.found.push(Difference {
                pointer: spot.pointer.clone(),
                place: spot.place.clone(),
                within: spot.within.clone(),
                left: left.cloned(),
                right: right.cloned(),
            }),
        }
    }
}

/// `5`, `5.0` and `5e0` are one number; nothing is rounded to find that out.
#[must_use]
pub fn same_number(left: &Number, right: &Number) -> bool {
    let integer = |number: &Number| number.as_i128().or_else(|| integral(number.as_f64()?));
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => left.as_f64() == right.as_f64(),
        _ => false,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a whole number within the range of the type")]
fn integral(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() < 1e38).then_some(number as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first(schema: &Value, left: &Value, right: &Value) -> Option<String> {
        let mut found = differences(schema, left, right).into_iter().filter(|found| !found.is_licensed());
        found.next().map(|found| found.pointer)
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let same = |left: Value, right: Value| first(&json!({}), &left, &right).is_none();
        assert!(same(json!(5), json!(5.0)));
        assert!(same(json!(-0.0), json!(0)));
        assert!(!same(json!(5), json!(5.5)));
        assert!(!same(json!(u64::MAX), json!(u64::MAX - 1)));
        assert!(!same(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)));
    }

    #[test]
    fn null_may_be_omitted_only_as_a_default_of_a_nullable_property() {
        let schema = json!({
            "$defs": { "node": { "properties": {
                "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }], "default": null },
                "name": { "type": ["string", "null"] },
                "size": { "type": "integer", "default": null },
            } } },
            "$ref": "#/$defs/node",
        });
        let dropped = |given: Value, printed: Value| first(&schema, &given, &printed);
        assert_eq!(dropped(json!({ "next": null }), json!({})), None);
        assert_eq!(dropped(json!({ "next": { "next": null } }), json!({ "next": {} })), None);
        assert_eq!(dropped(json!({ "name": null }), json!({})), Some("/name".to_owned()));
        assert_eq!(dropped(json!({ "size": null }), json!({})), Some("/size".to_owned()));
        assert_eq!(dropped(json!({}), json!({ "next": null })), Some("/next".to_owned()));
    }

    #[test]
    fn every_difference_is_found_with_its_property() {
        let schema = json!({ "properties": { "a": { "items": { "type": "integer" } } } });
        let found = differences(&schema, &json!({ "a": [1, 2.0], "b": 1 }), &json!({ "a": [3, 2], "c/d": 1 }));
        let places: Vec<_> = found.iter().map(|found| (found.pointer.as_str(), found.is_declared())).collect();
        assert_eq!(places, [("/a/0", true), ("/a/1", true), ("/b", false), ("/c~1d", false)]);
    }
}
