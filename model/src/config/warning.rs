//! What is worth mending in a configuration though it can be read.

use std::fmt;

use super::Config;
use crate::server::Drift;
use crate::{FileError, ServerConfig};

/// Something in a configuration that is worth mending though it can be read.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The server that it is about.
    pub server: Option<String>,
    /// What is wrong, where, and what to do about it.
    pub error: FileError,
}

impl ConfigWarning {
    pub(super) fn about(server: &str, error: FileError) -> Self {
        Self { server: Some(server.to_owned()), error }
    }
}

/// The error alone: what stands for a name may be a secret in the wrong place.
impl fmt::Debug for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Config {
    /// What the configuration demands of the runtime and this version of it does not do, for every server.
    ///
    /// ```
    /// let text = "[servers.github]\nnpm = \"x\"\napprove = [\"merge_*\"]\n";
    /// let config = mcp_model::Config::parse_toml(text, "mcp.toml".as_ref())?;
    /// assert!(config.unenforced()[0].to_string().starts_with("`approve` of server `github` is not enforced"));
    /// # Ok::<(), mcp_model::FileError>(())
    /// ```
    pub fn unenforced(&self) -> Vec<ConfigWarning> {
        let mut warnings = Vec::new();
        for server in self.servers.values() {
            let mut warn = |what: &str, so: &str, help: &str| {
                let message = format!("{what} of server `{}` is not enforced by this version: {so}", server.name);
                let mut error = FileError::new(message).with_help(help);
                error.path.clone_from(&self.path);
                warnings.push(ConfigWarning::about(&server.name, error));
            };
            if !server.approve.is_empty() {
                warn(
                    "`approve`",
                    "programs call these tools without an approval",
                    "ask for it before the call, or leave the tools out with `exclude`",
                );
            }
            if self.drift_of(server) == Drift::Deny {
                warn(
                    "`drift = \"deny\"`",
                    "programs call tools that changed all the same",
                    "run `mcp-bindgen check` before a release",
                );
            }
        }
        warnings
    }

    pub(super) fn drift_of(&self, server: &ServerConfig) -> Drift {
        server.drift.unwrap_or(self.defaults.drift)
    }
}
