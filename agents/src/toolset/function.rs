//! Functions of the program as tools.

use std::fmt::Display;
use std::future::ready;
use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::FunctionContext;
use super::entry::{Function, Output};
use crate::text::line;

/// Returns the schema of a function's parameters.
///
/// # Errors
/// Fails with the actual type if the parameters are not an object.
pub(crate) fn schema_of<P: JsonSchema>() -> Result<Value, String> {
    let settings = SchemaSettings::draft2020_12().with_transform(say_that_null_is_absent);
    let schema = settings.into_generator().into_root_schema_for::<P>().to_value();
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(schema),
        // An enum of objects says so in its branches.
        None if ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some()) => Ok(schema),
        Some(Value::String(kind)) => Err(format!("of type `{kind}`")),
        Some(_) => Err("of several types".to_owned()),
        None => Err("of any type".to_owned()),
    }
}

/// Declares that `null` means absence, because serde treats an absent `Option` and `null` alike. Otherwise a tool with
/// nullable optional parameters could not be strict for OpenAI, whose models always send them.
fn say_that_null_is_absent(schema: &mut Schema) {
    transform_subschemas(&mut say_that_null_is_absent, schema);
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |required| required.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
        if let Value::Object(property) = property
            && may_be_null(property)
        {
            property.entry("default").or_insert(Value::Null);
        }
    }
}

fn may_be_null(schema: &Map<String, Value>) -> bool {
    let is_null = |kind: &Value| kind == "null";
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_null),
        Some(kind) => is_null(kind),
        None => {
            let branches = schema.get("anyOf").and_then(Value::as_array);
            branches.is_some_and(|branches| branches.iter().any(|branch| branch.get("type").is_some_and(is_null)))
        }
    }
}

/// Returns the function as one of arguments, which are read as its parameters.
pub(crate) fn typed<P, T, E, R>(function: impl Fn(FunctionContext, P) -> R + Send + Sync + 'static) -> Function
where
    P: DeserializeOwned + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize,
    E: Display,
{
    Arc::new(move |context, arguments| match serde_json::from_value::<P>(Value::Object(arguments)) {
        Ok(parameters) => {
            let running = function(context, parameters);
            Box::pin(async move { outcome(running.await).map(Output::from) })
        }
        Err(error) => Box::pin(ready(Err(format!("invalid arguments: {}", line(&error.to_string()))))),
    })
}

fn outcome<T: Serialize, E: Display>(outcome: Result<T, E>) -> Result<Value, String> {
    let value = outcome.map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| format!("the function's result has no JSON form: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            other => panic!("{other} is no object"),
        }
    }

    fn context() -> FunctionContext {
        FunctionContext::new(mcp_bindgen_runtime::ToolCall::new("program", "double", Map::new()))
    }

    #[tokio::test]
    async fn function_returns_a_value_or_an_argument_error() {
        let double = typed(async |_, numbers: std::collections::BTreeMap<String, i64>| match numbers.get("n") {
            Some(n) if *n < 0 => Err("it is negative"),
            Some(n) => Ok(n * 2),
            None => Err("there is no `n`"),
        });
        assert_eq!(double(context(), object(json!({ "n": 4 }))).await, Ok(Output::Value(json!(8))));
        assert_eq!(double(context(), object(json!({ "n": -4 }))).await, Err("it is negative".to_owned()));
        let unfit = double(context(), object(json!({ "n": "four" }))).await.unwrap_err();
        assert!(unfit.contains("invalid arguments") && unfit.contains("i64"), "{unfit}");
    }

    #[test]
    fn optional_parameters_may_be_null() {
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code)]
        struct Order {
            number: u64,
            note: Option<String>,
            lines: Vec<Line>,
        }
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code)]
        struct Line {
            gift: Option<bool>,
        }
        let schema = schema_of::<Order>().unwrap();
        assert!(schema.pointer("/properties/number/default").is_none());
        assert_eq!(schema.pointer("/properties/note/default"), Some(&Value::Null));
        assert_eq!(schema.pointer("/$defs/Line/properties/gift/default"), Some(&Value::Null));
        let strict = mcp_bindgen_schema::provider::strict(&schema, mcp_bindgen_schema::provider::Dialect::OpenAi);
        assert!(strict.is_ok(), "{strict:?}");
    }

    #[test]
    fn function_parameters_must_be_an_object() {
        assert_eq!(schema_of::<std::collections::BTreeMap<String, i64>>().unwrap()["type"], "object");
        assert_eq!(schema_of::<String>(), Err("of type `string`".to_owned()));
        assert_eq!(schema_of::<Option<i64>>(), Err("of several types".to_owned()));
        assert_eq!(schema_of::<Value>(), Err("of any type".to_owned()));
    }
}
