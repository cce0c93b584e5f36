//! Tools of several servers, and of the program itself, for one model.

mod answers;
mod builder;
mod carried;
mod context;
mod cost;
mod definitions;
mod dispatch;
mod entry;
mod error;
mod find;
mod function;
mod functions;
mod joined;
mod mend;
pub(crate) mod names;
mod places;
mod resources;
mod results;
mod rewrites;
mod subset;
mod summary;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::events::{Events, subscribe};
use serde_json::Value;

pub use builder::ToolsetBuilder;
use carried::Carried;
pub use context::FunctionContext;
#[cfg(feature = "tokens")]
pub use cost::TOKENIZER;
pub use cost::{Cost, ToolCost};
pub use definitions::Definitions;
pub(crate) use dispatch::NoResult;
pub(crate) use entry::{Entry, Function, Handler, Output, Running, ServerFunction, with_state};
pub use error::{DiagnosticKind, ToolDiagnostic, ToolsetError, ToolsetFault};
pub use find::Deferred;
pub(crate) use function::{schema_of, typed};
pub use functions::Functions;
pub use names::NameStyle;
pub use words::message_for_model;

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
#[derive(Clone)]
pub struct Toolset {
    entries: Arc<[Arc<Entry>]>,
    /// The index in `entries` of each public name.
    by_name: Arc<BTreeMap<String, usize>>,
    style: NameStyle,
    left_out: Arc<[ToolDiagnostic]>,
    /// The data that calls carry.
    carried: Carried,
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
        ToolsetBuilder::continuing(self)
    }

    fn of(entries: Vec<Arc<Entry>>, style: NameStyle, left_out: Arc<[ToolDiagnostic]>, carried: Carried) -> Self {
        let by_name = entries.iter().enumerate().map(|(index, entry)| (entry.public.clone(), index)).collect();
        Self { entries: entries.into(), by_name: Arc::new(by_name), style, left_out, carried }
    }

    /// Replaces the entries of the toolset.
    fn with_entries(&self, entries: Vec<Arc<Entry>>) -> Self {
        Self::of(entries, self.style, self.left_out.clone(), self.carried.clone())
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
        let joined = self.entries.iter().filter_map(|entry| match &entry.handler {
            Handler::Joined(joined) => Some(joined.tools.iter().map(|(_, entry)| entry)),
            _ => None,
        });
        subscribe(self.entries.iter().chain(joined.flatten()).filter_map(|entry| match &entry.handler {
            Handler::Server { caller, .. } | Handler::Function(caller) => Some(&**caller),
            Handler::Caller(_) | Handler::Joined(_) => None,
        }))
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

    /// Returns the tools in the order in which models get them.
    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub(crate) fn entry_of(&self, server: &str, tool: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.identity() == (server, tool))
    }

    pub(crate) fn entry(&self, public: &str) -> Option<&Arc<Entry>> {
        self.entries.get(*self.by_name.get(public)?)
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolset").field("names", &self.names().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}
