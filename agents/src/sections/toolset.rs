//! A rendered prompt as a set of tools.

use mcp_runtime::ConnectError;

use super::opening::{OPEN_SECTIONS, READ_SECTION};
use super::render::RenderedPrompt;
use super::tools::{Offered, OfferedTool};
use crate::toolset::{PROGRAM, SECTIONS, Toolset, ToolsetBuilder, ToolsetError};

impl RenderedPrompt {
    /// What is offered, as a set that models are told of and call through: servers' tools with the layers of their sections
    /// around, functions, and the tools that open sections. Servers whose tools nobody knows are connected and listed; those
    /// that cannot be are told of beside the set, and the others serve.
    ///
    /// The set of a later turn begins with the tools of an earlier one as long as only sections were opened in between, so
    /// that what a provider has cached of the list holds.
    ///
    /// ```
    /// use mcp_agents::{Prompt, PromptParams, PromptState, Provider, Section, SectionServer};
    /// use mcp_model::{ServerConfig, Snapshot};
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
    /// Where two of the tools are one.
    pub async fn toolset(&self) -> Result<(Toolset, Vec<ConnectError>), ToolsetError> {
        let Offered { tools, failed, .. } = self.offered().await;
        let toolset = tools.into_iter().fold(Toolset::builder(), with).build()?;
        Ok((toolset, failed))
    }
}

fn with(builder: ToolsetBuilder, tool: OfferedTool) -> ToolsetBuilder {
    match tool {
        OfferedTool::Live { server, tool, caller } => builder.server(&server, std::slice::from_ref(&tool), caller),
        OfferedTool::Bound { server, tool, caller } => builder.bound(server, &[tool], caller),
        OfferedTool::Function(tool) => {
            // Those two have names that no other tool has.
            let group = if [OPEN_SECTIONS, READ_SECTION].contains(&tool.name()) { SECTIONS } else { PROGRAM };
            builder.runs(group.into(), tool.name(), tool.description(), tool.input_schema().clone(), tool.runner())
        }
    }
}
