//! A server as a section declares it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mcp_bindgen_model::{ServerConfig, Snapshot, Transport, matches_globs};
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallTool, Client, ConnectError, DynCallTool, ServerSpec};
use mcp_bindgen_schema::names::PrefixedNames;
use serde_json::{Value, json};

use super::names::server_name_problem;
use crate::json::names as listed_names;
use crate::lock::locked;
use crate::toolset::names::{add_bound, add_server};

/// The stack around a server of a section; see [`Section::layers`](super::Section::layers).
pub type SectionStack = Stack<Arc<dyn DynCallTool>>;

/// For how long a server that could not be listed is not tried again by a prompt.
const FAILURE_HOLDS: Duration = Duration::from_secs(30);

pub(super) type Layering = Arc<dyn Fn(SectionStack) -> SectionStack + Send + Sync>;

/// A server that a section declares: how to reach it, its known tools, and which of them the section has.
///
/// Declaring a server does not connect. Clones are the same server with the same connection; so are, within one
/// prompt, equal configurations, clones of one [`Client`], and clones of one `Arc<dyn DynCallTool>`. Other services
/// cannot be compared: to use one in several sections, clone the `SectionServer`.
///
/// ```
/// use mcp_bindgen_agents::SectionServer;
/// use mcp_bindgen_model::{ServerConfig, Snapshot};
///
/// let known = Snapshot::parse(r#"{ "tools": [{ "name": "list_issues", "inputSchema": { "type": "object" } }] }"#)?;
/// let server = SectionServer::from(ServerConfig::npm("github", "@modelcontextprotocol/server-github"))
///     .snapshot(known)
///     .only(["list_*", "get_*"]);
/// assert_eq!(server.name(), "github");
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone)]
pub struct SectionServer {
    handle: Arc<Handle>,
    only: Option<Arc<[String]>>,
}

impl SectionServer {
    /// Creates a server from bindings, called through a [`Client`], layers around one, or a fake. Its tools are those
    /// of the bindings.
    pub fn bound(spec: &'static ServerSpec, caller: impl CallTool + 'static) -> Self {
        Self::of(Handle { bound: Some(spec), ..Handle::calling(spec.name.to_owned(), caller) })
    }

    /// Creates a server with this name from any service that calls tools. Its tools are those of the
    /// [`snapshot`](Self::snapshot), which is required.
    pub fn caller(name: impl Into<String>, caller: impl CallTool + 'static) -> Self {
        Self::of(Handle::calling(name.into(), caller))
    }

    fn of(handle: Handle) -> Self {
        Self { handle: Arc::new(handle), only: None }
    }

    /// Sets the server's snapshot, whose tools are known without connecting. Once the tools have been listed, by
    /// [`McpSection::connect`](super::McpSection::connect) or
    /// [`RenderedPrompt::refresh`](super::RenderedPrompt::refresh), that list replaces it. With bindings, the
    /// snapshot determines the tools, and those that are bound are called as such.
    #[must_use]
    pub fn snapshot(self, snapshot: Snapshot) -> Self {
        let known = Known { snapshot: Some(Arc::new(snapshot)), ..Known::default() };
        let own = Handle::clone(&self.handle());
        let handle = Handle { known: Arc::new(Mutex::new(known)), root: OnceLock::new(), ..own };
        Self { only: self.only, ..Self::of(handle) }
    }

    /// Limits the section to the tools that match one of these globs. Other sections may have others of the same
    /// server.
    #[must_use]
    pub fn only(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only = Some(globs.into_iter().map(Into::into).collect());
        self
    }

    /// Returns the server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    /// Returns the shared handle, which an equal earlier declaration may own.
    pub(super) fn handle(&self) -> Arc<Handle> {
        Handle::root(&self.handle)
    }

    /// Applies the same selection to another handle.
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
        let handle = Handle::calling(config.name.clone(), client.clone());
        Self::of(Handle { config: Some(config), client: Some(client), ..handle })
    }
}

/// The program's own client, with whatever options it has.
impl From<Client> for SectionServer {
    fn from(client: Client) -> Self {
        let handle = Handle::calling(client.name().to_owned(), client.clone());
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

/// A server that several sections may share.
#[derive(Clone)]
pub(super) struct Handle {
    pub(super) name: String,
    /// The configuration, if this handle owns the connection.
    pub(super) config: Option<ServerConfig>,
    pub(super) client: Option<Client>,
    pub(super) caller: Arc<dyn DynCallTool>,
    /// The client that is the caller itself, without layers around.
    identity: Option<Client>,
    /// `true` if an equal one would be known as such.
    pub(super) can_be_compared: bool,
    pub(super) bound: Option<&'static ServerSpec>,
    known: Arc<Mutex<Known>>,
    /// The equal one that serves in its place.
    root: OnceLock<Arc<Handle>>,
}

/// The knowledge of a server so far.
#[derive(Clone, Default)]
struct Known {
    snapshot: Option<Arc<Snapshot>>,
    /// The tools that it listed.
    live: Option<Arc<[Value]>>,
    /// Its instructions at its last connection.
    instructions: Option<String>,
    failed: Option<(Instant, ConnectError)>,
}

impl Handle {
    fn calling(name: String, caller: impl CallTool + 'static) -> Self {
        let any: &dyn Any = &caller;
        let client = any.downcast_ref::<Client>().or_else(|| any.downcast_ref::<Arc<Client>>().map(|client| &**client));
        let shared = any.downcast_ref::<Arc<dyn DynCallTool>>().cloned();
        Self {
            name,
            config: None,
            client: None,
            can_be_compared: client.is_some() || shared.is_some(),
            identity: client.cloned(),
            caller: shared.unwrap_or_else(|| Arc::new(caller)),
            bound: None,
            known: Arc::default(),
            root: OnceLock::new(),
        }
    }

    fn root(self: &Arc<Self>) -> Arc<Self> {
        let mut handle = self;
        while let Some(next) = handle.root.get() {
            handle = next;
        }
        handle.clone()
    }

    /// Makes one server of two that are equal: of the first, unless the other is in use already.
    pub(super) fn unite(one: &Arc<Self>, other: &Arc<Self>) {
        // Two prompts that are built at once would make a circle.
        static UNITING: Mutex<()> = Mutex::new(());
        let _alone = locked(&UNITING);
        let (one, other) = (one.root(), other.root());
        if Arc::ptr_eq(&one, &other) {
            return;
        }
        let (stays, goes) = if other.is_in_use() && !one.is_in_use() { (other, one) } else { (one, other) };
        stays.learn(&goes);
        // If both are in use, each keeps its own connection, so that its owner can close it.
        if !goes.is_in_use() || goes.shares_connection(&stays) {
            goes.root.get_or_init(|| stays);
        }
    }

    /// Copies the knowledge of an equal handle.
    pub(super) fn learn(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        let Known { snapshot, live, .. } = locked(&other.known).clone();
        let mut own = locked(&self.known);
        own.snapshot = own.snapshot.take().or(snapshot);
        own.live = own.live.take().or(live);
    }

    fn is_in_use(&self) -> bool {
        self.client.as_ref().is_some_and(Client::is_connected)
    }

    fn shares_connection(&self, other: &Self) -> bool {
        let identities = self.identity.as_ref().zip(other.identity.as_ref());
        Arc::ptr_eq(&self.caller, &other.caller) || identities.is_some_and(|(one, other)| one.is_same(other))
    }

    /// Returns its tools as far as they are known: the live list, else that of the snapshot, else those of bindings in
    /// the form of a list.
    pub(super) fn listed(&self) -> Option<Vec<Value>> {
        let Known { live, snapshot, .. } = locked(&self.known).clone();
        let known = live.map(|live| live.to_vec()).or_else(|| snapshot.map(|snapshot| snapshot.tools.clone()));
        known.or_else(|| Some(self.bound?.tools.iter().map(|tool| json!({ "name": tool.name })).collect()))
    }

    /// Lists the tools again, and connects if necessary.
    pub(super) async fn list(&self) -> Result<(), ConnectError> {
        let Some(client) = &self.client else { return Ok(()) };
        let listing = async {
            client.connect().await?;
            let instructions = client.declared().await?.instructions;
            locked(&self.known).instructions = instructions;
            client.list_tools_raw().await
        };
        let outcome = listing.await;
        let mut known = locked(&self.known);
        known.failed = outcome.as_ref().err().map(|error| (Instant::now(), error.clone()));
        known.live = Some(outcome?.into());
        Ok(())
    }

    /// Lists the tools, unless that failed a moment ago: a dead server must not delay every turn.
    pub(super) async fn list_unless_failing(&self) -> Result<(), ConnectError> {
        let failed = locked(&self.known).failed.clone().filter(|(since, _)| since.elapsed() < FAILURE_HOLDS);
        match failed {
            Some((_, error)) => Err(error),
            None => self.list().await,
        }
    }

    /// Returns the server's instructions, from its last connection or its snapshot.
    pub(super) fn instructions(&self) -> Option<String> {
        let Known { instructions, snapshot, .. } = locked(&self.known).clone();
        instructions.or_else(|| snapshot?.instructions.clone())
    }

    pub(super) fn note(&self, tools: Vec<Value>) {
        locked(&self.known).live = Some(tools.into());
    }

    /// Returns the reason why a section must not have the server, if any.
    pub(super) fn problem(&self, reserved: &[String]) -> Option<String> {
        let can_be_listed = self.client.is_some() || self.listed().is_some();
        let nobody_knows = || {
            let name = mcp_bindgen_model::printable(&self.name);
            format!("the tools of `{name}` are unknown; add a snapshot with `SectionServer::snapshot`")
        };
        server_name_problem(&self.name, reserved).or_else(|| (!can_be_listed).then(nobody_knows))
    }

    /// Returns `true` if the configuration lets a tool be used.
    pub(super) fn allows(&self, tool: &str) -> bool {
        self.configured().is_none_or(|config| config.selects(tool))
    }

    pub(super) fn configured(&self) -> Option<&ServerConfig> {
        self.config.as_ref().or_else(|| self.client.as_ref().map(Client::config))
    }

    /// Adds the sources of its tool names: configuration, bindings and snapshot, but never the current list.
    pub(super) fn add_to(&self, names: &mut PrefixedNames) {
        add_server(names, &self.name, Client::behind(&self.caller).as_ref().map(Client::config));
        if let Some(spec) = self.bound {
            add_bound(names, spec);
        }
        let known = locked(&self.known).snapshot.clone();
        let tools = known.iter().flat_map(|known| listed_names(&known.tools));
        names.add_snapshot(&self.name, tools.filter(|tool| self.allows(tool)));
    }

    /// Describes the difference between two servers without secrets, or returns `None` if they are equal.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        let bound = |handle: &Self| handle.bound.map(std::ptr::from_ref);
        match (&self.config, &other.config) {
            _ if std::ptr::eq(self, other) => None,
            _ if bound(self) != bound(other) => Some("with other bindings"),
            _ if self.shares_connection(other) => None,
            (Some(one), Some(other)) if one == other => None,
            (Some(one), Some(other)) => Some(in_words(&one.transport, &other.transport)),
            _ => Some("with another caller"),
        }
    }
}

fn in_words(one: &Transport, other: &Transport) -> &'static str {
    use Transport::{Http, Sse, Stdio};
    match (one, other) {
        (Stdio { command: one, .. }, Stdio { command: other, .. }) if one != other => "with another command",
        (Stdio { args: one, .. }, Stdio { args: other, .. }) if one != other => "with other arguments",
        (Http { url: one, .. }, Http { url: other, .. }) | (Sse { url: one, .. }, Sse { url: other, .. })
            if one != other =>
        {
            "at another URL"
        }
        (one, other) if std::mem::discriminant(one) != std::mem::discriminant(other) => "over another transport",
        _ => "with another configuration",
    }
}

/// Returns `true` if one of these globs matches a tool; without globs all tools match.
pub(super) fn selects(only: Option<&Arc<[String]>>, tool: &str) -> bool {
    only.is_none_or(|globs| matches_globs(globs, tool))
}

/// Waits until servers are listed, all at once, and returns the errors.
pub(super) async fn failures(
    listing: impl Iterator<Item = impl Future<Output = Result<(), ConnectError>>>,
) -> Vec<ConnectError> {
    join_all(listing).await.into_iter().filter_map(Result::err).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_of_two_servers_is_described_without_secrets() {
        let server = |command: &str, arg: &str| SectionServer::from(ServerConfig::stdio("s", command).args([arg]));
        let difference = |one: SectionServer, other: SectionServer| one.handle.difference(&other.handle);
        assert_eq!(difference(server("a", "1"), server("a", "1")), None);
        assert_eq!(difference(server("a", "1"), server("b", "1")), Some("with another command"));
        let secret = difference(server("a", "--token=hunter2"), server("a", "2")).unwrap_or_default();
        assert_eq!(secret, "with other arguments");
        let client = SectionServer::from(Client::new(ServerConfig::stdio("s", "a")));
        assert_eq!(difference(client.clone(), client.clone().only(["x"])), None);
        assert!(difference(client, server("a", "1")).is_some());
        let client = Client::new(ServerConfig::stdio("s", "a"));
        let shared = SectionServer::caller("s", Arc::new(client.clone()));
        assert_eq!(difference(shared, SectionServer::caller("s", client)), None);
    }

    #[test]
    fn clones_keep_their_own_snapshots() {
        let snapshot = |tool: &str| Snapshot { tools: vec![json!({ "name": tool })], ..Snapshot::default() };
        let server = SectionServer::from(ServerConfig::stdio("s", "a"));
        let [one, other] = ["one", "other"].map(|tool| server.clone().snapshot(snapshot(tool)));
        assert_eq!(server.handle.listed(), None);
        assert_eq!(one.handle.listed(), Some(snapshot("one").tools));
        assert_eq!(other.handle.listed(), Some(snapshot("other").tools));
        assert_eq!(one.handle.difference(&other.handle), None);
    }
}
