//! A server as a section declares it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_model::{ServerConfig, Snapshot, Transport, matches_glob};
use mcp_runtime::middleware::Stack;
use mcp_runtime::{CallTool, Client, ConnectError, DynCallTool, ServerSpec};
use serde_json::Value;

use super::names::server_name_problem;

/// A stack around a server of a section, whatever that is; see [`Section::layers`](super::Section::layers).
pub type SectionStack = Stack<Arc<dyn DynCallTool>>;

pub(super) type Layering = Arc<dyn Fn(SectionStack) -> SectionStack + Send + Sync>;

/// A server that a section declares: how it is reached, what is known of its tools, and which of them are the section's.
///
/// Nothing is started by declaring it. A clone is the same server with the same connection.
///
/// ```
/// use mcp_agents::SectionServer;
/// use mcp_model::{ServerConfig, Snapshot};
///
/// let known = Snapshot::parse(r#"{ "tools": [{ "name": "list_issues", "inputSchema": { "type": "object" } }] }"#)?;
/// let server = SectionServer::from(ServerConfig::npm("github", "@modelcontextprotocol/server-github"))
///     .snapshot(known)
///     .only(["list_*", "get_*"]);
/// assert_eq!(server.name(), "github");
/// # Ok::<(), mcp_model::FileError>(())
/// ```
#[derive(Clone)]
pub struct SectionServer {
    handle: Arc<Handle>,
    only: Option<Arc<[String]>>,
}

impl SectionServer {
    /// A server with bindings, called by a [`Client`], by layers around one, or by a fake. Its tools are those that were bound.
    pub fn bound(spec: &'static ServerSpec, caller: impl CallTool + 'static) -> Self {
        Self::of(Handle { bound: Some(spec), ..Handle::new(spec.name.to_owned(), Arc::new(caller)) })
    }

    /// Whatever calls tools, under this name. What it can do says a [`snapshot`](Self::snapshot), which it needs.
    pub fn caller(name: impl Into<String>, caller: impl CallTool + 'static) -> Self {
        Self::of(Handle::new(name.into(), Arc::new(caller)))
    }

    fn of(handle: Handle) -> Self {
        Self { handle: Arc::new(handle), only: None }
    }

    /// What the server offered when the snapshot was taken: so its tools are known before it is reached. Once it was listed,
    /// what it says then holds.
    #[must_use]
    pub fn snapshot(self, snapshot: Snapshot) -> Self {
        let Handle { name, config, client, caller, bound, .. } = &*self.handle;
        let (config, client, bound) = (config.clone(), client.clone(), *bound);
        let known = Some(Arc::new(snapshot));
        let handle = Handle { config, client, bound, known, ..Handle::new(name.clone(), caller.clone()) };
        Self { only: self.only, ..Self::of(handle) }
    }

    /// Only the tools that one of these globs names are of the section; other sections may add others of the same server.
    #[must_use]
    pub fn only(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only = Some(globs.into_iter().map(Into::into).collect());
        self
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    pub(super) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// The same selection of another handle.
    pub(super) fn by(self, handle: Arc<Handle>) -> Self {
        Self { handle, ..self }
    }

    pub(super) fn selection(&self) -> Option<&Arc<[String]>> {
        self.only.as_ref()
    }
}

/// Connects when it is first used.
impl From<ServerConfig> for SectionServer {
    fn from(config: ServerConfig) -> Self {
        let client = Client::new(config.clone());
        let handle = Handle::new(config.name.clone(), Arc::new(client.clone()));
        Self::of(Handle { config: Some(config), client: Some(client), ..handle })
    }
}

/// The program's own client, with whatever options it has.
impl From<Client> for SectionServer {
    fn from(client: Client) -> Self {
        let handle = Handle::new(client.name().to_owned(), Arc::new(client.clone()));
        Self::of(Handle { client: Some(client), ..handle })
    }
}

impl fmt::Debug for SectionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SectionServer")
            .field("name", &self.handle.name)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}

/// One server, whoever declares it.
pub(super) struct Handle {
    pub(super) name: String,
    /// Where the connection is ours: made of a configuration.
    pub(super) config: Option<ServerConfig>,
    pub(super) client: Option<Client>,
    caller: Arc<dyn DynCallTool>,
    pub(super) bound: Option<&'static ServerSpec>,
    known: Option<Arc<Snapshot>>,
    live: Mutex<Option<Arc<[Value]>>>,
}

impl Handle {
    fn new(name: String, caller: Arc<dyn DynCallTool>) -> Self {
        Self { name, caller, config: None, client: None, bound: None, known: None, live: Mutex::default() }
    }

    pub(super) fn caller(&self) -> Arc<dyn DynCallTool> {
        self.caller.clone()
    }

    /// Its tools as far as they are known: the live list, else that of the snapshot.
    pub(super) fn tools(&self) -> Option<Arc<[Value]>> {
        let live = locked(&self.live).clone();
        live.or_else(|| self.known.as_ref().map(|snapshot| Arc::from(snapshot.tools.as_slice())))
    }

    /// Lists the tools anew; connects where there is no connection.
    pub(super) async fn list(&self) -> Result<(), ConnectError> {
        if let Some(client) = &self.client {
            let tools = client.list_tools_raw().await?;
            self.note(tools);
        }
        Ok(())
    }

    pub(super) fn note(&self, tools: Vec<Value>) {
        *locked(&self.live) = Some(tools.into());
    }

    /// Why a section may not have it.
    pub(super) fn problem(&self, reserved: &[String]) -> Option<String> {
        let can_be_listed = self.client.is_some() || self.known.is_some() || self.bound.is_some();
        let nobody_knows = || {
            let name = mcp_model::printable(&self.name);
            format!("nobody knows the tools of `{name}`; give it a snapshot with `SectionServer::snapshot`")
        };
        server_name_problem(&self.name, reserved).or_else(|| (!can_be_listed).then(nobody_knows))
    }

    /// Whether the configuration lets a tool be used.
    pub(super) fn allows(&self, tool: &str) -> bool {
        let config = self.config.as_ref().or_else(|| self.client.as_ref().map(Client::config));
        config.is_none_or(|config| config.selects(tool))
    }

    /// How the other differs, in words that show no secret; `None` where both are the same server.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let is_one = std::ptr::eq(self, other) || Arc::ptr_eq(&self.caller, &other.caller);
        match (&self.config, &other.config) {
            _ if is_one => None,
            (Some(one), Some(other)) if one == other => None,
            (Some(one), Some(other)) => Some(in_words(&one.transport, &other.transport).to_owned()),
            _ => Some("called by something else".to_owned()),
        }
    }
}

fn in_words(one: &Transport, other: &Transport) -> &'static str {
    match (one, other) {
        (Transport::Stdio { command: one, .. }, Transport::Stdio { command: other, .. }) if one != other => {
            "with another command"
        }
        (Transport::Stdio { args: one, .. }, Transport::Stdio { args: other, .. }) if one != other => {
            "with other arguments"
        }
        (
            Transport::Http { url: one, .. } | Transport::Sse { url: one, .. },
            Transport::Http { url: other, .. } | Transport::Sse { url: other, .. },
        ) if one != other => "at another URL",
        (one, other) if std::mem::discriminant(one) != std::mem::discriminant(other) => "over another transport",
        _ => "with another configuration",
    }
}

/// Whether one of these globs names a tool; all do where there are none.
pub(super) fn selects(only: Option<&Arc<[String]>>, tool: &str) -> bool {
    only.is_none_or(|globs| globs.iter().any(|glob| matches_glob(glob, tool)))
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_declarations_of_one_server_differ_in_words_without_secrets() {
        let server = |command: &str, arg: &str| SectionServer::from(ServerConfig::stdio("s", command).args([arg]));
        let difference = |one: SectionServer, other: SectionServer| one.handle.difference(&other.handle);
        assert_eq!(difference(server("a", "1"), server("a", "1")), None);
        assert_eq!(difference(server("a", "1"), server("b", "1")).as_deref(), Some("with another command"));
        let secret = difference(server("a", "--token=hunter2"), server("a", "2")).unwrap_or_default();
        assert_eq!(secret, "with other arguments");
        let client = SectionServer::from(Client::new(ServerConfig::stdio("s", "a")));
        assert_eq!(difference(client.clone(), client.clone().only(["x"])), None);
        assert!(difference(client, server("a", "1")).is_some());
    }
}
