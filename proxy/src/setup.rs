//! The servers and names of a proxy. They are replaced as a whole when its configuration is read again.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use mcp_bindgen_agents::NameStyle;
use mcp_bindgen_model::{Access, JoinedTool, ServerConfig, Snapshot, Transport};
use mcp_bindgen_runtime::{Client, ClientOptions, DynCallTool, SharedLimits};
use mcp_bindgen_schema::names::PrefixedNames;
use serde_json::Value;

use super::lock::lock;

/// The tools of `[tools]` by name, each with the servers and tools that it joins.
pub(super) type Wanted = Arc<Vec<(String, JoinedTool)>>;

#[derive(Debug)]
pub(super) struct Setup {
    pub(super) upstreams: Vec<Arc<Upstream>>,
    pub(super) names: PrefixedNames,
    pub(super) style: NameStyle,
    pub(super) joined: Wanted,
    /// The servers and tools that callers see; `None` if all see everything.
    pub(super) access: Option<Arc<Access>>,
}

impl Setup {
    /// Keeps the unchanged servers of an earlier setup, with their connections. Returns the names of servers that are new,
    /// gone or changed.
    pub(super) fn keep(&mut self, before: &Self) -> Vec<String> {
        let mut gone = before.upstreams.clone();
        let mut names = Vec::new();
        for upstream in &mut self.upstreams {
            match gone.iter().position(|known| known.is_same(upstream)) {
                Some(same) => *upstream = gone.remove(same),
                None => names.push(upstream.name.to_string()),
            }
        }
        names.extend(gone.iter().map(|upstream| upstream.name.to_string()));
        names.sort();
        names.dedup();
        names
    }
}

pub(super) type Calls = Arc<dyn DynCallTool>;
/// A client, which connects when it is first used, and what calls through it.
pub(super) type Made = (Client, Calls);

/// One server of a proxy, and how to create its clients.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    /// `true` if each of its clients starts a child process.
    pub(super) is_child: bool,
    /// The configuration and the snapshot, by which it is known again.
    known: Option<(ServerConfig, Option<Snapshot>)>,
    make: Box<dyn Fn(ClientOptions) -> Made + Send + Sync>,
    /// Those of all its clients together.
    limits: SharedLimits,
    /// The client for all, made when it is first needed; `None` if each who has connections has a client.
    for_all: Option<OnceLock<Made>>,
    /// The lists that a connection to it got last, by their methods.
    lists: Mutex<HashMap<&'static str, Arc<[Value]>>>,
    /// `true` once the events of the client for all are passed on.
    is_heard: AtomicBool,
}

impl Upstream {
    /// Creates a server with a configuration: `shared` of it makes one client for all.
    pub(super) fn configured(
        (config, snapshot): (&ServerConfig, Option<&Snapshot>),
        make: impl Fn(ClientOptions) -> Made + Send + Sync + 'static,
    ) -> Self {
        let is_child = matches!(config.transport, Transport::Stdio { .. }) && !config.shared;
        let known = Some((config.clone(), snapshot.cloned()));
        let for_all = config.shared.then(OnceLock::new);
        Self { is_child, known, for_all, ..Self::connected(&config.name, make) }
    }

    pub(super) fn connected(name: &str, make: impl Fn(ClientOptions) -> Made + Send + Sync + 'static) -> Self {
        let (is_child, known, limits, for_all, lists, is_heard) = Default::default();
        Self { name: name.into(), is_child, known, make: Box::new(make), limits, for_all, lists, is_heard }
    }

    pub(super) fn shared(client: Client, calls: Calls) -> Self {
        let (name, made) = (client.name().to_owned(), (client, calls));
        let for_all = Some(OnceLock::from(made.clone()));
        Self { for_all, ..Self::connected(&name, move |_| made.clone()) }
    }

    /// Returns a list that a connection got, so that equal lists of several connections are in memory once.
    pub(super) fn once(&self, method: &'static str, items: Arc<[Value]>) -> Arc<[Value]> {
        let mut lists = lock(&self.lists);
        let known = lists.entry(method).or_insert_with(|| items.clone());
        if *known != items {
            *known = items;
        }
        known.clone()
    }

    /// Returns `true` if both are the same server, reached in the same way.
    fn is_same(&self, other: &Self) -> bool {
        let made = |upstream: &Self| upstream.for_all.as_ref()?.get().map(|(client, _)| client.clone());
        match (&self.known, &other.known) {
            (None, None) => made(self).zip(made(other)).is_some_and(|(own, others)| own.is_same(&others)),
            (own, others) => own == others,
        }
    }

    /// Returns `true` if the server keeps no session state, or if another instance can connect to it again.
    pub(super) fn can_move(&self) -> bool {
        !self.is_child && (self.is_shared() || self.known.is_some())
    }

    /// Returns `true` if the events of a new attachment are not passed on yet: those of a client for all are once.
    pub(super) fn has_new_events(&self) -> bool {
        !self.is_shared() || !self.is_heard.swap(true, Ordering::Relaxed)
    }

    /// Counts the rates of its calls for all instances together.
    #[cfg(feature = "redis")]
    pub(super) fn counted_by(mut self, state: &crate::RedisState) -> Self {
        let state = state.clone();
        self.limits = SharedLimits::new().counted_by(move |name, rate| {
            let state = state.clone();
            async move { state.take_turn(&name, rate).await.map_err(|error| error.to_string()) }
        });
        self
    }

    pub(super) fn is_shared(&self) -> bool {
        self.for_all.is_some()
    }

    /// Returns its client. The options are for one that is made.
    pub(super) fn attach(&self, options: impl FnOnce() -> ClientOptions) -> Made {
        let make = || (self.make)(options().shared_limits(self.limits.clone()));
        match &self.for_all {
            Some(made) => made.get_or_init(make).clone(),
            None => make(),
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("name", &self.name).field("is_shared", &self.is_shared()).finish()
    }
}
