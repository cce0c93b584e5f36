//! A tool as its server declares it, for tools with overrides or a view.

use std::sync::LazyLock;

use mcp_bindgen_model::{Overridden, Viewed};
use serde_json::{Map, Value};

/// The replacement for a malformed `inputSchema`.
pub(super) static FREE_FORM: LazyLock<Value> =
    LazyLock::new(|| Value::Object(Map::from_iter([("type".to_owned(), "object".into())])));

/// The parts that a server declares otherwise than the bindings have them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared<'s> {
    /// The server's `inputSchema`, if the bindings have another.
    pub(crate) input: Option<&'s Value>,
    /// The server's `outputSchema`, or its absence, if the bindings have another.
    pub(crate) output: Option<Option<&'s Value>>,
    /// From how many results the `outputSchema` was learned.
    pub(crate) learned_from: Option<u64>,
    /// The view of the tool, and the tool without it.
    pub(crate) viewed: Option<&'s Viewed>,
}

impl<'s> Declared<'s> {
    pub(super) fn of(
        tool: &'s Map<String, Value>,
        overridden: Option<&'s Overridden>,
        viewed: Option<&'s Viewed>,
    ) -> Self {
        let tool = viewed.and_then(|viewed| viewed.before.as_object()).unwrap_or(tool);
        let Some((overridden, declared)) = overridden.and_then(|known| Some((known, known.declared.as_object()?)))
        else {
            return Self { viewed, ..Self::default() };
        };
        let input = input_schema(declared).unwrap_or(&FREE_FORM);
        let output = output_schema(declared);
        Self {
            input: Some(input).filter(|input| input_schema(tool) != Some(input)),
            output: Some(output).filter(|output| output_schema(tool) != *output),
            learned_from: overridden.learned_from,
            viewed,
        }
    }

    /// Returns the server's `inputSchema`, if an override or a view replaced it.
    pub(crate) fn input_schema(&self) -> Option<&'s Value> {
        self.input.or_else(|| {
            self.viewed.map(|viewed| viewed.before.as_object().and_then(input_schema).unwrap_or(&FREE_FORM))
        })
    }
}

pub(super) fn input_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("inputSchema").filter(|schema| schema.is_object())
}

pub(super) fn output_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("outputSchema").filter(|schema| schema.is_object())
}
