//! Takes snapshots of servers, for the command line and for builds.

use mcp_bindgen_model::{Config, Drift, ServerConfig, Snapshot, Transport};

use crate::{Client, ClientOptions};

impl Client {
    /// Creates a client to take a snapshot with. It declares the capabilities of the `known` snapshot, because the
    /// list may depend on them. If the configuration rejects changed tools, calls are compared with it. A child
    /// process starts in the folder of the configuration.
    #[doc(hidden)]
    pub fn for_snapshot(
        config: &Config,
        server: &ServerConfig,
        known: Option<&Snapshot>,
        options: ClientOptions,
    ) -> Self {
        let mut options = options.timeout(config.defaults.timeout);
        if let Some(capabilities) = known.and_then(|known| known.client_capabilities.clone()) {
            options = options.capabilities(capabilities);
        }
        let mut server = config.with_defaults(server);
        // Where it is isolated, it may not see that folder, and nobody asked for it.
        let has_cwd = !matches!(&server.transport, Transport::Stdio { cwd: None, .. });
        if server.folder.is_some() && server.isolation.is_none() && !has_cwd {
            server = server.cwd(".");
        }
        let is_compared = server.drift == Some(Drift::Deny);
        let client = Self::with_options(server, options);
        known.filter(|_| is_compared).cloned().into_iter().fold(client, Self::known_by)
    }
}
