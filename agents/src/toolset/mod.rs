//! Tools of several servers, and of the program itself, for one model.

mod answers;
mod builder;
mod definitions;
mod dispatch;
mod entry;
mod error;
mod find;
mod functions;
mod mend;
pub(crate) mod names;
mod results;
mod subset;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod words;

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::ToolCall;
use mcp_bindgen_runtime::events::{Events, subscribe};
use serde_json::{Map, Value};

pub use builder::ToolsetBuilder;
#[cfg(feature = "tokens")]
pub use definitions::TOKENIZER;
pub use definitions::{Cost, Definitions, ToolCost};
pub(crate) use dispatch::NoResult;
pub(crate) use entry::{Entry, Handler};
pub use error::{DiagnosticKind, ToolDiagnostic, ToolsetError, ToolsetFault};
pub use find::Deferred;
pub(crate) use functions::{Function, Output, Running, ServerFunction, schema_of, typed, with_state};
pub use functions::{FunctionContext, Functions};
pub use names::NameStyle;
use results::Results;
pub use words::message_for_model;

use crate::text::label;

/// Tools of several servers, and functions of the program, under unique names. Cheap to clone.
///
/// A tool's name depends only on its server and its own name, not on the order or the other tools, unless two tools
/// would have the same name. All names are valid for every provider: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. Longer names
/// are shortened, and end in a hash of server and tool if necessary to be unique. So do tools with the name of a tool
/// that toolsets and prompts add themselves: `find_tools`, `call_tool`, `open_sections`, `read_section`. `read_result`
/// gets a `_` instead.
///
/// ```no_run
/// # async fn run(github: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_agents::{Provider, Toolset};
///
/// let toolset = Toolset::builder().live(github).await?.build()?;
/// let definitions = toolset.definitions(Provider::Anthropic); // `tools` of the request
/// println!("{}", toolset.summary());
/// # drop(definitions);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Toolset {
    entries: Arc<[Arc<Entry>]>,
    style: NameStyle,
    left_out: Arc<[ToolDiagnostic]>,
    /// A call that is never made, with the values that all calls carry.
    carried: Option<Arc<ToolCall>>,
    results: Option<Results>,
}

impl Toolset {
    /// Creates an empty builder.
    pub fn builder() -> ToolsetBuilder {
        ToolsetBuilder::default()
    }

    /// Creates a builder with the tools of this toolset, which keep their order and names. Added tools follow them
    /// under names that are still free, so that a model still knows the tools that it has seen, and the provider's
    /// cached prefix stays valid.
    pub fn extend(&self) -> ToolsetBuilder {
        ToolsetBuilder::extending(self.clone())
    }

    /// Returns the toolset with these entries in place of its own.
    fn with_entries(&self, entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        Self { entries: entries.into_iter().collect(), ..self.clone() }
    }

    /// Returns the toolset with those of its entries that stay.
    fn filtered(&self, stays: impl Fn(&Entry) -> bool) -> Self {
        self.with_entries(self.entries.iter().filter(|entry| stays(entry)).cloned())
    }

    /// Returns the toolset with a value that all its calls carry for layers, such as the conversation or the user;
    /// one value of each type. See [`ToolCall::extension`](mcp_bindgen_runtime::ToolCall::extension). This is cheap,
    /// and does not change the original. Subsets, deferred toolsets and those built by [`extend`](Self::extend) carry
    /// the value too. It is never sent to a server or a model.
    ///
    /// Layers with state, such as [`SequentialDependency`](mcp_bindgen_runtime::middleware::SequentialDependency),
    /// share it between all callers. If several conversations use the same clients, distinguish them by a value and a
    /// scope: otherwise the actions of one user count for another.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_runtime::middleware::{SequentialDependency, Stack};
    ///
    /// #[derive(Clone)]
    /// struct Conversation(String);
    ///
    /// # fn run(client: mcp_bindgen_runtime::Client, tools: &[serde_json::Value]) -> Result<(), mcp_bindgen_agents::ToolsetError> {
    /// let governed = Stack::new(client).sequential(
    ///     SequentialDependency::new("publish", ["build"])
    ///         .scope(|call| call.extension().map(|Conversation(id)| id.clone()).unwrap_or_default()),
    /// );
    /// let toolset = Toolset::builder().server("releases", tools, governed).build()?;
    /// // For each conversation:
    /// let toolset = toolset.with_extension(Conversation("7f3a".to_owned()));
    /// # drop(toolset);
    /// # Ok(())
    /// # }
    /// # run(mcp_bindgen_runtime::Client::new(mcp_bindgen_model::ServerConfig::stdio("releases", "x")), &[]).unwrap();
    /// ```
    #[must_use]
    pub fn with_extension<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        let carried = self.carried.as_deref().cloned().unwrap_or_else(|| ToolCall::new("", "", Map::new()));
        Self { carried: Some(Arc::new(carried.with_extension(value))), ..self.clone() }
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if the toolset has no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the names of the tools, in the order in which models see them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.public.as_str())
    }

    /// Returns the server, or the group of functions, and the tool's name there.
    #[must_use]
    pub fn tool_of(&self, name: &str) -> Option<(&str, &str)> {
        self.entry(name).map(|entry| entry.identity())
    }

    /// Returns the name of a server's tool in the toolset.
    #[must_use]
    pub fn name_of(&self, server: &str, tool: &str) -> Option<&str> {
        self.entry_of(server, tool).map(|entry| entry.public.as_str())
    }

    /// Subscribes to events of the calls of its tools and of its clients' connections. Calls that others make through
    /// the same clients are included.
    ///
    /// ```
    /// # async fn run(toolset: &mcp_bindgen_agents::Toolset) {
    /// use mcp_bindgen_runtime::events::Event;
    ///
    /// let mut events = toolset.events();
    /// while let Some(event) = events.next().await {
    ///     if let Event::ToolInvoked(call) = event {
    ///         println!("{} {}/{}: {}", call.kind, call.server, call.tool, call.outcome);
    ///     }
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        subscribe(self.entries.iter().flat_map(|entry| entry.callers()))
    }

    /// Returns the items of servers' lists that were skipped, because they are invalid or repeated.
    #[must_use]
    pub fn left_out(&self) -> &[ToolDiagnostic] {
        &self.left_out
    }

    /// Returns the tools as an MCP server lists them (`tools/list`), with their names in the toolset and in its order.
    /// Output schemas are omitted, because replies to calls of functions have no schema.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    ///
    /// let toolset = Toolset::builder().build()?;
    /// assert!(toolset.listed().is_empty());
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn listed(&self) -> Vec<Value> {
        self.entries.iter().map(|entry| entry.listed(&entry.public)).collect()
    }

    /// Describes the tools for a prompt: a line for each server with the number of its tools, followed by a line for
    /// each tool with its name in the toolset and the first sentence of its description, up to 200 characters. Text
    /// from servers is printed on one line, without control or invisible characters, markup or template syntax.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order { number: u64 }
    ///
    /// let set = Toolset::builder()
    ///     .group("shop")
    ///     .function("find_order", "Finds an order. Slow on Mondays.", async |o: Order| Ok::<_, String>(o.number))
    ///     .build()?;
    /// assert_eq!(set.summary(), "shop (1 tool)\n- shop_find_order: Finds an order.\n");
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let mut seen = BTreeSet::new();
        let servers = self.entries.iter().map(|entry| &*entry.server).filter(|server| seen.insert(*server));
        let of_server = |server: &str| {
            let tools = self.entries.iter().filter(|entry| *entry.server == *server);
            let lines = tools.map(|entry| match entry.sentence() {
                sentence if sentence.is_empty() => format!("- {}\n", entry.public),
                sentence => format!("- {}: {sentence}\n", entry.public),
            });
            let lines: Vec<String> = lines.collect();
            let tools = if lines.len() == 1 { "tool" } else { "tools" };
            format!("{} ({} {tools})\n{}", label(server), lines.len(), lines.concat())
        };
        servers.map(of_server).collect()
    }

    /// Returns the tools in the order in which models get them.
    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub(crate) fn entry_of(&self, server: &str, tool: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.identity() == (server, tool))
    }

    pub(crate) fn entry(&self, public: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.public == public)
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolset").field("names", &self.names().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
