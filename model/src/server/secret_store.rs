//! The sources for values of placeholders.

use std::fmt;

/// A source for the values of `${NAME}`: `secrets` of a server or of `[defaults]`.
///
/// ```
/// use mcp_bindgen_model::{SecretStore, ServerConfig};
///
/// let server = ServerConfig::stdio("git", "mcp-server-git")
///     .env("TOKEN", "${GIT_TOKEN}")
///     .secret_stores([SecretStore::Keyring, SecretStore::Dotenv(".env".to_owned())]);
/// assert_eq!(server.to_json()["secrets"], serde_json::json!(["keyring", "dotenv:.env"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecretStore {
    /// `env`: the environment of this process.
    Env,
    /// `keyring`: the keyring of the operating system, with service `mcp-bindgen` and the name as the user.
    Keyring,
    /// `dotenv:PATH`: a file of lines `NAME=value`, relative to the configuration file. Its values are not exported. A
    /// missing file has none.
    Dotenv(String),
}

impl SecretStore {
    /// The words that a store can begin with.
    pub(crate) const WORDS: [&str; 3] = ["env", "keyring", "dotenv:.env"];

    /// Parses a store as it is written in a configuration.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("dotenv:").map(str::trim)) {
            ("env", _) => Some(Self::Env),
            ("keyring", _) => Some(Self::Keyring),
            (_, Some(path)) if !path.is_empty() => Some(Self::Dotenv(path.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for SecretStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env => f.write_str("env"),
            Self::Keyring => f.write_str("keyring"),
            Self::Dotenv(path) => write!(f, "dotenv:{path}"),
        }
    }
}
