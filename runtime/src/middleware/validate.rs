//! Arguments and results that are checked against their schemas.

use serde_json::Value;

use super::layer::{Around, Below};
use crate::call::validate::{arguments, result};
use crate::{CallError, ToolCall, ToolResult};

/// Validates arguments before a call, and structured results after it, against the full schemas of the bindings.
/// Invalid arguments are not sent ([`CallError::InvalidArguments`]); an invalid result is [`CallError::Decode`],
/// which holds it. Calls without bindings are not validated.
///
/// With feature `validate`, bindings validate their own arguments. This layer also validates results, and arguments
/// that a program has built or changed.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Stack, Validate};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let stack = Stack::new(client).validate(Validate::new());
/// # let _ = stack;
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Validate {}

impl Validate {
    /// Checks arguments and results.
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }
}

impl Around for Validate {
    async fn around(&self, call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let Some(spec) = call.known() else { return below.call(call).await };
        // The schema of the bindings has no arguments that a view sets.
        let visible = Value::Object(spec.visible(call.arguments.clone()));
        arguments(spec, &visible).map_err(|refusal| {
            CallError::invalid_arguments(&call.server, &call.tool, refusal.pointer(), refusal.message())
        })?;
        let answer = below.call(call).await?;
        match result(spec, &answer) {
            Err(refusal) if !answer.needs_input() => Err(CallError::Decode {
                pointer: refusal.pointer().to_owned(),
                message: refusal.message(),
                result: Box::new(answer),
            }),
            _ => Ok(answer),
        }
    }
}
