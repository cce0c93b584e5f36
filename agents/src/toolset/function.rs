//! Functions of the program as tools.

use std::fmt::Display;
use std::future::ready;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::entry::{Function, Running};
use crate::text::line;

/// What a panic says may hold anything, and so it is not repeated.
const PANICKED: &str =
    "the function failed in a way that its author did not expect (it panicked); whether it did anything is unknown";

/// The schema of a function's parameters.
///
/// # Errors
/// Where they are no object: what they are.
pub(super) fn schema_of<P: JsonSchema>() -> Result<Value, String> {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<P>().to_value();
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(schema),
        // An enum of objects says so in its branches.
        None if ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| schema.get(key).is_some()) => Ok(schema),
        Some(Value::String(kind)) => Err(format!("of type `{kind}`")),
        Some(_) => Err("of several types".to_owned()),
        None => Err("of any type".to_owned()),
    }
}

/// A function with the types that its arguments are read as.
pub(super) struct Typed<P, F> {
    function: F,
    parameters: PhantomData<fn() -> P>,
}

impl<P, F> Typed<P, F> {
    pub(super) fn new(function: F) -> Self {
        Self { function, parameters: PhantomData }
    }
}

impl<P, T, E, F, R> Function for Typed<P, F>
where
    P: DeserializeOwned + 'static,
    F: Fn(P) -> R + Send + Sync,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize,
    E: Display,
{
    fn run(&self, arguments: Map<String, Value>) -> Running<'_> {
        let parameters = serde_json::from_value::<P>(Value::Object(arguments));
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(error) => {
                let message = format!("the arguments do not fit: {}", line(&error.to_string()));
                return Box::pin(ready(Err(message)));
            }
        };
        // What panics in a function must not end the loop of an agent.
        match catch_unwind(AssertUnwindSafe(|| (self.function)(parameters))) {
            Ok(running) => Box::pin(AssertUnwindSafe(running).catch_unwind().map(|ended| match ended {
                Ok(ended) => outcome(ended),
                Err(_) => Err(PANICKED.to_owned()),
            })),
            Err(_) => Box::pin(ready(Err(PANICKED.to_owned()))),
        }
    }
}

fn outcome<T: Serialize, E: Display>(outcome: Result<T, E>) -> Result<Value, String> {
    let value = outcome.map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| format!("the function's result is no JSON: {error}"))
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

    #[tokio::test]
    async fn a_function_answers_whatever_happens() {
        let double = Typed::new(async |numbers: std::collections::BTreeMap<String, i64>| match numbers.get("n") {
            Some(0) => panic!("nobody expects this"),
            Some(n) if *n < 0 => Err("it is negative"),
            Some(n) => Ok(n * 2),
            None => Err("there is no `n`"),
        });
        assert_eq!(double.run(object(json!({ "n": 4 }))).await, Ok(json!(8)));
        assert_eq!(double.run(object(json!({ "n": -4 }))).await, Err("it is negative".to_owned()));
        let unfit = double.run(object(json!({ "n": "four" }))).await.unwrap_err();
        assert!(unfit.contains("do not fit") && unfit.contains("i64"), "{unfit}");
        let panicked = double.run(object(json!({ "n": 0 }))).await.unwrap_err();
        assert!(panicked.contains("panicked") && !panicked.contains("nobody"), "{panicked}");
    }

    #[test]
    fn parameters_are_objects() {
        assert_eq!(schema_of::<std::collections::BTreeMap<String, i64>>().unwrap()["type"], "object");
        assert_eq!(schema_of::<String>(), Err("of type `string`".to_owned()));
        assert_eq!(schema_of::<Option<i64>>(), Err("of several types".to_owned()));
        assert_eq!(schema_of::<Value>(), Err("of any type".to_owned()));
    }
}
