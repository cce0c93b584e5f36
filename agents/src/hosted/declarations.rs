//! What a request gets, and what is said beside it.

use std::fmt;

use serde_json::Value;

use super::Declaration;
use super::plan::Refusal;
use crate::Provider;

/// The servers of a request in a provider's words: what [`HostedServers::declarations`](super::HostedServers::declarations)
/// gives.
///
/// `tools` and `mcp_servers` hold the secrets of the servers, and are the only place that does: they go into the body of
/// one request. `Debug` shows neither.
#[derive(Clone)]
#[non_exhaustive]
pub struct HostedDeclarations {
    /// Whose words they are.
    pub provider: Provider,
    /// What is added to `tools` of the request.
    pub tools: Vec<Value>,
    /// What is added to `mcp_servers` of the request: Anthropic has URLs and tokens there. Empty for the others.
    pub mcp_servers: Vec<Value>,
    /// What the header `anthropic-beta` of the request has to name, beside what else is named there.
    pub beta: Option<&'static str>,
    /// The names of the servers that are declared, sorted.
    pub hosted: Vec<String>,
    /// The servers, or some of their tools, that stay with the program's own client.
    pub not_hosted: Vec<NotHosted>,
    /// What does not hold of the servers that are declared.
    pub notes: Vec<HostedNote>,
}

impl HostedDeclarations {
    pub(super) fn new(provider: Provider) -> Self {
        let (tools, mcp_servers, hosted) = (Vec::new(), Vec::new(), Vec::new());
        Self { provider, tools, mcp_servers, beta: None, hosted, not_hosted: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn add(&mut self, declaration: Declaration) {
        let Declaration { server, tool, mcp_server, beta, left, notes } = declaration;
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
            None => write!(f, "{}: left to the program's own client: {}", self.server, self.message),
            Some(tools) => {
                let tools: Vec<String> = tools.iter().map(|tool| format!("`{}`", mcp_model::printable(tool))).collect();
                let (server, tools, message) = (&self.server, tools.join(", "), &self.message);
                write!(f, "{server}: {tools} left to the program's own client: {message}")
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
    /// The provider cannot reach its URL, or refuses such URLs.
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

impl NotHostedReason {
    pub(super) fn because(self, message: impl Into<String>) -> Refusal {
        Refusal { reason: self, message: message.into() }
    }
}

/// What does not hold of a server that a provider calls. `Display` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostedNote {
    /// The server's configured name.
    pub server: String,
    /// What kind it is.
    pub kind: HostedNoteKind,
    /// In words.
    pub message: String,
}

impl fmt::Display for HostedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.message)
    }
}

/// What kind of thing does not hold.
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
