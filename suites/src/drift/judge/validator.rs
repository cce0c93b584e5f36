//! Validity, by a validator that is not ours.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// Compiles a schema; `None` where the validator does not take it. `format` is not asserted, nothing is fetched.
pub(crate) fn compile(schema: &Value) -> Option<Validator> {
    build(schema, false)
}

/// Compiles a schema the way that the strictest server would: `format` is asserted.
pub(crate) fn compile_with_formats(schema: &Value) -> Option<Validator> {
    build(schema, true)
}

fn build(schema: &Value, formats: bool) -> Option<Validator> {
    let mut schema = schema.clone();
    mend_nullable(&mut schema);
    jsonschema::options().with_draft(draft(&schema)).offline().should_validate_formats(formats).build(&schema).ok()
}

fn draft(schema: &Value) -> Draft {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let drafts = [
        ("draft-03", Draft::Draft4),
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    drafts.into_iter().find(|(name, _)| dialect.contains(name)).map_or(Draft::Draft202012, |(_, draft)| draft)
}

/// `nullable` is OpenAPI's, and means what `type` says with `null`.
fn mend_nullable(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("nullable") == Some(&json!(true)) {
                add_null(map);
            }
            map.values_mut().for_each(mend_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(mend_nullable),
        _ => {}
    }
}

fn add_null(schema: &mut Map<String, Value>) {
    match schema.get_mut("type") {
        Some(Value::String(name)) => {
            let both = json!([name, "null"]);
            schema.insert("type".to_owned(), both);
        }
        Some(Value::Array(names)) if !names.contains(&json!("null")) => names.push(json!("null")),
        _ => {}
    }
}
