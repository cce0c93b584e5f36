//! The connections of one client with a session, or those that all clients without one share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_schema::names::{Given, PrefixedNames};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::attached::{Attached, Kind, News};
use super::catalog::Catalog;
use super::joined::Wanted;
use super::linked::is_shown_by;
use super::routes;
use mcp_bindgen_agents::NameStyle;

const PATIENCE_FOR_DECLARATIONS: Duration = Duration::from_secs(1);

pub(super) struct Scope {
    pub(super) upstreams: Vec<Arc<Attached>>,
    pub(super) news: Arc<watch::Sender<News>>,
    /// Which messages of their logs servers are to send; none has been told where the client said nothing.
    pub(super) level: Arc<watch::Sender<Option<Value>>>,
    names: PrefixedNames,
    joined: Wanted,
    tools: Mutex<Catalog>,
    prompts: Mutex<Catalog>,
    /// The tasks that listen to servers and ask them; they end with the scope.
    tasks: Mutex<JoinSet<()>>,
}

impl Scope {
    pub(super) fn new(
        upstreams: Vec<Arc<Attached>>,
        news: Arc<watch::Sender<News>>,
        level: Arc<watch::Sender<Option<Value>>>,
        (mut names, style, joined): (PrefixedNames, NameStyle, Wanted),
        listening: JoinSet<()>,
    ) -> Self {
        for attached in &upstreams {
            if !names.has(&attached.name) {
                let mut config = attached.client.config().clone();
                config.name = attached.name.to_string();
                names.add_configured(&config);
            }
        }
        let names = if style == NameStyle::ToolOnly { names.without_prefixes() } else { names };
        Self {
            upstreams,
            news,
            level,
            names,
            joined,
            tools: Mutex::default(),
            prompts: Mutex::default(),
            tasks: Mutex::new(listening),
        }
    }

    /// Has what of servers is not known listed, side by side.
    async fn ask(&self, kind: Kind, whom: impl Fn(&Attached) -> bool) {
        let asked = self.upstreams.iter().filter(|attached| whom(attached)).filter_map(|attached| {
            let (flight, lead) = attached.flight(kind)?;
            if let Some(lead) = lead {
                let own = attached.clone();
                // On a task of its own, which goes on where nobody waits any more, and no longer than the scope.
                let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                while tasks.try_join_next().is_some() {}
                tasks.spawn(async move { own.list(lead, false).await });
            }
            Some(async move {
                if tokio::time::timeout(flight.patience(), flight.ended()).await.is_err() {
                    tracing::debug!(server = &*attached.name, "listing it takes too long; serving without it");
                }
            })
        });
        join_all(asked).await;
    }

    /// The tools under the names that clients of the proxy know.
    pub(super) async fn tools(&self) -> Vec<Value> {
        self.named(Kind::Tools).await
    }

    /// The prompts, likewise.
    pub(super) async fn prompts(&self) -> Vec<Value> {
        self.named(Kind::Prompts).await
    }

    async fn named(&self, kind: Kind) -> Vec<Value> {
        self.ask(kind, |_| true).await;
        self.catalog(kind, Attached::told, |catalog| catalog.items())
    }

    /// Resources, or their templates. What two servers have is that of the first.
    pub(super) async fn resources(&self, kind: Kind) -> Vec<Value> {
        self.ask(kind, |_| true).await;
        let lists: Vec<_> = self.upstreams.iter().filter_map(|attached| attached.told(kind)).collect();
        routes::merged(lists.iter().map(|list| &**list), kind)
    }

    /// The server of a tool or prompt, and what it calls it. Where it is not known, those servers are asked for lists whose
    /// prefix the name has: it waits for no other.
    pub(super) async fn find(&self, kind: Kind, public: &str) -> Option<(Arc<Attached>, String)> {
        if let Some(found) = self.find_known(kind, public) {
            return Some(found);
        }
        self.ask(kind, |attached| self.names.may_have(&attached.name, public)).await;
        self.find_known(kind, public)
    }

    /// The server of a tool that is called, and what it calls it. One of several like tools is picked by an argument, which is
    /// taken out.
    ///
    /// # Errors
    /// Fails if the argument names no server.
    pub(super) async fn find_called(
        &self,
        public: &str,
        arguments: &mut Map<String, Value>,
    ) -> Result<Option<(Arc<Attached>, String)>, String> {
        self.ask(Kind::Tools, |attached| self.joined.is_of(public, &attached.name)).await;
        let joined = self.catalog(Kind::Tools, Attached::known, |catalog| catalog.take_joined(public, arguments));
        match joined {
            Some(found) => found.map(Some),
            None => Ok(self.find(Kind::Tools, public).await),
        }
    }

    fn find_known(&self, kind: Kind, public: &str) -> Option<(Arc<Attached>, String)> {
        self.catalog(kind, Attached::known, |catalog| catalog.find(public))
    }

    /// Names as they are by what is known now.
    fn catalog<T>(
        &self,
        kind: Kind,
        of: impl Fn(&Attached, Kind) -> Option<Arc<[Value]>>,
        read: impl FnOnce(&Catalog) -> T,
    ) -> T {
        let catalog = if kind == Kind::Tools { &self.tools } else { &self.prompts };
        let mut catalog = catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = self.upstreams.iter().map(|attached| of(attached, kind)).collect();
        let none = Wanted::default();
        let joined = if kind == Kind::Tools { &self.joined } else { &none };
        catalog.set((&self.upstreams, joined), lists, |server: &str, listed: &[&str], given: &Given| match kind {
            Kind::Tools => self.names.tools_beside(server, listed, given),
            _ => self.names.prompts_beside(server, listed, given),
        });
        read(&catalog)
    }

    /// Returns the schema of a tool's arguments.
    pub(super) async fn input_schema(&self, public: &str) -> Option<Arc<Map<String, Value>>> {
        self.ask(Kind::Tools, |attached| self.joined.is_of(public, &attached.name)).await;
        let joined = self.catalog(Kind::Tools, Attached::known, |catalog| catalog.joined_schema(public));
        if joined.is_some() {
            return joined;
        }
        self.find(Kind::Tools, public).await?;
        self.catalog(Kind::Tools, Attached::known, |catalog| catalog.input_schema(public))
    }

    /// Returns the capabilities of servers, where all of them are connected.
    pub(super) async fn capabilities(&self) -> Option<Vec<Value>> {
        if !self.upstreams.iter().all(|attached| attached.client.is_connected()) {
            return None;
        }
        let all = join_all(self.upstreams.iter().map(|attached| attached.client.declared()));
        let all = tokio::time::timeout(PATIENCE_FOR_DECLARATIONS, all).await.ok()?;
        all.into_iter().map(|declared| declared.ok()?.capabilities).collect()
    }

    /// The servers that could not be asked for their tools.
    pub(super) fn failed(&self) -> Vec<Arc<str>> {
        self.upstreams.iter().filter(|attached| attached.has_failed()).map(|attached| attached.name.clone()).collect()
    }

    /// The server that has a resource: the one that lists it, or one of whose templates it fits, or one that named it in a result
    /// or shows it with a tool, or the only one that there is.
    pub(super) async fn owner(&self, uri: &str) -> Option<Arc<Attached>> {
        if let [only] = &*self.upstreams {
            return Some(only.clone());
        }
        if let Some(owner) = self.known_owner(uri) {
            return Some(owner);
        }
        tokio::join!(
            self.ask(Kind::Tools, |_| true),
            self.ask(Kind::Resources, |_| true),
            self.ask(Kind::ResourceTemplates, |_| true),
            self.ask(Kind::Skills, |_| true)
        );
        self.known_owner(uri)
    }

    fn known_owner(&self, uri: &str) -> Option<Arc<Attached>> {
        let lists = |kind| self.upstreams.iter().map(move |attached| attached.known(kind).unwrap_or_default());
        let resources: Vec<_> = lists(Kind::Resources).collect();
        let templates: Vec<_> = lists(Kind::ResourceTemplates).collect();
        let skills: Vec<_> = lists(Kind::Skills).collect();
        if let Some(index) = routes::skill_owner(&skills, uri).or_else(|| routes::owner(&resources, &templates, uri)) {
            return self.upstreams.get(index).cloned();
        }
        let names_it = |attached: &&Arc<Attached>| {
            attached.linked.has(uri) || attached.known(Kind::Tools).is_some_and(|tools| is_shown_by(&tools, uri))
        };
        self.upstreams.iter().find(names_it).cloned()
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        join_all(self.upstreams.iter().map(|attached| attached.client.close())).await;
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("upstreams", &self.upstreams).finish_non_exhaustive()
    }
}
