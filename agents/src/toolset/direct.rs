//! One call for the program itself, which wants the result as it came.

use mcp_bindgen_runtime::validate::Violation;
use mcp_bindgen_runtime::{CallError, CallOptions, ToolResult};
use mcp_bindgen_schema::WRAPPER_FIELD;
use serde_json::{Map, Value};

use super::dispatch::{Failure, fitted};
use super::words::at;
use super::{Entry, Handler, Toolset};

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    /// The arguments do not fit, and nothing was sent: why, without their values.
    Arguments(String),
    /// The call failed.
    Call(CallError),
    /// The caller of the tool panicked; whether the call had an effect is unknown.
    Broken,
}

impl Toolset {
    /// Calls a tool with arguments that were checked as [`dispatch`](Self::dispatch) checks them.
    ///
    /// # Errors
    /// Returns the result, or any error, including `isError`.
    pub(crate) async fn result_of(
        &self,
        entry: &Entry,
        arguments: Map<String, Value>,
        options: CallOptions,
    ) -> Result<ToolResult, NoResult> {
        let arguments = fitted(entry, arguments).map_err(|misfit| NoResult::Arguments(in_words(&misfit.violation)))?;
        let result = self.carried_out(entry, self.call_of(entry, arguments).with(options)).await;
        result.and_then(|result| result.success().map_err(Failure::Call)).map_err(|failure| match failure {
            Failure::Call(error) => NoResult::Call(error),
            Failure::Gone(_) => NoResult::Call(CallError::tool_not_found(&*entry.server, &*entry.tool)),
            Failure::Broken => NoResult::Broken,
        })
    }
}

impl Entry {
    /// Returns `true` if programs may call it: what answers models with words alone has no result.
    pub(crate) fn has_results(&self) -> bool {
        !matches!(self.handler, Handler::Caller(_) | Handler::Joined(_))
    }

    /// Returns its name in bindings. A set cannot use it if providers reject it or another tool has it.
    pub(crate) fn name_in_bindings(&self) -> Option<&'static str> {
        match &self.handler {
            Handler::Server { bound: Some((_, spec)), .. } => Some(spec.prefixed),
            _ => None,
        }
    }

    /// Returns `true` if the server's configuration lets a remote template call the tool. Returns `None` without a
    /// client, and thus without a configuration.
    pub(crate) fn lets_remote_use(&self) -> Option<bool> {
        match &self.handler {
            Handler::Server { caller, live: Some(_), .. } => Some(caller.offer_dyn().admits_remote(&self.tool)),
            _ => None,
        }
    }

    /// Returns the tool's value: the structured content, without the wrapper for values that are not objects. Returns
    /// `None` without structured content.
    pub(crate) fn value_of(&self, result: &ToolResult) -> Option<Value> {
        let structured = result.structured().filter(|structured| !structured.is_null())?;
        let inner = structured.get(WRAPPER_FIELD).filter(|_| self.answers.wraps());
        Some(inner.unwrap_or(structured).clone())
    }
}

fn in_words(Violation { pointer, keyword, message, .. }: &Violation) -> String {
    format!("{message}{} (`{keyword}`)", at(pointer))
}
