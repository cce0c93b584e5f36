//! A rendered prompt as a set of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_bindgen_runtime::{CallTool, ConnectError, ToolSpec};
use serde_json::Value;

use super::offered::{Offer, RenderedServer};
use super::render::RenderedPrompt;
use super::server::{failures, selects};
use crate::json::{name, names};
use crate::toolset::{Toolset, ToolsetBuilder, ToolsetError};

impl RenderedPrompt {
    /// Returns the offered tools as a toolset: the tools of servers with the layers of their sections, functions, and
    /// the tools that open sections. Servers with unknown tools are connected and listed concurrently, except those of
    /// closed sections; the errors of those that fail are returned beside the toolset. A server that could not be listed
    /// is tried again after 30 seconds at the earliest.
    ///
    /// As long as only sections are opened, the toolset of a later turn begins with the tools of the earlier one
    /// under the same names, so that the provider's cached prefix stays valid. This does not hold if the policy of a
    /// newly opened section removes tools, or a server changes its list.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, Provider, Section, SectionServer};
    /// use mcp_bindgen_model::{ServerConfig, Snapshot};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let known = Snapshot::parse(r#"{ "tools": [{ "name": "read", "inputSchema": { "type": "object" } }] }"#)?;
    /// let files = SectionServer::from(ServerConfig::stdio("files", "my-mcp-server")).snapshot(known);
    /// let prompt = Prompt::new().section(Section::new("files", "Files").server(files)).build()?;
    ///
    /// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
    /// let (toolset, failed) = rendered.toolset().await?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["files_read"]);
    /// assert!(failed.is_empty());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails if a tool occurs twice.
    pub async fn toolset(&self) -> Result<(Toolset, Vec<ConnectError>), ToolsetError> {
        self.toolset_on(&Toolset::builder().build()?).await
    }

    /// Returns the offered tools like [`toolset`](Self::toolset), after those of another set, which keep their names and
    /// places. Pass the same set on every turn.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, Section, SectionTool, Toolset};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Nothing {}
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let base = Toolset::builder().function("now", "The time.", async |_: Nothing| Ok::<_, String>("noon")).build()?;
    /// let stop = SectionTool::function("stop", "Stops the work.", async |_: Nothing| Ok::<_, String>("stopped"));
    /// let prompt = Prompt::new().section(Section::new("work", "Work").tool(stop)).build()?;
    ///
    /// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
    /// let (toolset, _) = rendered.toolset_on(&base).await?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["now", "stop"]);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails if a tool occurs twice.
    pub async fn toolset_on(&self, base: &Toolset) -> Result<(Toolset, Vec<ConnectError>), ToolsetError> {
        let unknown = self.servers().iter().filter(|server| server.handle.listed().is_none());
        let failed = failures(unknown.map(|server| server.handle.list_unless_failing())).await;
        let mut toolset = base.clone();
        // A tool of a server is added by the first declaration that selects it.
        let mut added: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for round in self.offered.order.chunk_by(|(one, _), (other, _)| one == other) {
            let named = toolset.extend().names_around(self.names.clone());
            let mut builder = self.servers().iter().fold(named, listing);
            for (_, offer) in round {
                builder = match offer {
                    Offer::Tool(function) => function.tool().add_to(builder),
                    Offer::Server { index, only } => match self.servers().get(*index) {
                        Some(server) => server.add_to(builder, only.as_ref(), added.entry(*index).or_default()),
                        None => builder,
                    },
                };
            }
            toolset = builder.build()?;
        }
        Ok((toolset, failed))
    }
}

/// Returns the whole list of a server, whatever of it the sections offer.
fn listing(builder: ToolsetBuilder, server: &RenderedServer) -> ToolsetBuilder {
    let listed = server.handle.listed().unwrap_or_default();
    builder.listing(server.name(), names(&listed).filter(|name| server.handle.allows(name)))
}

impl RenderedServer {
    /// Adds the tools that a declaration selects, except those that were added before.
    fn add_to(
        &self,
        builder: ToolsetBuilder,
        only: Option<&Arc<[String]>>,
        added: &mut BTreeSet<String>,
    ) -> ToolsetBuilder {
        let (handle, offer) = (&self.handle, self.caller.offer());
        let is_selected = |name: &str| selects(only, name) && handle.allows(name) && offer.admits(name);
        let mut tools = handle.listed().unwrap_or_default();
        tools.retain(|tool| match name(tool) {
            // Items that are not tools are reported once.
            None => added.is_empty(),
            Some("") => false,
            Some(name) => is_selected(name) && !added.contains(name),
        });
        added.extend(names(&tools).map(str::to_owned));
        let Some(spec) = handle.bound else { return builder.server_live(self.name(), &tools, self.caller()) };
        let (bound, others): (Vec<Value>, Vec<Value>) =
            tools.into_iter().partition(|tool| spec.tools.iter().any(|bound| name(tool) == Some(bound.name)));
        let is_listed = |tool: &&ToolSpec| names(&bound).any(|name| name == tool.name);
        let bound: Vec<&ToolSpec> = spec.tools.iter().filter(is_listed).collect();
        builder.bound(spec, &bound, self.caller()).server_live(self.name(), &others, self.caller())
    }
}
