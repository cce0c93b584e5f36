//! The connections of one client with a session, or those that all clients without one share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_agents::NameStyle;
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{Caller, ListTerms, ToolCall};
use mcp_bindgen_schema::names::{Given, PrefixedNames};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::attached::{Attached, Flight, Kind, News, news, notification_and_key};
use super::catalog::Catalog;
use super::context::VisibleTools;
use super::downstream::Downstream;
use super::lock::lock;
use super::resources;
use super::setup::{Setup, Upstream, Wanted};

const MOST_DUPLICATES: usize = 1000;

pub(super) struct Scope {
    served: Mutex<Arc<Served>>,
    /// The client with a session; `None` for clients without one.
    pub(super) downstream: Option<Downstream>,
    pub(super) news: News,
    /// Which messages of their logs servers are to send; none has been told where the client said nothing.
    pub(super) level: watch::Sender<Option<Value>>,
    tools: Mutex<Catalog>,
    prompts: Mutex<Catalog>,
    /// The resources whose duplicates were already logged.
    duplicates: Mutex<HashSet<String>>,
    /// The tasks that end with the scope.
    pub(super) tasks: Mutex<JoinSet<()>>,
}

/// The servers and their names.
#[derive(Default)]
struct Served {
    upstreams: Vec<Arc<Attached>>,
    names: PrefixedNames,
    joined: Wanted,
}

impl Served {
    fn new(setup: &Setup, upstreams: Vec<Arc<Attached>>) -> Self {
        let mut names = setup.names.clone();
        for attached in &upstreams {
            if !names.has(&attached.name) {
                let mut config = attached.client.config().clone();
                config.name = attached.name.to_string();
                names.add_configured(&config);
            }
        }
        let names = if setup.style == NameStyle::ToolOnly { names.without_prefixes() } else { names };
        Self { upstreams, names, joined: setup.joined.clone() }
    }

    /// Returns `true` if the joined tool with that name contains a tool of the server.
    fn joins(&self, public: &str, server: &str) -> bool {
        let mut of = self.joined.iter().filter(|(name, _)| name == public).flat_map(|(_, joined)| &joined.of);
        of.any(|(known, _)| known == server)
    }
}

impl Scope {
    /// Creates a scope without servers.
    pub(super) fn new(downstream: Option<Downstream>) -> Self {
        let (served, level, tools, prompts, duplicates, tasks) = Default::default();
        Self { served, downstream, news: news(), level, tools, prompts, duplicates, tasks }
    }

    /// Serves a setup from now on. Unchanged servers stay attached; the connections of others end with their last
    /// request. Clients are notified of changed lists.
    pub(super) fn serve(&self, setup: &Setup, attach: impl Fn(&Arc<Upstream>) -> Arc<Attached>) {
        let before = self.served();
        let attached = setup.upstreams.iter().map(|upstream| {
            let known = before.upstreams.iter().find(|attached| Arc::ptr_eq(&attached.upstream, upstream));
            known.cloned().unwrap_or_else(|| attach(upstream))
        });
        let served = Arc::new(Served::new(setup, attached.collect()));
        *lock(&self.served) = served;
        self.news.values().for_each(|signal| signal.send_replace(()));
    }

    fn served(&self) -> Arc<Served> {
        lock(&self.served).clone()
    }

    /// Returns the servers.
    pub(super) fn upstreams(&self) -> Vec<Arc<Attached>> {
        self.served().upstreams.clone()
    }

    /// Has what of servers is not known listed, side by side.
    async fn ask(&self, kind: Kind, sees: &VisibleTools, whom: impl Fn(&Attached) -> bool) {
        let is_seen = |attached: &&Arc<Attached>| sees.any_of(&attached.name) && whom(attached);
        let served = self.served();
        let asked = served.upstreams.iter().filter(is_seen).filter_map(|attached| {
            let Flight { until, mut done } = attached.flight(kind)?;
            Some(async move {
                if tokio::time::timeout_at(until, done.changed()).await.is_err() {
                    tracing::debug!(server = &*attached.name, "listing it takes too long; serving without it");
                }
            })
        });
        join_all(asked).await;
    }

    /// Returns a list: tools and prompts under the names that clients of the proxy know; of resources, and their templates, that
    /// two servers have those of the first.
    pub(super) async fn items(&self, kind: Kind, sees: &VisibleTools) -> Vec<Value> {
        self.ask(kind, sees, |_| true).await;
        if matches!(kind, Kind::Tools | Kind::Prompts) {
            let is_tool = kind == Kind::Tools;
            let shows = |server: &str, name: &str| if is_tool { sees.tool(server, name) } else { sees.server(server) };
            return self.catalog(kind, Attached::told, |catalog| catalog.items(shows));
        }
        let served = self.served();
        let seen = served.upstreams.iter().filter(|attached| sees.server(&attached.name));
        let lists: Vec<_> = seen.filter_map(|attached| Some((&*attached.name, attached.told(kind)?))).collect();
        let (_, key) = notification_and_key(kind);
        resources::merged(lists.iter().map(|(server, list)| (*server, &**list)), key, |first, second, uri| {
            let mut told = lock(&self.duplicates);
            if told.len() < MOST_DUPLICATES && told.insert(uri.to_owned()) {
                let uri = printable(uri);
                tracing::warn!(
                    "servers `{first}` and `{second}` both list {uri}, and `{first}` serves it; leave it out of \
                     `resources` of one of them"
                );
            }
        })
    }

    /// How long clients may keep a list, for a caller: as long as all servers let them. What is filtered for callers is private.
    pub(super) fn terms(&self, kind: Kind, sees: &VisibleTools) -> ListTerms {
        let seen = self.upstreams().into_iter().filter(|attached| sees.any_of(&attached.name));
        let terms: Vec<_> = seen.map(|attached| attached.client.list_terms(kind.method())).collect();
        let ttl = terms.iter().map(|terms| terms.map_or(Duration::ZERO, |terms| terms.ttl)).min();
        let is_public = !terms.is_empty() && terms.iter().all(|terms| terms.is_some_and(|terms| terms.is_public));
        ListTerms { ttl: ttl.unwrap_or_default(), is_public: is_public && sees.access.is_none() }
    }

    /// Reads what is known under a name, after listing the servers that may have it. It waits for no other server.
    async fn look_up<T>(&self, kind: Kind, public: &str, sees: &VisibleTools, read: impl FnOnce(&Catalog) -> T) -> T {
        let served = self.served();
        if kind == Kind::Tools {
            self.ask(kind, sees, |attached| served.joins(public, &attached.name)).await;
        }
        if !self.catalog(kind, Attached::known, |catalog| catalog.has(public)) {
            self.ask(kind, sees, |attached| served.names.may_have(&attached.name, public)).await;
        }
        self.catalog(kind, Attached::known, read)
    }

    /// The server of a prompt, and what it calls it.
    pub(super) async fn find_prompt(&self, public: &str, sees: &VisibleTools) -> Option<(Arc<Attached>, String)> {
        let found = self.look_up(Kind::Prompts, public, sees, |catalog| catalog.find(public)).await;
        found.filter(|(attached, _)| sees.server(&attached.name))
    }

    /// Returns the server of a tool that is called, and the call of it. One of several like tools is picked by an
    /// argument, which is taken out.
    ///
    /// # Errors
    /// Fails if the argument names no server.
    pub(super) async fn find_called(
        &self,
        public: &str,
        arguments: Map<String, Value>,
        sees: &VisibleTools,
    ) -> Result<Option<(Arc<Attached>, ToolCall)>, String> {
        let find = |catalog: &Catalog| catalog.find_called(public, arguments);
        let found = self.look_up(Kind::Tools, public, sees, find).await?;
        Ok(found.filter(|(attached, call)| sees.tool(&attached.name, &call.tool)))
    }

    /// Reads the schema of a tool's arguments, if the caller sees the tool.
    pub(super) async fn with_input_schema<T>(
        &self,
        public: &str,
        sees: &VisibleTools,
        read: impl FnOnce(Option<&Map<String, Value>>) -> T,
    ) -> T {
        let shows = |server: &str, tool: &str| sees.tool(server, tool);
        self.look_up(Kind::Tools, public, sees, |catalog| read(catalog.input_schema(public, shows))).await
    }

    /// Names as they are by what is known now.
    fn catalog<T>(
        &self,
        kind: Kind,
        of: impl Fn(&Attached, Kind) -> Option<Arc<[Value]>>,
        read: impl FnOnce(&Catalog) -> T,
    ) -> T {
        let (catalog, none) = (if kind == Kind::Tools { &self.tools } else { &self.prompts }, Wanted::default());
        let mut catalog = lock(catalog);
        let served = self.served();
        let joined = if kind == Kind::Tools { &served.joined } else { &none };
        let lists = served.upstreams.iter().map(|attached| of(attached, kind)).collect();
        catalog.set((&served.upstreams, joined), lists, |server: &str, listed: &[&str], given: &Given| match kind {
            Kind::Tools => served.names.tools_beside(server, listed, given),
            _ => served.names.prompts_beside(server, listed, given),
        });
        read(&catalog)
    }

    /// The servers that could not be asked for their tools.
    pub(super) fn failed(&self, sees: &VisibleTools) -> Vec<Arc<str>> {
        let failed = |attached: &&Arc<Attached>| attached.has_failed() && sees.any_of(&attached.name);
        self.upstreams().iter().filter(failed).map(|attached| attached.name.clone()).collect()
    }

    /// The server that has a resource: the one that lists it, or one of whose templates it fits, or one that named it in a result
    /// or shows it with a tool, or the only one that there is.
    pub(super) async fn owner(&self, uri: &str, caller: &Caller, sees: &VisibleTools) -> Option<Arc<Attached>> {
        let upstreams = self.upstreams();
        let seen = upstreams.iter().filter(|attached| sees.server(&attached.name));
        let seen: Vec<Arc<Attached>> = seen.cloned().collect();
        if let ([_], [only]) = (&*upstreams, &*seen) {
            return Some(only.clone());
        }
        if let Some(owner) = known_owner(&seen, uri, caller) {
            return Some(owner);
        }
        tokio::join!(
            self.ask(Kind::Tools, sees, |_| true),
            self.ask(Kind::Resources, sees, |_| true),
            self.ask(Kind::ResourceTemplates, sees, |_| true),
            self.ask(Kind::Skills, sees, |_| true)
        );
        known_owner(&seen, uri, caller)
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        join_all(self.upstreams().iter().map(|attached| attached.client.close())).await;
    }
}

/// Returns the first of these servers that has a resource, by what is known of them.
fn known_owner(upstreams: &[Arc<Attached>], uri: &str, caller: &Caller) -> Option<Arc<Attached>> {
    let list = |attached: &Attached, kind| attached.known(kind).unwrap_or_default();
    let first = |has: &dyn Fn(&Attached) -> bool| upstreams.iter().find(|attached| has(attached));
    let fits = |attached: &&Arc<Attached>| resources::fits(&list(attached, Kind::ResourceTemplates), uri);
    let owner = first(&|own| resources::has_skill(&list(own, Kind::Skills), uri))
        .or_else(|| first(&|own| resources::has_resource(&list(own, Kind::Resources), uri)))
        // The first of equal matches wins, which is the last in reverse.
        .or_else(|| upstreams.iter().rev().filter(|attached| fits(attached).is_some()).max_by_key(fits))
        .or_else(|| first(&|own| own.linked.has(caller, uri) || resources::is_shown_by(&list(own, Kind::Tools), uri)));
    owner.cloned()
}
