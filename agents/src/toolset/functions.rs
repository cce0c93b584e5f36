//! Functions of the program as a service that calls tools, for layers.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use mcp_bindgen_runtime::__private::Offer;
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallError, CallTool, Content, Dispatched, DynCallTool, ToolCall, ToolResult};

use super::context::FunctionContext;
use super::entry::{Function, Output};
use super::words::broken;
use crate::lock::locked;

/// Functions of the program, as a service that calls tools. The server of a call is the function's group, or
/// `program`; the tool is its name. [`ToolsetBuilder::functions_through`](crate::ToolsetBuilder::functions_through)
/// passes it to the closure that adds layers.
///
/// A function that fails or panics returns an error result (`isError`). A call of an unknown function fails with
/// [`CallError::ToolNotFound`], a cancelled one with [`CallError::Cancelled`].
#[derive(Clone)]
pub struct Functions {
    added: Arc<Mutex<Vec<Added>>>,
    offer: Offer,
}

struct Added {
    group: Arc<str>,
    name: Arc<str>,
    function: Function,
}

impl Default for Functions {
    fn default() -> Self {
        Self { added: Arc::default(), offer: Offer::of_functions() }
    }
}

impl Functions {
    /// Returns the service of one function, whose calls are reported as events.
    pub(crate) fn alone(group: &str, name: &str, function: Function) -> Arc<dyn DynCallTool> {
        let functions = Self::default();
        functions.add(group.into(), name.into(), function);
        Arc::new(Stack::new(functions))
    }

    pub(crate) fn add(&self, group: Arc<str>, name: Arc<str>, function: Function) {
        locked(&self.added).push(Added { group, name, function });
    }

    fn find(&self, call: &ToolCall) -> Option<Function> {
        let added = locked(&self.added);
        let found = added.iter().find(|added| *added.group == *call.server && *added.name == *call.tool);
        found.map(|added| added.function.clone())
    }
}

impl CallTool for Functions {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let Some(function) = self.find(&call) else {
            return Err(CallError::tool_not_found(&*call.server, &*call.tool));
        };
        let arguments = std::mem::take(&mut call.arguments);
        let context = FunctionContext::new(call.clone());
        let shown = context.tool().to_owned();
        let running = contained(|| function(context, arguments));
        let outcome = match call.options.cancellation() {
            Some(token) => token.run_until_cancelled(running).await,
            None => Some(running.await),
        };
        let Some(outcome) = outcome else {
            return Err(CallError::cancelled(&*call.server, &*call.tool, Dispatched::Unknown));
        };
        let mut result = ToolResult::new(&*call.server, &*call.tool);
        match outcome.unwrap_or_else(|| Err(broken(&shown))) {
            Ok(Output::Content(content)) => result.content = content,
            Ok(Output::Value(value)) => result.structured = Some(value),
            Err(words) => {
                result.content = vec![Content::text(words)];
                result.is_error = true;
            }
        }
        Ok(result)
    }

    fn offer(&self) -> Offer {
        self.offer.clone()
    }
}

/// Returns the output of a future, or `None` if the future or its closure panics. The panic message goes only to the
/// program's panic hook, because it may contain a secret.
pub(super) async fn contained<F: Future>(begin: impl FnOnce() -> F) -> Option<F::Output> {
    // The program handles the state of a closure that panicked; it sees the error.
    AssertUnwindSafe(async { begin().await }).catch_unwind().await.ok()
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = locked(&self.added);
        f.debug_list().entries(added.iter().map(|added| (&added.group, &added.name))).finish()
    }
}
