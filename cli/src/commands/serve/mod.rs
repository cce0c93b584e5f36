//! `serve`: servers of the configuration, served again as one.

mod options;
mod reload;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use mcp_bindgen_model::{Config, SecretRef, SecretStore, ServerConfig, Snapshot};
use mcp_bindgen_proxy::{CallLog, HttpOptions, Proxy, ProxyBuilder, ProxyEvents};
use mcp_bindgen_runtime::events::{CallOutcome, Event, ServerStateChanged};
use mcp_bindgen_runtime::{ConnectionState, LocalSecrets, find_secret};
use serde_json::json;

use self::options::{DRAIN, failure, http_options};
use self::reload::Reloads;
use super::host_config::host_config;
use crate::args::{self, LogCommand};
use crate::exit::{Exit, Failure, in_our_words};
use crate::live;
use crate::output::Output;
use crate::project;
use crate::signals::{Signals, TIME_TO_CLOSE};
use crate::source;

/// The time for pending work to end. A blocked read of stdin is then abandoned.
const LAST: Duration = Duration::from_millis(100);

/// Runs until stdin ends, or, over HTTP, until the program receives a signal.
pub(crate) fn run(config: Option<&Path>, arguments: &args::Serve, output: &mut Output) -> Result<Exit, Failure> {
    if let Some(host) = arguments.print_config {
        let (config, servers) = project::load_servers(config, &arguments.servers.servers, output)?;
        output.data_json(&host_config(host, &config, &servers, arguments)?)?;
        return Ok(Exit::Done);
    }
    let options = arguments.http.map(|address| http_options(address, arguments)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let source = Source { config, names: &arguments.servers.servers };
    let (loaded, servers) = runtime.block_on(source.load(output))?;
    let mut builder = builder(&loaded, &servers);
    if let Some(path) = &arguments.log {
        builder = builder.log(CallLog::open(path).map_err(Failure::of)?);
    }
    let builder = runtime.block_on(options::shared(builder, arguments))?;
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let proxy = builder.build().map_err(Failure::of)?;
    let mut signals = Signals::listen(false, if options.is_some() { DRAIN } else { Duration::ZERO })?;
    let events = proxy.events();
    let outcome = runtime.block_on(async {
        let watched = arguments.watch.then_some(&loaded);
        let telling = Telling { proxy: &proxy, events, told: BTreeSet::new(), reloads: Reloads::new(watched)?, source };
        let outcome = match options {
            Some(options) => over_http(options, &names, &mut signals, telling, output).await,
            None => over_stdio(&names, &mut signals, telling, output).await,
        };
        tokio::select! {
            () = proxy.close() => {}
            // Servers that do not end by themselves are killed when the runtime drops their connections.
            () = hurry(&mut signals) => {}
        }
        outcome
    });
    runtime.shutdown_timeout(LAST);
    outcome
}

/// Runs `log verify`: checks the log of a proxy's calls.
pub(crate) fn verify_log(command: &LogCommand, output: &mut Output) -> Result<Exit, Failure> {
    let LogCommand::Verify { file } = command;
    let lines = CallLog::verify(file).map_err(Failure::of)?;
    output.status("Verified", &format!("{lines} lines of {}", file.display()));
    output.report(&json!({ "format": 1, "lines": lines }))?;
    Ok(Exit::Done)
}

/// The configuration that the servers are read from.
#[derive(Clone, Copy)]
struct Source<'a> {
    config: Option<&'a Path>,
    names: &'a [String],
}

impl Source<'_> {
    /// Reads the configuration, and leaves out servers that cannot be reached.
    async fn load(&self, output: &mut Output) -> Result<(Config, Vec<ServerConfig>), Failure> {
        let (config, servers) = project::load_servers(self.config, self.names, output)?;
        for server in &servers {
            source::check_patterns(&config, &server.name)?;
        }
        Ok((config, complete(servers, output).await?))
    }
}

/// Returns when a signal has left no more time to close servers.
async fn hurry(signals: &mut Signals) {
    signals.received().await;
    tokio::time::sleep(TIME_TO_CLOSE.saturating_sub(2 * LAST)).await;
}

async fn over_stdio(
    names: &[String],
    signals: &mut Signals,
    telling: Telling<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.status("Serving", &format!("{} on stdin and stdout", names.join(", ")));
    tokio::select! {
        served = telling.proxy.serve_stdio() => served.map(|()| Exit::Done).map_err(failure),
        exit = signals.received() => Ok(exit),
        () = telling.tell(output) => Ok(Exit::Done),
    }
}

async fn over_http(
    options: HttpOptions,
    names: &[String],
    signals: &mut Signals,
    telling: Telling<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let server = telling.proxy.serve_http(options).await.map_err(failure)?;
    output.status("Serving", &format!("{} on {}", names.join(", "), server.url()));
    output.report(&json!({ "format": 1, "url": server.url(), "servers": names }))?;
    output.data(&server.url())?;
    let exit = tokio::select! {
        exit = signals.received() => exit,
        () = telling.tell(output) => Exit::Done,
    };
    output.status("Closing", &format!("pending requests, for at most {} seconds", DRAIN.as_secs()));
    server.close().await;
    Ok(exit)
}

/// Warns of servers that need a variable which is not set, and leaves them out: connecting to them cannot succeed.
///
/// # Errors
/// Fails if no server is left.
async fn complete(servers: Vec<ServerConfig>, output: &mut Output) -> Result<Vec<ServerConfig>, Failure> {
    let mut complete = Vec::new();
    for server in servers {
        let mut missing = Vec::new();
        for secret in server.placeholders() {
            // A keyring may have to ask the user: it is read when a connection is opened.
            let may_ask = server.secret_stores.contains(&SecretStore::Keyring);
            let is_variable = matches!(secret, SecretRef::Variable(_));
            if is_variable && !may_ask && !matches!(find_secret(&server, &secret, &LocalSecrets).await, Ok(Some(_))) {
                missing.push(secret);
            }
        }
        match server.expand_with(|secret| (!missing.contains(secret)).then(String::new)) {
            Ok(_) => complete.push(server),
            Err(error) => output.warning(&format!("server `{}` is not served: {error}", server.name)),
        }
    }
    if complete.is_empty() {
        return Err(Failure::new("no servers to serve\n  = help: run `mcp-bindgen doctor` to find missing settings"));
    }
    Ok(complete)
}

/// The events to print and the reloads to make while the proxy runs.
struct Telling<'a> {
    proxy: &'a Proxy,
    events: ProxyEvents,
    /// The servers that were reported as unreachable, until they are connected.
    told: BTreeSet<String>,
    reloads: Reloads,
    source: Source<'a>,
}

impl Telling<'_> {
    /// Reports each call and each unreachable server on stderr until the proxy ends. Reloads the configuration on
    /// request.
    async fn tell(mut self, output: &mut Output) {
        loop {
            tokio::select! {
                event = self.events.next() => match event {
                    Some(event) => self.event(event, output),
                    None => return,
                },
                () = self.reloads.next() => self.reload(output).await,
            }
        }
    }

    /// Serves the current configuration. An invalid one changes nothing.
    async fn reload(&self, output: &mut Output) {
        let reloaded = match self.source.load(output).await {
            Ok((config, servers)) => self.proxy.reload(builder(&config, &servers)).map_err(|error| error.to_string()),
            Err(failure) => Err(failure.message),
        };
        match reloaded {
            Ok(changed) if changed.is_empty() => output.status("Reloaded", "the configuration; no server has changed"),
            Ok(changed) => output.status("Reloaded", &format!("the configuration; changed: {}", changed.join(", "))),
            Err(error) => output.warning(&format!("the configuration was not reloaded, and nothing changes: {error}")),
        }
    }

    fn event(&mut self, event: Event, output: &mut Output) {
        match event {
            Event::ServerStateChanged(ServerStateChanged { server, state, error, .. }) => {
                if state == ConnectionState::Connected {
                    self.told.remove(&server);
                }
                if let Some(error) = error.filter(|_| self.told.insert(server.clone())) {
                    output.warning(&format!(
                        "server `{server}` is not connected, and its tools are not served: {}\n  = help: {}",
                        in_our_words(&error),
                        live::explained_by(&server)
                    ));
                }
            }
            Event::ToolInvoked(call) => {
                let outcome = match &call.outcome {
                    CallOutcome::Success => "done".to_owned(),
                    CallOutcome::ToolError => "the tool returned an error".to_owned(),
                    CallOutcome::InputRequired => "input required".to_owned(),
                    CallOutcome::Failed { kind, .. } => format!("failed: {kind}"),
                    _ => "cancelled".to_owned(),
                };
                let text = format!("{} of {}, {outcome} in {:.1?}", call.tool, call.server, call.duration);
                output.status("Called", &text);
            }
            Event::ApprovalAsked(asked) => output.status("Asking", &format!("for {} of {}", asked.tool, asked.server)),
            _ => {}
        }
    }
}

/// Builds the proxy. Each server has its snapshot, which `drift` requires, as in `call`.
fn builder(config: &Config, servers: &[ServerConfig]) -> ProxyBuilder {
    let builder = Proxy::builder().names_from(config);
    let builder = config.access.iter().fold(builder, |builder, access| builder.access(access.clone()));
    servers.iter().fold(builder, |builder, server| {
        let snapshot = Snapshot::load(config.snapshot_path(&server.name)).ok();
        let (config, own, known) = (config.clone(), server.clone(), snapshot.clone());
        let connect = move |options| live::client_knowing(&config, &own, known.as_ref(), options);
        builder.server_connecting(server, snapshot.as_ref(), connect, |client| client)
    })
}
