//! Values through formats that are not JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

pub const NAMES: [&str; 4] = ["toml", "yaml", "messagepack", "compact messagepack"];

/// Through each format and back: how many formats could hold it, and what came back otherwise.
pub fn through<T: Serialize + DeserializeOwned>(value: &T, first: &Value) -> ([usize; 4], Vec<String>) {
    let mut held = [1; 4];
    held[0] = usize::from(first.is_object() && toml_holds(first));
    let mut faults = Vec::new();
    for (format, name) in NAMES.iter().enumerate().filter(|(format, _)| held[*format] == 1) {
        let again = match format {
            0 => again(toml::to_string(value), |text| toml::from_str::<T>(&text)),
            1 => again(serde_saphyr::to_string(value), |text| serde_saphyr::from_str::<T>(&text)),
            2 => again(rmp_serde::to_vec_named(value), |bytes| rmp_serde::from_slice::<T>(&bytes)),
            _ => again(rmp_serde::to_vec(value), |bytes| rmp_serde::from_slice::<T>(&bytes)),
        };
        let second = again.and_then(|again| serde_json::to_value(&again).map_err(|error| error.to_string()));
        match second {
            Ok(second) if same(first, &second) => {}
            Ok(second) => faults.push(format!("{name}: {first} came back as {second}")),
            Err(error) => faults.push(format!("{name}: {first}: {error}")),
        }
    }
    (held, faults)
}

fn again<Text, T, Print: ToString, Read: ToString>(
    printed: Result<Text, Print>,
    read: impl FnOnce(Text) -> Result<T, Read>,
) -> Result<T, String> {
    let printed = printed.map_err(|error| format!("does not print: {}", error.to_string()))?;
    read(printed).map_err(|error| format!("is not read again: {}", error.to_string()))
}

/// TOML has no `null`, and integers of 64 bits with a sign.
fn toml_holds(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.as_i64().is_some() || number.to_string().contains(['.', 'e', 'E']),
        Value::Array(items) => items.iter().all(toml_holds),
        Value::Object(map) => map.values().all(toml_holds),
        _ => true,
    }
}

/// Returns `true` if two values are equal, with numbers compared by value.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    let integer = |number: &Number| number.to_string().parse::<i128>().ok();
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left.as_f64() == right.as_f64(),
    }
}
