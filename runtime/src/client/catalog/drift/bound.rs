//! Tools as they were when they were bound.

use std::sync::Arc;

use mcp_bindgen_model::{Hint, Pin};
use serde_json::{Map, Value};

use crate::client::catalog::name_of;
use crate::{ServerSpec, ToolSpec};

/// A tool as it was when it was bound.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    /// The tool of generated bindings.
    Spec(&'static ToolSpec),
    /// The tool of a snapshot.
    Listed(Arc<Value>),
}

impl Bound {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Spec(spec) => spec.name,
            Self::Listed(tool) => name_of(tool).unwrap_or_default(),
        }
    }

    /// Returns an identifier, which is unique as long as the tool exists.
    pub(super) fn id(&self) -> usize {
        match self {
            Self::Spec(spec) => std::ptr::from_ref(*spec).addr(),
            Self::Listed(tool) => Arc::as_ptr(tool).addr(),
        }
    }

    /// Returns `true` if both are the same tool; one constant may have several addresses.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Spec(one), Self::Spec(other)) => one == other,
            _ => self.id() == other.id(),
        }
    }

    /// Returns the tool as the server declared it.
    ///
    /// # Errors
    /// Fails if a schema of bindings is not JSON, as generated ones are.
    pub(super) fn declared(&self) -> Result<Value, serde_json::Error> {
        let spec = match self {
            Self::Spec(spec) => spec,
            Self::Listed(tool) => return Ok(Value::clone(tool)),
        };
        let mut tool = Map::from_iter([("name".to_owned(), spec.name.into())]);
        tool.insert("inputSchema".to_owned(), serde_json::from_str(spec.declared_input_schema())?);
        if let Some(output) = spec.declared_output_schema() {
            tool.insert("outputSchema".to_owned(), serde_json::from_str(output)?);
        }
        tool.extend(spec.declared_texts().unwrap_or_else(|| {
            let texts = [("title", spec.title), ("description", spec.description)];
            let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into())));
            texts.chain([("annotations".to_owned(), spec.annotations.to_json())]).collect()
        }));
        Ok(tool.into())
    }
}

/// Returns the parts of a tool that are compared: all of it that bindings know, or the parts that calls and results depend on.
pub(super) fn compared(tool: &Value, pin: Pin) -> Value {
    let mut kept = Map::new();
    for key in ["name", "inputSchema", "outputSchema"] {
        kept.extend(tool.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    if pin == Pin::All {
        let text = |pointer: &str| tool.pointer(pointer).filter(|value| value.is_string()).cloned();
        let title = text("/title").or_else(|| text("/annotations/title"));
        kept.extend(title.map(|title| ("title".to_owned(), title)));
        kept.extend(text("/description").map(|text| ("description".to_owned(), text)));
    }
    kept.into()
}

/// Returns the hints of a tool, as far as bindings know them.
pub(super) fn hints(tool: &Value) -> impl Iterator<Item = (&'static str, Option<bool>)> {
    let annotations = tool.get("annotations");
    Hint::ALL.map(Hint::wire).into_iter().map(move |key| (key, annotations.and_then(|hints| hints.get(key)?.as_bool())))
}

/// The tools that calls of a client without bindings of their own are compared with.
#[derive(Clone, Debug)]
pub(crate) enum Baseline {
    Bindings(&'static ServerSpec),
    Snapshot(Arc<[Arc<Value>]>),
}

impl Baseline {
    pub(crate) fn bindings(&self) -> Option<&'static ServerSpec> {
        if let Self::Bindings(server) = self { Some(server) } else { None }
    }

    pub(crate) fn find(&self, tool: &str) -> Option<Bound> {
        match self {
            Self::Bindings(server) => server.tools.iter().find(|spec| spec.name == tool).map(Bound::Spec),
            Self::Snapshot(tools) => {
                tools.iter().find(|listed| name_of(listed) == Some(tool)).cloned().map(Bound::Listed)
            }
        }
    }
}
