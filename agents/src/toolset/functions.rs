//! Functions of the program as a service that calls tools, for layers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};

use super::entry::Function;
use super::function::answered;

/// Functions of the program, as a service that calls tools. The server of a call is the function's group, or
/// `program`; the tool is its name. [`ToolsetBuilder::functions_through`](crate::ToolsetBuilder::functions_through)
/// passes it to the closure that adds layers.
///
/// A function that fails or panics returns an error result (`isError`). A call of an unknown function fails with
/// [`CallError::ToolNotFound`].
#[derive(Clone, Default)]
pub struct Functions {
    added: Arc<Mutex<Vec<Added>>>,
}

struct Added {
    group: Arc<str>,
    name: Arc<str>,
    function: Arc<dyn Function>,
}

impl Functions {
    pub(crate) fn add(&self, group: Arc<str>, name: Arc<str>, function: Arc<dyn Function>) {
        self.added.lock().unwrap_or_else(PoisonError::into_inner).push(Added { group, name, function });
    }

    fn find(&self, call: &ToolCall) -> Option<Arc<dyn Function>> {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let found = added.iter().find(|added| *added.group == *call.server && *added.name == *call.tool);
        found.map(|added| added.function.clone())
    }
}

impl CallTool for Functions {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let Some(function) = self.find(&call) else {
            return Err(CallError::tool_not_found(&*call.server, &*call.tool));
        };
        Ok(answered(&*function, (&call.server, &call.tool), &call.tool, call.arguments).await)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(added.iter().map(|added| (&added.group, &added.name))).finish()
    }
}
