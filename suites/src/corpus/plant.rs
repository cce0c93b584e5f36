//! Keys that no schema declares, planted into the sample values: bindings with `unknown = "keep"` must keep them.

use mcp_bindgen_runtime::validate::Validator;
use mcp_samples::corpus::{List, Origin, Samples};
use mcp_samples::{Fallible, Place};
use serde_json::{Value, json};

use crate::corpus::generate::Bound;
use crate::corpus::report::Report;

/// A key that no tool has, and a value that is not lost on the way by chance.
const KEY: &str = "not-declared/by~anyone";

/// Keywords that say something of keys without a schema of their own.
const SPEAKING: [&str; 6] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "maxProperties",
    "minProperties",
];

/// Adds, for each valid value that has room for it, the same value with undeclared keys in it.
pub(crate) fn run(bound: &mut [Bound], report: &mut Report) -> Fallible<()> {
    let (mut keys, mut values) = (0, 0);
    for Bound { list, .. } in bound.iter_mut().filter(|bound| bound.list.origin == Origin::Corpus) {
        for place in 0..list.samples.len() {
            let Some(line) = list.samples.get(place) else { continue };
            let samples = Samples::parse(line)?;
            let planted = planted(list, &samples);
            keys += planted.iter().map(|(keys, _)| keys).sum::<usize>();
            values += planted.len();
            let mut line: Value = serde_json::from_str(line)?;
            if let Some(Value::Array(valid)) = line.get_mut("valid") {
                valid.extend(planted.into_iter().map(|(_, value)| value));
            }
            if let Some(slot) = list.samples.get_mut(place) {
                *slot = line.to_string();
            }
        }
    }
    report.figure(Origin::Corpus, "values with undeclared keys planted in them", values);
    report.figure(Origin::Corpus, "undeclared keys planted", keys);
    if keys == 0 {
        report.failure("no undeclared key was planted".to_owned());
    }
    Ok(())
}

/// The valid values of one schema with planted keys, and how many keys each has.
fn planted(list: &List, samples: &Samples) -> Vec<(usize, Value)> {
    let Some(schema) = list.schema(samples.index, samples.role) else { return Vec::new() };
    let Ok(validator) = Validator::new(schema) else { return Vec::new() };
    let with_keys = |value: &Value| {
        let mut value = value.clone();
        let keys = plant(&Place::root(schema), &mut value);
        // Only the whole schema knows whether the key may be there: of two branches it may be allowed by one alone.
        (keys > 0 && validator.check(&value).is_ok()).then_some((keys, value))
    };
    samples.valid.iter().filter_map(with_keys).collect()
}

/// Plants the key in every object of which the schema declares properties and says nothing of other keys.
fn plant(place: &Place<'_>, value: &mut Value) -> usize {
    let mut keys = 0;
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter_mut().filter(|(key, _)| place.declared(key).is_some()) {
                keys += plant(&place.property(key), value);
            }
            let schemas = place.alternatives();
            let speaks = |schema: &&Value| SPEAKING.iter().any(|keyword| schema.get(keyword).is_some());
            if schemas.iter().any(|schema| schema.get("properties").is_some()) && !schemas.iter().any(speaks) {
                members.insert(KEY.to_owned(), json!({ "kept": [1, null, {}] }));
                keys += 1;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                keys += plant(&place.item(index), item);
            }
        }
        _ => {}
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_planted_only_beside_declared_properties() {
        let schema = json!({ "properties": {
            "open": { "properties": { "a": { "items": { "properties": { "b": {} } } } } },
            "closed": { "properties": { "a": {} }, "additionalProperties": false },
            "map": { "additionalProperties": { "type": "string" } },
        } });
        let given =
            json!({ "open": { "a": [{}, { "b": {} }] }, "closed": { "a": {} }, "map": { "x": "y" }, "else": {} });
        let mut value = given.clone();
        assert_eq!(plant(&Place::root(&schema), &mut value), 4);
        for pointer in ["", "/open", "/open/a/0", "/open/a/1"] {
            assert!(value.pointer(pointer).unwrap().get(KEY).is_some(), "{pointer}: {value}");
        }
        for untouched in ["closed", "map", "else"] {
            assert_eq!(value[untouched], given[untouched]);
        }
    }
}
