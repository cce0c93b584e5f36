//! Servers as they are now.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use mcp_model::{Config, ServerConfig, Snapshot};
use mcp_runtime::{CallError, Client, ClientOptions, ConnectError, ConnectErrorKind};
use tokio::task::JoinSet;

use crate::exit::{Exit, Failure};
use crate::output::{Output, Work};

/// How often what moves moves.
const TICK: Duration = Duration::from_millis(100);

/// A client of a server, as builds that ask it have one.
pub(crate) fn client(config: &Config, server: &ServerConfig, snapshot: Option<&Snapshot>) -> Client {
    Client::for_snapshot(config, server, snapshot, ClientOptions::new())
}

/// Uses a client and closes its connection, whatever comes of it.
pub(crate) async fn closing<T>(client: Client, result: impl Future<Output = T>) -> T {
    let result = result.await;
    client.close().await;
    result
}

/// A server, and what was asked of it.
pub(crate) struct Found {
    pub(crate) server: ServerConfig,
    pub(crate) live: Result<Snapshot, ConnectError>,
}

/// Asks servers side by side what they offer; `take` gets each answer as it comes.
pub(crate) async fn snapshots(
    config: &Config,
    servers: Vec<ServerConfig>,
    output: &mut Output,
    mut take: impl FnMut(&mut Output, Found) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut asked = JoinSet::new();
    let mut works = BTreeMap::new();
    for server in servers {
        let name = server.name.clone();
        works.insert(name.clone(), output.begin("Asking", &format!("{name} what it offers")));
        let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
        let client = client(config, &server, known.as_ref());
        asked.spawn(async move {
            let live = closing(client.clone(), async { client.snapshot().await }).await;
            Found { server, live }
        });
    }
    let mut clock = tokio::time::interval(TICK);
    loop {
        let found = tokio::select! {
            found = asked.join_next() => found,
            _ = clock.tick() => {
                works.values().for_each(Work::tick);
                continue;
            }
        };
        let Some(found) = found else { return Ok(()) };
        let found = found.map_err(|error| Failure::new(error.to_string()))?;
        works.remove(&found.server.name);
        take(output, found)?;
    }
}

/// A failed connection, with what can be done about it.
pub(crate) fn failure(error: ConnectError, server: &ServerConfig) -> Failure {
    let is_late = error.kind == ConnectErrorKind::Timeout;
    let mut failure = unconfigured_failure(error, server);
    if !is_late && failure.exit == Exit::NotConnected {
        let server = &server.name;
        failure.message.push_str(&format!("\n  = help: `mcp-bindgen doctor {server}` looks for what is in the way"));
    }
    failure
}

/// The same of a server that no configuration has yet.
pub(crate) fn unconfigured_failure(error: ConnectError, server: &ServerConfig) -> Failure {
    let is_late = error.kind == ConnectErrorKind::Timeout;
    let mut failure = Failure::from(error);
    if is_late {
        failure.message.push_str(&format!(
            "\n  = help: where it needs longer, set `timeout` or `connect_timeout` of server `{}`",
            server.name
        ));
    }
    failure
}

/// A failed request; where the connection failed, as that.
pub(crate) fn call_failure(error: CallError, server: &ServerConfig) -> Failure {
    if let CallError::NotConnected { source: Some(cause), .. } = &error
        && let Some(error) = cause.downcast_ref::<ConnectError>()
    {
        return failure(error.clone(), server);
    }
    error.into()
}
