//! Finds the configuration of a server.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, Drift, ServerConfig, Snapshot, Transport, nearest, printable};

use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind, ServerSpec};

/// The variable that holds servers as JSON, before any file.
pub(super) const SERVERS_VARIABLE: &str = "MCP_SERVERS";

/// Returns the configuration of bindings, and the program's options with what their snapshot was taken with.
pub(super) fn of_spec(
    spec: &'static ServerSpec,
    mut options: ClientOptions,
) -> Result<(ServerConfig, ClientOptions), ConnectError> {
    let wrong = |message: String| ConnectError::new(spec.name, ConnectErrorKind::Config, message);
    let config = configured(spec, &options).map_err(wrong)?;
    let capabilities = spec.client_capabilities.map(serde_json::from_str).transpose();
    let capabilities = capabilities
        .map_err(|error| wrong(format!("the client capabilities of its bindings are not JSON: {error}")))?;
    options.protocol_version = options.protocol_version.or_else(|| spec.protocol_version.map(str::to_owned));
    options.capabilities = options.capabilities.or(capabilities);
    Ok((config, options))
}

fn configured(spec: &ServerSpec, options: &ClientOptions) -> Result<ServerConfig, String> {
    if let Ok(text) = std::env::var(SERVERS_VARIABLE) {
        let config = Config::from_env_json(&text).map_err(|error| error.to_string())?;
        if config.servers.contains_key(spec.name) || config.rejected.contains_key(spec.name) {
            let server = config.server(spec.name).map_err(|error| error.to_string())?.clone();
            warn_of(&config, Some(spec.name));
            return Ok(match carried(spec)? {
                Some(carried) => server.with_demands_of(&carried),
                None => server,
            });
        }
        warn_of_strangers(spec.name, &config);
    }
    if let Some(server) = carried(spec)? {
        return Ok(server);
    }
    let folder = std::env::current_dir().map_err(|error| format!("cannot read the working directory: {error}"))?;
    of_folder(spec.name, &folder, options.trusts_current_folder)
}

/// Returns the configuration from the time when the bindings were made.
fn carried(spec: &ServerSpec) -> Result<Option<ServerConfig>, String> {
    let Some(text) = spec.config else { return Ok(None) };
    let value = serde_json::from_str(text).map_err(|error| format!("the configuration of its bindings: {error}"))?;
    let mut server = ServerConfig::from_json(spec.name, &value).map_err(|error| error.to_string())?;
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
    tracing::warn!(
        server = bound,
        "{SERVERS_VARIABLE} does not contain the server `{bound}` of these bindings; \
                                    {meant}"
    );
}

/// Returns the configuration in a file of the current folder. Its author may not be the user of the program. Without
/// the program's trust its `command` is not started, and no secret is sent to its `url`.
fn of_folder(name: &str, folder: &Path, is_trusted: bool) -> Result<ServerConfig, String> {
    let none = format!("no configuration: the bindings embed none, and {SERVERS_VARIABLE} does not contain the server");
    match Config::find(folder) {
        Some(path) if is_trusted => {
            let config = Config::load(&path).map_err(|error| error.to_string())?;
            let server = config.server_with_defaults(name).map_err(|error| error.to_string())?;
            warn_of(&config, Some(name));
            Ok(server)
        }
        Some(path) => Err(format!(
            "{none}; `{}` is only read with `connect_with` and `Servers::load`, or \
             `ClientOptions::trust_current_folder`",
            printable(&path.to_string_lossy())
        )),
        None if is_trusted => Err(format!(
            "{none}; no mcp.toml or .mcp.json in `{}` or at its workspace root",
            printable(&folder.to_string_lossy())
        )),
        None => Err(format!("{none}; set it, or generate the bindings in a project whose mcp.toml has the server")),
    }
}

/// Logs the warnings of a configuration, for one of its servers or for all.
fn warn_of(config: &Config, server: Option<&str>) {
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

/// Returns the servers of a configuration, sorted by name, each with these options.
pub(super) fn clients_of(config: &Config, options: &ClientOptions) -> Vec<Client> {
    warn_of(config, None);
    config.servers.values().map(|server| Client::of_config(config, server, options.clone())).collect()
}

impl Client {
    /// Creates a client for a server of a configuration, with its `[defaults]`, and with the snapshot that `drift =
    /// "deny"` compares with.
    #[doc(hidden)]
    #[must_use]
    pub fn of_config(config: &Config, server: &ServerConfig, options: ClientOptions) -> Self {
        let server = config.with_defaults(server);
        let known = (server.drift == Some(Drift::Deny)).then(|| snapshot_of(config, &server.name)).flatten();
        known.into_iter().fold(Self::with_options(server, options), Self::known_by)
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
        let is_compared = server.drift == Some(Drift::Deny);
        let client = Self::with_options(server, options);
        known.filter(|_| is_compared).cloned().into_iter().fold(client, Self::known_by)
    }
}
