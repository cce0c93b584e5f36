//! Builds toolsets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;

use futures_util::future::join_all;
use mcp_bindgen_model::{Config, matches_glob, parse_leniently};
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{
    Annotations, CallTool, Client, ConnectError, ConnectReport, DynCallTool, ServerSpec, Servers, ToolSpec,
};
use mcp_bindgen_schema::names::PrefixedNames;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::carried::Carried;
use super::context::FunctionContext;
use super::direct;
use super::entry::{Entry, Function, Handler};
use super::error::{DiagnosticKind, ToolDiagnostic, ToolsetError, ToolsetFault};
use super::function::{Typed, schema_of};
use super::functions::Functions;
use super::names::{NameStyle, Naming};
use super::resources;
use super::rewrites::Rewrites;
use super::{Prepared, Toolset};
use crate::skills::{Skill, SkillError, skill_tools};
use mcp_bindgen_schema::names::PROGRAM;

/// Builds a [`Toolset`]. All problems are reported by [`build`](Self::build).
///
/// Models see tools in the order in which servers and functions are added; the tools of a listed server are sorted by
/// name, so that equal listings give equal toolsets. Calls go through the service that is passed in. To apply
/// policies, approvals and other layers to all calls, pass a [`Stack`](mcp_bindgen_runtime::middleware::Stack). Tools
/// that can never be called, because of the configuration's `tools` and `exclude` or a policy by name, are left out.
/// Functions of the program have no layers, except those of [`functions_through`](Self::functions_through).
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it builds"]
pub struct ToolsetBuilder {
    /// Of the set that is continued; they keep their places and names.
    kept: Vec<Arc<Entry>>,
    entries: Vec<Entry>,
    style: NameStyle,
    naming: Naming,
    group: Option<Arc<str>>,
    /// The layers around the functions that are added from here on.
    layers: Option<Layers>,
    carried: Carried,
    faults: Vec<ToolsetFault>,
    left_out: Vec<ToolDiagnostic>,
}

impl ToolsetBuilder {
    pub(super) fn continuing(set: &Toolset) -> Self {
        let (kept, left_out) = (set.entries.to_vec(), set.left_out.to_vec());
        Self { kept, left_out, style: set.style, carried: set.carried.clone(), ..Self::default() }
    }

    /// Sets how tools are named; [`NameStyle::ServerTool`] by default.
    pub fn names(mut self, style: NameStyle) -> Self {
        self.style = style;
        self
    }

    /// Names the tools as bindings of this configuration do: unique among all its servers. Reads their snapshots.
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
        let tools: Vec<&'static ToolSpec> = server.tools.iter().collect();
        self.bound(server, &tools, client)
    }

    /// Adds the tools of bindings that match the globs, by their names on the server: `.tools(&github::SERVER,
    /// ["create_issue", "list_*"], client)`. A glob that matches nothing is an error.
    pub fn tools<G: AsRef<str>>(
        mut self,
        server: &'static ServerSpec,
        globs: impl IntoIterator<Item = G>,
        client: impl CallTool + 'static,
    ) -> Self {
        let mut is_named = vec![false; server.tools.len()];
        for glob in globs {
            let glob = glob.as_ref();
            let mut names_any = false;
            for (tool, is_named) in server.tools.iter().zip(&mut is_named) {
                if names(glob, tool.name) {
                    (*is_named, names_any) = (true, true);
                }
            }
            if !names_any {
                let known = server.tools.iter().map(|tool| tool.name);
                self.faults.push(ToolsetFault::no_such_tool(server.name, glob, known));
            }
        }
        let named = server.tools.iter().zip(is_named).filter_map(|(tool, is_named)| is_named.then_some(tool));
        let tools: Vec<&'static ToolSpec> = named.collect();
        self.bound(server, &tools, client)
    }

    pub(crate) fn bound(
        mut self,
        server: &'static ServerSpec,
        tools: &[&'static ToolSpec],
        client: impl CallTool + 'static,
    ) -> Self {
        let calls = Calls::through(client);
        self.naming.server(server.name, calls.live.as_ref().map(Client::config));
        self.naming.bound(server);
        for tool in tools.iter().filter(|tool| calls.admits(tool.name)) {
            let schema = match parse_leniently(tool.input_schema) {
                Ok(read) => read.value,
                Err(error) => {
                    let (server, tool) = (server.name.to_owned(), tool.name.to_owned());
                    self.faults.push(ToolsetFault::Schema { server, tool, message: error.to_string() });
                    continue;
                }
            };
            self.entries.push(Entry {
                public: String::new(),
                server: server.name.into(),
                tool: tool.name.into(),
                title: tool.title.map(Arc::from),
                description: tool.description.map(Arc::from),
                input_schema: Arc::new(schema),
                annotations: tool.annotations,
                wraps: tool.output_schema.is_some_and(direct::text_wraps),
                handler: calls.handler(Some((server, tool))),
                rewrites: Rewrites::default(),
                prepared: Prepared::default(),
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
        self.naming.server(name, calls.live.as_ref().map(Client::config));
        self.naming.known(name, calls.selected(tools));
        self.add_listed(name, tools, &calls);
        self
    }

    /// The same with a list that may be other than what was known before.
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
        self.naming.server(server, calls.live.as_ref().map(Client::config));
        self.naming.listed(server, calls.selected(tools));
        let server: Arc<str> = server.into();
        let mut listed: BTreeMap<&str, &Value> = BTreeMap::new();
        for tool in tools {
            let named = tool.get("name").and_then(Value::as_str);
            let why = match named {
                Some(name) if !listed.contains_key(name) => {
                    listed.insert(name, tool);
                    continue;
                }
                Some(_) => "the server already has a tool with this name",
                None if tool.is_object() => "it has no name",
                None => "it is not an object",
            };
            self.left_out.push(ToolDiagnostic {
                kind: DiagnosticKind::LeftOut,
                server: server.to_string(),
                tool: named.unwrap_or_default().to_owned(),
                pointer: String::new(),
                why: why.to_owned(),
            });
        }
        let admitted = listed.into_iter().filter(|(name, _)| calls.admits(name));
        self.entries.extend(admitted.map(|(name, tool)| {
            let text = |key: &str| tool.get(key).and_then(Value::as_str);
            let hints = tool.get("annotations");
            let title = text("title").or_else(|| hints?.get("title")?.as_str());
            Entry {
                public: String::new(),
                server: server.clone(),
                tool: name.into(),
                title: title.map(Arc::from),
                description: text("description").map(Arc::from),
                input_schema: Arc::new(tool.get("inputSchema").cloned().unwrap_or_else(|| json!({ "type": "object" }))),
                annotations: hints.map(Annotations::listed).unwrap_or_default(),
                wraps: tool.get("outputSchema").is_some_and(mcp_bindgen_schema::wraps_result),
                handler: calls.handler(None),
                rewrites: Rewrites::default(),
                prepared: Prepared::default(),
            }
        }));
    }

    /// Sets the group of the functions that are added next. Their names are `group_function`, and [`Toolset::subset`]
    /// selects them as `group/function`. Without a group, names have no prefix and the group is `program`.
    pub fn group(mut self, name: &str) -> Self {
        self.group = Some(name.into());
        self
    }

    /// Adds layers around the functions that are added next, as around the tools of a server, so that policies,
    /// approvals and events also apply to functions. The layers see the [`group`](Self::group), or `program`, as the
    /// server and the function's name as the tool. Functions have no hints:
    /// [`Approval::of_destructive`](mcp_bindgen_runtime::middleware::Approval::of_destructive) asks about all of
    /// them, and [`Policy::read_only`](mcp_bindgen_runtime::middleware::Policy::read_only) denies them.
    ///
    /// Earlier functions, and those of an [extended](Toolset::extend) toolset, are unaffected; a second call sets the
    /// layers for the functions after it. The tools that open and read sections of a prompt never have layers.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Stack};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order { number: u64 }
    ///
    /// let mut events = None;
    /// let toolset = Toolset::builder()
    ///     .function("find_order", "Finds an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .functions_through(|functions| {
    ///         let stack = Stack::new(functions).approval(Approval::of(["cancel_*"], async |request| {
    ///             ApprovalAnswer::Decline(format!("{} is not for models", request.tool))
    ///         }));
    ///         events = Some(stack.events());
    ///         stack
    ///     })
    ///     .function("cancel_order", "Cancels an order.", async |order: Order| Ok::<_, String>(order.number))
    ///     .build()?;
    /// # drop(toolset);
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    pub fn functions_through<C: CallTool + 'static>(mut self, layers: impl FnOnce(Functions) -> C) -> Self {
        let functions = Functions::default();
        let calls = Calls::through(Stack::new(layers(functions.clone())));
        self.layers = Some(Layers { functions, calls });
        self
    }

    /// Adds a function of the program. The schema of its parameters is derived by `schemars`, and their doc comments
    /// are descriptions for the model. The model receives the returned value as JSON, or the error's message. A panic
    /// is an error.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Toolset, ToolsetError};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Lookup {
    ///     /// The number of the order.
    ///     order: u64,
    /// }
    ///
    /// let toolset = Toolset::builder()
    ///     .function("find_order", "Finds an order of our shop.", async |lookup: Lookup| match lookup.order {
    ///         7 => Ok("on its way"),
    ///         other => Err(format!("there is no order {other}")),
    ///     })
    ///     .build()?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["find_order"]);
    /// # Ok::<(), ToolsetError>(())
    /// ```
    pub fn function<P, T, E, F, R>(self, name: &str, description: &str, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.function_with(name, description, move |_, parameters| function(parameters))
    }

    /// Adds a function like [`function`](Self::function) that takes the call's [`FunctionContext`] too: by it, it calls
    /// other tools, reports progress, and reads the values that the toolset carries.
    pub fn function_with<P, T, E, F, R>(mut self, name: &str, description: &str, function: F) -> Self
    where
        P: JsonSchema + DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: Display + 'static,
        F: Fn(FunctionContext, P) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let schema = match schema_of::<P>() {
            Ok(schema) => schema,
            Err(message) => {
                self.faults.push(ToolsetFault::Parameters { function: name.to_owned(), message });
                return self;
            }
        };
        let group = self.group.clone().unwrap_or_else(|| PROGRAM.into());
        self.with_function(group, name, description, schema, Arc::new(Typed::new(function)))
    }

    /// Adds two tools by which a model lists and reads the resources of a server: `SERVER_list_resources` and
    /// `SERVER_read_resource`. They go through the layers of [`functions_through`](Self::functions_through), as functions of a
    /// group with the server's name: `Policy::new` sees the URI in the arguments. They are read-only.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::Client;
    ///
    /// let client = Client::new(ServerConfig::stdio("notes", "notes-server"));
    /// let toolset = Toolset::builder().resources(client).build()?;
    /// assert_eq!(toolset.names().collect::<Vec<_>>(), ["notes_list_resources", "notes_read_resource"]);
    /// # Ok::<(), mcp_bindgen_agents::ToolsetError>(())
    /// ```
    pub fn resources(self, client: Client) -> Self {
        self.of_server(&client, resources::tools(&client))
    }

    /// Lists the skills of a server (SEP-2640) and adds two tools by which a model loads them: `SERVER_load_skill` and
    /// `SERVER_read_skill_file`. Nothing is added if the server has none.
    ///
    /// What is loaded is checked against the entries of now, so a model never gets content that changed since; build the toolset
    /// again for newer ones. The text of a skill is a stranger's, and names its server to the model. The tools go through the
    /// layers of [`functions_through`](Self::functions_through): `Approval::of(["load_skill"], ..)` asks about each skill.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_bindgen_agents::Toolset;
    ///
    /// let toolset = Toolset::builder().live(client.clone()).await?.skills(client).await?.build()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or gives no list.
    pub async fn skills(self, client: Client) -> Result<Self, SkillError> {
        let skills = Skill::list(&client).await?;
        if skills.is_empty() {
            return Ok(self);
        }
        Ok(self.of_server(&client, skill_tools(&client, skills)))
    }

    /// Adds read-only functions in a group with the name of a server.
    fn of_server(
        self,
        client: &Client,
        tools: impl IntoIterator<Item = (&'static str, String, Value, Arc<dyn Function>)>,
    ) -> Self {
        tools.into_iter().fold(self, |builder, (name, description, schema, function)| {
            let mut builder = builder.with_function(client.name().into(), name, &description, schema, function);
            let added = builder.entries.last_mut().filter(|entry| entry.identity() == (client.name(), name));
            if let Some(entry) = added {
                entry.annotations.read_only = Some(true);
            }
            builder
        })
    }

    /// Adds a function with the layers that stand around functions now.
    fn with_function(
        self,
        group: Arc<str>,
        name: &str,
        description: &str,
        schema: Value,
        function: Arc<dyn Function>,
    ) -> Self {
        let caller = match &self.layers {
            Some(layers) if !layers.calls.admits(name) => return self,
            Some(layers) => {
                layers.functions.add(group.clone(), name.into(), function);
                layers.calls.caller.clone()
            }
            None => Functions::alone(&group, name, function),
        };
        self.runs(group, name, description, schema, caller)
    }

    /// Adds a function whose schema is at hand.
    pub(crate) fn runs(
        mut self,
        group: Arc<str>,
        name: &str,
        description: &str,
        schema: Value,
        caller: Arc<dyn DynCallTool>,
    ) -> Self {
        self.entries.push(Entry::of_program(group, name.into(), description, schema, Handler::Function(caller)));
        self
    }

    /// Builds the toolset.
    ///
    /// # Errors
    /// Everything that is wrong: tools that were added twice, tools of one name under [`NameStyle::ToolOnly`], globs that name
    /// nothing, functions whose parameters are no object.
    pub fn build(mut self) -> Result<Toolset, ToolsetError> {
        let all = || self.kept.iter().map(|entry| &**entry).chain(&self.entries);
        let mut seen = BTreeSet::new();
        let mut repeated: Vec<_> = all().map(Entry::identity).filter(|identity| !seen.insert(*identity)).collect();
        repeated.sort_unstable();
        repeated.dedup();
        let repeated: Vec<_> = repeated
            .into_iter()
            .map(|(server, tool)| ToolsetFault::Repeated { server: server.to_owned(), tool: tool.to_owned() })
            .collect();
        let mut faults = std::mem::take(&mut self.faults);
        if self.style == NameStyle::ToolOnly {
            let mut servers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for entry in all() {
                servers.entry(&entry.tool).or_default().insert(&entry.server);
            }
            faults.extend(servers.into_iter().filter(|(_, servers)| servers.len() > 1).map(|(name, servers)| {
                let servers = servers.into_iter().map(str::to_owned).collect();
                ToolsetFault::SameName { name: name.to_owned(), servers }
            }));
        }
        faults.extend(repeated);
        if !faults.is_empty() {
            return Err(ToolsetError::new(faults));
        }
        let taken = self.kept.iter().map(|entry| entry.public.as_str()).collect();
        let names = self.naming.names(&self.entries, self.style, &taken);
        let named = self.entries.into_iter().zip(names).map(|(entry, public)| Arc::new(Entry { public, ..entry }));
        Ok(Toolset::of(self.kept.into_iter().chain(named).collect(), self.style, self.left_out.into(), self.carried))
    }
}

/// The layers around functions.
struct Layers {
    functions: Functions,
    calls: Calls,
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Layers").field(&self.functions).finish()
    }
}

/// The client of one server's tools.
struct Calls {
    caller: Arc<dyn DynCallTool>,
    live: Option<Client>,
    admits: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Calls {
    fn through(client: impl CallTool + 'static) -> Self {
        let (live, offer) = (Client::behind(&client), client.offer());
        Self { caller: Arc::new(client), live, admits: Box::new(move |tool| offer.admits(tool)) }
    }

    fn admits(&self, tool: &str) -> bool {
        (self.admits)(tool)
    }

    /// The tools of a list that the configuration selects.
    fn selected<'t>(&'t self, tools: &'t [Value]) -> impl Iterator<Item = &'t str> {
        let config = self.live.as_ref().map(Client::config);
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        names.filter(move |name| config.is_none_or(|config| config.selects(name)))
    }

    fn handler(&self, bound: Option<(&'static ServerSpec, &'static ToolSpec)>) -> Handler {
        Handler::Server { caller: self.caller.clone(), bound, live: self.live.clone() }
    }
}

/// Returns `true` if a glob names something, also where the name itself looks like a glob.
pub(super) fn names(glob: &str, name: &str) -> bool {
    glob == name || matches_glob(glob, name)
}
