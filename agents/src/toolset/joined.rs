//! Tools that join similar tools of several servers.

use std::sync::Arc;

use mcp_bindgen_model::Config;
use mcp_bindgen_runtime::Annotations;
use mcp_bindgen_schema::JoinedTools;
use serde_json::Value;

use super::entry::{Joined, TOOLS};
use super::error::{ToolsetError, ToolsetFault};
use super::{Entry, Handler, Toolset};
use crate::provider::Arguments;

impl Toolset {
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
            let members = joined.of.iter();
            let members =
                members.filter_map(|(server, tool)| Some((server.clone(), self.entry_of(server, tool)?.clone())));
            let members: Vec<(String, Arc<Entry>)> = members.collect();
            let is_member = |entry: &Arc<Entry>| members.iter().any(|(_, member)| Arc::ptr_eq(member, entry));
            let Some(place) = entries.iter().position(is_member) else { continue };
            if entries.iter().any(|entry| entry.public == *name && !is_member(entry)) {
                let message = "the toolset already has a tool of this name".to_owned();
                faults.push(ToolsetFault::NotJoined { name: name.clone(), message });
                continue;
            }
            let listed: Vec<Value> = members.iter().map(|(_, entry)| entry.listed(&entry.tool)).collect();
            let tools: Vec<(&str, &Value)> = members.iter().map(|(server, _)| server.as_str()).zip(&listed).collect();
            match JoinedTools::of(name, &tools) {
                Ok(made) => {
                    entries.retain(|entry| !is_member(entry));
                    let handler = Handler::Joined(Joined { argument: made.argument, tools: members });
                    let schema = made.tool.get("inputSchema").cloned().unwrap_or_default();
                    let description = made.tool.get("description").and_then(Value::as_str).unwrap_or_default();
                    let entry = Entry {
                        public: name.clone(),
                        description: Some(description.into()),
                        annotations: made.tool.get("annotations").map(Annotations::listed).unwrap_or_default(),
                        ..Entry::new(TOOLS, name.as_str(), schema, handler)
                    };
                    entries.insert(place, Arc::new(entry));
                }
                Err(message) => faults.push(ToolsetFault::NotJoined { name: name.clone(), message }),
            }
        }
        if !faults.is_empty() {
            return Err(ToolsetError::new(faults));
        }
        Ok(self.with_entries(entries))
    }
}

impl Joined {
    /// Returns the tool that the arguments pick, and its own arguments.
    ///
    /// # Errors
    /// Fails with a message for the model if they pick none.
    pub(super) fn picked(&self, arguments: Arguments) -> Result<(&Entry, Arguments), String> {
        let mut arguments = arguments.object().map_err(|error| error.to_string())?;
        let server = arguments.shift_remove(&self.argument);
        let picked = self.tools.iter().find(|(name, _)| server.as_ref().and_then(Value::as_str) == Some(name));
        let (_, entry) = picked.ok_or_else(|| {
            let servers: Vec<String> = self.tools.iter().map(|(server, _)| format!("`{server}`")).collect();
            format!("expected one of {} at `/{}`", servers.join(", "), self.argument)
        })?;
        Ok((entry, arguments.into()))
    }
}
