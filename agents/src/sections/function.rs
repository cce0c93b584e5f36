//! A function of the program as a section's tool.

use std::fmt::{self, Display};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) type Running = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

type Run = dyn Fn(Map<String, Value>) -> Running + Send + Sync;

/// A function of the program that a model may call while its section is open.
///
/// ```
/// use mcp_agents::SectionTool;
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
    run: Arc<Run>,
}

impl SectionTool {
    /// A tool by the function that it runs. What the function returns is told to the model as JSON, its error in words.
    pub fn function<P, F, R, T, E>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        P: DeserializeOwned + JsonSchema,
        F: Fn(P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: Display,
    {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<P>();
        Self::raw(name.into(), description.into(), schema.to_value(), move |arguments| {
            let running = serde_json::from_value(Value::Object(arguments)).map(&function);
            Box::pin(async move {
                let running = running.map_err(|error| format!("the arguments do not fit: {error}"))?;
                let outcome = running.await.map_err(|error| error.to_string())?;
                serde_json::to_value(outcome).map_err(|error| format!("the result does not print: {error}"))
            })
        })
    }

    pub(super) fn raw(
        name: String,
        description: String,
        input_schema: Value,
        run: impl Fn(Map<String, Value>) -> Running + Send + Sync + 'static,
    ) -> Self {
        Self { name, description, input_schema, run: Arc::new(run) }
    }

    /// The name that the model calls it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model is told of it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// Runs it.
    ///
    /// # Errors
    /// In words for the model: the arguments do not fit, or what the function said.
    pub async fn run(&self, arguments: Map<String, Value>) -> Result<Value, String> {
        (self.run)(arguments).await
    }
}

impl fmt::Debug for SectionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionTool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether every provider takes a name: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(super) fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
