//! The keywords that only people read.

use serde_json::Value;

use crate::bundle::{NAMED_SCHEMAS, push};
use crate::normalize::WORDING;
use crate::texts::DATA;

/// Returns the pointers where descriptive texts differ, with the keywords of those texts.
pub(super) fn differences(old: &Value, new: &Value) -> Vec<(String, Vec<&'static str>)> {
    let mut found = Vec::new();
    schemas(old, new, &mut String::new(), &mut found, 0);
    found
}

fn schemas(old: &Value, new: &Value, pointer: &mut String, found: &mut Vec<(String, Vec<&'static str>)>, depth: usize) {
    const DEEPEST: usize = 200;
    match (old, new) {
        (Value::Object(left), Value::Object(right)) if depth < DEEPEST => {
            let changed: Vec<&str> = WORDING.into_iter().filter(|key| left.get(*key) != right.get(*key)).collect();
            if !changed.is_empty() {
                found.push((pointer.clone(), changed));
            }
            for (key, value) in left {
                let Some(other) = right.get(key) else { continue };
                if WORDING.contains(&key.as_str()) || DATA.contains(&key.as_str()) {
                    continue;
                }
                let before = pointer.len();
                push(pointer, key);
                match (value, other) {
                    (Value::Object(left), Value::Object(right)) if NAMED_SCHEMAS.contains(&key.as_str()) => {
                        for (name, schema) in left {
                            let Some(other) = right.get(name) else { continue };
                            let inside = pointer.len();
                            push(pointer, name);
                            schemas(schema, other, pointer, found, depth + 1);
                            pointer.truncate(inside);
                        }
                    }
                    _ => schemas(value, other, pointer, found, depth + 1),
                }
                pointer.truncate(before);
            }
        }
        (Value::Array(left), Value::Array(right)) if depth < DEEPEST => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                let before = pointer.len();
                push(pointer, &index.to_string());
                schemas(left, right, pointer, found, depth + 1);
                pointer.truncate(before);
            }
        }
        _ => {}
    }
}

/// Returns the innermost place that holds every difference of two texts.
pub(super) fn narrowest(old: &Value, new: &Value) -> String {
    let mut pointer = String::new();
    let (mut old, mut new) = (old, new);
    loop {
        let step = match (old, new) {
            (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
                let mut differing = left.iter().filter(|(key, value)| right.get(*key) != Some(*value));
                match (differing.next(), differing.next()) {
                    (Some((key, value)), None) => right.get(key).map(|other| (key.clone(), value, other)),
                    _ => None,
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                let mut differing = left.iter().zip(right).enumerate().filter(|(_, (left, right))| left != right);
                match (differing.next(), differing.next()) {
                    (Some((index, (left, right))), None) => Some((index.to_string(), left, right)),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some((key, left, right)) = step else { return pointer };
        push(&mut pointer, &key);
        (old, new) = (left, right);
    }
}
