//! Builds proxies, also of toolsets.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_agents::{NameStyle, Toolset};
use mcp_bindgen_model::{Access, Config, Prefix, ServerConfig, Snapshot, is_server_name};
use mcp_bindgen_runtime::__private::rpc::{Boxed, OpenLimits, Question, Respond, Session, serve, with_client};
use mcp_bindgen_runtime::{CallError, CallTool, Client, ClientOptions, ToolCall, ToolReply, ToolResult};
use mcp_bindgen_schema::names::{PROGRAM, PrefixedNames, SECTIONS};
use ring::hmac;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio_util::sync::CancellationToken;

use super::approval::{ApprovalStore, MemoryApprovalStore, Signer};
use super::downstream::is_asking;
use super::error::{ProxyError, ProxyFault};
use super::record::{CallLog, Records};
#[cfg(feature = "redis")]
use super::redis::RedisState;
use super::setup::{Made, Setup, Upstream, Wanted};
use super::{Proxy, Shared};

/// The size of the pipe to a toolset.
const ROOM: usize = 64 * 1024;

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
    keys: Vec<Result<hmac::Key, ProxyFault>>,
    instructions: Option<String>,
    access: Option<Access>,
    log: Option<CallLog>,
    #[cfg(feature = "redis")]
    redis: Option<RedisState>,
    faults: Vec<ProxyFault>,
}

/// Makes clients, with layers around each of them.
fn making<C: CallTool + 'static>(
    connect: impl Fn(ClientOptions) -> Client,
    layers: impl Fn(Client) -> C,
) -> impl Fn(ClientOptions) -> Made {
    move |options| {
        let client = connect(options);
        (client.clone(), Arc::new(layers(client)))
    }
}

impl ProxyBuilder {
    /// Adds a server with its configuration. `tools`, `exclude`, `approve`, `drift` and `isolation` apply to every
    /// call. With `shared`, all clients of the proxy share one connection.
    pub fn server(self, config: ServerConfig) -> Self {
        self.server_with(config, |client| client)
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
        let own = config.clone();
        self.server_connecting(&config, None, move |options| Client::with_options(own.clone(), options), layers)
    }

    /// Adds a server with its configuration, whose clients the program creates with the options to use:
    /// [`Client::of_config`], for example. Otherwise like [`server_with`](Self::server_with). By the configuration and the
    /// snapshot, if it has one, [`Proxy::reload`] recognizes a server that has not changed.
    pub fn server_connecting<C: CallTool + 'static>(
        self,
        config: &ServerConfig,
        snapshot: Option<&Snapshot>,
        connect: impl Fn(ClientOptions) -> Client + Send + Sync + 'static,
        layers: impl Fn(Client) -> C + Send + Sync + 'static,
    ) -> Self {
        self.with(Upstream::configured((config, snapshot), making(connect, layers)))
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
        self.with(Upstream::connected(name, making(connect, layers)))
    }

    /// Adds a toolset under a name: its tools, functions of the program included, keep their names. Calls go through its
    /// layers, and events and `[access]` know it by the name. For a rendered prompt, use the toolset of
    /// `RenderedPrompt::toolset`, and its text as [`instructions`](Self::instructions).
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_proxy::Proxy;
    ///
    /// # fn serve(toolset: Toolset) -> Result<(), mcp_bindgen_proxy::ProxyError> {
    /// let proxy = Proxy::builder().toolset("helpdesk", toolset).build()?;
    /// # drop(proxy);
    /// # Ok(())
    /// # }
    /// ```
    pub fn toolset(self, name: &str, toolset: Toolset) -> Self {
        let (own, listed) = (name.to_owned(), toolset.clone());
        let connect = move |options| toolset_client(&own, &listed, options);
        self.connecting(name, connect, move |_| ToolsetCalls(toolset.clone()))
    }

    /// Adds all servers of a configuration, with their names, its `[defaults]` and its `[access]`. With `drift = "deny"`, tools are
    /// compared with the snapshots next to the file.
    pub fn configuration(mut self, config: &Config) -> Self {
        self.joined = Arc::new(config.joined.clone());
        self.access.clone_from(&config.access);
        config.servers.values().fold(self, |builder, server| {
            let snapshot = Snapshot::load(config.snapshot_path(&server.name)).ok();
            let (config, own) = (config.clone(), server.clone());
            builder.server_connecting(
                server,
                snapshot.as_ref(),
                move |options| Client::of_config(&config, &own, options),
                |client| client,
            )
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

    /// Names the tools like the bindings of this configuration, from its snapshots. The tools of its `[tools]` replace
    /// the tools that they join.
    pub fn names_from(mut self, config: &Config) -> Self {
        self.names = PrefixedNames::of_config(config);
        self.joined = Arc::new(config.joined.clone());
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

    /// Adds a key that signs the state that clients keep for the proxy during an approval: at least 32 random
    /// bytes, the same for all instances with the same clients. By default each proxy has a random one. The first key
    /// signs and all of them verify, so that a key can be replaced while approvals are open. A key requires
    /// [`approvals`](Self::approvals) in a shared and persistent store, because each approval may be used once.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.keys.push(Signer::key(&key.into()));
        self
    }

    /// Shares state with other instances: used approvals, sessions over HTTP, and rates. It requires a
    /// [`key`](Self::key).
    #[cfg(feature = "redis")]
    pub fn state(mut self, state: RedisState) -> Self {
        self.store = Some(Arc::new(state.clone()));
        self.redis = Some(state);
        self
    }

    /// Sets the instructions for models (`instructions`); none by default. The servers' own instructions are not
    /// passed on, because that would start all of them.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Shows each caller only what these entries show it, and refuses the rest: `[access]` of a configuration. It
    /// requires authentication with names: [`HttpOptions::tokens`](crate::HttpOptions::tokens) or access tokens.
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Writes a line for each call to a log.
    pub fn log(mut self, log: CallLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Builds the proxy. It connects to servers on demand.
    ///
    /// # Errors
    /// Everything that is wrong: no servers, two of one name, names that servers cannot have, a key that is too short or has no store.
    pub fn build(mut self) -> Result<Proxy, ProxyError> {
        let mut faults = self.faults();
        if !self.keys.is_empty() && self.store.is_none() {
            faults.push(ProxyFault::KeyWithoutStore);
        }
        #[cfg(feature = "redis")]
        if self.redis.is_some() && self.keys.is_empty() {
            faults.push(ProxyFault::StateWithoutKey);
        }
        let signer = Signer::new(std::mem::take(&mut self.keys)).map_err(|fault| faults.push(fault)).ok();
        let Some(signer) = signer.filter(|_| faults.is_empty()) else { return Err(ProxyError { faults }) };
        let store = self.store.take().unwrap_or_else(|| Arc::new(MemoryApprovalStore::default()));
        let shared = Shared {
            instructions: self.instructions.take(),
            records: Records { log: self.log.take(), ..Records::default() },
            #[cfg(feature = "redis")]
            redis: self.redis.clone(),
            ..Shared::new(self.options.clone(), signer, store, self.served())
        };
        Ok(Proxy { shared: Arc::new(shared) })
    }

    /// Counts rates in this shared state.
    #[cfg(feature = "redis")]
    pub(crate) fn counted_by(self, redis: Option<RedisState>) -> Self {
        Self { redis, ..self }
    }

    /// Returns the servers and names, without building a proxy.
    pub(crate) fn setup(mut self) -> Result<Setup, ProxyError> {
        let faults = self.faults();
        if faults.is_empty() { Ok(self.served()) } else { Err(ProxyError { faults }) }
    }

    fn served(self) -> Setup {
        let Self { upstreams, names, style, joined, access, .. } = self;
        #[cfg(feature = "redis")]
        let upstreams = upstreams.into_iter().map(|upstream| match &self.redis {
            Some(state) => upstream.counted_by(state),
            None => upstream,
        });
        let upstreams = upstreams.into_iter().map(Arc::new).collect();
        Setup { upstreams, names, style, joined, access: access.map(Arc::new) }
    }

    /// Returns the problems of the servers and of the options of their clients.
    fn faults(&mut self) -> Vec<ProxyFault> {
        let mut faults = std::mem::take(&mut self.faults);
        if self.upstreams.is_empty() && faults.is_empty() {
            faults.push(ProxyFault::NoServers);
        }
        let mut seen = BTreeSet::new();
        faults.extend(self.upstreams.iter().filter_map(|Upstream { name, .. }| match &**name {
            known if !seen.insert(known) => Some(ProxyFault::Repeated { name: name.to_string() }),
            PROGRAM | SECTIONS => Some(ProxyFault::Reserved { name: name.to_string() }),
            other if !is_server_name(other) => Some(ProxyFault::Name { name: name.to_string() }),
            _ => None,
        }));
        if self.options.answers_questions() {
            faults.push(ProxyFault::Answers);
        }
        faults
    }
}

/// Calls the tools of a toolset, in place of the client that lists them.
struct ToolsetCalls(Toolset);

impl CallTool for ToolsetCalls {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let (server, tool) = (call.server, call.tool);
        let reply = self.0.dispatch_with(&tool, Value::Object(call.arguments), call.options).await;
        let ToolReply { success, message, value, .. } = reply;
        // The reply of a function says the same as words for the model.
        if !success && is_asking() {
            return Err(CallError::denied(server, tool, message));
        }
        let result = if value.is_object() {
            value
        } else {
            json!({ "content": [{ "type": "text", "text": message }], "isError": !success })
        };
        Ok(ToolResult::from_json(&*server, &*tool, result))
    }
}

/// Returns a client that lists the tools, from a server in this process.
fn toolset_client(name: &str, toolset: &Toolset, options: ClientOptions) -> Client {
    let tools = Arc::new(ListedTools(toolset.listed()));
    let connect = move || {
        let tools = tools.clone();
        async move {
            let (near, far) = duplex(ROOM);
            let (read, write) = split(far);
            let receiving = serve(|ledger| with_client(read, write, usize::MAX, ledger), tools)?;
            tokio::spawn(receiving.run(CancellationToken::new()));
            Ok(split(near))
        }
    };
    // Its tools have their names already.
    Client::with_options(ServerConfig::stdio(name, "").prefix(Prefix::None), options.connector(connect))
}

/// Answers the requests of a client that lists tools.
struct ListedTools(Vec<Value>);

impl Respond for ListedTools {
    fn limits(&self) -> OpenLimits {
        OpenLimits { requests: usize::MAX, bytes: usize::MAX, at_the_end: Duration::ZERO }
    }

    fn at_once(&self, Question { method, params, .. }: &Question) -> Option<Result<Value, ErrorData>> {
        Some(match method.as_str() {
            "initialize" => Ok(json!({
                "protocolVersion": params.get("protocolVersion"), "capabilities": { "tools": {} },
                "serverInfo": Shared::own_info(),
            })),
            "tools/list" => Ok(json!({ "tools": self.0 })),
            "ping" => Ok(json!({})),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.clone(), None)),
        })
    }

    fn respond(self: Arc<Self>, _: Session, _: Question) -> Boxed<Result<Value, ErrorData>> {
        Box::pin(pending())
    }
}
