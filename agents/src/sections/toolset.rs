//! A rendered prompt as a set of tools.

use mcp_bindgen_runtime::{ConnectError, ToolSpec};
use serde_json::Value;

use super::offered::RenderedServer;
use super::render::RenderedPrompt;
use super::tools::{What, wire_name};
use crate::json::names;
use crate::toolset::{Toolset, ToolsetBuilder, ToolsetError};

impl RenderedPrompt {
    /// Returns the offered tools as a toolset: the tools of servers with the layers of their sections, functions, and
    /// the tools that open sections. Servers with unknown tools are connected and listed; the errors of those that
    /// fail are returned beside the toolset.
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
        let (groups, failed) = self.groups().await;
        let mut toolset = base.clone();
        for round in groups.chunk_by(|(one, _), (other, _)| one == other) {
            let named = self.servers.iter().fold(toolset.extend().names_around(self.names.clone()), listing);
            toolset = round.iter().map(|(_, what)| what).fold(named, with).build()?;
        }
        Ok((toolset, failed))
    }
}

/// Returns the whole list of a server, whatever of it the sections offer.
fn listing(builder: ToolsetBuilder, server: &RenderedServer) -> ToolsetBuilder {
    let listed = server.handle.listed();
    builder.listing(server.name(), names(&listed).filter(|name| server.handle.allows(name)))
}

fn with(builder: ToolsetBuilder, what: &What<'_>) -> ToolsetBuilder {
    match what {
        What::Server(server, tools) => {
            let spec = server.handle.bound;
            let is_listed = |bound: &&ToolSpec| names(tools).any(|name| name == bound.name);
            let bound: Vec<_> = spec.iter().flat_map(|spec| spec.tools).filter(is_listed).collect();
            let is_bound = |tool: &Value| bound.iter().any(|bound| wire_name(tool) == Some(bound.name));
            let others: Vec<Value> = tools.iter().filter(|tool| !is_bound(tool)).cloned().collect();
            let builder = match spec {
                Some(spec) => builder.bound(spec, &bound, server.caller()),
                None => builder,
            };
            builder.server_live(server.name(), &others, server.caller())
        }
        What::Function(tool) => {
            let (schema, caller) = (tool.input_schema().clone(), tool.caller().clone());
            builder.runs(tool.group().into(), tool.name(), tool.description(), schema, caller)
        }
    }
}
