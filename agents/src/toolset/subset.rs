//! Toolsets that are made of another one: parts for agents that need no more, and tools that join similar ones.

use std::sync::Arc;

use mcp_bindgen_model::Config;
use mcp_bindgen_runtime::Annotations;
use mcp_bindgen_schema::JoinedTools;
use serde_json::Value;

use super::builder::names;
use super::entry::TOOLS;
use super::error::{ToolsetError, ToolsetFault};
use super::{Entry, Handler, Toolset};
use crate::json::text;

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
        let names_nothing = |pattern: &&str| !self.entries.iter().any(|entry| fits(pattern, entry));
        let unknown = patterns.iter().map(AsRef::as_ref).filter(names_nothing);
        let faults: Vec<ToolsetFault> = unknown.map(|pattern| self.unknown(pattern)).collect();
        if !faults.is_empty() {
            return Err(ToolsetError { faults });
        }
        // A result that was cut names the tool that reads it.
        let is_named = |entry: &Entry| patterns.iter().any(|pattern| fits(pattern.as_ref(), entry));
        Ok(self.filtered(|entry| self.reads_results(entry) || is_named(entry)))
    }

    /// Removes tools of servers by server and wire name; the others keep their order and names. Functions stay,
    /// whatever their group is called.
    pub(crate) fn without_servers_tools(&self, goes: impl Fn(&str, &str) -> bool) -> Self {
        self.filtered(|entry| !entry.is_of_server() || !goes(&entry.server, &entry.tool))
    }

    /// Returns the wire names of a server's tools, without functions of a group with the same name.
    pub(crate) fn tools_of_server(&self, server: &str) -> impl Iterator<Item = &str> {
        let of_it = move |entry: &&Arc<Entry>| *entry.server == *server && entry.is_of_server();
        self.entries.iter().filter(of_it).map(|entry| &*entry.tool)
    }

    fn unknown(&self, pattern: &str) -> ToolsetFault {
        let whole = |entry: &Arc<Entry>| format!("{}/{}", entry.server, entry.tool);
        // The name in the toolset selects its tool.
        if let Some(entry) = self.entry(pattern) {
            return ToolsetFault::NoSuchPattern { pattern: pattern.to_owned(), nearest: vec![whole(entry)] };
        }
        let known: Vec<String> = match pattern.contains('/') {
            true => self.entries.iter().map(whole).collect(),
            false => self.entries.iter().map(|entry| entry.server.to_string()).collect(),
        };
        ToolsetFault::no_such_pattern(pattern, known.iter().map(String::as_str))
    }

    /// Returns the toolset with the tools of `[tools]` of a configuration. Each joined tool replaces its tools; a model
    /// selects the server with the argument `server`. Calls go through the layers of that server's tool. Servers that
    /// are not in the toolset are omitted.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_model::Config;
    /// # use mcp_bindgen_runtime::Fake;
    ///
    /// let config = Config::parse_toml(
    ///     r#"
    ///     [servers.wiki_eu]
    ///     url = "https://eu.example.com/mcp"
    ///     [servers.wiki_us]
    ///     url = "https://us.example.com/mcp"
    ///     [tools.search]
    ///     of = ["wiki_eu/search", "wiki_us/search"]
    ///     "#,
    ///     "mcp.toml".as_ref(),
    /// )?;
    /// # let (eu, us) = (Fake::new(), Fake::new());
    /// let search = [serde_json::json!({ "name": "search", "inputSchema": { "type": "object" } })];
    /// let toolset = Toolset::builder().server("wiki_eu", &search, eu).server("wiki_us", &search, us).build()?.join(&config)?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["search"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails with all faults: tools whose arguments differ in more than descriptive texts, and names that the toolset
    /// already has.
    pub fn join(&self, config: &Config) -> Result<Self, ToolsetError> {
        let mut entries = self.entries.to_vec();
        let mut faults = Vec::new();
        for (name, joined) in &config.joined {
            let tools = joined.of.iter().filter_map(|(server, tool)| self.entry_of(server, tool).cloned());
            let tools: Vec<Arc<Entry>> = tools.collect();
            let is_joined = |entry: &Arc<Entry>| tools.iter().any(|tool| Arc::ptr_eq(tool, entry));
            let Some(place) = entries.iter().position(is_joined) else { continue };
            let made = if entries.iter().any(|entry| entry.public == *name && !is_joined(entry)) {
                Err("the toolset already has a tool of this name".to_owned())
            } else {
                let listed: Vec<Value> = tools.iter().map(|entry| entry.listed(&entry.tool)).collect();
                let servers = tools.iter().map(|entry| &*entry.server);
                JoinedTools::of(name, &servers.zip(&listed).collect::<Vec<_>>())
            };
            match made {
                Ok(JoinedTools { argument, tool, .. }) => {
                    entries.retain(|entry| !is_joined(entry));
                    let schema = tool.get("inputSchema").cloned().unwrap_or_default();
                    let entry = Entry {
                        public: name.clone(),
                        description: Some(text(&tool, "description").unwrap_or_default().into()),
                        annotations: tool.get("annotations").map(Annotations::listed).unwrap_or_default(),
                        ..Entry::new(TOOLS, name.as_str(), schema, Handler::Joined { argument, tools })
                    };
                    entries.insert(place, Arc::new(entry));
                }
                Err(message) => faults.push(ToolsetFault::NotJoined { name: name.clone(), message }),
            }
        }
        if !faults.is_empty() {
            return Err(ToolsetError { faults });
        }
        Ok(self.with_entries(entries))
    }
}

/// Returns `true` if a pattern matches. Globs do not match the `/`; the exact text `SERVER/TOOL` always matches,
/// whatever the names contain.
fn fits(pattern: &str, entry: &Entry) -> bool {
    let (server, tool) = entry.identity();
    let is_whole = pattern.strip_prefix(server).and_then(|rest| rest.strip_prefix('/')) == Some(tool);
    is_whole
        || match pattern.split_once('/') {
            Some((of_server, of_tool)) => names(of_server, server) && names(of_tool, tool),
            None => names(pattern, server),
        }
}
