//! The tools as an MCP server lists them.

use serde_json::{Map, Value};

use super::Toolset;
use super::entry::Entry;

impl Toolset {
    /// Returns the tools as an MCP server lists them (`tools/list`), with their names in the toolset. What their results
    /// are is left out, because replies to calls of functions have no schema.
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
        self.entries().iter().map(|entry| listed(entry)).collect()
    }
}

fn listed(entry: &Entry) -> Value {
    let mut tool = Map::new();
    tool.insert("name".to_owned(), entry.public.as_str().into());
    for (key, text) in [("title", &entry.title), ("description", &entry.description)] {
        tool.extend(text.as_deref().map(|text| (key.to_owned(), text.into())));
    }
    tool.insert("inputSchema".to_owned(), (*entry.input_schema).clone());
    let annotations = entry.annotations.to_json();
    if annotations.as_object().is_some_and(|hints| !hints.is_empty()) {
        tool.insert("annotations".to_owned(), annotations);
    }
    tool.into()
}
