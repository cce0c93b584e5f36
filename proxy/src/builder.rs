//! Builds proxies.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_bindgen_model::{Config, ServerConfig, is_server_name};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions};
use mcp_bindgen_schema::names::PrefixedNames;

use super::approval::{ApprovalStore, MemoryApprovalStore, Signer};
use super::error::{ProxyError, ProxyFault};
use super::joined::Wanted;
use super::upstream::{Calls, Upstream};
use super::{Proxy, Shared};
use mcp_bindgen_agents::NameStyle;
use mcp_bindgen_schema::names::{PROGRAM, SECTIONS};

/// Builds a [`Proxy`]. All problems are reported by [`build`](Self::build).
///
/// Tools are listed in the order in which servers are added, and those of one server by name.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct ProxyBuilder {
    pub(crate) upstreams: Vec<Upstream>,
    style: NameStyle,
    names: PrefixedNames,
    joined: Wanted,
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
    /// Adds a server with its configuration. `tools`, `exclude`, `approve`, `drift` and `isolation` apply to every
    /// call.
    pub fn server(self, config: ServerConfig) -> Self {
        self.with(Upstream::configured(config, |client| Arc::new(client)))
    }

    /// Adds a server with layers around each of its clients. There is a client for each session of the proxy, and one
    /// for all requests without a session. To share state between them, such as a cache or a limit, create it outside
    /// of the closure and clone it inside. Layers only apply to calls of tools, not to prompts, resources and
    /// completions.
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

    /// Adds a server that the program connects to itself, in the same process or through a socket. The closure is
    /// called whenever [`server_with`](Self::server_with) would create a client, with the options to use, through
    /// which the proxy's client receives the server's requests.
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

    /// Adds all servers of a configuration, with their names and its `[defaults]`. With `drift = "deny"`, tools are
    /// compared with the snapshots next to the file.
    pub fn configuration(mut self, config: &Config) -> Self {
        self.joined = Wanted::of(config);
        config.servers.values().fold(self, |builder, server| {
            let (config, server) = (config.clone(), server.clone());
            let name = server.name.clone();
            builder.connecting(&name, move |options| Client::of_config(&config, &server, options), |client| client)
        })
    }

    /// Adds a server with one connection for all clients of the proxy: a client, or layers around one. Use this for
    /// servers without state: clients of the proxy may see each other's data. Requests of the server are answered by
    /// the options of that client.
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

    /// Sets how tools and prompts are named; [`NameStyle::ServerTool`] by default, with the `prefix` of
    /// configurations. Names do not depend on which servers are running. A tool whose name begins with the longer
    /// prefix of another server gets a suffix, and so do all tools of servers that share a prefix or have none;
    /// [`names_from`](Self::names_from) avoids unnecessary suffixes. A name never changes its tool while the client
    /// that saw it is connected.
    pub fn names(mut self, style: NameStyle) -> Self {
        self.style = style;
        self
    }

    /// Names the tools as bindings of this configuration do, from its snapshots, and serves the tools of its `[tools]`
    /// instead of those that they stand for.
    pub fn names_from(mut self, config: &Config) -> Self {
        self.names = PrefixedNames::of_config(config);
        self.joined = Wanted::of(config);
        self
    }

    /// Sets the options of all clients that the proxy creates, such as timeouts and the source of secrets. The proxy
    /// sets capabilities and approvals itself. Options that answer requests of servers (`on_elicitation`,
    /// `on_sampling`, `roots`) are an error: the program would answer instead of the calling client.
    pub fn client_options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the store of used approvals; by default in memory. Instances with the same clients share a store and a
    /// [`key`](Self::key).
    pub fn approvals(mut self, store: impl ApprovalStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the key that signs the state that clients keep for the proxy during an approval: at least 32 random
    /// bytes, the same for all instances with the same clients. By default each proxy has a random one. A key
    /// requires [`approvals`](Self::approvals) in a shared and persistent store, because each approval may be used
    /// once.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(Key(key.into()));
        self
    }

    /// Sets the instructions for models (`instructions`); none by default. The servers' own instructions are not
    /// passed on, because that would start all of them.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Builds the proxy. It connects to servers on demand.
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
                (self.names, self.style, self.joined),
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
