//! The keywords that only people read.

use serde_json::Value;

use crate::bundle::{NAMED_SCHEMAS, push};
use crate::normalize::WORDING;
use crate::texts::DATA;

/// Pointers, each with the keywords whose texts differ there.
type Differences = Vec<(String, Vec<&'static str>)>;

/// Returns the pointers where descriptive texts differ, with the keywords of those texts.
pub(super) fn differences(old: &Value, new: &Value) -> Differences {
    let mut found = Vec::new();
    compare(old, new, false, &mut String::new(), &mut found, 0);
    found
}

/// Compares two schemas, or with `is_table` two tables of schemas by name.
fn compare(old: &Value, new: &Value, is_table: bool, pointer: &mut String, found: &mut Differences, depth: usize) {
    const DEEPEST: usize = 200;
    let mut inner = Vec::new();
    match (old, new) {
        (Value::Object(left), Value::Object(right)) => {
            let changed = WORDING.into_iter().filter(|key| !is_table && left.get(*key) != right.get(*key));
            let changed: Vec<&str> = changed.collect();
            if !changed.is_empty() {
                found.push((pointer.clone(), changed));
            }
            let is_schema = |key: &str| is_table || !(WORDING.contains(&key) || DATA.contains(&key));
            for (key, value) in left.iter().filter(|(key, _)| is_schema(key)) {
                let is_table = !is_table && NAMED_SCHEMAS.contains(&key.as_str());
                inner.extend(right.get(key).map(|other| (key.clone(), value, other, is_table)));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).enumerate();
            inner.extend(pairs.map(|(index, (value, other))| (index.to_string(), value, other, false)));
        }
        _ => {}
    }
    for (step, value, other, is_table) in inner.into_iter().filter(|_| depth < DEEPEST) {
        let outside = pointer.len();
        push(pointer, &step);
        compare(value, other, is_table, pointer, found, depth + 1);
        pointer.truncate(outside);
    }
}

/// Returns the innermost place that holds every difference of two texts.
pub(super) fn narrowest(mut old: &Value, mut new: &Value) -> String {
    let mut pointer = String::new();
    loop {
        let pairs: Vec<(String, &Value, Option<&Value>)> = match (old, new) {
            (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
                left.iter().map(|(key, value)| (key.clone(), value, right.get(key))).collect()
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                let pairs = left.iter().zip(right).enumerate();
                pairs.map(|(index, (value, other))| (index.to_string(), value, Some(other))).collect()
            }
            _ => return pointer,
        };
        let mut differing = pairs.into_iter().filter(|(_, value, other)| *other != Some(*value));
        let (Some((step, value, Some(other))), None) = (differing.next(), differing.next()) else { return pointer };
        push(&mut pointer, &step);
        (old, new) = (value, other);
    }
}
