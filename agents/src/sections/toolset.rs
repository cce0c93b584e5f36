//! A rendered prompt as a set of tools.

use std::collections::BTreeSet;

use mcp_bindgen_runtime::ConnectError;
use serde_json::Value;

use super::offered::RenderedServer;
use super::render::RenderedPrompt;
use super::tools::{Group, What, wire_name};
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
    /// Fails if two of the tools are one.
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
    /// Fails if two of the tools are one.
    pub async fn toolset_on(&self, base: &Toolset) -> Result<(Toolset, Vec<ConnectError>), ToolsetError> {
        let (groups, failed) = self.groups().await;
        let mut toolset = base.clone();
        for round in groups.chunk_by(|one, other| one.since == other.since) {
            let named = self.servers.iter().fold(toolset.extend().names_around(self.names.clone()), listing);
            toolset = round.iter().fold(named, with).build()?;
        }
        Ok((toolset, failed))
    }
}

/// The whole list of a server, whatever of it the sections offer.
fn listing(builder: ToolsetBuilder, server: &RenderedServer) -> ToolsetBuilder {
    let listed = server.handle.listed();
    builder.listing(server.name(), names(&listed).filter(|name| server.handle.allows(name)))
}

fn with(builder: ToolsetBuilder, group: &Group) -> ToolsetBuilder {
    match &group.what {
        What::Server { server, tools, bound: None, caller } => builder.server_live(server, tools, caller.clone()),
        What::Server { server, tools, bound: Some(spec), caller } => {
            let names: BTreeSet<&str> = names(tools).collect();
            let bound: Vec<_> = spec.tools.iter().filter(|tool| names.contains(tool.name)).collect();
            let is_bound = |tool: &Value| bound.iter().any(|bound| wire_name(tool) == Some(bound.name));
            let others: Vec<Value> = tools.iter().filter(|tool| !is_bound(tool)).cloned().collect();
            builder.bound(spec, &bound, caller.clone()).server_live(server, &others, caller.clone())
        }
        What::Function(tool) => {
            let (schema, caller) = (tool.input_schema().clone(), tool.caller().clone());
            builder.runs(tool.group().into(), tool.name(), tool.description(), schema, caller)
        }
    }
}
