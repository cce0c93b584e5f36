//! Parses an argument by the types that are possible at its position.

use mcp_bindgen_model::nearest;
use serde_json::{Number, Value};

use super::view::View;
use crate::normalize::Kinds;
use crate::number::same;
use crate::texts::{listed, text_or_json};

/// Shown of a list of values, at most.
const MOST_VALUES: usize = 12;

/// The error for an invalid word: the expected values, and suggestions.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) expected: String,
    pub(super) help: Option<String>,
}

/// Parses a word by the schema: a string is taken literally, and any other value must be exactly its JSON.
pub(super) fn typed(view: &View<'_>, text: &str) -> Result<Value, Unfit> {
    let takes_text = view.takes_text(text);
    let has_others = [Kinds::BOOLEAN, Kinds::INTEGER, Kinds::NULL].into_iter().any(|kind| view.has(kind))
        || view.is_array()
        || view.is_object()
        || view.literals.iter().any(|literal| !literal.is_string());
    let mut help = None;
    if has_others && is_spelled_exactly(text) {
        match exact(text) {
            Ok(value) if fits(view, &value, takes_text) => return Ok(value),
            Ok(_) => {}
            Err(error) if text.starts_with(|first: char| first.is_ascii_digit() || "-[{".contains(first)) => {
                help = Some(error);
            }
            Err(_) => {}
        }
    }
    if takes_text {
        return Ok(text.into());
    }
    let near = || {
        let texts = view.literals.iter().filter_map(Value::as_str);
        nearest(text, texts).first().map(|near| format!("did you mean `{near}`?"))
    };
    Err(Unfit { expected: expected(view), help: help.or_else(near) })
}

/// Parses a word as the whole array if only arrays are allowed: a JSON array whose elements are all valid. A word that
/// is itself a valid element, such as a row of a matrix, is not the whole array. An unrestricted schema of elements
/// does not count here.
pub(super) fn whole_array(view: &View<'_>, text: &str) -> Option<Value> {
    if !text.starts_with('[') || !is_spelled_exactly(text) {
        return None;
    }
    let array = exact(text).ok().filter(Value::is_array)?;
    let element = view.item(0);
    let is_element = !element.is_anything() && may_be(&element, &array);
    (!is_element && may_be(view, &array)).then_some(array)
}

/// Returns `true` if a value of this kind is allowed, and for an array also each element.
fn may_be(view: &View<'_>, value: &Value) -> bool {
    match value {
        Value::Null => view.has(Kinds::NULL),
        Value::String(text) => view.takes_text(text),
        Value::Array(items) if view.is_array() => {
            items.iter().enumerate().all(|(index, item)| may_be(&view.item(index), item))
        }
        value => fits(view, value, false),
    }
}

/// Returns `true` if a value that is not a string is allowed, by its kind.
fn fits(view: &View<'_>, value: &Value, takes_text: bool) -> bool {
    match value {
        // If strings are allowed, `null` is a string.
        Value::Null => view.has(Kinds::NULL) && !takes_text,
        Value::Bool(_) => view.has(Kinds::BOOLEAN) || is_listed(view, value),
        Value::Number(number) => {
            let kind = if is_integer(number) { Kinds::INTEGER } else { Kinds::NUMBER };
            view.has(kind) || is_listed(view, value)
        }
        Value::String(_) => false,
        Value::Array(_) => view.is_array() || is_listed(view, value),
        Value::Object(_) => view.is_object() || is_listed(view, value),
    }
}

/// Returns `true` if a number is spelled as an integer.
fn is_integer(number: &Number) -> bool {
    let text = number.to_string();
    text.strip_prefix('-').unwrap_or(&text).bytes().all(|byte| byte.is_ascii_digit())
}

fn is_listed(view: &View<'_>, value: &Value) -> bool {
    view.literals.iter().any(|listed| same(listed, value))
}

fn is_spelled_exactly(text: &str) -> bool {
    text.trim() == text && !text.starts_with('"')
}

/// Reads JSON, unless a number of it would be another as it is sent. Errors contain places, and no values.
pub(super) fn exact(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match inexact_number(text) {
        Some(position) => {
            let before = text.get(..position).unwrap_or(text);
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.rsplit('\n').next().unwrap_or_default().len();
            let place = format!("the number at line {line} column {column}");
            Err(format!("{place} has more digits than can be sent: use a string if the tool accepts one"))
        }
        None => Ok(value),
    }
}

/// Returns the place of an integer of JSON text that 64 bits do not hold, and no double exactly.
fn inexact_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut position = 0;
    let mut in_string = false;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'\\' if in_string => position += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let rest = text.get(position..)?;
                let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
                let number = rest.get(..end)?;
                if is_inexact(number) {
                    return Some(position);
                }
                position += end - 1;
            }
            _ => {}
        }
        position += 1;
    }
    None
}

fn is_inexact(number: &str) -> bool {
    let is_whole = !number.contains(['.', 'e', 'E']);
    // With numbers stored as text, no digits are lost.
    let is_kept = serde_json::from_str::<Number>(number).is_ok_and(|read| read.to_string() == number);
    let holds = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() || is_kept;
    is_whole && !holds && number.parse::<f64>().is_ok_and(|double| format!("{double:.0}") != number)
}

/// Describes the values of a place, for people.
pub(super) fn expected(view: &View<'_>) -> String {
    let mut kinds: Vec<String> = Vec::new();
    if view.has(Kinds::STRING) {
        kinds.push("text".to_owned());
    }
    if view.has(Kinds::NUMBER) {
        kinds.push("a number".to_owned());
    } else if view.has(Kinds::INTEGER) {
        kinds.push("an integer".to_owned());
    }
    if view.has(Kinds::BOOLEAN) {
        kinds.push("`true` or `false`".to_owned());
    }
    if view.is_array() {
        kinds.push("a JSON array".to_owned());
    }
    if view.is_object() {
        kinds.push("a JSON object".to_owned());
    }
    if !view.literals.is_empty() {
        let values = listed(view.literals.iter().map(|literal| format!("`{}`", text_or_json(literal))), MOST_VALUES);
        kinds.push(format!("{}{values}", if view.literals.len() > 1 { "one of " } else { "" }));
    }
    if view.has(Kinds::NULL) {
        kinds.push("`null`".to_owned());
    }
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", or ") }
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn numbers_are_sent_exactly_or_refused() {
        for kept in
            ["1", "-5", "0.1", "18446744073709551615", "1e300", "100000000000000000000", "[\"123456789012345678901\"]"]
        {
            assert!(exact(kept).is_ok(), "{kept}");
        }
        for lost in ["123456789012345678901", "-123456789012345678901", "1e400", "{\"a\":[123456789012345678901]}"] {
            assert!(exact(lost).is_err(), "{lost}");
        }
    }
}
