//! Reads the values of results as the runtime does, so that learned types can decode them.

use std::path::Path;

use mcp_bindgen_model::{FileError, printable, read_text};
use mcp_bindgen_runtime::{Content, KnownSecrets, ToolResult};
use mcp_bindgen_schema::infer::Sample;
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// The text in place of a secret in recordings.
const REDACTED: &str = "[redacted]";

/// The content of one result.
enum Held {
    /// Structured content, or text that is JSON only as a whole.
    Value(Value),
    /// One block of JSON: the value, or the only item of a list.
    Block(Value),
    /// Several blocks of JSON: a list.
    Blocks(Vec<Value>),
    /// Text that is not JSON.
    Prose,
    Nothing,
}

/// The schema that was learned, and the number of results.
pub(super) struct Values {
    pub(super) sample: Sample,
    pub(super) count: u64,
    /// Those without any value.
    pub(super) empty: usize,
}

/// Collects the values of successful results; keys that contain a secret are not field names. A server that returns a
/// list as blocks returns a list of one item as one block. Thus if some result has several blocks, or a list is
/// `known`, a single other block is an item.
pub(super) fn of(results: &[ToolResult], known: &Sample, secrets: &KnownSecrets) -> Result<Values, Failure> {
    let is_data = |key: &str| secrets.are_in(key) || key.contains(REDACTED);
    let held: Vec<Held> = results.iter().map(held).collect();
    let is_known = known.schema().get("type").is_some_and(|kind| kind == "array");
    let is_list = is_known || held.iter().any(|held| matches!(held, Held::Blocks(_)));
    let is_json = |held: &Held| !matches!(held, Held::Prose | Held::Nothing);
    if !held.iter().any(is_json) && !held.is_empty() {
        let help = "plain text can only be a `String`; write an `outputSchema` by hand for another type";
        let message = "there is nothing to learn: no result has structured content, and none is JSON";
        return Err(Failure::new(format!("{message}\n  = help: {help}")));
    }
    let mut values = Values { sample: Sample::default(), count: 0, empty: 0 };
    for held in held {
        let value = match held {
            Held::Block(value) if is_list && !value.is_array() => Value::Array(vec![value]),
            Held::Value(value) | Held::Block(value) => value,
            Held::Blocks(blocks) => Value::Array(blocks),
            Held::Prose => Value::String(String::new()),
            Held::Nothing => {
                values.empty += 1;
                continue;
            }
        };
        values.sample.merge(&Sample::of_keys(&value, is_data));
        values.count += 1;
    }
    Ok(values)
}

fn held(result: &ToolResult) -> Held {
    let texts: Vec<&str> = result.content.iter().filter_map(Content::as_text).collect();
    if let Some(structured) = result.structured().filter(|structured| !structured.is_null() || texts.is_empty()) {
        return Held::Value(structured.clone());
    }
    let mut blocks: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    match (blocks.pop(), blocks.is_empty(), texts.is_empty()) {
        (Some(only), true, _) => Held::Block(only),
        (Some(last), false, _) => {
            blocks.push(last);
            Held::Blocks(blocks)
        }
        (None, _, true) => Held::Nothing,
        (None, _, false) => serde_json::from_str(&result.text()).map_or(Held::Prose, Held::Value),
    }
}

/// Returns a result in a file: what `call --format json` prints and servers send, or any other JSON, which is the value
/// itself.
pub(super) fn read(path: &Path, server: &str, tool: &str) -> Result<ToolResult, Failure> {
    let fault = |message: String| FileError::new(message).in_file(path);
    // Its text stays out of messages.
    let value: Value = serde_json::from_str(&read_text(path)?).map_err(|error| {
        fault("the file is not JSON".to_owned())
            .at(error.line().max(1), error.column().max(1))
            .with_help("expected the output of `mcp-bindgen call --format json`")
    })?;
    let Value::Object(mut result) = value else {
        return Ok(ToolResult::from_json(server, tool, json!({ "structuredContent": value })));
    };
    if !is_result(&result) {
        return Ok(ToolResult::from_json(server, tool, json!({ "structuredContent": result })));
    }
    for (key, expected) in [("server", server), ("tool", tool)] {
        let said = result.shift_remove(key);
        if let Some(other) = said.as_ref().and_then(Value::as_str).filter(|said| *said != expected) {
            let message = format!("the result belongs to {key} `{}`, not `{}`", printable(other), printable(expected));
            return Err(fault(message).into());
        }
    }
    Ok(ToolResult::from_json(server, tool, Value::Object(result)))
}

/// Returns `true` if an object is the result of a call, and not what some tool has found.
fn is_result(object: &Map<String, Value>) -> bool {
    let blocks = object.get("content").and_then(Value::as_array);
    let is_block = |block: &Value| block.get("type").is_some_and(Value::is_string);
    object.contains_key("structuredContent") || blocks.is_some_and(|blocks| blocks.iter().all(is_block))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use mcp_bindgen_model::ServerConfig;
    use mcp_bindgen_runtime::LocalSecrets;

    fn text(texts: &[&str]) -> ToolResult {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        ToolResult::from_json("s", "t", json!({ "content": blocks }))
    }

    fn schema(results: &[ToolResult]) -> Value {
        of(results, &Sample::default(), &secrets()).unwrap().sample.schema()
    }

    fn secrets() -> KnownSecrets {
        let server = ServerConfig::stdio("s", "server").args(["--token", "8d0f2a4c6e80"]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(KnownSecrets::of(&server, &LocalSecrets))
    }

    #[test]
    fn keys_with_secrets_become_map_entries() {
        let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        assert_eq!(schema(&[text(&[r#"{ "x 8d0f2a4c6e80": 1, "y": 2 }"#])]), map);
        assert_eq!(schema(&[text(&[r#"{ "of [redacted]": 1 }"#])]), map);
    }

    #[test]
    fn values_are_extracted_as_the_runtime_decodes_them() {
        let integer = json!({ "type": "integer" });
        let list = json!({ "type": "array", "items": integer });
        let structured = ToolResult::from_json("s", "t", json!({ "content": [], "structuredContent": 1 }));
        let mut null = text(&["7"]);
        null.structured = Some(Value::Null);
        assert_eq!(schema(&[structured]), integer);
        assert_eq!(schema(&[null]), integer, "null is no content where there is text");
        assert_eq!(schema(&[text(&["Here:", "7"])]), integer);
        assert_eq!(schema(&[text(&["7", "8"])]), list);
        assert_eq!(schema(&[text(&["7", "8"]), text(&["9"])]), list, "a list of one");
        assert_eq!(schema(&[text(&["9"]), text(&["[7, 8]"])]), json!({ "anyOf": [integer, list] }));
        assert_eq!(schema(&[text(&["[", "7]"])]), list);
        assert_eq!(schema(&[text(&["None."]), text(&["7"])]), json!({ "anyOf": [integer, { "type": "string" }] }));
        assert!(of(&[text(&["None."])], &Sample::default(), &secrets()).is_err());
    }

    #[test]
    fn results_without_a_value_are_counted() {
        let values = of(&[text(&[]), text(&["7"])], &Sample::of(&json!([1])), &secrets()).unwrap();
        assert_eq!((values.count, values.empty), (1, 1));
        assert_eq!(
            values.sample.schema(),
            json!({ "type": "array", "items": { "type": "integer" } }),
            "lists are known"
        );
    }
}
