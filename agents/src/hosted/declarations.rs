//! The parts of a request, and the notes on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::{Provider, Toolset};

/// The hosted servers in the form that a provider's request takes; returned by
/// [`HostedServers::declarations`](super::HostedServers::declarations).
///
/// `tools` and `mcp_servers` contain the secrets of the servers. Put them into the body of one request, and nowhere
/// else. `Debug` omits both.
///
/// The request also needs the definitions of the tools that the program calls itself; [`beside`](Self::beside)
/// returns these.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostedDeclarations {
    /// The provider.
    pub provider: Provider,
    /// The entries for `tools` of the request.
    pub tools: Vec<Value>,
    /// The entries for `mcp_servers` of the request, where Anthropic expects URLs and tokens. Empty for other
    /// providers.
    pub mcp_servers: Vec<Value>,
    /// The value to include in the request's `anthropic-beta` header.
    pub beta: Option<&'static str>,
    /// The names of the declared servers, sorted.
    pub hosted: Vec<String>,
    /// The servers and tools that are not declared: the program calls them itself.
    pub not_hosted: Vec<NotHosted>,
    /// The configured protections that do not apply to calls by the provider.
    pub notes: Vec<HostedNote>,
    /// By server, the tools that the provider may call; `None` for all that it has.
    calls: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl HostedDeclarations {
    pub(super) fn new(provider: Provider) -> Self {
        let (tools, mcp_servers, hosted, calls) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { provider, tools, mcp_servers, beta: None, hosted, not_hosted: Vec::new(), notes: Vec::new(), calls }
    }

    /// Returns the tools that the program calls itself: the toolset without those that the provider calls. Names stay
    /// the same, so the model sees each tool once.
    ///
    /// The toolset must contain the tools of hosted servers, for example by
    /// [`ToolsetBuilder::live_all`](crate::ToolsetBuilder::live_all), which ignores `hosted = true`. A tool that is
    /// not in the toolset is not in the returned one either, even if [`not_hosted`](Self::not_hosted) names it.
    /// Servers are matched by their configured names. To stop the provider from calling tools that the toolset leaves
    /// out, use [`HostedServers::limited_to`](crate::HostedServers::limited_to).
    ///
    /// ```
    /// use mcp_bindgen_agents::{HostedServers, Provider, Toolset};
    /// use mcp_bindgen_model::{ServerConfig, Snapshot};
    /// use mcp_bindgen_runtime::{Client, LocalSecrets};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let known = Snapshot::parse(r#"{ "tools": [{ "name": "list" }, { "name": "merge" }] }"#)?;
    /// let tracker = ServerConfig::http("tracker", "https://mcp.example.com/mcp").approve(["merge"]).hosted();
    /// let toolset = Toolset::builder().server("tracker", &known.tools, Client::new(tracker.clone())).build()?;
    /// let servers = HostedServers::new().with(tracker).limited_to(&toolset);
    ///
    /// // Anthropic's connector cannot ask for approvals, so the client of this program calls `merge`.
    /// let declared = servers.declarations(Provider::Anthropic, &LocalSecrets).await;
    /// let own = declared.beside(&toolset);
    /// assert_eq!(own.names().collect::<Vec<_>>(), ["tracker_merge"]);
    /// let tools = [declared.tools, own.definitions(Provider::Anthropic).tools].concat(); // of the request
    /// assert_eq!(tools.len(), 2);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(run())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beside(&self, toolset: &Toolset) -> Toolset {
        toolset.without_servers_tools(|server, tool| match self.calls.get(server) {
            Some(called) => called.as_ref().is_none_or(|called| called.contains(tool)),
            None => false,
        })
    }

    /// Adds the declaration of a server, and the tools that the provider may call; `None` for all.
    pub(super) fn add(&mut self, server: &str, declaration: Value, calls: Option<BTreeSet<String>>) {
        self.tools.push(declaration);
        self.hosted.push(server.to_owned());
        self.calls.insert(server.to_owned(), calls);
    }

    /// Leaves a server, or some of its tools, to the program's own client.
    pub(super) fn refuse(&mut self, server: &str, tools: Option<Vec<String>>, refusal: NotHosted) {
        self.not_hosted.push(NotHosted { server: server.to_owned(), tools, ..refusal });
    }

    pub(super) fn note(&mut self, server: &str, kind: HostedNoteKind, message: impl Into<String>) {
        self.notes.push(HostedNote { server: server.to_owned(), kind, message: message.into() });
    }
}

impl fmt::Debug for HostedDeclarations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedDeclarations")
            .field("provider", &self.provider)
            .field("hosted", &self.hosted)
            .field("beta", &self.beta)
            .field("not_hosted", &self.not_hosted)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

/// A server that is not declared to the provider, or tools that are disabled there. The program calls them itself.
/// `Display` prints the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotHosted {
    /// The server's configured name.
    pub server: String,
    /// The tools concerned; `None` means all of them.
    pub tools: Option<Vec<String>>,
    /// The reason, for programs.
    pub reason: NotHostedReason,
    /// The reason, for people.
    pub message: String,
}

impl fmt::Display for NotHosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tools, message, .. } = self;
        let quoted = |tool: &String| format!("`{}`", mcp_bindgen_model::printable(tool));
        let tools = tools.as_ref().map(|tools| tools.iter().map(quoted).collect::<Vec<_>>().join(", ") + " ");
        let tools = tools.unwrap_or_default();
        write!(f, "{server}: {tools}not hosted, use the program's own client: {message}")
    }
}

/// The reasons why a server or tool is not declared to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotHostedReason {
    /// The provider's API has nothing that a server could be handed to.
    Provider,
    /// The configuration does not ask for it.
    NotAsked,
    /// It is a child process.
    Transport,
    /// The provider cannot reach its URL or refuses such URLs, or secrets would go there unencrypted.
    Address,
    /// The provider cannot reach it as its configuration demands: `ca`, `client_cert`, `proxy`, `auth`, `limit`.
    Network,
    /// The provider does not take one of its headers.
    Headers,
    /// The value of a placeholder is not there.
    Secrets,
    /// The provider cannot limit the allowed tools, or no tool is allowed.
    Tools,
    /// The provider cannot ask for approvals.
    Approval,
    /// The provider compares the server with nothing.
    Drift,
    /// The provider takes no such name.
    Name,
}

impl NotHostedReason {
    /// Creates the refusal of a server or tools that are named later.
    pub(super) fn because(self, message: impl Into<String>) -> NotHosted {
        NotHosted { server: String::new(), tools: None, reason: self, message: message.into() }
    }
}

/// A configured protection that does not apply to a server that the provider calls. `Display` prints the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostedNote {
    /// The server's configured name.
    pub server: String,
    /// The kind of the note.
    pub kind: HostedNoteKind,
    /// The note, for people.
    pub message: String,
}

impl fmt::Display for HostedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.message)
    }
}

/// The kinds of protections that do not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostedNoteKind {
    /// Nothing that this program has around its calls is around the provider's.
    NotGoverned,
    /// The provider asks for more approvals than the configuration requires.
    MoreApprovals,
    /// The URL holds a secret.
    SecretInUrl,
    /// The URL is not https.
    NotEncrypted,
}
