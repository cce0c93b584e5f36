//! The schemas of a tool as its server declares them, for tools with overrides.

use std::sync::LazyLock;

use mcp_bindgen_model::Overridden;
use serde_json::{Map, Value};

/// Stands for an `inputSchema` that is none.
pub(super) static FREE_FORM: LazyLock<Value> =
    LazyLock::new(|| Value::Object(Map::from_iter([("type".to_owned(), "object".into())])));

/// The schemas that a server declares for a tool that overrides changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared<'s> {
    /// The server's `inputSchema`, where the bindings have another.
    pub(crate) input: Option<&'s Value>,
    /// The server's `outputSchema` or that it has none, where the bindings have another.
    pub(crate) output: Option<Option<&'s Value>>,
    /// From how many results the `outputSchema` was learned.
    pub(crate) learned_from: Option<u64>,
}

impl<'s> Declared<'s> {
    pub(super) fn of(tool: &Map<String, Value>, overridden: Option<&'s Overridden>) -> Self {
        let Some((overridden, declared)) = overridden.and_then(|known| Some((known, known.declared.as_object()?)))
        else {
            return Self::default();
        };
        let input = input_schema(declared).unwrap_or(&FREE_FORM);
        let output = output_schema(declared);
        Self {
            input: Some(input).filter(|input| input_schema(tool) != Some(input)),
            output: Some(output).filter(|output| output_schema(tool) != *output),
            learned_from: overridden.learned_from,
        }
    }
}

pub(super) fn input_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("inputSchema").filter(|schema| schema.is_object())
}

pub(super) fn output_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("outputSchema").filter(|schema| schema.is_object())
}
