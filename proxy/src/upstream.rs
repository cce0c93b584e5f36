//! A server behind the proxy, and how to create its clients.

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ClientOptions, DynCallTool, SharedLimits};

pub(super) type Calls = Arc<dyn DynCallTool>;
type Connect = dyn Fn(ClientOptions) -> Client + Send + Sync;
type Layers = dyn Fn(Client) -> Calls + Send + Sync;

/// One server of a proxy.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    make: Make,
}

enum Make {
    /// A client for each who has connections of its own; all count together.
    Each { connect: Box<Connect>, layers: Box<Layers>, limits: SharedLimits },
    /// One for all.
    Shared { client: Client, calls: Calls },
}

impl Upstream {
    pub(super) fn configured(config: ServerConfig, layers: impl Fn(Client) -> Calls + Send + Sync + 'static) -> Self {
        Self::connected(&config.name.clone(), move |options| Client::with_options(config.clone(), options), layers)
    }

    pub(super) fn connected(
        name: &str,
        connect: impl Fn(ClientOptions) -> Client + Send + Sync + 'static,
        layers: impl Fn(Client) -> Calls + Send + Sync + 'static,
    ) -> Self {
        let make = Make::Each { connect: Box::new(connect), layers: Box::new(layers), limits: SharedLimits::new() };
        Self { name: name.into(), make }
    }

    pub(super) fn shared(client: Client, calls: Calls) -> Self {
        Self { name: client.name().into(), make: Make::Shared { client, calls } }
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.make, Make::Shared { .. })
    }

    /// A client, which connects when it is first used, and what calls through it. Options are for a client that is made.
    pub(super) fn attach(&self, options: impl FnOnce() -> ClientOptions) -> (Client, Calls) {
        match &self.make {
            Make::Each { connect, layers, limits } => {
                let client = connect(options().shared_limits(limits.clone()));
                (client.clone(), layers(client))
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
