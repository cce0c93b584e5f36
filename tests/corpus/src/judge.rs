//! Whether a value came back as it was, and whether `null` is all that is wrong with one.

use serde_json::{Number, Value};

use crate::schema::Place;

/// The first place where the printed value is not the given one.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) pointer: String,
    pub(crate) given: Option<Value>,
    pub(crate) printed: Option<Value>,
}

/// Compares by value. One licence: where the schema is nullable and null by default, null may be left out.
pub(crate) fn difference(schema: &Value, given: &Value, printed: &Value) -> Option<Difference> {
    compare(&Place::root(schema), given, printed, String::new())
}

fn compare(place: &Place<'_>, given: &Value, printed: &Value, pointer: String) -> Option<Difference> {
    match (given, printed) {
        (Value::Object(left), Value::Object(right)) => {
            let added = right.iter().find(|(key, _)| !left.contains_key(*key));
            let changed = left.iter().find_map(|(key, given)| {
                let (place, pointer) = (place.property(key), format!("{pointer}/{}", escape(key)));
                match right.get(key) {
                    Some(printed) => compare(&place, given, printed, pointer),
                    None if given.is_null() && place.defaults_to_null() => None,
                    None => Some(Difference { pointer, given: Some(given.clone()), printed: None }),
                }
            });
            changed.or_else(|| {
                added.map(|(key, printed)| Difference {
                    pointer: format!("{pointer}/{}", escape(key)),
                    given: None,
                    printed: Some(printed.clone()),
                })
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).enumerate().find_map(|(index, (given, printed))| {
                compare(&place.item(index), given, printed, format!("{pointer}/{index}"))
            })
        }
        (Value::Number(left), Value::Number(right)) if same_number(left, right) => None,
        (given, printed) if given == printed => None,
        _ => Some(Difference { pointer, given: Some(given.clone()), printed: Some(printed.clone()) }),
    }
}

/// `5`, `5.0` and `5e0` are one number; nothing is rounded to find that out.
fn same_number(left: &Number, right: &Number) -> bool {
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

/// The value without every `null` that stands for an optional property which cannot be null.
/// `None` where there is no such `null`.
pub(crate) fn without_needless_nulls(schema: &Value, value: &Value) -> Option<Value> {
    let mut pruned = value.clone();
    prune(&Place::root(schema), &mut pruned).then_some(pruned)
}

fn prune(place: &Place<'_>, value: &mut Value) -> bool {
    let mut removed = false;
    match value {
        Value::Object(members) => {
            let needless = |key: &String, value: &Value| {
                value.is_null() && place.declared(key).is_some_and(|declared| !declared.allows_null())
            };
            let before = members.len();
            members.retain(|key, value| !needless(key, value));
            removed |= members.len() < before;
            for (key, value) in members {
                removed |= prune(&place.property(key), value);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                removed |= prune(&place.item(index), item);
            }
        }
        _ => {}
    }
    removed
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let same = |left: Value, right: Value| difference(&json!({}), &left, &right).is_none();
        assert!(same(json!(5), json!(5.0)));
        assert!(same(json!(-0.0), json!(0)));
        assert!(!same(json!(5), json!(5.5)));
        assert!(!same(json!(u64::MAX), json!(u64::MAX - 1)));
        assert!(!same(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)));
    }

    #[test]
    fn null_may_be_left_out_only_where_it_is_the_default_of_a_nullable_property() {
        let schema = json!({
            "$defs": { "node": { "properties": {
                "next": { "anyOf": [{ "$ref": "#/$defs/node" }, { "type": "null" }], "default": null },
                "name": { "type": ["string", "null"] },
                "size": { "type": "integer", "default": null },
            } } },
            "$ref": "#/$defs/node",
        });
        let dropped = |given: Value, printed: Value| difference(&schema, &given, &printed).map(|found| found.pointer);
        assert_eq!(dropped(json!({ "next": null }), json!({})), None);
        assert_eq!(dropped(json!({ "next": { "next": null } }), json!({ "next": {} })), None);
        assert_eq!(dropped(json!({ "name": null }), json!({})), Some("/name".to_owned()));
        assert_eq!(dropped(json!({ "size": null }), json!({})), Some("/size".to_owned()));
        assert_eq!(dropped(json!({}), json!({ "next": null })), Some("/next".to_owned()));
    }

    #[test]
    fn nulls_are_needless_only_for_declared_properties_that_cannot_be_null() {
        let schema = json!({
            "properties": {
                "name": { "type": "string" },
                "note": { "type": ["string", "null"] },
                "tags": { "anyOf": [{ "type": "array" }, { "type": "null" }], "type": "array" },
            },
            "additionalProperties": { "type": "string" },
        });
        let value = json!({ "name": null, "note": null, "tags": null, "other": null });
        assert_eq!(without_needless_nulls(&schema, &value), Some(json!({ "note": null, "other": null })));
        assert_eq!(without_needless_nulls(&schema, &json!({ "other": null })), None);
    }
}
