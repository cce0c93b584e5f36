//! The functions of the program, and of servers, in a toolset.

use std::fmt::Display;
use std::sync::Arc;

use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallTool, Client, DynCallTool};
use mcp_bindgen_schema::names::PROGRAM;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Calls, ToolsetBuilder};
use crate::toolset::functions::resource_tools;
use crate::toolset::{
    Entry, Function, FunctionContext, Functions, Handler, ServerFunction, ToolsetFault, schema_of, typed,
};

impl ToolsetBuilder {
    /// Sets the group of the functions that are added next. Their names are `group_function`, and [`Toolset::subset`](crate::Toolset::subset)
    /// selects them as `group/function`. Without a group, names have no prefix and the group is `program`.
    pub fn group(mut self, name: &str) -> Self {
        self.group = Some(name.into());
        self
    }

    /// Adds layers around the functions that are added next, as around the tools of a server, so that policies,
    /// approvals and events also apply to functions. The layers see the [`group`](Self::group), or `program`, as the
    /// server and the function's name as the tool. Functions have no hints:
    /// [`Approval::of_destructive`](mcp_bindgen_runtime::middleware::Approval::of_destructive) asks about all of
    /// them, and [`Policy::read_only`](mcp_bindgen_runtime::middleware::Policy::read_only) denies them.
    ///
    /// Earlier functions, and those of an [extended](crate::Toolset::extend) toolset, are unaffected; a second call sets the
    /// layers for the functions after it. The tools that open and read sections of a prompt never have layers.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Stack};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order { number: u64 }
    ///
    /// let mut events = None;
    /// let toolset = Toolset::builder()
    ///     .function("find_order", "Finds an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .functions_through(|functions| {
    ///         let stack = Stack::new(functions).approval(Approval::of(["cancel_*"], async |request| {
    ///             ApprovalAnswer::Decline(format!("{} is not for models", request.tool))
    ///         }));
    ///         events = Some(stack.events());
    ///         stack
    ///     })
    ///     .function("cancel_order", "Cancels an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .build()?;
    /// # drop(toolset);
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    pub fn functions_through<C: CallTool + 'static>(mut self, layers: impl FnOnce(Functions) -> C) -> Self {
        let functions = Functions::default();
        let calls = Calls::through(Stack::new(layers(functions.clone())));
        self.layers = Some((functions, calls));
        self
    }

    /// Adds a function of the program. The schema of its parameters is derived by `schemars`, and their doc comments
    /// are descriptions for the model. The model receives the returned value as JSON, or the error's message. A panic
    /// is an error.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Toolset, ToolsetError};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Lookup {
    ///     /// The number of the order.
    ///     order: u64,
    /// }
    ///
    /// let toolset = Toolset::builder()
    ///     .function("find_order", "Finds an order of our shop.", async |lookup: Lookup| match lookup.order {
    ///         7 => Ok("on its way"),
    ///         other => Err(format!("there is no order {other}")),
    ///     })
    ///     .build()?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["find_order"]);
    /// # Ok::<(), ToolsetError>(())
    /// ```
    pub fn function<P, T, E, F, R>(self, name: &str, description: &str, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.function_with(name, description, move |_, parameters| function(parameters))
    }

    /// Adds a function like [`function`](Self::function) that takes the call's [`FunctionContext`] too: by it, it calls
    /// other tools, reports progress, and reads the values that the toolset carries.
    pub fn function_with<P, T, E, F, R>(mut self, name: &str, description: &str, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(FunctionContext, P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let schema = match schema_of::<P>() {
            Ok(schema) => schema,
            Err(message) => {
                self.faults.push(ToolsetFault::Parameters { function: name.to_owned(), message });
                return self;
            }
        };
        let group = self.group.clone().unwrap_or_else(|| PROGRAM.into());
        self.with_function(group, name, description, schema, typed(function))
    }

    /// Adds two tools by which a model lists and reads the resources of a server: `SERVER_list_resources` and
    /// `SERVER_read_resource`. They go through the layers of [`functions_through`](Self::functions_through), as functions of a
    /// group with the server's name: `Policy::new` sees the URI in the arguments. They are read-only.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::Client;
    ///
    /// let client = Client::new(ServerConfig::stdio("notes", "notes-server"));
    /// let toolset = Toolset::builder().resources(client).build()?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["notes_list_resources", "notes_read_resource"]);
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    pub fn resources(self, client: Client) -> Self {
        self.of_server(&client, resource_tools(&client))
    }

    /// Adds read-only functions in a group with the name of a server.
    pub(crate) fn of_server(self, client: &Client, tools: impl IntoIterator<Item = ServerFunction>) -> Self {
        let begin = self.entries.len();
        let mut builder = tools.into_iter().fold(self, |builder, (name, description, schema, function)| {
            builder.with_function(client.name().into(), name, &description, schema, function)
        });
        builder.entries.iter_mut().skip(begin).for_each(|entry| entry.annotations.read_only = Some(true));
        builder
    }

    /// Adds a function with the current layers around functions.
    fn with_function(self, group: Arc<str>, name: &str, description: &str, schema: Value, function: Function) -> Self {
        let caller = match &self.layers {
            Some((_, calls)) if !calls.offer.admits(name) => return self,
            Some((functions, calls)) => {
                functions.add(group.clone(), name.into(), function);
                calls.caller.clone()
            }
            None => Functions::alone(&group, name, function),
        };
        self.runs(group, name, description, schema, caller)
    }

    /// Adds a function whose schema is at hand.
    pub(crate) fn runs(
        mut self,
        group: Arc<str>,
        name: &str,
        description: &str,
        schema: Value,
        caller: Arc<dyn DynCallTool>,
    ) -> Self {
        let entry = Entry::new(group, name, schema, Handler::Function(caller));
        self.entries.push(Entry { description: Some(description.into()), ..entry });
        self
    }
}
