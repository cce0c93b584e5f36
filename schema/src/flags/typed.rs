//! Parses an argument by the types that are possible at its position.

use mcp_bindgen_model::nearest;
use serde_json::{Number, Value};

use super::view::View;
use crate::normalize::Kinds;
use crate::texts::{listed, text_or_json};

/// Shown of a list of values, at most.
const MOST_VALUES: usize = 12;
/// Kinds of values, with their placeholder in help and their description in errors.
const KINDS: [(Kinds, &str, &str); 6] = [
    (Kinds::STRING, "STRING", "text"),
    (Kinds::NUMBER, "NUMBER", "a number"),
    (Kinds::INTEGER, "INTEGER", "an integer"),
    (Kinds::BOOLEAN, "BOOLEAN", "`true` or `false`"),
    (Kinds::ARRAY, "JSON", "a JSON array"),
    (Kinds::OBJECT, "JSON", "a JSON object"),
];

/// Parses a word by the schema: a string is taken literally, and any other value must be exactly its JSON.
///
/// # Errors
/// Fails with a suggestion, if there is one.
pub(super) fn typed(view: &View<'_>, text: &str) -> Result<Value, Option<String>> {
    let literal = Value::from(text);
    let takes_text = view.takes(&literal);
    let has_others = (view.kinds() | Kinds::STRING) != Kinds::STRING || !view.literals.iter().all(Value::is_string);
    let mut help = None;
    if has_others && is_spelled_exactly(text) {
        match exact(text) {
            // If strings are allowed, `null` is a string.
            Ok(value) if view.takes(&value) && !(value.is_null() && takes_text) => return Ok(value),
            Err(error) if text.starts_with(|first: char| first.is_ascii_digit() || "-[{".contains(first)) => {
                help = Some(error);
            }
            _ => {}
        }
    }
    if takes_text {
        return Ok(literal);
    }
    let near = || {
        let texts = view.literals.iter().filter_map(Value::as_str);
        nearest(text, texts).first().map(|near| format!("did you mean `{near}`?"))
    };
    Err(help.or_else(near))
}

/// Parses a word as the whole array if only arrays are allowed: a JSON array whose elements are all valid. A word that
/// is itself a valid element, such as a row of a matrix, is not the whole array. An unrestricted schema of elements
/// does not count here.
pub(super) fn whole_array(view: &View<'_>, text: &str) -> Option<Value> {
    if !view.repeats() || !text.starts_with('[') || !is_spelled_exactly(text) {
        return None;
    }
    let array = exact(text).ok().filter(Value::is_array)?;
    let element = view.item(0);
    let is_element = !element.is_anything() && fits(&element, &array);
    (!is_element && fits(view, &array)).then_some(array)
}

/// Returns `true` if a value of this kind is allowed, and for an array also each element.
fn fits(view: &View<'_>, value: &Value) -> bool {
    match value {
        Value::Array(items) if view.kinds().has(Kinds::ARRAY) => {
            items.iter().enumerate().all(|(index, item)| fits(&view.item(index), item))
        }
        value => view.takes(value),
    }
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
    // Without escapes, every other part between quotes is a string.
    let text = text.replace("\\\\", "__").replace("\\\"", "__");
    let mut start = 0;
    for (index, part) in text.split('"').enumerate() {
        let mut position = start;
        for number in part.split(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))) {
            if index % 2 == 0 && is_inexact(number) {
                return Some(position);
            }
            position += number.len() + 1;
        }
        start += part.len() + 1;
    }
    None
}

fn is_inexact(number: &str) -> bool {
    let is_whole = !number.contains(['.', 'e', 'E']);
    // With numbers stored as text, no digits are lost.
    let is_kept = || serde_json::from_str::<Number>(number).is_ok_and(|read| read.to_string() == number);
    is_whole && !is_kept() && number.parse::<f64>().is_ok_and(|double| format!("{double:.0}") != number)
}

fn names_of(kinds: Kinds) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_named = move |kind| kinds.has(kind) && !(kind == Kinds::INTEGER && kinds.has(Kinds::NUMBER));
    KINDS.into_iter().filter(move |(kind, ..)| is_named(*kind)).map(|(_, placeholder, name)| (placeholder, name))
}

/// Returns the placeholder for a value's type.
pub(super) fn placeholder(view: &View<'_>) -> String {
    let of_literal = |value: &Value| if value.is_number() { Kinds::NUMBER } else { Kinds::of(value) };
    let kinds = view.literals.iter().map(of_literal).fold(view.kinds(), |all, kind| all | kind);
    let mut words: Vec<&str> = names_of(kinds).map(|(placeholder, _)| placeholder).collect();
    words.dedup();
    if words.is_empty() || view.is_anything() { "VALUE".to_owned() } else { words.join("|") }
}

/// Describes the values of a place, for people.
pub(super) fn expected(view: &View<'_>) -> String {
    let mut kinds: Vec<String> = names_of(view.kinds()).map(|(_, name)| name.to_owned()).collect();
    if !view.literals.is_empty() {
        let values = listed(view.literals.iter().map(|literal| format!("`{}`", text_or_json(literal))), MOST_VALUES);
        kinds.push(format!("{}{values}", if view.literals.len() > 1 { "one of " } else { "" }));
    }
    if view.kinds().has(Kinds::NULL) {
        kinds.push("`null`".to_owned());
    }
    if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", or ") }
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn numbers_are_sent_exactly_or_refused() {
        for kept in [
            "1",
            "-5",
            "-0",
            "0.1",
            "18446744073709551615",
            "1e300",
            "100000000000000000000",
            "[\"123456789012345678901\"]",
        ] {
            assert!(exact(kept).is_ok(), "{kept}");
        }
        for lost in ["123456789012345678901", "-123456789012345678901", "1e400", "{\"a\":[123456789012345678901]}"] {
            assert!(exact(lost).is_err(), "{lost}");
        }
    }

    #[test]
    fn inexact_number_is_reported_at_its_position() {
        let text = "{\"\u{e9}\\\\\\\"1\":\n [true, \"123456789012345678901\\\\\", 123456789012345678901]}";
        let column = text.lines().nth(1).unwrap().rfind('1').unwrap() - 19;
        let place = format!("the number at line 2 column {column} has more digits");
        assert!(exact(text).unwrap_err().starts_with(&place), "{:?}", exact(text));
    }
}
