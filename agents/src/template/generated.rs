//! Items for the modules of `mcp_template!`, and for no program.

pub use std::clone::Clone;
pub use std::cmp::PartialEq;
pub use std::default::Default;
pub use std::fmt::Debug;
pub use std::option::Option;
pub use std::result::Result::{self, Ok};
pub use std::string::String;

pub use serde_json::Value;

use futures_util::future::try_join_all;
use mcp_bindgen_runtime::{Client, ConnectError};
use serde::Serialize;

use super::{Template, TemplateError, TemplateErrorKind, TemplateProblem, TemplateRun};
use crate::ToolsetBuilder;

/// Creates the run of a template that was checked at build time.
///
/// # Errors
/// Fails if its text or its tools have changed since then.
pub fn run(name: &str, text: &str, tools: ToolsetBuilder) -> Result<TemplateRun, TemplateError> {
    let template = Template::new(name, text)?;
    let tools = tools.build().map_err(|error| {
        TemplateProblem::of_all(TemplateErrorKind::UnknownTool, error.to_string()).alone(template.name())
    })?;
    Ok(template.run(&tools))
}

/// Sets a variable.
pub fn with(run: TemplateRun, name: &str, value: impl Serialize) -> TemplateRun {
    run.with(name, value)
}

/// Sets an optional variable, if there is a value.
pub fn with_some(run: TemplateRun, name: &str, value: Option<impl Serialize>) -> TemplateRun {
    match value {
        Some(value) => run.with(name, value),
        None => run,
    }
}

/// Waits until all clients are connected, concurrently.
///
/// # Errors
/// The first that cannot be.
pub async fn connected<const N: usize>(clients: [&Client; N]) -> Result<(), ConnectError> {
    try_join_all(clients.map(Client::connect)).await.map(drop)
}
