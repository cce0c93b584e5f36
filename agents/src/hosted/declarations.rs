//! The parts of a request, and the notes on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::Declaration;
use crate::{Provider, Toolset};

/// The servers of a request in a provider's words: what [`HostedServers::declarations`](super::HostedServers::declarations)
/// gives.
///
/// `tools` and `mcp_servers` hold the secrets of the servers, and are the only place that does: they go into the body of
/// one request. `Debug` shows neither.
///
/// They are one part of the request's tools. The other part are the definitions of the tools that the program calls itself,
/// and of those the provider must not be told twice: [`beside`](Self::beside) makes the set of them.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostedDeclarations {
    /// Whose words they are.
    pub provider: Provider,
    /// The entries for `tools` of the request.
    pub tools: Vec<Value>,
    /// The entries for `mcp_servers` of the request: Anthropic has URLs and tokens there. Empty for the others.
    pub mcp_servers: Vec<Value>,
    /// The value that the header `anthropic-beta` of the request has to contain.
    pub beta: Option<&'static str>,
    /// The names of the servers that are declared, sorted.
    pub hosted: Vec<String>,
    /// The servers, or some of their tools, that stay with the program's own client.
    pub not_hosted: Vec<NotHosted>,
    /// The promises that do not hold for the declared servers.
    pub notes: Vec<HostedNote>,
    /// By server, the tools that the provider may call; `None` for all that it has.
    calls: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl HostedDeclarations {
    pub(super) fn new(provider: Provider) -> Self {
        let (tools, mcp_servers, hosted, calls) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { provider, tools, mcp_servers, beta: None, hosted, not_hosted: Vec::new(), notes: Vec::new(), calls }
    }

    /// Returns the tools for the request beside these declarations: the set without the tools that the provider calls itself.
    /// Every server that
    /// [`not_hosted`](Self::not_hosted) leaves to the program's own client stays, as do other servers and functions, all under
    /// the names that they had; so a model that is given both knows each tool of the set once.
    ///
    /// The set has to hold the tools of hosted servers as those of any other, such as by
    /// [`ToolsetBuilder::live_all`](crate::ToolsetBuilder::live_all), which takes no notice of `hosted = true`: a tool that is not in the set
    /// is not in what this gives either, also where `not_hosted` names it. Servers go by their configured names. The other way
    /// round, what a set leaves out of a server the provider may call all the same, unless the servers were
    /// [limited to](crate::HostedServers::limited_to) the set.
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
    /// // Anthropic's connector asks nobody for approvals, so `merge` is called by the client of this program.
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
            Some(Some(called)) => called.contains(tool),
            Some(None) => true,
            None => false,
        })
    }

    pub(super) fn add(&mut self, declaration: Declaration) {
        let Declaration { server, tool, mcp_server, beta, calls, left, notes } = declaration;
        self.tools.push(tool);
        self.mcp_servers.extend(mcp_server);
        self.beta = self.beta.or(beta);
        if let Some((tools, Refusal { reason, message })) = left {
            self.not_hosted.push(NotHosted { server: server.clone(), tools: Some(tools), reason, message });
        }
        self.notes.extend(notes.into_iter().map(|(kind, message)| HostedNote {
            server: server.clone(),
            kind,
            message,
        }));
        self.calls.insert(server.clone(), calls);
        self.hosted.push(server);
    }

    pub(super) fn refuse(&mut self, server: &str, refusal: Refusal) {
        let Refusal { reason, message } = refusal;
        self.not_hosted.push(NotHosted { server: server.to_owned(), tools: None, reason, message });
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

/// A server that the provider is not told of, or some tools that are switched off there: the program's own client calls
/// them. `Display` says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotHosted {
    /// The server's configured name.
    pub server: String,
    /// The tools that it is about; `None` for all of them.
    pub tools: Option<Vec<String>>,
    /// Why.
    pub reason: NotHostedReason,
    /// Why, in words.
    pub message: String,
}

impl fmt::Display for NotHosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tools {
            None => write!(f, "{}: not hosted, use the program's own client: {}", self.server, self.message),
            Some(tools) => {
                let tools: Vec<String> =
                    tools.iter().map(|tool| format!("`{}`", mcp_bindgen_model::printable(tool))).collect();
                let (server, tools, message) = (&self.server, tools.join(", "), &self.message);
                write!(f, "{server}: {tools} not hosted, use the program's own client: {message}")
            }
        }
    }
}

/// Why a provider is not told of a server.
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
    /// The provider does not take one of its headers.
    Headers,
    /// The value of a placeholder is not there.
    Secrets,
    /// Which tools may be called cannot be said to the provider, or there is none.
    Tools,
    /// The provider asks nobody for approvals.
    Approval,
    /// The provider compares the server with nothing.
    Drift,
    /// The provider takes no such name.
    Name,
}

/// Why something is not handed over.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: NotHostedReason,
    pub(super) message: String,
}

impl NotHostedReason {
    pub(super) fn because(self, message: impl Into<String>) -> Refusal {
        Refusal { reason: self, message: message.into() }
    }
}

/// A promise that does not hold for a server that a provider calls. `Display` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostedNote {
    /// The server's configured name.
    pub server: String,
    /// The kind of the note.
    pub kind: HostedNoteKind,
    /// In words.
    pub message: String,
}

impl fmt::Display for HostedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.message)
    }
}

/// The kinds of promises that do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostedNoteKind {
    /// Nothing that this program has around its calls is around the provider's.
    NotGoverned,
    /// Approvals are asked for more often than the configuration says.
    MoreApprovals,
    /// The URL holds a secret.
    SecretInUrl,
    /// The URL is not https.
    NotEncrypted,
}
