//! Converts a result to a typed value, from structured content or, with most servers, from text.

use serde_json::{Value, json};

use crate::ground::redact::LONGEST_MESSAGE;
use crate::ground::wire::{Fill, Mismatch, Wire, fill, nothing_read};
use crate::{CallError, Content, ToolResult};

/// The field of the object that FastMCP and the official Python SDK wrap around a result that is not an object.
pub(super) const WRAPPER_FIELD: &str = "result";

/// Implements [`Tool::output`](crate::Tool::output) for a tool with a type for its structured content. If the value is in
/// a wrapper object, a text block may contain it without the wrapper.
///
/// # Errors
/// Fails with [`CallError::Tool`] if the tool answered `isError`, and with [`CallError::Decode`] if the result does not
/// match. Both contain the unchanged result.
pub fn decode<T: Wire>(result: ToolResult, is_wrapped: bool) -> Result<T, CallError> {
    let mut place = None;
    let result = read(result, is_wrapped, &mut place)?;
    place.ok_or_else(|| mismatched(result, &nothing_read()))
}

/// Reads the structured content of a result, or else its text. The place has the last value that fits it.
fn read(result: ToolResult, is_wrapped: bool, place: &mut dyn Fill) -> Result<ToolResult, CallError> {
    let result = result.success()?;
    let read = match structured(&result) {
        Some(value) => fill(place, value),
        None => read_blocks(&result, &mut |value| fill(place, value)).or_else(|mismatch| {
            let mut wrapped = |value: &Value| fill(place, &json!({ WRAPPER_FIELD: value }));
            if is_wrapped && read_blocks(&result, &mut wrapped).is_ok() { Ok(()) } else { Err(mismatch) }
        }),
    };
    match read {
        Ok(()) => Ok(result),
        Err(mismatch) => Err(mismatched(result, &mismatch)),
    }
}

fn mismatched(result: ToolResult, mismatch: &Mismatch) -> CallError {
    CallError::Decode {
        pointer: result.redactor.pointer(&mismatch.pointer()),
        message: result.redactor.shown(&mismatch.message(), LONGEST_MESSAGE),
        result: Box::new(result),
    }
}

/// Returns the values that a result may hold, whatever its type, for validation; the likeliest comes first.
#[cfg(feature = "validation")]
pub(crate) fn values(result: &ToolResult) -> Vec<Value> {
    if let Some(structured) = structured(result) {
        return vec![structured.clone()];
    }
    let mut values = match json_blocks(result).as_slice() {
        [] => serde_json::from_str(&result.text()).into_iter().collect(),
        [only] => vec![only.clone(), Value::Array(vec![only.clone()])],
        several => [&[Value::Array(several.to_vec())], several].concat(),
    };
    values.extend(whole_text(result));
    values
}

/// Returns the structured content. A `null` counts only if the result has no text, because some servers write `null`
/// for missing content.
fn structured(result: &ToolResult) -> Option<&Value> {
    result.structured.as_ref().filter(|structured| !structured.is_null() || !has_text(result))
}

fn has_text(result: &ToolResult) -> bool {
    result.content.iter().any(|block| block.as_text().is_some())
}

/// Returns the text as a string, if there is any.
fn whole_text(result: &ToolResult) -> Option<Value> {
    has_text(result).then(|| result.text().into())
}

fn json_blocks(result: &ToolResult) -> Vec<Value> {
    result.content.iter().filter_map(Content::as_text).filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// Reads the text blocks of a result with `read`, which reads one value.
fn read_blocks(result: &ToolResult, read: &mut dyn FnMut(&Value) -> Result<(), Mismatch>) -> Result<(), Mismatch> {
    let found = match json_blocks(result).as_slice() {
        [] => match serde_json::from_str(&result.text()) {
            Ok(value) => read(&value),
            Err(_) => Err(Mismatch::new("the result has no structured content, and its text is not JSON")),
        },
        [only] => read(only).or_else(|mismatch| read(&Value::Array(vec![only.clone()])).map_err(|_| mismatch)),
        several => read(&Value::Array(several.to_vec())).or_else(|mismatch| {
            let mut fitting = several.iter().filter(|block| read(block).is_ok());
            if fitting.next().is_some() && fitting.next().is_none() { Ok(()) } else { Err(mismatch) }
        }),
    };
    found.or_else(|mismatch| match whole_text(result) {
        Some(text) if read(&text).is_ok() => Ok(()),
        _ => Err(mismatch),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn result(texts: &[&str], structured: Option<Value>) -> ToolResult {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        ToolResult { structured, ..ToolResult::from_json("s", "t", json!({ "content": blocks })) }
    }

    fn of<T: Wire>(texts: &[&str]) -> Result<T, String> {
        decode(result(texts, None), false).map_err(|error| match error {
            CallError::Decode { pointer, message, result } => {
                assert_eq!(result.text(), texts.join("\n"), "the result as it came");
                format!("{pointer}: {message}")
            }
            other => panic!("{other}"),
        })
    }

    type Counts = BTreeMap<String, i64>;

    fn counts(count: i64) -> Counts {
        BTreeMap::from([("a".to_owned(), count)])
    }

    #[test]
    fn structured_content_takes_precedence_over_text() {
        assert_eq!(decode::<i64>(result(&["1"], Some(json!(2))), false).ok(), Some(2));
        assert!(decode::<i64>(result(&["1"], Some(json!("x"))), false).is_err(), "text does not mend it");
        assert_eq!(decode::<i64>(result(&["1"], Some(Value::Null)), false).ok(), Some(1), "null is none");
        assert_eq!(decode::<Option<i64>>(result(&[], Some(Value::Null)), false).ok(), Some(None));
    }

    #[test]
    fn single_json_text_block_is_the_value() {
        assert_eq!(of(&[r#"{"a": 1}"#]), Ok(counts(1)));
        assert_eq!(of(&["Here it is:", r#"{"a": 1}"#, "Done."]), Ok(counts(1)));
        assert_eq!(of(&[r#"[{"a": 1}]"#]), Ok(vec![counts(1)]));
        assert_eq!(of(&[r#"{"a": 1}"#]), Ok(vec![counts(1)]), "FastMCP's list of one");
    }

    #[test]
    fn json_text_blocks_form_a_list_or_the_only_match_is_used() {
        assert_eq!(of(&[r#"{"a": 1}"#, r#"{"a": 2}"#]), Ok(vec![counts(1), counts(2)]));
        assert_eq!(of(&["7", r#"{"a": 2}"#, "[]"]), Ok(counts(2)));
        assert!(of::<Counts>(&[r#"{"a": 1}"#, r#"{"a": 2}"#]).is_err(), "which of them is meant?");
    }

    #[test]
    fn text_blocks_are_joined_when_only_the_whole_is_json() {
        assert_eq!(of(&["{", r#""a": 1"#, "}"]), Ok(counts(1)));
    }

    #[test]
    fn plain_text_decodes_to_a_string() {
        assert_eq!(of(&["well", "done"]), Ok("well\ndone".to_owned()));
        assert_eq!(of(&["5"]), Ok("5".to_owned()));
        assert_eq!(of(&["\"5\""]), Ok("5".to_owned()));
        assert_eq!(of(&["5"]), Ok(5i64));
    }

    #[test]
    fn decode_error_describes_the_likeliest_value() {
        let none = "the result has no structured content, and its text is not JSON";
        assert_eq!(of::<Counts>(&["well done"]), Err(format!(": {none}")));
        assert_eq!(of::<Counts>(&[]), Err(format!(": {none}")));
        assert!(of::<String>(&[]).is_err(), "no text is no empty one");
        assert!(of::<Counts>(&[r#"{"a": "x"}"#]).is_err_and(|message| message.starts_with("/a: ")));
    }

    #[test]
    fn text_may_hold_the_value_without_its_wrapper() {
        let read = |texts, structured| decode::<BTreeMap<String, Vec<i64>>>(result(texts, structured), true).ok();
        let wrapped = |items: &[i64]| Some(BTreeMap::from([("result".to_owned(), items.to_vec())]));
        assert_eq!(read(&["[1]"], Some(json!({ "result": [2] }))), wrapped(&[2]));
        assert_eq!(read(&[r#"{"result": [1]}"#], None), wrapped(&[1]));
        assert_eq!(read(&["[1, 2]"], None), wrapped(&[1, 2]));
        assert_eq!(read(&["1", "2"], None), wrapped(&[1, 2]));
        assert_eq!(read(&["1"], Some(json!([2]))), None);
    }
}
