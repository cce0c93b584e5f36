//! A function of the program as a section's tool.

use std::fmt::{self, Display};
use std::future::Future;
use std::sync::Arc;

use mcp_bindgen_runtime::{CallError, CallOptions, DynCallTool, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::toolset::{Function, Functions, Running, Typed, schema_of};
use mcp_bindgen_schema::names::PROGRAM;

/// A function of the program that a model may call while its section is open.
///
/// ```
/// use mcp_bindgen_agents::SectionTool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Note { text: String }
///
/// let tool = SectionTool::function("take_note", "Keeps a note for later.", async |note: Note| match note.text.as_str() {
///     "" => Err("an empty note; say what is to be kept"),
///     text => Ok(text.len()),
/// });
/// assert_eq!(tool.name(), "take_note");
/// ```
#[derive(Clone)]
pub struct SectionTool {
    name: String,
    description: String,
    input_schema: Value,
    /// The fault in the type of its parameters.
    fault: Option<String>,
    function: Arc<dyn Function>,
}

impl SectionTool {
    /// Creates a tool from a function, as [`ToolsetBuilder::function`](crate::ToolsetBuilder::function) does.
    pub fn function<P, T, E, F, R>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (input_schema, fault) = match schema_of::<P>() {
            Ok(schema) => (schema, None),
            Err(fault) => (Value::Null, Some(fault)),
        };
        let function = Arc::new(Typed::new(function));
        Self { name: name.into(), description: description.into(), input_schema, fault, function }
    }

    pub(super) fn raw(
        name: &str,
        description: &str,
        input_schema: Value,
        run: impl Fn(Map<String, Value>) -> Running<'static> + Send + Sync + 'static,
    ) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        Self { name, description, input_schema, fault: None, function: Arc::new(run) }
    }

    /// Why nobody could call it, whatever the arguments.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The same, run by what stands around the functions of its section.
    pub(super) fn governed(&self, caller: Arc<dyn DynCallTool>) -> Self {
        let function = Arc::new(Governed { name: self.name.clone(), caller });
        Self { function, ..self.clone() }
    }

    pub(super) fn runner(&self) -> Arc<dyn Function> {
        self.function.clone()
    }

    /// Returns the tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description for the model.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// Runs the function.
    ///
    /// # Errors
    /// In words for the model: the arguments do not fit, or what the function said.
    pub async fn run(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        self.function.run(arguments).await
    }
}

/// The functions of a section, as something that layers can stand around.
pub(super) fn functions(tools: &[SectionTool]) -> Functions {
    let functions = Functions::default();
    tools.iter().for_each(|tool| functions.add(PROGRAM.into(), tool.name.as_str().into(), tool.function.clone()));
    functions
}

/// A function behind layers; for sets it is the caller alone.
struct Governed {
    name: String,
    caller: Arc<dyn DynCallTool>,
}

impl Function for Governed {
    fn caller(&self) -> Option<Arc<dyn DynCallTool>> {
        Some(self.caller.clone())
    }

    fn run(&self, arguments: Map<String, Value>) -> Running<'_> {
        Box::pin(async move {
            let call = ToolCall::new(PROGRAM, self.name.clone(), arguments);
            let call = call.with(CallOptions::new().source("toolset"));
            let result = match self.caller.call_tool_dyn(call).await {
                Ok(result) => result,
                Err(CallError::Tool(result)) => *result,
                Err(error) => return Err(error.to_string()),
            };
            match result {
                result if result.is_error => Err(result.text()),
                ToolResult { structured: Some(value), .. } => Ok(value),
                ToolResult { content, .. } if content.is_empty() => Ok(Value::Null),
                result => Ok(Value::String(result.text())),
            }
        })
    }
}

impl fmt::Debug for SectionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionTool").field("name", &self.name).finish_non_exhaustive()
    }
}
