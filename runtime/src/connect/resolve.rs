//! Resolves the placeholders of a configuration, and collects its secrets.

use mcp_bindgen_model::{SecretRef, ServerConfig};

use super::secrets::SecretSource;
use super::stores::find_secret;
use crate::ground::redact::{PrivateValues, Redactor};
use crate::{ConnectError, ConnectErrorKind as Kind};

const LONGEST_REASON: usize = 500;

/// Returns a server's configuration with resolved placeholders, as a client resolves them when it connects. It is for
/// programs that pass the configuration to another client. `Debug` still prints the placeholders; the fields contain
/// the values. Cancel safe.
///
/// ```
/// use mcp_bindgen_model::{ServerConfig, Transport};
/// use mcp_bindgen_runtime::{LocalSecrets, with_secrets};
///
/// # async fn run() -> Result<(), mcp_bindgen_runtime::ConnectError> {
/// let server = ServerConfig::http("files", "https://${HOST:-files.example.com}/mcp");
/// let ready = with_secrets(&server, &LocalSecrets).await?;
/// assert!(matches!(&ready.transport, Transport::Http { url, .. } if url.starts_with("https://files")));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Fails with the name of a placeholder that has no value or cannot be resolved, and never with a value.
pub async fn with_secrets(config: &ServerConfig, source: &impl SecretSource) -> Result<ServerConfig, ConnectError> {
    Ok(resolve(config, source).await?.0)
}

/// The secrets in a server's configuration that are known without connecting, for programs that store responses of
/// the server.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::{KnownSecrets, LocalSecrets};
///
/// # async fn run() {
/// let server = ServerConfig::stdio("files", "file-server").args(["--token", "8d0f2a4c6e80"]);
/// let secrets = KnownSecrets::of(&server, &LocalSecrets).await;
/// assert!(secrets.are_in("cannot log in with 8d0f2a4c6e80"));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct KnownSecrets {
    redactor: Redactor,
}

impl KnownSecrets {
    /// Creates a redactor for a configuration. A placeholder without a value hides nothing. Dropping this future drops
    /// the future of the source.
    pub async fn of(config: &ServerConfig, source: &impl SecretSource) -> Self {
        Self { redactor: unresolved(config, source).await.1 }
    }

    /// Returns `true` if a text contains one of them, in any form in which servers print it. Values that could be
    /// ordinary words are ignored.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        self.redactor.is_sure_of(text)
    }
}

/// Returns the configuration with a value for each placeholder, and a redactor for its secrets. Dropping this future
/// drops the future of the source.
///
/// # Errors
/// Fails with the name of a placeholder that has no value or cannot be resolved.
pub(super) async fn resolve(
    config: &ServerConfig,
    secrets: &impl SecretSource,
) -> Result<(ServerConfig, Redactor), ConnectError> {
    let mut found: Vec<(SecretRef, String)> = Vec::new();
    for secret in config.placeholders() {
        let value = find_secret(config, &secret, secrets).await.map_err(|error| {
            let kind = if error.is_unsupported { Kind::Unsupported } else { Kind::Config };
            // The error of a program's own source may contain values that it returned before.
            let reason = Redactor::new(&private_values(config, &found)).shown(&error.to_string(), LONGEST_REASON);
            ConnectError::new(&config.name, kind, format!("`{secret}` has no value: {reason}"))
        })?;
        found.extend(value.map(|value| (secret, value)));
    }
    let ready = config.expand_with(|secret| value_of(&found, secret)).map_err(|error| {
        let places = config.secret_stores.iter().map(|store| format!("`{store}`")).collect::<Vec<_>>();
        let looked = if places.is_empty() { String::new() } else { format!(" (looked up in {})", places.join(", ")) };
        ConnectError::new(&config.name, Kind::Config, format!("{error}{looked}"))
    })?;
    let redactor = Redactor::new(&private_values(&ready, &found));
    Ok((ready, redactor))
}

/// Returns the unresolved configuration, with a redactor for the secrets that can be resolved. Dropping this future
/// drops the future of the source.
pub(super) async fn unresolved(config: &ServerConfig, secrets: &impl SecretSource) -> (ServerConfig, Redactor) {
    let mut found: Vec<(SecretRef, String)> = Vec::new();
    for secret in config.placeholders() {
        if let Ok(Some(value)) = find_secret(config, &secret, secrets).await {
            found.push((secret, value));
        }
    }
    // A placeholder without a value is not a secret.
    let known = config.expand_with(|secret| value_of(&found, secret).or_else(|| Some(String::new())));
    let redactor = Redactor::new(&private_values(known.as_ref().unwrap_or(config), &found));
    (config.clone(), redactor)
}

fn value_of(found: &[(SecretRef, String)], wanted: &SecretRef) -> Option<String> {
    found.iter().find(|(secret, _)| secret == wanted).map(|(_, value)| value.clone())
}

fn private_values(config: &ServerConfig, found: &[(SecretRef, String)]) -> PrivateValues {
    let mut values = PrivateValues::of(config);
    for (secret, value) in found {
        match secret {
            SecretRef::Variable(name) => values.handed(name, value),
            _ => values.secret(value),
        }
    }
    for name in &config.inherit_env {
        if let Some(value) = std::env::var_os(name) {
            values.handed(name, &value.to_string_lossy());
        }
    }
    #[cfg(feature = "stdio")]
    for (name, value) in crate::connect::process::environment::secrets_of_download(config) {
        values.handed(&name, &value);
    }
    values
}
