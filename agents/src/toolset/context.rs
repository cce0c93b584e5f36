//! The call that a function of the program runs for.

use std::any::Any;
use std::fmt;

use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, Progress, ToolCall, ToolReply, ToolResult};

use super::Toolset;
use super::words::unknown_tool;
use crate::provider::Arguments;

/// The call that a function of the program runs for: its options, its values, and the toolset that it came through.
///
/// It calls tools as a client does, so that the handlers of bindings take it: `github_create_issue(&context, params)`.
/// Calls go through the layers of the toolset, with the [values](Self::extension) of this call, and are cancelled with
/// it. Tools that are not in the toolset are not found.
///
/// ```
/// use mcp_bindgen_agents::{FunctionContext, Toolset, ToolsetError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Clone)]
/// struct Conversation(String);
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Note { text: String }
///
/// let toolset = Toolset::builder()
///     .function_with("take_note", "Keeps a note for later.", async |context: FunctionContext, note: Note| {
///         let Some(Conversation(id)) = context.extension() else { return Err("unknown conversation") };
///         Ok(format!("{id}: {}", note.text))
///     })
///     .build()?;
/// let toolset = toolset.with_extension(Conversation("7f3a".to_owned()));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let reply = toolset.dispatch("take_note", r#"{"text": "milk"}"#).await;
/// assert_eq!(reply.message, "7f3a: milk");
/// # });
/// # Ok::<(), ToolsetError>(())
/// ```
#[derive(Clone)]
pub struct FunctionContext {
    call: ToolCall,
}

/// The toolset that a call came through, and the name of the tool in it.
#[derive(Clone)]
pub(super) struct Through {
    pub(super) toolset: Toolset,
    pub(super) public: String,
}

impl FunctionContext {
    /// Creates the context of a call, whose arguments are the function's.
    pub(super) const fn new(call: ToolCall) -> Self {
        Self { call }
    }

    /// Returns the name of the function in the toolset, or its own name if it is called without one.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.through().map_or(&self.call.tool, |through| &through.public)
    }

    /// Returns the value of a type that the call carries: from [`Toolset::with_extension`], or from a layer.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.call.extension()
    }

    /// Returns the options of the call: [`CallOptions::cancellation`] is the token that cancels it.
    pub const fn options(&self) -> &CallOptions {
        &self.call.options
    }

    /// Reports progress to the caller, if it listens; see [`Toolset::dispatch_with`].
    pub fn report(&self, progress: Progress) {
        self.call.options.report(progress);
    }

    /// Returns the toolset of the call, or `None` if a layer made it.
    #[must_use]
    pub fn toolset(&self) -> Option<&Toolset> {
        self.through().map(|through| &through.toolset)
    }

    /// Calls a tool by its name in the toolset, as [`Toolset::dispatch`] does.
    pub async fn dispatch(&self, name: &str, arguments: impl Into<Arguments> + Send) -> ToolReply {
        let arguments = arguments.into();
        match self.toolset().and_then(|toolset| Some((toolset, toolset.entry(name)?))) {
            Some((toolset, entry)) => toolset.call(entry, arguments, self.inner_options(), Some(&self.call)).await,
            None => ToolReply::failure(unknown_tool(name, self.toolset().iter().flat_map(|set| set.names()))),
        }
    }

    fn through(&self) -> Option<&Through> {
        self.call.extension()
    }

    /// Returns the options of calls that the function makes: they end with its own.
    pub(super) fn inner_options(&self) -> CallOptions {
        let options = CallOptions::new().source(self.tool());
        match self.call.options.cancellation() {
            Some(token) => options.cancelled_by(token.clone()),
            None => options,
        }
    }
}

impl CallTool for FunctionContext {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let toolset = self.toolset();
        let found = toolset.and_then(|toolset| Some((toolset, toolset.entry_of(&call.server, &call.tool)?)));
        let Some((toolset, entry)) = found else {
            return Err(CallError::tool_not_found(&*call.server, &*call.tool));
        };
        call.options = call.options.or(&self.inner_options());
        toolset.through(entry, call.with_extensions_of(&self.call)).await
    }
}

impl fmt::Debug for FunctionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionContext").field("tool", &self.tool()).finish_non_exhaustive()
    }
}
