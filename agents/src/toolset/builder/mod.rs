//! Builds toolsets.

mod functions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use mcp_bindgen_model::{Config, matches_glob, nearest, parse_leniently};
use mcp_bindgen_runtime::__private::Offer;
use mcp_bindgen_runtime::{
    Annotations, CallTool, Client, ConnectError, ConnectReport, DynCallTool, ServerSpec, Servers, ToolSpec,
};
use mcp_bindgen_schema::names::PrefixedNames;
use mcp_bindgen_schema::viewed_tool;
use serde_json::{Value, json};

use super::answers::Answers;
use super::error::{DiagnosticKind, ToolDiagnostic, ToolsetError, ToolsetFault};
use super::names::{NameStyle, Naming, add_bound};
use super::{Entry, Functions, Handler, Toolset};
use crate::json;

/// Builds a [`Toolset`]. All problems are reported by [`build`](Self::build).
///
/// Models see tools in the order in which servers and functions are added; the tools of a listed server are sorted by
/// name, so that equal listings give equal toolsets. Calls go through the service that is passed in. To apply
/// policies, approvals and other layers to all calls, pass a [`Stack`](mcp_bindgen_runtime::middleware::Stack). Tools
/// that can never be called, because of the configuration's `tools` and `exclude` or a policy by name, are left out.
/// Functions of the program have no layers, except those of [`functions_through`](Self::functions_through).
#[derive(Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct ToolsetBuilder {
    /// The extended set, whose entries keep their positions and names.
    base: Toolset,
    entries: Vec<Entry>,
    naming: Naming,
    group: Option<Arc<str>>,
    /// The layers around the functions that are added from here on.
    layers: Option<(Functions, Calls)>,
    faults: Vec<ToolsetFault>,
    left_out: Vec<ToolDiagnostic>,
}

impl ToolsetBuilder {
    pub(super) fn extending(base: Toolset) -> Self {
        Self { base, ..Self::default() }
    }

    /// Sets how tools are named; [`NameStyle::ServerTool`] by default.
    pub fn names(mut self, style: NameStyle) -> Self {
        self.base.style = style;
        self
    }

    /// Names the tools like bindings of this configuration: unique among all its servers. Reads their snapshots.
    /// Without it, names are unique within the toolset only.
    pub fn names_from(self, config: &Config) -> Self {
        self.names_around(PrefixedNames::of_config(config))
    }

    pub(crate) fn names_around(mut self, names: PrefixedNames) -> Self {
        self.naming.around = names;
        self
    }

    /// Says what else a server lists.
    pub(crate) fn listing<'t>(mut self, server: &str, tools: impl IntoIterator<Item = &'t str>) -> Self {
        self.naming.listed(server, tools);
        self
    }

    /// Adds all tools of bindings, with the schemas of the snapshot: `.bindings(&github::SERVER, client)`.
    pub fn bindings(self, server: &'static ServerSpec, client: impl CallTool + 'static) -> Self {
        self.bound(server, &server.tools.iter().collect::<Vec<_>>(), client)
    }

    /// Adds the tools of bindings that match the globs, by their names on the server: `.tools(&github::SERVER,
    /// ["create_issue", "list_*"], client)`. A glob that matches nothing is an error.
    pub fn tools<G: AsRef<str>>(
        mut self,
        server: &'static ServerSpec,
        globs: impl IntoIterator<Item = G>,
        client: impl CallTool + 'static,
    ) -> Self {
        let globs: Vec<G> = globs.into_iter().collect();
        let known = || server.tools.iter().map(|tool| tool.name);
        for glob in globs.iter().map(AsRef::as_ref).filter(|glob| !known().any(|name| names(glob, name))) {
            let nearest = nearest(glob, known()).into_iter().map(str::to_owned).collect();
            let (server, pattern) = (server.name.to_owned(), glob.to_owned());
            self.faults.push(ToolsetFault::NoSuchTool { server, pattern, nearest });
        }
        let is_named = |tool: &&ToolSpec| globs.iter().any(|glob| names(glob.as_ref(), tool.name));
        let tools: Vec<&'static ToolSpec> = server.tools.iter().filter(is_named).collect();
        self.bound(server, &tools, client)
    }

    pub(crate) fn bound(
        mut self,
        server: &'static ServerSpec,
        tools: &[&'static ToolSpec],
        client: impl CallTool + 'static,
    ) -> Self {
        let calls = Calls::through(client);
        self.naming.server(server.name, calls.live.as_ref());
        add_bound(&mut self.naming.servers, server);
        for tool in tools.iter().filter(|tool| calls.offer.admits(tool.name)) {
            let schema = match parse_leniently(tool.input_schema) {
                Ok(read) => read.value,
                Err(error) => {
                    let (server, tool) = (server.name.to_owned(), tool.name.to_owned());
                    self.faults.push(ToolsetFault::Schema { server, tool, message: error.to_string() });
                    continue;
                }
            };
            let answers = tool.output_schema.and_then(|text| Some(parse_leniently(text).ok()?.value));
            self.entries.push(Entry {
                title: tool.title.map(Arc::from),
                description: tool.description.map(Arc::from),
                annotations: tool.annotations,
                view: tool.view().map(Arc::new),
                answers: Answers::of(answers),
                ..Entry::new(server.name, tool.name, schema, calls.handler(Some((server, tool))))
            });
        }
        self
    }

    /// Adds the tools of a server, under its configured name, from a list as the server sends it: that of a snapshot
    /// (`&snapshot.tools`), which needs no connection, or
    /// [`Client::list_tools_raw`](mcp_bindgen_runtime::Client::list_tools_raw). Invalid items are skipped; see
    /// [`Toolset::left_out`].
    ///
    /// ```
    /// # fn run(client: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_model::Snapshot;
    ///
    /// let snapshot = Snapshot::parse(r#"{ "tools": [{ "name": "read", "inputSchema": { "type": "object" } }] }"#)?;
    /// let toolset = Toolset::builder().server("files", &snapshot.tools, client).build()?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["files_read"]);
    /// # Ok(())
    /// # }
    /// # run(mcp_bindgen_runtime::Client::new(mcp_bindgen_model::ServerConfig::stdio("files", "x"))).unwrap();
    /// ```
    pub fn server(mut self, name: &str, tools: &[Value], client: impl CallTool + 'static) -> Self {
        let calls = Calls::through(client);
        self.naming.server(name, calls.live.as_ref());
        self.naming.servers.add_snapshot(name, calls.selected(tools));
        self.add_listed(name, tools, &calls);
        self
    }

    /// Adds a server whose list may differ from the one known before.
    pub(crate) fn server_live(mut self, name: &str, tools: &[Value], client: impl CallTool + 'static) -> Self {
        self.add_listed(name, tools, &Calls::through(client));
        self
    }

    /// Connects to a server, lists its tools and adds them. Takes a client, or layers around one.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_runtime::middleware::{Policy, Stack};
    ///
    /// let governed = Stack::new(client).policy(Policy::deny(["delete_*"]));
    /// let toolset = Toolset::builder().live(governed).await?.build()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or gives no list.
    pub async fn live(mut self, client: impl CallTool + 'static) -> Result<Self, ConnectError> {
        let calls = Calls::through(client);
        match calls.live.clone() {
            Some(client) => {
                let tools = client.list_tools_raw().await?;
                self.add_listed(client.name(), &tools, &calls);
            }
            None => self.faults.push(ToolsetFault::NothingToList),
        }
        Ok(self)
    }

    /// Connects to several servers concurrently, lists their tools, and adds those of each server that answers,
    /// sorted by server. The report contains the errors of the others.
    pub async fn live_all(mut self, servers: &Servers) -> (Self, ConnectReport) {
        let clients: Vec<Client> = servers.names().filter_map(|name| servers.client(name).ok()).collect();
        let listings = clients.iter().map(|client| async move { (client, client.list_tools_raw().await) });
        let mut report = ConnectReport::default();
        for (client, outcome) in join_all(listings).await {
            match outcome {
                Ok(tools) => {
                    self.add_listed(client.name(), &tools, &Calls::through(client.clone()));
                    report.active.push(client.name().to_owned());
                }
                Err(error) => report.failed.push(error),
            }
        }
        (self, report)
    }

    fn add_listed(&mut self, server: &str, tools: &[Value], calls: &Calls) {
        self.naming.server(server, calls.live.as_ref());
        self.naming.listed(server, calls.selected(tools));
        let mut listed: BTreeMap<&str, &Value> = BTreeMap::new();
        for tool in tools {
            let named = json::name(tool);
            let why = match named {
                Some(name) if !listed.contains_key(name) => {
                    listed.insert(name, tool);
                    continue;
                }
                Some(_) => "the server already has a tool with this name",
                None if tool.is_object() => "it has no name",
                None => "it is not an object",
            };
            self.leave_out(server, named.unwrap_or_default(), why.to_owned());
        }
        let shared: Arc<str> = server.into();
        let views = calls.live.as_ref().map(|client| &client.config().views);
        for (name, tool) in listed.into_iter().filter(|(name, _)| calls.offer.admits(name)) {
            let view = views.and_then(|views| views.get(name));
            let tool = match view.map_or_else(|| Ok(tool.clone()), |view| viewed_tool(tool, view)) {
                Ok(tool) => tool,
                Err(faults) => {
                    let faults: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
                    self.leave_out(server, name, format!("its view does not fit: {}", faults.join("; ")));
                    continue;
                }
            };
            let hints = tool.get("annotations");
            let title = json::text(&tool, "title").or_else(|| json::text(hints?, "title"));
            let schema = tool.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" }));
            self.entries.push(Entry {
                title: title.map(Arc::from),
                description: json::text(&tool, "description").map(Arc::from),
                annotations: hints.map(Annotations::listed).unwrap_or_default(),
                view: view.cloned().map(Arc::new),
                answers: Answers::of(tool.get("outputSchema").cloned()),
                ..Entry::new(shared.clone(), name, schema, calls.handler(None))
            });
        }
    }

    fn leave_out(&mut self, server: &str, tool: &str, why: String) {
        self.left_out.push(ToolDiagnostic::new(DiagnosticKind::LeftOut, (server, tool), "", why));
    }

    /// Builds the toolset.
    ///
    /// # Errors
    /// Everything that is wrong: tools that were added twice, tools of one name under [`NameStyle::ToolOnly`], globs that name
    /// nothing, functions whose parameters are no object.
    pub fn build(self) -> Result<Toolset, ToolsetError> {
        let Self { base, entries, naming, mut faults, left_out, .. } = self;
        let all = || base.entries.iter().map(|entry| &**entry).chain(&entries);
        if base.style == NameStyle::ToolOnly {
            let mut servers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for entry in all() {
                servers.entry(entry.viewed_name()).or_default().insert(&entry.server);
            }
            faults.extend(servers.into_iter().filter(|(_, servers)| servers.len() > 1).map(|(name, servers)| {
                let servers = servers.into_iter().map(str::to_owned).collect();
                ToolsetFault::SameName { name: name.to_owned(), servers }
            }));
        }
        let mut seen = BTreeSet::new();
        let repeated: BTreeSet<_> = all().map(Entry::identity).filter(|identity| !seen.insert(*identity)).collect();
        let repeated = repeated.into_iter().map(|(server, tool)| (server.to_owned(), tool.to_owned()));
        faults.extend(repeated.map(|(server, tool)| ToolsetFault::Repeated { server, tool }));
        if !faults.is_empty() {
            return Err(ToolsetError { faults });
        }
        let names = naming.names(&entries, base.style, &base.names().collect());
        let named = entries.into_iter().zip(names).map(|(entry, public)| Arc::new(Entry { public, ..entry }));
        let left_out = base.left_out.iter().cloned().chain(left_out).collect();
        Ok(Toolset { left_out, ..base.with_entries(base.entries.iter().cloned().chain(named)) })
    }
}

impl fmt::Debug for ToolsetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.entries.iter().map(Entry::identity).collect();
        f.debug_struct("ToolsetBuilder").field("tools", &tools).field("faults", &self.faults).finish_non_exhaustive()
    }
}

/// The client of one server's tools.
struct Calls {
    caller: Arc<dyn DynCallTool>,
    live: Option<Client>,
    offer: Offer,
}

impl Calls {
    fn through(client: impl CallTool + 'static) -> Self {
        Self { live: Client::behind(&client), offer: client.offer(), caller: Arc::new(client) }
    }

    /// Returns the tools of a list that the configuration selects.
    fn selected<'t>(&'t self, tools: &'t [Value]) -> impl Iterator<Item = &'t str> {
        let config = self.live.as_ref().map(Client::config);
        json::names(tools).filter(move |name| config.is_none_or(|config| config.selects(name)))
    }

    fn handler(&self, bound: Option<(&'static ServerSpec, &'static ToolSpec)>) -> Handler {
        Handler::Server { caller: self.caller.clone(), bound, live: self.live.clone() }
    }
}

/// Returns `true` if a glob matches a name, or equals it.
pub(super) fn names(glob: &str, name: &str) -> bool {
    glob == name || matches_glob(glob, name)
}
