//! About how long JSON is as text, without printing it.

use serde_json::{Map, Value};

pub(crate) fn size_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size_of_value(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => size_of_members(object) + 2,
        Value::Number(_) | Value::Bool(_) | Value::Null => 8,
    }
}

fn size_of_members(object: &Map<String, Value>) -> usize {
    object.iter().map(|(key, value)| key.len() + 4 + size_of_value(value)).sum()
}
