//! Where the configuration of a server comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_model::{Config, Drift, ServerConfig, Snapshot, nearest, printable};

use crate::{Client, ClientOptions, ConnectError, ConnectErrorKind, ServerSpec};

/// The variable that holds servers as JSON, before any file.
pub(super) const SERVERS_VARIABLE: &str = "MCP_SERVERS";

/// The configuration of bindings, and what their snapshot was taken with.
pub(super) fn of_spec(spec: &'static ServerSpec) -> Result<(ServerConfig, ClientOptions), ConnectError> {
    let wrong = |message: String| ConnectError::new(spec.name, ConnectErrorKind::Config, message);
    let (config, defaults) = configured(spec).map_err(wrong)?;
    let mut options = ClientOptions::default();
    if let Some(timeout) = defaults {
        options = options.timeout(timeout);
    }
    if let Some(version) = spec.protocol_version {
        options = options.protocol_version(version);
    }
    if let Some(text) = spec.client_capabilities {
        let capabilities = serde_json::from_str(text)
            .map_err(|error| wrong(format!("the client capabilities of its bindings are not JSON: {error}")))?;
        options = options.capabilities(capabilities);
    }
    Ok((config, options))
}

type Configured = (ServerConfig, Option<Duration>);

fn configured(spec: &ServerSpec) -> Result<Configured, String> {
    if let Ok(text) = std::env::var(SERVERS_VARIABLE) {
        let config = Config::from_env_json(&text).map_err(|error| error.to_string())?;
        if config.servers.contains_key(spec.name) || config.rejected.contains_key(spec.name) {
            let server = config.server(spec.name).map_err(|error| error.to_string())?.clone();
            warn_of(&config, Some(spec.name));
            return Ok((server, None));
        }
        warn_of_strangers(spec.name, &config);
    }
    if let Some(text) = spec.config {
        let value =
            serde_json::from_str(text).map_err(|error| format!("the configuration of its bindings: {error}"))?;
        let mut server = ServerConfig::from_json(spec.name, &value).map_err(|error| error.to_string())?;
        server.folder = spec.folder.map(PathBuf::from);
        return Ok((server, None));
    }
    let folder = std::env::current_dir().map_err(|error| format!("the current folder cannot be read: {error}"))?;
    from_files(spec.name, &folder)
}

/// A misspelt name in the variable must not look like one that is obeyed.
fn warn_of_strangers(bound: &str, config: &Config) {
    let names: Vec<&str> = config.servers.keys().chain(config.rejected.keys()).map(String::as_str).collect();
    if names.is_empty() {
        return;
    }
    let meant = match nearest(bound, names.iter().copied()).first() {
        Some(near) => format!("was `{}` meant?", printable(near)),
        None => format!("it names {}", names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ")),
    };
    tracing::warn!(server = bound, "{SERVERS_VARIABLE} does not name the server `{bound}` of these bindings; {meant}");
}

fn from_files(name: &str, folder: &Path) -> Result<Configured, String> {
    let Some(path) = Config::find(folder) else {
        return Err(format!(
            "no configuration: the bindings hold none, {SERVERS_VARIABLE} does not name the server, and there is neither \
             mcp.toml nor .mcp.json from `{}` upwards",
            folder.display()
        ));
    };
    let config = Config::load(&path).map_err(|error| error.to_string())?;
    let server = config.server_with_defaults(name).map_err(|error| error.to_string())?;
    warn_of(&config, Some(name));
    Ok((server, Some(config.defaults.timeout)))
}

/// Tells what is worth mending in a configuration, for one of its servers or for all.
fn warn_of(config: &Config, server: Option<&str>) {
    let warnings = config.warnings.iter();
    for warning in warnings.filter(|warning| server.is_none() || warning.server.as_deref() == server) {
        tracing::warn!("{warning}");
    }
}

/// What was looked at of a server, for calls that have no bindings: the snapshot beside the configuration's file.
fn snapshot_of(config: &Config, name: &str) -> Option<Snapshot> {
    config.path.as_ref()?;
    let path = config.snapshot_path(name);
    let known = path.exists().then(|| Snapshot::load(&path))?;
    known.inspect_err(|error| tracing::warn!(server = name, "its snapshot cannot be read: {error}")).ok()
}

/// The servers of a configuration, by name.
pub(super) fn clients_of(config: Config) -> BTreeMap<String, Client> {
    warn_of(&config, None);
    let options = ClientOptions::default().timeout(config.defaults.timeout);
    let client_of = |name: &String| {
        let server = config.server_with_defaults(name).ok()?;
        let known = (server.drift == Some(Drift::Deny)).then(|| snapshot_of(&config, name)).flatten();
        let client = Client::with_options(server, options.clone());
        Some((name.clone(), known.into_iter().fold(client, Client::known_by)))
    };
    config.servers.keys().filter_map(client_of).collect()
}
