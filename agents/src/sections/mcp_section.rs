//! A section that describes servers.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{join_all, select_all};
use mcp_bindgen_runtime::{Client, ConnectError, ConnectionState, ToolChanges};

use super::inventory::Inventory;
use super::section::{AnySection, Section};
use super::server::{Handle, SectionServer, failures};

/// A section that connects to servers and lists their tools: `### github`, then a bullet for each tool with the first
/// sentence of its description, up to 200 characters. Descriptions come from the server: they are printed as plain
/// text, never as headings, markup or templates.
///
/// It connects on the first call of a tool, or by [`connect`](Self::connect), and disconnects by
/// [`close`](Self::close). Before a server's tools are listed, its [snapshot](SectionServer::snapshot) is shown;
/// afterwards its own list. Clones share their connections.
///
/// ```no_run
/// use mcp_bindgen_agents::{McpSection, Prompt, PromptParams, PromptState};
/// use mcp_bindgen_model::ServerConfig;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mcp = McpSection::new([
///     ServerConfig::npm("github", "@modelcontextprotocol/server-github"),
///     ServerConfig::npm("filesystem", "@modelcontextprotocol/server-filesystem").args(["/workspace"]),
/// ]);
/// let prompt = Prompt::new().section(&mcp).build()?;
/// for error in mcp.connect().await {
///     eprintln!("{error}"); // the others serve
/// }
/// println!("{}", prompt.render(&PromptParams::new(), &PromptState::new())?.text());
/// mcp.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpSection {
    section: Section,
    servers: Arc<[SectionServer]>,
}

impl McpSection {
    /// Creates a section with key `mcp` and title "MCP Integrations" for configurations, clients or
    /// [`SectionServer`]s. Does not connect.
    pub fn new(servers: impl IntoIterator<Item = impl Into<SectionServer>>) -> Self {
        let servers: Arc<[SectionServer]> = servers.into_iter().map(Into::into).collect();
        let section = Section::new("mcp", "MCP Integrations");
        let mut section = servers.iter().cloned().fold(section, Section::server);
        section.parts.inventory = Some(Inventory { servers: servers.clone(), instructs: false });
        Self { section, servers }
    }

    /// Creates the section and connects. Also returns the errors of the servers that failed.
    pub async fn connected(servers: impl IntoIterator<Item = impl Into<SectionServer>>) -> (Self, Vec<ConnectError>) {
        let section = Self::new(servers);
        let failed = section.connect().await;
        (section, failed)
    }

    /// Sets the key.
    #[must_use]
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { section: self.section.key(key), ..self }
    }

    /// Sets the title.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { section: self.section.title(title), ..self }
    }

    /// Shows the instructions of the servers too, from their snapshots or last connections. They are quotations without
    /// markup, of up to 4,000 characters each. In templates they are `instructions_by_server`.
    #[must_use]
    pub fn with_instructions(mut self) -> Self {
        self.section.parts.inventory = Some(Inventory { servers: self.servers.clone(), instructs: true });
        self
    }

    /// Replaces the list of tools with a template. Its variables are `server_names` (comma-separated), `tool_count`,
    /// and `tools_by_server` (for each server's name its tools with `name` and `description`, as in the default
    /// list).
    ///
    /// ```
    /// use mcp_bindgen_agents::McpSection;
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let mcp = McpSection::new([ServerConfig::uvx("git", "mcp-server-git")])
    ///     .template("Use the {{ tool_count }} tools of {{ server_names }} to manage the repository.");
    /// # let _ = mcp;
    /// ```
    #[must_use]
    pub fn template(self, template: impl Into<String>) -> Self {
        Self { section: self.section.template(template), ..self }
    }

    /// Returns it as a [`Section`], to add policies, a summary or children.
    ///
    /// ```
    /// use mcp_bindgen_agents::{McpSection, Visibility};
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::middleware::Policy;
    ///
    /// let mcp = McpSection::new([ServerConfig::uvx("git", "mcp-server-git")]);
    /// let section = mcp
    ///     .section()
    ///     .policy(Policy::deny(["git_push"]))
    ///     .summary("Version control.")
    ///     .visibility(Visibility::Summary);
    /// # let _ = section;
    /// ```
    pub fn section(&self) -> Section {
        self.section.clone()
    }

    /// Connects to all servers concurrently and lists their tools. Returns the errors of those that failed; their
    /// last known tools stay.
    pub async fn connect(&self) -> Vec<ConnectError> {
        failures(self.handles().map(|handle| async move { handle.list().await })).await
    }

    /// Returns `true` if all servers are connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.clients().all(|client| client.is_connected())
    }

    /// Closes all connections, including those of clients that the program passed in, and waits for child processes
    /// to exit. The next call of a tool connects again.
    pub async fn close(&self) {
        join_all(self.clients().map(|client| async move { client.close().await })).await;
    }

    /// Watches the tool lists of the connected servers. Does not connect.
    #[must_use]
    pub fn changes(&self) -> InventoryChanges {
        let connected = |handle: Arc<Handle>| {
            let client = handle.client.as_ref().filter(|client| client.is_connected())?;
            let changes = client.tool_changes();
            Some((handle, changes))
        };
        InventoryChanges { watched: self.handles().filter_map(connected).collect() }
    }

    fn handles(&self) -> impl Iterator<Item = Arc<Handle>> {
        self.servers.iter().map(SectionServer::handle)
    }

    fn clients(&self) -> impl Iterator<Item = Client> {
        self.handles().filter_map(|handle| handle.client.clone())
    }
}

impl From<&McpSection> for AnySection {
    fn from(section: &McpSection) -> Self {
        section.section().into()
    }
}

impl From<McpSection> for AnySection {
    fn from(section: McpSection) -> Self {
        section.section().into()
    }
}

impl fmt::Debug for McpSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSection").field("section", &self.section).field("servers", &self.servers).finish()
    }
}

/// Follows changes of tool lists; returned by [`McpSection::changes`].
pub struct InventoryChanges {
    watched: Vec<(Arc<Handle>, ToolChanges)>,
}

impl InventoryChanges {
    /// Waits until a server reports a change of its tools, or is reconnected, and lists them. Render the prompt again
    /// afterwards. Returns the server's name. Never returns if no server is watched. This does not connect: a
    /// disconnected server is watched again once a call has connected to it.
    ///
    /// # Errors
    /// Fails if that server was lost and cannot be reached again, or gives no list.
    pub async fn changed(&mut self) -> Result<String, ConnectError> {
        if self.watched.is_empty() {
            return std::future::pending().await;
        }
        let waiting = self.watched.iter_mut().map(|(handle, changes)| {
            Box::pin(async move {
                connected(handle).await;
                let tools = changes.changed().await?;
                handle.note(tools);
                Ok(handle.name.clone())
            })
        });
        select_all(waiting).await.0
    }
}

/// Waits until a client of the server connects.
async fn connected(handle: &Handle) {
    let Some(client) = &handle.client else { return };
    let mut states = client.watch_state();
    while !matches!(states.current(), ConnectionState::Connected | ConnectionState::ShutDown) {
        if states.changed().await.is_none() {
            return;
        }
    }
}

impl fmt::Debug for InventoryChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<&str> = self.watched.iter().map(|(handle, _)| handle.name.as_str()).collect();
        f.debug_struct("InventoryChanges").field("servers", &servers).finish()
    }
}
