//! A server behind the proxy, and how to create its clients.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mcp_bindgen_model::{ServerConfig, Snapshot, Transport};
use mcp_bindgen_runtime::{Client, ClientOptions, DynCallTool, SharedLimits};
use serde_json::Value;
use tokio::task::JoinSet;

use super::events::Bus;

pub(super) type Calls = Arc<dyn DynCallTool>;
type Connect = dyn Fn(ClientOptions) -> Client + Send + Sync;
type Layers = dyn Fn(Client) -> Calls + Send + Sync;

/// One server of a proxy.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    /// Whether each of its clients starts a child process.
    pub(super) is_child: bool,
    /// Whether it keeps nothing of a session, or is connected anew by another instance.
    pub(super) can_move: bool,
    /// The configuration and the snapshot, by which it is known again.
    known: Option<(ServerConfig, Option<Snapshot>)>,
    make: Make,
    /// The lists that a connection to it got last, by their methods.
    lists: Mutex<HashMap<&'static str, Arc<[Value]>>>,
    /// The task that passes on the events of a client for all.
    passing: OnceLock<JoinSet<()>>,
}

enum Make {
    /// A client for each who has connections of its own; all count together.
    Each { connect: Box<Connect>, layers: Box<Layers>, limits: SharedLimits },
    /// One for all, made when it is first needed.
    One { connect: Box<Connect>, layers: Box<Layers>, limits: SharedLimits, made: OnceLock<(Client, Calls)> },
    /// One for all.
    Shared { client: Client, calls: Calls },
}

impl Upstream {
    /// Returns a list that a connection got, so that equal lists of several connections are in memory once.
    pub(super) fn once(&self, method: &'static str, items: Arc<[Value]>) -> Arc<[Value]> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        match lists.get(method) {
            Some(known) if *known == items => known.clone(),
            _ => {
                lists.insert(method, items.clone());
                items
            }
        }
    }

    /// A server with a configuration: `shared` of it makes one client for all.
    pub(super) fn configured(
        (config, snapshot): (&ServerConfig, Option<&Snapshot>),
        connect: impl Fn(ClientOptions) -> Client + Send + Sync + 'static,
        layers: impl Fn(Client) -> Calls + Send + Sync + 'static,
    ) -> Self {
        let is_child = matches!(config.transport, Transport::Stdio { .. }) && !config.shared;
        let (connect, layers) = (Box::new(connect), Box::new(layers));
        let make = match config.shared {
            true => Make::One { connect, layers, limits: SharedLimits::new(), made: OnceLock::new() },
            false => Make::Each { connect, layers, limits: SharedLimits::new() },
        };
        let known = Some((config.clone(), snapshot.cloned()));
        let can_move = config.shared || !matches!(config.transport, Transport::Stdio { .. });
        Self { known, can_move, ..Self::new(&config.name, is_child, make) }
    }

    pub(super) fn connected(
        name: &str,
        connect: impl Fn(ClientOptions) -> Client + Send + Sync + 'static,
        layers: impl Fn(Client) -> Calls + Send + Sync + 'static,
    ) -> Self {
        let make = Make::Each { connect: Box::new(connect), layers: Box::new(layers), limits: SharedLimits::new() };
        Self::new(name, false, make)
    }

    pub(super) fn shared(client: Client, calls: Calls) -> Self {
        let name = client.name().to_owned();
        Self::new(&name, false, Make::Shared { client, calls })
    }

    fn new(name: &str, is_child: bool, make: Make) -> Self {
        let can_move = matches!(make, Make::Shared { .. });
        let (lists, passing) = Default::default();
        Self { name: name.into(), is_child, can_move, known: None, make, lists, passing }
    }

    /// Returns `true` if both are the same server, reached in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.make, &other.make) {
            (Make::Shared { client, .. }, Make::Shared { client: others, .. }) => client.is_same(others),
            _ => self.known.is_some() && self.known == other.known,
        }
    }

    /// Passes on the events of a client for all, once.
    pub(super) fn pass_on(&self, client: &Client, bus: &Bus) {
        self.passing.get_or_init(|| {
            let mut passing = JoinSet::new();
            passing.spawn(bus.clone().pass_on(client.events()));
            passing
        });
    }

    /// Has the rates of its calls counted by all instances together.
    #[cfg(feature = "redis")]
    pub(super) fn counted_by(mut self, state: &crate::RedisState) -> Self {
        let limits = match &mut self.make {
            Make::Each { limits, .. } | Make::One { limits, .. } => limits,
            Make::Shared { .. } => return self,
        };
        let state = state.clone();
        *limits = SharedLimits::new().counted_by(move |name, rate| {
            let state = state.clone();
            async move { state.take_turn(&name, rate).await.map_err(|error| error.to_string()) }
        });
        self
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.make, Make::Shared { .. } | Make::One { .. })
    }

    /// A client, which connects when it is first used, and what calls through it. Options are for a client that is made: those of
    /// one caller, or those for all.
    pub(super) fn attach(
        &self,
        for_all: impl FnOnce() -> ClientOptions,
        options: impl FnOnce() -> ClientOptions,
    ) -> (Client, Calls) {
        match &self.make {
            Make::Each { connect, layers, limits } => {
                let client = connect(options().shared_limits(limits.clone()));
                (client.clone(), layers(client))
            }
            Make::One { connect, layers, limits, made } => {
                let make = || {
                    let client = connect(for_all().shared_limits(limits.clone()));
                    (client.clone(), layers(client))
                };
                made.get_or_init(make).clone()
            }
            Make::Shared { client, calls } => (client.clone(), calls.clone()),
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("name", &self.name).field("is_shared", &self.is_shared()).finish()
    }
}
