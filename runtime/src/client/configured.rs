//! Finds the configuration of a server, and shares one connection between bindings with equal configurations.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Snapshot, Transport, digest, nearest, printable};
use serde_json::json;
use tokio::runtime::Handle;

use super::catalog::drift::{Baseline, refuses};
use super::supervisor::Supervisor;
use crate::ground::sync::lock;
use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind, ServerSpec};

/// The variable that holds servers as JSON, before any file.
pub(super) const SERVERS_VARIABLE: &str = "MCP_SERVERS";

/// The shared supervisors. Weak references let the last client end its supervisor.
static SHARED: Mutex<BTreeMap<String, Weak<Supervisor>>> = Mutex::new(BTreeMap::new());

/// Returns the configuration of bindings. The program's options get the protocol version and the client capabilities of
/// the snapshot, unless they set them.
pub(super) fn of_spec(
    spec: &'static ServerSpec,
    mut options: ClientOptions,
) -> Result<(ServerConfig, ClientOptions), ConnectError> {
    let wrong = |error: Box<dyn Error>| ConnectError::new(spec.name, ConnectErrorKind::Config, error.to_string());
    let config = configured(spec, &options).map_err(wrong)?;
    let capabilities = spec.client_capabilities.map(serde_json::from_str).transpose();
    let capabilities = capabilities
        .map_err(|error| wrong(format!("the client capabilities of its bindings are not JSON: {error}").into()))?;
    options.protocol_version = options.protocol_version.or_else(|| spec.protocol_version.map(str::to_owned));
    options.capabilities = options.capabilities.or(capabilities);
    Ok((config, options))
}

fn configured(spec: &ServerSpec, options: &ClientOptions) -> Result<ServerConfig, Box<dyn Error>> {
    let carried = carried(spec)?;
    if let Ok(text) = std::env::var(SERVERS_VARIABLE) {
        let config = Config::from_env_json(&text)?;
        if config.servers.contains_key(spec.name) || config.rejected.contains_key(spec.name) {
            let server = config.server(spec.name)?.clone();
            warn_of(&config, Some(spec.name));
            return Ok(carried.iter().fold(server, ServerConfig::with_demands_of));
        }
        warn_of_strangers(spec.name, &config);
    }
    match carried {
        Some(server) => Ok(server),
        None => of_working_directory(spec.name, options.trusts_current_folder),
    }
}

/// Returns the configuration that the bindings contain, if they contain one.
fn carried(spec: &ServerSpec) -> Result<Option<ServerConfig>, Box<dyn Error>> {
    let Some(text) = spec.config else { return Ok(None) };
    let value = serde_json::from_str(text).map_err(|error| format!("the configuration of its bindings: {error}"))?;
    let mut server = ServerConfig::from_json(spec.name, &value)?;
    server.folder = spec.folder.map(PathBuf::from);
    Ok(Some(server))
}

/// Warns that the variable does not name the server of the bindings, because a misspelt name would otherwise be ignored
/// silently.
fn warn_of_strangers(bound: &str, config: &Config) {
    let names: Vec<&str> = config.servers.keys().chain(config.rejected.keys()).map(String::as_str).collect();
    if names.is_empty() {
        return;
    }
    let meant = match nearest(bound, names.iter().copied()).first() {
        Some(near) => format!("was `{}` meant?", printable(near)),
        None => format!("it names {}", names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ")),
    };
    let unknown = format!("{SERVERS_VARIABLE} does not contain the server `{bound}` of these bindings");
    tracing::warn!(server = bound, "{unknown}; {meant}");
}

/// Returns the configuration in a file of the working directory. Its author may not be the user of the program. Without
/// the program's trust its `command` is not started, and no secret is sent to its `url`.
fn of_working_directory(name: &str, is_trusted: bool) -> Result<ServerConfig, Box<dyn Error>> {
    let folder = std::env::current_dir().map_err(|error| format!("cannot read the working directory: {error}"))?;
    let shown = |path: &Path| printable(&path.to_string_lossy());
    let help = match Config::find(&folder) {
        Some(path) if is_trusted => {
            let config = Config::load(&path)?;
            let server = config.server_with_defaults(name)?;
            warn_of(&config, Some(name));
            return Ok(server);
        }
        Some(path) => format!(
            "`{}` is only read with `connect_with` and `Servers::load`, or `ClientOptions::trust_current_folder`",
            shown(&path)
        ),
        None if is_trusted => format!("no mcp.toml or .mcp.json in `{}` or at its workspace root", shown(&folder)),
        None => "set it, or generate the bindings in a project whose mcp.toml has the server".to_owned(),
    };
    let none = format!("no configuration: the bindings embed none, and {SERVERS_VARIABLE} does not contain the server");
    Err(format!("{none}; {help}").into())
}

/// Logs the warnings of a configuration, for one of its servers or for all.
pub(super) fn warn_of(config: &Config, server: Option<&str>) {
    let warnings = config.warnings.iter();
    for warning in warnings.filter(|warning| server.is_none() || warning.server.as_deref() == server) {
        tracing::warn!("{warning}");
    }
}

/// Returns the reviewed snapshot of a server, for calls that have no bindings: the one beside the configuration's file.
fn snapshot_of(config: &Config, name: &str) -> Option<Snapshot> {
    config.path.as_ref()?;
    let path = config.snapshot_path(name);
    let known = path.exists().then(|| Snapshot::load(&path))?;
    known.inspect_err(|error| tracing::warn!(server = name, "failed to read its snapshot: {error}")).ok()
}

/// Returns the supervisor shared by clients with the same configuration. The options are the defaults, plus the
/// capabilities that the snapshot was taken with.
pub(super) fn shared(config: ServerConfig, options: ClientOptions) -> Arc<Supervisor> {
    // A configuration that cannot be resolved is not shared; connecting reports the error.
    let Some(key) = key(&config, &options) else {
        return Arc::new(Supervisor::new(config, options));
    };
    let mut shared = lock(&SHARED);
    shared.retain(|_, supervisor| supervisor.strong_count() > 0);
    if let Some(found) = shared.get(&key).and_then(Weak::upgrade).filter(|found| !found.is_shut_down()) {
        return found;
    }
    let made = Arc::new(Supervisor::new(config, options));
    shared.insert(key, Arc::downgrade(&made));
    made
}

/// Returns the key, a digest, because the configuration contains secrets. The key includes the runtime, because a
/// connection belongs to the runtime that opened it.
fn key(config: &ServerConfig, options: &ClientOptions) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    // Keyrings and files are read when a connection is opened; an entry is the same for all.
    let value = |secret: &SecretRef| match secret {
        SecretRef::Variable(name) if config.secret_stores.is_empty() => variable(name),
        other => Some(other.to_string()),
    };
    let resolved = config.expand_with(value).ok()?;
    let auth = resolved.auth.as_ref().map(|auth| (&auth.issuer, &auth.client, &auth.client_secret, &auth.scopes));
    let reached = match &resolved.transport {
        Transport::Stdio { command, args, cwd } => json!(["stdio", command, args, cwd]),
        Transport::Http { url, headers } => json!(["http", url, headers]),
        Transport::Sse { url, headers } => json!(["sse", url, headers]),
    };
    let inherited: Vec<_> = resolved.inherit_env.iter().map(|name| (name, variable(name))).collect();
    let runtime = Handle::try_current().ok().map(|runtime| runtime.id().to_string());
    let parts = json!([
        resolved.name,
        resolved.folder,
        reached,
        [&resolved.ca, &resolved.client_cert, &resolved.proxy],
        auth,
        resolved.env,
        inherited,
        resolved.isolation.as_ref().map(|isolation| (&isolation.read, &isolation.write)),
        config.to_json(),
        options.protocol_version.as_deref(),
        options.declared_capabilities(),
        runtime,
    ]);
    Some(digest(&parts))
}

impl Client {
    /// Creates a client for a server of a configuration, with its `[defaults]`, and with the snapshot that `drift =
    /// "deny"` compares with.
    #[doc(hidden)]
    #[must_use]
    pub fn of_config(config: &Config, server: &ServerConfig, options: ClientOptions) -> Self {
        let client = Self::with_options(config.with_defaults(server), options);
        client.compared_with(|| snapshot_of(config, &server.name))
    }

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
        // An isolated server may not see that folder, and did not request it.
        let has_cwd = !matches!(&server.transport, Transport::Stdio { cwd: None, .. });
        if server.folder.is_some() && server.isolation.is_none() && !has_cwd {
            server = server.cwd(".");
        }
        Self::with_options(server, options).compared_with(|| known.cloned())
    }

    /// Sets the snapshot that tools without bindings are compared with, if the configuration rejects changed tools.
    fn compared_with(mut self, snapshot: impl FnOnce() -> Option<Snapshot>) -> Self {
        if refuses(self.config())
            && let Some(snapshot) = snapshot()
        {
            self.baseline = Baseline::Snapshot(snapshot.tools.into_iter().map(Arc::new).collect());
        }
        self
    }
}
