//! `serve`: servers of the configuration, served again as one.

mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, io};

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Snapshot, Transport, digest};
use mcp_bindgen_proxy::{CallLog, Proxy, ProxyBuilder, ProxyEvents};
use mcp_bindgen_runtime::events::{CallOutcome, Event, ServerStateChanged};
use mcp_bindgen_runtime::{ConnectionState, LocalSecrets, SecretError, SecretSource, with_secrets};
use serde_json::json;
use tokio::sync::mpsc;

use self::options::{DRAIN, failure, host_config, http_options};
use crate::args::{self, LogCommand};
use crate::exit::{Exit, Failure, Result, in_our_words};
use crate::output::Output;
use crate::signals::{Signals, TIME_TO_CLOSE};
use crate::{live, project, source};

/// The time for pending work to end. A blocked read of stdin is then abandoned.
const LAST: Duration = Duration::from_millis(100);
/// How often watched files are looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// The variable by which a `serve` recognizes the ones that it runs in: it would start itself without end.
const SERVING: &str = "MCP_BINDGEN_SERVING";

/// Runs until stdin ends, or, over HTTP, until the program receives a signal.
pub(crate) fn run(config: Option<&Path>, arguments: &args::Serve, output: &mut Output) -> Result<Exit> {
    let wanted = Wanted { config, names: &arguments.servers.servers };
    if let Some(host) = arguments.print_config {
        let (config, servers) = project::load_servers(wanted.config, wanted.names, output)?;
        output.data_json(&host_config(host, &config, &servers, arguments)?)?;
        return Ok(Exit::Done);
    }
    let options = arguments.http.map(|address| http_options(address, arguments)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (loaded, servers) = runtime.block_on(load(wanted, output))?;
    let mut builder = builder(&loaded, &servers);
    if let Some(path) = &arguments.log {
        builder = builder.log(CallLog::open(path)?);
    }
    let proxy = runtime.block_on(options::shared(builder, arguments))?.build()?;
    let mut signals = Signals::listen(false, if options.is_some() { DRAIN } else { Duration::ZERO })?;
    let events = proxy.events();
    let outcome = runtime.block_on(async {
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        let shown = names.join(", ");
        let reloads = reloads(arguments.watch.then_some(&loaded))?;
        // However it ends, the proxy is closed.
        let outcome = async {
            match options {
                None => {
                    output.status("Serving", &format!("{shown} on stdin and stdout"));
                    tokio::select! {
                        served = proxy.serve_stdio() => served.map(|()| Exit::Done).map_err(failure),
                        exit = signals.received() => Ok(exit),
                        () = tell(&proxy, events, reloads, wanted, output) => Ok(Exit::Done),
                    }
                }
                Some(options) => {
                    let server = proxy.serve_http(options).await.map_err(failure)?;
                    output.status("Serving", &format!("{shown} on {}", server.url()));
                    output.report(&json!({ "format": 1, "url": server.url(), "servers": names }))?;
                    output.data(&server.url())?;
                    let exit = tokio::select! {
                        exit = signals.received() => exit,
                        () = tell(&proxy, events, reloads, wanted, output) => Exit::Done,
                    };
                    output.status("Closing", &format!("pending requests, for at most {} seconds", DRAIN.as_secs()));
                    server.close().await;
                    Ok(exit)
                }
            }
        }
        .await;
        let hurry = async {
            signals.received().await;
            tokio::time::sleep(TIME_TO_CLOSE.saturating_sub(2 * LAST)).await;
        };
        tokio::select! {
            () = proxy.close() => {}
            // Servers that do not end by themselves are killed when the runtime drops their connections.
            () = hurry => {}
        }
        outcome
    });
    runtime.shutdown_timeout(LAST);
    outcome
}

/// Runs `log verify`: checks the log of a proxy's calls.
pub(crate) fn verify_log(command: &LogCommand, output: &mut Output) -> Result<Exit> {
    let LogCommand::Verify { file } = command;
    let lines = CallLog::verify(file)?;
    output.status("Verified", &format!("{lines} lines of {}", file.display()));
    output.done(&json!({ "format": 1, "lines": lines }))
}

/// The configuration, and the names of the servers that are wanted of it.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    config: Option<&'a Path>,
    names: &'a [String],
}

/// Reads the configuration, and leaves out servers that cannot be reached.
async fn load(wanted: Wanted<'_>, output: &mut Output) -> Result<(Config, Vec<ServerConfig>)> {
    let (config, mut servers) = project::load_servers(wanted.config, wanted.names, output)?;
    let serving = serving(&config, wanted.names)?;
    for server in &mut servers {
        source::check_patterns(&config, &server.name)?;
        if matches!(server.transport, Transport::Stdio { .. }) {
            server.env.insert(SERVING.to_owned(), serving.clone());
        }
    }
    Ok((config, complete(servers, output).await?))
}

/// Returns the value of [`SERVING`] for servers: the commands that this one runs in, and this one. They are digests,
/// because values of `env` are redacted in all output.
///
/// # Errors
/// Fails if this command runs in itself.
fn serving(config: &Config, names: &[String]) -> Result<String> {
    let outer = env::var(SERVING).unwrap_or_default();
    let Some(path) = &config.path else { return Ok(outer) };
    // Serving other servers of the file is another command, and may end.
    let own = digest(&json!([path.canonicalize()?.to_string_lossy(), names]));
    if outer.split(':').any(|command| command == own) {
        let fact = "`serve` would start itself without end, because a server of this file runs it";
        let help = "remove that server, or serve only the others: `mcp-bindgen serve SERVER ..`";
        return Err(Failure::new(format!("{fact}\n --> {}", project::shown(path))).with_help(help));
    }
    Ok(if outer.is_empty() { own } else { format!("{outer}:{own}") })
}

/// The environment. A keyring may have to ask the user: it has any entry until a connection is opened.
struct WithoutKeyring;

impl SecretSource for WithoutKeyring {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        match secret {
            SecretRef::Keyring(_) => Ok(Some(String::new())),
            _ => LocalSecrets.secret(secret).await,
        }
    }
}

/// Warns of servers that need a variable which is not set, and leaves them out: connecting to them cannot succeed.
///
/// # Errors
/// Fails if no server is left.
async fn complete(servers: Vec<ServerConfig>, output: &mut Output) -> Result<Vec<ServerConfig>> {
    let mut complete = Vec::new();
    for server in servers {
        match with_secrets(&server, &WithoutKeyring).await {
            Ok(_) => complete.push(server),
            Err(error) => output.warning(&format!("server `{}` is not served: {}", server.name, error.message)),
        }
    }
    if complete.is_empty() {
        return Err(Failure::new("no servers to serve").with_help("run `mcp-bindgen doctor` to find missing settings"));
    }
    Ok(complete)
}

/// Begins to watch for reasons to read the configuration again, and returns them: SIGHUP, and changes of the files of a
/// configuration.
fn reloads(watched: Option<&Config>) -> io::Result<mpsc::Receiver<()>> {
    let (reason, reasons) = mpsc::channel(1);
    #[cfg(unix)]
    {
        let mut hang_up = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?;
        let reason = reason.clone();
        tokio::spawn(async move { while hang_up.recv().await.is_some() && reason.send(()).await.is_ok() {} });
    }
    if let Some(config) = watched
        && let Some(file) = config.path.clone()
    {
        let folder = project::folder_of(&config.snapshot_path("any")).to_owned();
        let mut known = stamps(&file, &folder);
        tokio::spawn(async move {
            let mut is_changed = false;
            loop {
                tokio::time::sleep(PAUSE).await;
                let now = stamps(&file, &folder);
                // A change counts once no file has changed for a moment.
                if now != known {
                    (known, is_changed) = (now, true);
                } else if std::mem::take(&mut is_changed) && reason.send(()).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(reasons)
}

/// Returns the time and the size of the configuration and of each file in the folder of the snapshots.
fn stamps(file: &Path, folder: &Path) -> BTreeMap<PathBuf, (Option<SystemTime>, u64)> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let stamp = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok()?;
        Some((path, (metadata.modified().ok(), metadata.len())))
    };
    files.chain([file.to_owned()]).filter_map(stamp).collect()
}

/// Reports each call and each unreachable server on stderr until the proxy ends. Reloads the configuration on request.
async fn tell(
    proxy: &Proxy,
    mut events: ProxyEvents,
    mut reloads: mpsc::Receiver<()>,
    wanted: Wanted<'_>,
    output: &mut Output,
) {
    // The servers that were reported as unreachable, until they are connected.
    let mut told = BTreeSet::new();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => show(event, &mut told, output),
                None => return,
            },
            Some(()) = reloads.recv() => reload(proxy, wanted, output).await,
        }
    }
}

/// Serves the current configuration. An invalid one changes nothing.
async fn reload(proxy: &Proxy, wanted: Wanted<'_>, output: &mut Output) {
    let reloaded = match load(wanted, output).await {
        Ok((config, servers)) => proxy.reload(builder(&config, &servers)).map_err(|error| error.to_string()),
        Err(failure) => Err(failure.message),
    };
    match reloaded {
        Ok(changed) if changed.is_empty() => output.status("Reloaded", "the configuration; no server has changed"),
        Ok(changed) => output.status("Reloaded", &format!("the configuration; changed: {}", changed.join(", "))),
        Err(error) => output.warning(&format!("the configuration was not reloaded, and nothing changes: {error}")),
    }
}

fn show(event: Event, told: &mut BTreeSet<String>, output: &mut Output) {
    match event {
        Event::ServerStateChanged(ServerStateChanged { server, state, error, .. }) => {
            if state == ConnectionState::Connected {
                told.remove(&server);
            }
            if let Some(error) = error.filter(|_| told.insert(server.clone())) {
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
                CallOutcome::Failed { kind, .. } => match &call.reason {
                    Some(reason) => format!("failed: {kind}: {reason},"),
                    None => format!("failed: {kind}"),
                },
                _ => "cancelled".to_owned(),
            };
            let text = format!("{} of {}, {outcome} in {:.1?}", call.tool, call.server, call.duration);
            output.status("Called", &text);
        }
        Event::ApprovalAsked(asked) => output.status("Asking", &format!("for {} of {}", asked.tool, asked.server)),
        _ => {}
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
