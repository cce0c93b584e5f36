//! Parts of a set, for agents that need no more.

use std::sync::Arc;

use super::builder::names;
use super::error::{ToolsetError, ToolsetFault};
use super::{Entry, Handler, Toolset};

impl Toolset {
    /// Returns the tools that match the patterns, in the same order and under the same names: `github` is all tools
    /// of a server, `github/create_issue` one tool by its name on the server. Both parts may be globs: `fs/read_*`,
    /// `*/search`. Groups of functions are selected like servers.
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
    ///     .function("find_order", "Finds an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .function("cancel_order", "Cancels an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .build()?;
    /// assert_eq!(set.subset(["shop/find_*"])?.names().collect::<Vec<_>>(), ["shop_find_order"]);
    /// let error = set.subset(["shop/fnd_order"]).unwrap_err();
    /// assert_eq!(error.to_string(), "no tool of the set matches `shop/fnd_order`; was `shop/find_order` meant?");
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    ///
    /// # Errors
    /// Fails with the patterns that match nothing, each with suggestions.
    pub fn subset<P: AsRef<str>>(&self, patterns: impl IntoIterator<Item = P>) -> Result<Self, ToolsetError> {
        let patterns: Vec<P> = patterns.into_iter().collect();
        let fits = |pattern: &P, entry: &Entry| {
            let (server, tool) = entry.identity();
            fits(pattern.as_ref(), server, tool)
        };
        let names_nothing = |pattern: &&P| !self.entries.iter().any(|entry| fits(pattern, entry));
        let faults = patterns.iter().filter(names_nothing).map(|pattern| self.unknown(pattern.as_ref()));
        let faults: Vec<ToolsetFault> = faults.collect();
        if !faults.is_empty() {
            return Err(ToolsetError::new(faults));
        }
        // A result that was cut names the tool that reads it.
        let is_named =
            |entry: &&Arc<Entry>| self.reads_results(entry) || patterns.iter().any(|pattern| fits(pattern, entry));
        Ok(self.with_entries(self.entries.iter().filter(is_named).cloned().collect()))
    }

    /// Removes tools of servers by server and wire name; the others keep their order and names. Functions stay,
    /// whatever their group is called.
    pub(crate) fn without_servers_tools(&self, goes: impl Fn(&str, &str) -> bool) -> Self {
        let stays = |entry: &&Arc<Entry>| {
            let (server, tool) = entry.identity();
            !matches!(entry.handler, Handler::Server { .. }) || !goes(server, tool)
        };
        self.with_entries(self.entries.iter().filter(stays).cloned().collect())
    }

    /// Returns the wire names of a server's tools, without functions of a group with the same name.
    pub(crate) fn tools_of_server(&self, server: &str) -> impl Iterator<Item = &str> {
        let of_it =
            move |entry: &&Arc<Entry>| *entry.server == *server && matches!(entry.handler, Handler::Server { .. });
        self.entries.iter().filter(of_it).map(|entry| &*entry.tool)
    }

    fn unknown(&self, pattern: &str) -> ToolsetFault {
        // The name in the toolset selects its tool.
        if let Some(entry) = self.entry(pattern) {
            let nearest = vec![format!("{}/{}", entry.server, entry.tool)];
            return ToolsetFault::NoSuchPattern { pattern: pattern.to_owned(), nearest };
        }
        if pattern.contains('/') {
            let known: Vec<String> =
                self.entries.iter().map(|entry| format!("{}/{}", entry.server, entry.tool)).collect();
            return ToolsetFault::no_such_pattern(pattern, known.iter().map(String::as_str));
        }
        ToolsetFault::no_such_pattern(pattern, self.entries.iter().map(|entry| &*entry.server))
    }
}

/// Returns `true` if a pattern matches. Globs do not match the `/`; the exact text `SERVER/TOOL` always matches,
/// whatever the names contain.
fn fits(pattern: &str, server: &str, tool: &str) -> bool {
    let is_whole = pattern.strip_prefix(server).and_then(|rest| rest.strip_prefix('/')) == Some(tool);
    is_whole
        || match pattern.split_once('/') {
            Some((of_server, of_tool)) => names(of_server, server) && names(of_tool, tool),
            None => names(pattern, server),
        }
}
