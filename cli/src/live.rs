//! Servers as they are now, and the authorization to ask them: with stored tokens, in a browser, or by pasting an address.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mcp_bindgen_model::{Config, ServerConfig, Snapshot, Transport};
use mcp_bindgen_runtime::{
    CallError, CallOptions, Client, ClientOptions, ConnectError, ConnectErrorKind, LocalTokenStore, OAuth,
};
use tokio::task::JoinSet;

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::terminal;

/// How often what moves moves.
const TICK: Duration = Duration::from_millis(100);
/// The program as authorization servers show it to users.
const NAME: &str = "mcp-bindgen";
/// The beginning of the address that a user pastes. No program listens at it.
const PASTED: &str = "http://127.0.0.1/callback";

/// Returns a client of a server with the snapshot that it has, if any, and with its authorization.
pub(crate) fn client(config: &Config, server: &ServerConfig, options: ClientOptions) -> Client {
    let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
    client_knowing(config, server, known.as_ref(), options)
}

/// Creates a client that knows this snapshot.
pub(crate) fn client_knowing(
    config: &Config,
    server: &ServerConfig,
    snapshot: Option<&Snapshot>,
    options: ClientOptions,
) -> Client {
    Client::for_snapshot(config, server, snapshot, authorized(server, options))
}

/// Takes a snapshot of a server.
pub(crate) async fn snapshot(client: &Client) -> Result<Snapshot, ConnectError> {
    closing(client, client.snapshot()).await
}

/// Uses a client and closes its connection, whatever comes of it.
pub(crate) async fn closing<T>(client: &Client, result: impl Future<Output = T>) -> T {
    let result = result.await;
    client.close().await;
    result
}

/// The time limit for all requests to a server, including connecting. Time for questions on the terminal does not
/// count.
pub(crate) struct Patience {
    limit: Option<Duration>,
    spent: Duration,
}

impl Patience {
    /// Creates the time limit. Without it, each request has the configured timeout.
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self { limit, spent: Duration::ZERO }
    }

    /// Runs a listing within the time limit.
    pub(crate) async fn ask<T>(
        &mut self,
        client: &Client,
        asked: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T> {
        let left = self.left().unwrap_or(Duration::MAX);
        match self.spend(tokio::time::timeout(left, asked)).await {
            Ok(answer) => answer.map_err(|error| failure(error, client.config())),
            Err(_) => {
                let message = format!("{}: no answer within {:?}", client.name(), self.limit.unwrap_or_default());
                let failure = Failure { exit: Exit::NotConnected, message };
                Err(failure.with_help("increase the limit with `--timeout`"))
            }
        }
    }

    /// Waits for something, which takes of the time.
    pub(crate) async fn spend<T>(&mut self, work: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = work.await;
        self.spent += began.elapsed();
        done
    }

    /// Returns the options with the rest of the time, for the request that it was all about.
    pub(crate) fn options(&self) -> CallOptions {
        self.left().map_or_else(CallOptions::new, |left| CallOptions::new().timeout(left))
    }

    /// Converts a failed request. A failed connection is reported as one, and a timeout with the whole time limit.
    pub(crate) fn failure(&self, error: CallError, server: &ServerConfig) -> Failure {
        match (error, self.limit) {
            (CallError::Timeout { server: name, tool, dispatched, .. }, Some(limit)) => {
                CallError::timeout(name, tool, limit, dispatched).into()
            }
            (error, _) => match connecting(&error) {
                Some(cause) => failure(cause, server),
                None => error.into(),
            },
        }
    }

    fn left(&self) -> Option<Duration> {
        let left = self.limit?.saturating_sub(self.spent);
        Some(left.max(Duration::from_millis(1)))
    }
}

/// Returns the error of the connection that a request failed for.
fn connecting(error: &CallError) -> Option<ConnectError> {
    let CallError::NotConnected { source: Some(cause), .. } = error else { return None };
    cause.downcast_ref().cloned()
}

/// Takes snapshots of servers concurrently; `take` receives each result as it arrives.
pub(crate) async fn snapshots(
    config: &Config,
    servers: Vec<ServerConfig>,
    output: &mut Output,
    mut take: impl FnMut(&mut Output, ServerConfig, Result<Snapshot, ConnectError>) -> Result<()>,
) -> Result<()> {
    let mut asked = JoinSet::new();
    let mut works = BTreeMap::new();
    for server in servers {
        let name = server.name.clone();
        works.insert(name.clone(), output.begin("Asking", &format!("{name} what it offers")));
        let client = client(config, &server, ClientOptions::new());
        asked.spawn(async move { (server, snapshot(&client).await) });
    }
    let mut clock = tokio::time::interval(TICK);
    loop {
        let found = tokio::select! {
            found = asked.join_next() => found,
            _ = clock.tick() => {
                works.values().flatten().for_each(ProgressBar::tick);
                continue;
            }
        };
        let Some(found) = found else { return Ok(()) };
        let (server, live) = found?;
        works.remove(&server.name);
        take(output, server, live)?;
    }
}

/// Converts a failed connection, and adds the next step.
pub(crate) fn failure(error: ConnectError, server: &ServerConfig) -> Failure {
    let failure = unconfigured_failure(error, server);
    if failure.exit == Exit::NotConnected { failure.with_help(explained_by(&server.name)) } else { failure }
}

/// Returns the command that explains why a server is not connected.
pub(crate) fn explained_by(server: &str) -> String {
    format!("run `mcp-bindgen doctor --connect {server}` to find the cause")
}

/// Converts a failed connection of a server outside the configuration.
pub(crate) fn unconfigured_failure(error: ConnectError, server: &ServerConfig) -> Failure {
    let is_late = error.kind == ConnectErrorKind::Timeout;
    // A list is requested over a connection that exists.
    let is_connected = error.message.lines().next().is_some_and(|line| line.contains("/list`"));
    let failure = Failure::from(error);
    let key = if is_connected { "timeout" } else { "connect_timeout" };
    if is_late { failure.with_help(format!("increase `{key}` of server `{}`", server.name)) } else { failure }
}

/// The way in which a user is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Not at all: only stored tokens are used.
    Stored,
    /// In a browser on this machine.
    Browser,
    /// In any browser: the user pastes the final address.
    Pasted,
}

/// Returns the options of a client with the authorization of its server. Servers that ask for none are not affected.
pub(crate) fn authorized(server: &ServerConfig, options: ClientOptions) -> ClientOptions {
    let way = if terminal::is_there() { Way::Browser } else { Way::Stored };
    if takes_tokens(server) { options.authorization(oauth(&server.name, way)) } else { options }
}

/// Returns `true` for a server at a URL without an `Authorization` header of its own.
pub(crate) fn takes_tokens(server: &ServerConfig) -> bool {
    let (Transport::Http { headers, .. } | Transport::Sse { headers, .. }) = &server.transport else { return false };
    !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
}

/// Returns the authorization of a server. Tokens are kept for the user of this machine.
pub(crate) fn oauth(server: &str, way: Way) -> OAuth {
    let oauth = OAuth::new().client_name(NAME).store(LocalTokenStore::new()).wait_for_user();
    let server = server.to_owned();
    match way {
        Way::Stored => oauth,
        Way::Browser => oauth.open_browser().on_url(move |url| {
            terminal::tell(&format!("Open this address in a browser to authorize {NAME} for `{server}`:\n{url}"));
        }),
        Way::Pasted => oauth.on_redirect(PASTED, move |url| {
            terminal::tell(&format!(
                "Open this address in a browser to authorize {NAME} for `{server}`:\n{url}\n\
                 The browser then ends at a page that it cannot show. Paste the address of that page here:"
            ));
            async { terminal::apart(line).await.map_err(|failure| failure.message)?.map_err(|error| error.to_string()) }
        }),
    }
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
