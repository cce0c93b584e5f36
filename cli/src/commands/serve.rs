//! `serve`: servers of the configuration, served again as one.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::time::Duration;

use mcp_bindgen_model::{Config, SecretRef, SecretStore, ServerConfig, Snapshot};
use mcp_bindgen_proxy::{HttpOptions, Proxy, ProxyError, ProxyEvents, ServeError};
use mcp_bindgen_runtime::events::{CallOutcome, Event};
use mcp_bindgen_runtime::{ConnectionState, LocalSecrets, find_secret};
use serde_json::json;

use super::host_config::host_config;
use crate::args;
use crate::exit::{Exit, Failure, in_our_words};
use crate::live;
use crate::output::Output;
use crate::project;
use crate::signals::{Signals, TIME_TO_CLOSE};

/// How long calls that are under way may take after a signal, over HTTP.
const DRAIN: Duration = Duration::from_secs(5);
/// How long what was begun may take to end. A read of stdin that nothing ever answers is left behind then.
const LAST: Duration = Duration::from_millis(100);

/// Runs until stdin ends, or, over HTTP, until the program is told to end.
pub(crate) fn run(config: Option<&Path>, arguments: &args::Serve, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load_for(config, &arguments.servers.servers, output)?;
    let servers = project::servers(&config, &arguments.servers.servers)?;
    if let Some(host) = arguments.print_config {
        output.data_json(&host_config(host, &config, &servers, arguments)?)?;
        return Ok(Exit::Done);
    }
    let options = arguments.http.map(|address| http_options(address, arguments)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let servers = runtime.block_on(complete(servers, output))?;
    let states = States::default();
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let proxy = proxy(&config, servers)?;
    let events = proxy.events();
    let mut signals = Signals::listen(if options.is_some() { DRAIN } else { Duration::ZERO })?;
    let outcome = runtime.block_on(async {
        let outcome = match options {
            Some(options) => over_http(&proxy, options, &names, &mut signals, (events, states), output).await,
            None => over_stdio(&proxy, &names, &mut signals, (events, states), output).await,
        };
        tokio::select! {
            () = proxy.close() => {}
            // Servers that do not end by themselves are killed where the runtime drops their connections.
            () = hurry(&mut signals) => {}
        }
        outcome
    });
    runtime.shutdown_timeout(LAST);
    outcome
}

/// Returns when a signal has left no more time to close servers.
async fn hurry(signals: &mut Signals) {
    signals.received().await;
    tokio::time::sleep(TIME_TO_CLOSE.saturating_sub(2 * LAST)).await;
}

async fn over_stdio(
    proxy: &Proxy,
    names: &[String],
    signals: &mut Signals,
    (events, states): (ProxyEvents, States),
    output: &mut Output,
) -> Result<Exit, Failure> {
    output.status("Serving", &format!("{} on stdin and stdout", names.join(", ")));
    tokio::select! {
        served = proxy.serve_stdio() => served.map(|()| Exit::Done).map_err(failure),
        exit = signals.received() => Ok(exit),
        () = tell(events, states, output) => Ok(Exit::Done),
    }
}

async fn over_http(
    proxy: &Proxy,
    options: HttpOptions,
    names: &[String],
    signals: &mut Signals,
    (events, states): (ProxyEvents, States),
    output: &mut Output,
) -> Result<Exit, Failure> {
    let server = proxy.serve_http(options).await.map_err(failure)?;
    output.status("Serving", &format!("{} on {}", names.join(", "), server.url()));
    if output.json() {
        output.data_json(&json!({ "format": 1, "url": server.url(), "servers": names }))?;
    } else {
        output.data(&server.url())?;
    }
    let exit = tokio::select! {
        exit = signals.received() => exit,
        () = tell(events, states, output) => Exit::Done,
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
            // A keyring may have to ask somebody: it is read when a connection is opened.
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

/// Tells of each call on stderr, and of servers that cannot be reached, until the proxy is gone.
async fn tell(mut events: ProxyEvents, mut states: States, output: &mut Output) {
    while let Some(event) = events.next().await {
        match event {
            Event::ServerStateChanged(changed) if states.has_failed(&changed.server, changed.state) => {
                let server = &changed.server;
                let why = changed.error.map(|error| format!(": {}", in_our_words(&error))).unwrap_or_default();
                output.warning(&format!(
                    "server `{server}` is not connected, and its tools are not served{why}\n  = help: {}",
                    live::explained_by(server)
                ));
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

/// The last states of the servers.
#[derive(Default)]
struct States {
    connecting: BTreeSet<String>,
    /// Those of which it was said that they cannot be reached.
    told: BTreeSet<String>,
}

impl States {
    /// Returns `true` if a server was to be connected and is not; once, until it is.
    fn has_failed(&mut self, server: &str, state: ConnectionState) -> bool {
        let was_connecting = self.connecting.remove(server);
        match state {
            ConnectionState::Connecting | ConnectionState::Reconnecting => {
                self.connecting.insert(server.to_owned());
                false
            }
            ConnectionState::Connected => {
                self.told.remove(server);
                false
            }
            ConnectionState::Disconnected => was_connecting && self.told.insert(server.to_owned()),
            _ => false,
        }
    }
}

/// Each server as `call` has it: with what its snapshot says, which `drift` is about.
fn proxy(config: &Config, servers: Vec<ServerConfig>) -> Result<Proxy, Failure> {
    let built = servers.into_iter().fold(Proxy::builder().names_from(config), |builder, server| {
        let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
        let (config, name) = (config.clone(), server.name.clone());
        let connect = move |options| live::client_with(&config, &server, known.as_ref(), options);
        builder.connecting(&name, connect, |client| client)
    });
    built.build().map_err(|error: ProxyError| Failure::new(error.to_string()))
}

fn http_options(address: std::net::SocketAddr, arguments: &args::Serve) -> Result<HttpOptions, Failure> {
    let mut options = HttpOptions::new().address(address).drain(DRAIN);
    if let Some(name) = &arguments.bearer_env {
        // The error does not contain the value.
        let token = env::var(name).map_err(|_| {
            Failure::usage(format!("the environment variable `{name}` of `--bearer-env` is not set, or not text"))
        })?;
        options = options.bearer(token);
    }
    options = arguments.allow_origin.iter().fold(options, |options, origin| options.allow_origin(origin));
    options = arguments.allow_host.iter().fold(options, |options, host| options.allow_host(host));
    if arguments.public {
        options = options.allow_public();
    }
    if arguments.no_auth {
        options = options.without_authentication();
    }
    Ok(options)
}

/// In the words of the command line.
fn failure(error: ServeError) -> Failure {
    let reached = |address| format!("address {address} is reachable from other machines");
    match error {
        ServeError::PublicAddress { address } => {
            Failure::usage(format!("{}\n  = help: use `--public` to allow this", reached(address)))
        }
        ServeError::Unauthenticated { address } => Failure::usage(format!(
            "{}, and anyone could call the tools\n  = help: set a token with `--bearer-env VARIABLE`, or use \
             `--no-auth` behind an authenticating proxy",
            reached(address)
        )),
        ServeError::Option { option, problem } => {
            let option = match option {
                "bearer" => "the token of `--bearer-env`",
                "allow_origin" => "`--allow-origin`",
                "allow_host" => "`--allow-host`",
                other => other,
            };
            Failure::usage(format!("{option}: {problem}"))
        }
        other => Failure::new(other.to_string()),
    }
}
