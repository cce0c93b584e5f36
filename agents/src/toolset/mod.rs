//! Tools of several servers, and of the program itself, for one model.

mod builder;
mod carried;
mod ceilings;
mod contained;
mod cost;
mod definitions;
mod direct;
mod dispatch;
mod entry;
mod error;
mod find;
mod function;
mod functions;
mod mend;
pub(crate) mod names;
mod places;
mod prepared;
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
use std::sync::Arc;

pub use builder::ToolsetBuilder;
use carried::Carried;
#[cfg(feature = "tokens")]
pub use cost::TOKENIZER;
pub use cost::{Cost, ToolCost};
pub use definitions::Definitions;
pub(crate) use direct::NoResult;
pub(crate) use entry::{Entry, Function, Handler, Running};
pub use error::{DiagnosticKind, ToolDiagnostic, ToolsetError, ToolsetFault};
pub use find::{Deferred, NothingPinned};
pub(crate) use function::{Typed, schema_of};
pub use functions::Functions;
pub use names::NameStyle;
pub(crate) use prepared::Prepared;
pub use words::message_for_model;

/// Tools of several servers, and of the program itself, under names that are told apart. Clones are cheap.
///
/// A name depends on nothing but the server and the tool: it is the same in whatever order tools come and whatever else is in
/// the set, unless two tools would have one name. All names are such as every provider takes:
/// `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`. What does not fit is shortened, and where that takes away what tells it apart it ends in
/// a hash of server and tool; so does a tool that is called like a call that toolsets and prompts answer themselves:
/// `find_tools`, `call_tool`, `open_sections`, `read_section`.
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
#[derive(Clone, Debug)]
pub struct Toolset {
    entries: Arc<[Arc<Entry>]>,
    /// Where in `entries` the tool of a public name is.
    by_name: Arc<BTreeMap<String, usize>>,
    style: NameStyle,
    left_out: Arc<[ToolDiagnostic]>,
    /// The data that calls carry.
    carried: Carried,
}

impl Toolset {
    /// Begins a set.
    pub fn builder() -> ToolsetBuilder {
        ToolsetBuilder::default()
    }

    /// Begins a set with the tools of this one, which keep their places and their names: what is added follows them, under
    /// names that none of them has. So a model that is told of more tools still knows those that it knew, and what a
    /// provider has cached of the list holds.
    pub fn extend(&self) -> ToolsetBuilder {
        ToolsetBuilder::continuing(self)
    }

    fn of(entries: Vec<Arc<Entry>>, style: NameStyle, left_out: Arc<[ToolDiagnostic]>, carried: Carried) -> Self {
        let by_name = entries.iter().enumerate().map(|(index, entry)| (entry.public.clone(), index)).collect();
        Self { entries: entries.into(), by_name: Arc::new(by_name), style, left_out, carried }
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The names that models know, in the order in which they are told of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.public.as_str())
    }

    /// The server, or the group of functions, and the wire name of the tool that models know by a name.
    #[must_use]
    pub fn tool_of(&self, name: &str) -> Option<(&str, &str)> {
        self.entry(name).map(|entry| entry.identity())
    }

    /// The name by which models know a tool of a server.
    #[must_use]
    pub fn name_of(&self, server: &str, tool: &str) -> Option<&str> {
        self.entry_of(server, tool).map(|entry| entry.public.as_str())
    }

    /// Returns the items of servers' lists that are no tools, or the same one again, and why they are not in the set.
    #[must_use]
    pub fn left_out(&self) -> &[ToolDiagnostic] {
        &self.left_out
    }

    /// In the order in which models are told of them.
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
