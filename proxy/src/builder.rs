//! How a proxy comes to be.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_bindgen_model::{Config, ServerConfig, is_server_name};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions};
use mcp_bindgen_schema::names::PrefixedNames;

use super::approval::{ApprovalStore, MemoryApprovalStore, Signer};
use super::error::{ProxyError, ProxyFault};
use super::upstream::{Calls, Upstream};
use super::{Proxy, Shared};
use mcp_bindgen_agents::NameStyle;
use mcp_bindgen_schema::names::{PROGRAM, SECTIONS};

/// Puts a [`Proxy`] together. What is wrong is said by [`build`](Self::build), all of it at once.
///
/// Tools are listed in the order in which servers are added, those of one server by name.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct ProxyBuilder {
    pub(crate) upstreams: Vec<Upstream>,
    style: NameStyle,
    names: PrefixedNames,
    options: ClientOptions,
    store: Option<Arc<dyn ApprovalStore>>,
    key: Option<Key>,
    instructions: Option<String>,
    faults: Vec<ProxyFault>,
}

/// A key, which nobody is shown.
struct Key(Vec<u8>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl ProxyBuilder {
    /// Adds a server by its configuration, all of whose demands hold for every call: `tools`, `exclude`, `approve`, `drift`,
    /// `isolation`.
    pub fn server(self, config: ServerConfig) -> Self {
        self.with(Upstream::configured(config, |client| Arc::new(client)))
    }

    /// Adds a server with layers around each client that is made for it: one for each client of the proxy that has a session,
    /// one for all that have none. What the layers are to remember for all of them, a cache or a limit, is made outside of the
    /// function, and cloned into each. Layers are around calls of tools alone: prompts, resources and completions are passed on
    /// past them.
    ///
    /// ```
    /// use mcp_bindgen_proxy::{Proxy, ask_client};
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::middleware::{Approval, Policy, Stack};
    ///
    /// let proxy = Proxy::builder()
    ///     .server_with(ServerConfig::stdio("files", "my-mcp-server"), |client| {
    ///         Stack::new(client).policy(Policy::deny(["delete_*"])).approval(Approval::of(["write_*"], ask_client))
    ///     })
    ///     .build()?;
    /// # drop(proxy);
    /// # Ok::<(), mcp_bindgen_proxy::ProxyError>(())
    /// ```
    pub fn server_with<C: CallTool + 'static>(
        self,
        config: ServerConfig,
        layers: impl Fn(Client) -> C + Send + Sync + 'static,
    ) -> Self {
        self.with(Upstream::configured(config, move |client| -> Calls { Arc::new(layers(client)) }))
    }

    /// Adds a server that the program reaches itself, in the same process or behind a socket: it is asked for a client as often
    /// as [`server_with`](Self::server_with) makes one, and gives it the options that it gets, by which the client of the proxy
    /// is asked.
    ///
    /// ```
    /// # fn serve(far: tokio::io::DuplexStream) {}
    /// use mcp_bindgen_proxy::Proxy;
    /// use mcp_bindgen_runtime::Client;
    ///
    /// let proxy = Proxy::builder()
    ///     .connecting(
    ///         "notes",
    ///         |options| {
    ///             let (near, far) = tokio::io::duplex(64 * 1024);
    ///             serve(far); // begins a task that serves it
    ///             let (read, write) = tokio::io::split(near);
    ///             Client::over_with_options("notes", read, write, options)
    ///         },
    ///         |client| client,
    ///     )
    ///     .build()?;
    /// # drop(proxy);
    /// # Ok::<(), mcp_bindgen_proxy::ProxyError>(())
    /// ```
    pub fn connecting<C: CallTool + 'static>(
        self,
        name: &str,
        connect: impl Fn(ClientOptions) -> Client + Send + Sync + 'static,
        layers: impl Fn(Client) -> C + Send + Sync + 'static,
    ) -> Self {
        self.with(Upstream::connected(name, connect, move |client| -> Calls { Arc::new(layers(client)) }))
    }

    /// Adds all servers of a configuration, by their names and with its `[defaults]`. Where `drift = "deny"` holds, tools are compared
    /// with the snapshots beside the file.
    pub fn configuration(self, config: &Config) -> Self {
        config.servers.values().fold(self, |builder, server| {
            let (config, server) = (config.clone(), server.clone());
            let name = server.name.clone();
            builder.connecting(&name, move |options| Client::of_config(&config, &server, options), |client| client)
        })
    }

    /// Adds a server whose one connection is for all clients of the proxy: a client, or layers around one. What its server asks,
    /// whoever made the client answers, and whatever it remembers of one client of the proxy, others may see: it is for servers
    /// that keep nothing.
    pub fn shared(mut self, calls: impl CallTool + 'static) -> Self {
        match Client::behind(&calls) {
            Some(client) => self.with(Upstream::shared(client, Arc::new(calls))),
            None => {
                self.faults.push(ProxyFault::NothingToList);
                self
            }
        }
    }

    fn with(mut self, upstream: Upstream) -> Self {
        self.upstreams.push(upstream);
        self
    }

    /// How tools and prompts are called; [`NameStyle::ServerTool`] by default, with the `prefix` of configurations. A name never
    /// depends on which servers are up. A tool that begins with the longer prefix of another server has a suffix; where two
    /// servers share a prefix, or have none, so have all their tools. [`names_from`](Self::names_from) leaves it to those that
    /// need one. A name that was given is, as long as its client is connected, no other tool's.
    pub fn names(mut self, style: NameStyle) -> Self {
        self.style = style;
        self
    }

    /// Names the tools as bindings of this configuration do: what a snapshot lists has the name that it has in bindings. It
    /// reads the snapshots.
    pub fn names_from(mut self, config: &Config) -> Self {
        self.names = PrefixedNames::of_config(config);
        self
    }

    /// Options of all clients that are made: timeouts, where secrets come from. What a client of the proxy declares, and who
    /// approves calls, the proxy sets itself. Options that answer what servers ask (`on_elicitation`, `on_sampling`, `roots`)
    /// are refused: the program would answer for whoever calls.
    pub fn client_options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// Where it is kept which approvals were used; by default in memory. Instances that serve the same clients side by side
    /// share a store, and a [`key`](Self::key).
    pub fn approvals(mut self, store: impl ApprovalStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// The key that signs what clients keep for the proxy while a person is asked: 32 random bytes at least, the same for all
    /// instances that serve the same clients. By default each proxy has a random one. A key needs a store of
    /// [`approvals`](Self::approvals) that these instances share and that outlives them: each approval is used once.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(Key(key.into()));
        self
    }

    /// Sets the description of the servers as a whole for models (`instructions`). By default there is none: to pass on servers'
    /// descriptions of themselves, all of them would have to be started first.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// The proxy, which reaches no server before it is asked for something.
    ///
    /// # Errors
    /// Everything that is wrong: no servers, two of one name, names that servers cannot have, a key that is too short or has no store.
    pub fn build(mut self) -> Result<Proxy, ProxyError> {
        let mut faults = std::mem::take(&mut self.faults);
        if self.upstreams.is_empty() && faults.is_empty() {
            faults.push(ProxyFault::NoServers);
        }
        let mut seen = BTreeSet::new();
        for name in self.upstreams.iter().map(|upstream| &*upstream.name) {
            let named = || name.to_owned();
            if !seen.insert(name) {
                faults.push(ProxyFault::Repeated { name: named() });
            } else if [PROGRAM, SECTIONS].contains(&name) {
                faults.push(ProxyFault::Reserved { name: named() });
            } else if !is_server_name(name) {
                faults.push(ProxyFault::Name { name: named() });
            }
        }
        if answers(&self.options) {
            faults.push(ProxyFault::Answers);
        }
        if self.key.is_some() && self.store.is_none() {
            faults.push(ProxyFault::KeyWithoutStore);
        }
        let signer = Signer::new(self.key.map(|key| key.0)).map_err(|fault| faults.push(fault)).ok();
        match signer {
            Some(signer) if faults.is_empty() => Ok(Proxy::of(Shared::new(
                self.upstreams,
                (self.names, self.style),
                self.options,
                signer,
                self.store.unwrap_or_else(|| Arc::new(MemoryApprovalStore::default())),
                self.instructions,
            ))),
            _ => Err(ProxyError::new(faults)),
        }
    }
}

/// Returns `true` if options answer what servers ask. They say so where they are shown, and nowhere else.
fn answers(options: &ClientOptions) -> bool {
    let shown = format!("{options:?}");
    ["on_elicitation: true", "on_sampling: true", ", roots: true"].iter().any(|handler| shown.contains(handler))
}
