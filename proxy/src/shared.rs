//! The state that all clients of a proxy share.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use futures_util::future::join_all;
use mcp_bindgen_runtime::events::Event;
use mcp_bindgen_runtime::{Caller, ClientOptions};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::approval::{ApprovalStore, Signer};
use super::attached::{Attached, Changes, Kind, Open, hear, keep_level, tell, tell_of_era};
use super::context::{Shares, VisibleTools};
use super::downstream::{Downstream, ask_client};
use super::lock::lock;
use super::record::Records;
#[cfg(feature = "redis")]
use super::redis::RedisState;
use super::scope::Scope;
use super::setup::{Setup, Upstream};

/// How many events wait for a listener; of more the oldest go.
const UNREAD: usize = 1024;
/// The maximum number of open approvals.
const MOST_OPEN_APPROVALS: usize = 4096;
/// The maximum number of open approvals of one caller.
const MOST_OPEN_APPROVALS_OF_ONE: usize = 64;
/// The extension for skills (SEP-2640).
const SKILLS: &str = "io.modelcontextprotocol/skills";
/// Its place in the capabilities of a server.
pub(super) const SKILLS_POINTER: &str = "/extensions/io.modelcontextprotocol~1skills";

pub(crate) struct Shared {
    pub(super) setup: Mutex<Arc<Setup>>,
    pub(super) options: ClientOptions,
    pub(super) signer: Signer,
    pub(super) store: Arc<dyn ApprovalStore>,
    pub(super) instructions: Option<String>,
    #[cfg(feature = "redis")]
    pub(super) redis: Option<RedisState>,
    /// The metrics and the log.
    pub(super) records: Records,
    /// The approvals that wait for an answer of a client with a session.
    pub(super) open_approvals: Shares,
    /// Takes the events of all clients.
    pub(super) bus: broadcast::Sender<Event>,
    /// The connections of all clients that keep no session.
    pub(super) pool: OnceLock<Arc<Scope>>,
    /// The changes that servers tell of, for other instances.
    pub(super) changes: Changes,
    /// All connections that are there.
    pub(super) scopes: Mutex<Vec<Weak<Scope>>>,
}

impl Shared {
    pub(super) fn new(options: ClientOptions, signer: Signer, store: Arc<dyn ApprovalStore>, setup: Setup) -> Self {
        Self {
            setup: Mutex::new(Arc::new(setup)),
            options: options.on_approval(ask_client),
            signer,
            store,
            instructions: None,
            #[cfg(feature = "redis")]
            redis: None,
            records: Records::default(),
            open_approvals: Shares::new(MOST_OPEN_APPROVALS, MOST_OPEN_APPROVALS_OF_ONE),
            bus: broadcast::Sender::new(UNREAD),
            pool: OnceLock::new(),
            changes: Changes::default(),
            scopes: Mutex::default(),
        }
    }

    pub(super) fn setup(&self) -> Arc<Setup> {
        lock(&self.setup).clone()
    }

    /// Serves something else from now on, and returns the names of servers that are not what they were.
    pub(super) fn reload(&self, mut setup: Setup) -> Vec<String> {
        let (setup, changes) = {
            let mut current = lock(&self.setup);
            let changes = setup.keep(&current);
            *current = Arc::new(setup);
            (current.clone(), changes)
        };
        for scope in self.scopes() {
            scope.serve(&setup, |upstream| self.attach(&scope, upstream));
        }
        changes
    }

    /// Returns all connections to servers.
    fn attached(&self) -> impl Iterator<Item = Arc<Attached>> {
        self.scopes().into_iter().flat_map(|scope| scope.upstreams())
    }

    /// Returns the servers with their states, the best of all connections: `connected`, `failed` if the last listing of tools
    /// failed, or else `idle`.
    pub(super) fn servers(&self) -> Vec<(Arc<str>, &'static str)> {
        let attached: Vec<Arc<Attached>> = self.attached().collect();
        let state = |name: &Arc<str>| {
            let own: Vec<_> = attached.iter().filter(|one| one.name == *name).collect();
            match own.iter().any(|one| one.client.is_connected()) {
                true => "connected",
                false if !own.is_empty() && own.iter().all(|one| one.has_failed()) => "failed",
                false => "idle",
            }
        };
        self.setup().upstreams.iter().map(|upstream| (upstream.name.clone(), state(&upstream.name))).collect()
    }

    /// Returns the metrics as text, with the counts of the transport.
    pub(super) fn metrics(&self, sessions: usize, requests: usize) -> String {
        let children = self.attached().filter(|one| one.upstream.is_child && one.client.is_connected()).count();
        self.records.metrics.text([sessions, children, requests, self.open_approvals.count()])
    }

    /// Returns how many child processes each session starts.
    pub(super) fn children_of_session(&self) -> usize {
        self.setup().upstreams.iter().filter(|upstream| upstream.is_child).count()
    }

    /// Adds the entries of `[access]` that are for a caller.
    pub(super) fn admitted(&self, mut caller: Caller) -> Caller {
        if let Some(access) = &self.setup().access {
            let entries = access.entries_for(caller.principal.as_deref(), &caller.groups, &caller.scopes);
            caller.access = entries.into_iter().map(str::to_owned).collect();
        }
        caller
    }

    /// Returns what a caller sees.
    pub(super) fn sees(&self, caller: &Caller) -> VisibleTools {
        VisibleTools { access: self.setup().access.clone(), entries: caller.access.clone() }
    }

    /// Returns the capabilities that clients see: everything that servers may have, because the lists of others are empty.
    /// Clients without a session hear no logs.
    pub(super) fn capabilities(&self, has_session: bool) -> Value {
        let mut capabilities = json!({
            "completions": {},
            "extensions": { SKILLS: {} },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "tools": { "listChanged": true },
        });
        if has_session && let Some(capabilities) = capabilities.as_object_mut() {
            capabilities.insert("logging".to_owned(), json!({}));
        }
        capabilities
    }

    /// Returns the proxy's name and version.
    pub(super) fn own_info() -> Value {
        json!({ "name": "mcp-bindgen", "version": env!("CARGO_PKG_VERSION") })
    }

    /// Returns the connections of all who keep no session.
    pub(super) fn pool(&self) -> Arc<Scope> {
        self.pool.get_or_init(|| self.scope(None)).clone()
    }

    /// Creates connections: for a client with a session, or for all clients without one.
    pub(super) fn scope(&self, downstream: Option<Downstream>) -> Arc<Scope> {
        let scope = Arc::new(Scope::new(downstream));
        let mut scopes = lock(&self.scopes);
        // With the lock, so that what is reloaded meanwhile reaches it.
        scope.serve(&self.setup(), |upstream| self.attach(&scope, upstream));
        scopes.retain(|scope| scope.strong_count() > 0);
        scopes.push(Arc::downgrade(&scope));
        drop(scopes);
        if let Some(Downstream { session, .. }) = &scope.downstream {
            lock(&scope.tasks).spawn(tell(&scope.news, session.clone()));
        }
        scope
    }

    /// Makes a client of a server, and the tasks that listen to it.
    fn attach(&self, scope: &Scope, upstream: &Arc<Upstream>) -> Arc<Attached> {
        let (open, is_shared) = (Open::default(), upstream.is_shared());
        let (client, calls) = upstream.attach(|| match &scope.downstream {
            _ if is_shared => self.options.clone(),
            Some(downstream) => downstream.options(&self.options, &open),
            // Each request says what its client can do. It is only passed on in the same protocol version.
            None => self.options.clone().protocol_version(ProtocolVersion::V_2026_07_28.as_str()),
        });
        let (name, upstream) = (upstream.name.clone(), upstream.clone());
        let (news, changes) = (scope.news.clone(), self.changes.clone());
        let (linked, lists, tasks) = Default::default();
        let has_events = self.bus.receiver_count() > 0 && upstream.has_new_events();
        let attached =
            Attached { name, client: client.clone(), calls, open, linked, upstream, lists, news, changes, tasks };
        let attached = Arc::new(attached);
        if has_events {
            let (bus, mut events) = (self.bus.downgrade(), client.events());
            tokio::spawn(async move {
                // Until the client or the proxy is gone. A send without listeners fails, which is fine.
                while let (Some(event), Some(bus)) = (events.next().await, bus.upgrade()) {
                    let _ = bus.send(event);
                }
            });
        }
        // The log of a server that is for all is not for one.
        let session = scope.downstream.as_ref().filter(|_| !is_shared).map(|downstream| downstream.session.clone());
        attached.spawn(hear(Arc::downgrade(&attached), client.notifications(), session));
        match &scope.downstream {
            _ if is_shared => {}
            Some(_) => attached.spawn(keep_level(client, scope.level.subscribe())),
            None => attached.spawn(tell_of_era(client)),
        }
        attached
    }

    /// Lists again after another instance reports a change, over each connection whose clients saw the list.
    pub(super) fn list_anew(&self, server: &str, kind: Kind) {
        self.attached().filter(|attached| &*attached.name == server).for_each(|attached| attached.changed(kind));
    }

    pub(super) async fn close(&self) {
        let scopes = self.scopes();
        join_all(scopes.iter().map(|scope| scope.close())).await;
    }

    fn scopes(&self) -> Vec<Arc<Scope>> {
        lock(&self.scopes).iter().filter_map(Weak::upgrade).collect()
    }
}
