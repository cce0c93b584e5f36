//! A function of the program as a section's tool.

use std::fmt::{self, Display};
use std::future::Future;
use std::sync::Arc;

use mcp_bindgen_runtime::DynCallTool;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ToolsetBuilder;
use crate::toolset::{Function, FunctionContext, Functions, Running, schema_of, typed};
use mcp_bindgen_schema::names::{PROGRAM, SECTIONS};

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
    group: &'static str,
    name: String,
    description: String,
    input_schema: Value,
    /// The fault in the type of its parameters.
    fault: Option<String>,
    function: Function,
    /// Runs it, with the layers around it.
    pub(super) caller: Arc<dyn DynCallTool>,
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
        Self::function_with(name, description, move |_, parameters| function(parameters))
    }

    /// Creates a tool from a function that takes the call's [`FunctionContext`], as
    /// [`ToolsetBuilder::function_with`](crate::ToolsetBuilder::function_with) does.
    pub fn function_with<P, T, E, F, R>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(FunctionContext, P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (input_schema, fault) = match schema_of::<P>() {
            Ok(schema) => (schema, None),
            Err(fault) => (Value::Null, Some(fault)),
        };
        Self { fault, ..Self::of(PROGRAM, name.into(), description.into(), input_schema, typed(function)) }
    }

    /// Creates a tool that belongs to the prompt itself.
    pub(super) fn raw(
        name: &str,
        description: &str,
        input_schema: Value,
        run: impl Fn(Map<String, Value>) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        let run = move |_, arguments| -> Running {
            Box::pin(std::future::ready(run(arguments).map(|text| Value::String(text).into())))
        };
        Self::of(SECTIONS, name.to_owned(), description.to_owned(), input_schema, Arc::new(run))
    }

    fn of(group: &'static str, name: String, description: String, input_schema: Value, function: Function) -> Self {
        let caller = Functions::alone(group, &name, function.clone());
        Self { group, name, description, input_schema, fault: None, function, caller }
    }

    /// Returns the reason why no call can succeed, if there is one.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Adds the function to a toolset.
    pub(super) fn add_to(&self, builder: ToolsetBuilder) -> ToolsetBuilder {
        let (schema, caller) = (self.input_schema.clone(), self.caller.clone());
        builder.runs(self.group.into(), &self.name, &self.description, schema, caller)
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
}

/// Returns the functions of a section as a service, around which layers can be put.
pub(super) fn functions(tools: &[SectionTool]) -> Functions {
    let functions = Functions::default();
    tools.iter().for_each(|tool| functions.add(PROGRAM.into(), tool.name.as_str().into(), tool.function.clone()));
    functions
}

impl fmt::Debug for SectionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionTool").field("name", &self.name).finish_non_exhaustive()
    }
}
