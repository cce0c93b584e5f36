//! Tests the sources of placeholder values, and the errors of missing ones.

#![allow(clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    Client, ClientOptions, ConnectError, ConnectErrorKind as Kind, KnownSecrets, LocalSecrets, SecretError, SecretRef,
    SecretSource, with_secrets,
};

/// Has one secret, stumbles over another, and never answers for a third.
struct Vault(Arc<AtomicUsize>);

impl SecretSource for Vault {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match secret {
            SecretRef::Variable(name) if name == "A_VAULTED" => Ok(Some("from the vault".to_owned())),
            SecretRef::Variable(name) if name == "BROKEN" => Err(SecretError::new("no lease after from the vault")),
            SecretRef::Variable(name) if name == "SLOW" => std::future::pending().await,
            SecretRef::Keyring(name) if name == "mine" => Ok(Some("from my own keyring".to_owned())),
            _ => Ok(None),
        }
    }
}

async fn refused(variables: &[(&str, &str)], options: ClientOptions) -> ConnectError {
    let server = variables.iter().fold(
        ServerConfig::stdio("shell", "sh").args(["-c", "echo \"told $A, $B, $C\" >&2"]),
        |server, (name, value)| server.env(*name, *value),
    );
    Client::with_options(server, options).connect().await.expect_err("it is no server")
}

#[tokio::test]
async fn custom_secret_source_is_used() {
    let asked = Arc::new(AtomicUsize::new(0));
    let options = || ClientOptions::new().secrets(Vault(asked.clone()).or(LocalSecrets));
    let variables = [("A", "${A_VAULTED}"), ("B", "${keyring:mine}"), ("C", "${NEVER_SET_ANYWHERE:-a default}")];
    let said = refused(&variables, options()).await.to_string();
    assert!(said.contains("told [redacted], [redacted], "), "{said}");
    assert!(!said.contains("vault") && !said.contains("my own"), "{said}");
    assert_eq!(asked.load(Ordering::Relaxed), 3, "each is asked for once");

    let error = refused(&[("A", "${A_VAULTED}"), ("B", "${BROKEN}")], options()).await;
    assert_eq!(error.to_string(), "shell: `${BROKEN}` has no value: no lease after [redacted]");
    assert_eq!(error.kind, Kind::Config);

    // The next one is not asked for.
    let patient = options().connect_timeout(Duration::from_secs(5));
    let error = refused(&[("A", "${BROKEN}"), ("B", "${SLOW}")], patient).await;
    assert!(error.to_string().starts_with("shell: `${BROKEN}` has no value: "), "{error}");
    let server = ServerConfig::stdio("shell", "sh").env("A", "${BROKEN}").env("B", "${SLOW}");
    let vault = Vault(asked.clone());
    let ended = tokio::time::timeout(Duration::from_secs(5), with_secrets(&server, &vault)).await;
    assert!(ended.expect("it ends").is_err());
    let server = ServerConfig::stdio("shell", "sh").env("A", "${BROKEN}").env("B", "${keyring:mine}");
    let known = KnownSecrets::of(&server, &vault).await;
    assert!(known.are_in("from my own keyring"), "known secrets are all that have a value");

    let hasty = options().connect_timeout(Duration::from_millis(300));
    let error = refused(&[("A", "${SLOW}")], hasty).await;
    assert_eq!(error.kind, Kind::Timeout);
    assert_eq!(error.to_string(), "shell: the secrets of its configuration were not resolved within 300ms");

    // In place of the environment, not beside it.
    let alone = ClientOptions::new().secrets(Vault(asked.clone()));
    let error = refused(&[("A", "${PATH}")], alone).await;
    assert!(error.to_string().contains("environment variable `PATH` is not set"), "{error}");
}

#[cfg(not(feature = "keyring"))]
#[tokio::test]
async fn keyring_without_support_is_an_error_naming_the_feature() {
    let error = refused(&[("A", "${keyring:a token:-spare}")], ClientOptions::new()).await;
    assert_eq!(error.kind, Kind::Unsupported);
    let expected = "shell: `${keyring:a token}` has no value: this build has no keyring support; enable the feature `keyring` of mcp-bindgen";
    assert_eq!(error.to_string(), expected);
}
