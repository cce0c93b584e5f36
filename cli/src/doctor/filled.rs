//! The configuration of a server with its placeholders resolved.

use mcp_bindgen_model::{SecretRef, ServerConfig, printable};
use mcp_bindgen_runtime::{LocalSecrets, find_secret};

use crate::project::needs;

/// Shorter values occur in too many other words.
const SHORTEST: usize = 3;

/// A server whose placeholders are filled as far as they can be.
pub(super) struct Filled {
    pub(super) config: ServerConfig,
    /// The values of the placeholders, the longest first.
    known: Vec<(String, SecretRef)>,
    /// Those that have no value, and no default.
    open: Vec<String>,
}

impl Filled {
    pub(super) async fn of(server: &ServerConfig) -> Self {
        let mut known = Vec::new();
        let mut open = Vec::new();
        for secret in server.placeholders() {
            match find_secret(server, &secret, &LocalSecrets).await {
                Ok(Some(value)) => known.push((value, secret)),
                // A default replaces a missing value.
                _ if needs(server, &secret) => open.push(secret.to_string()),
                _ => {}
            }
        }
        known.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        let config = server.expand_with(|asked| {
            let value = known.iter().find(|(_, secret)| secret == asked).map(|(value, _)| value.clone());
            value.or_else(|| Some(asked.to_string()).filter(|placeholder| open.contains(placeholder)))
        });
        Self { config: config.unwrap_or_else(|_| server.clone()), known, open }
    }

    /// Returns `true` if something in a text is still not known.
    pub(super) fn is_open(&self, text: &str) -> bool {
        self.open.iter().any(|placeholder| text.contains(placeholder.as_str()))
    }

    /// Returns a text with placeholders in place of their values, which may be secret.
    pub(super) fn shown(&self, text: &str) -> String {
        let known = self.known.iter().filter(|(value, _)| value.len() >= SHORTEST);
        let text = known.fold(text.to_owned(), |text, (value, secret)| text.replace(value, &secret.to_string()));
        printable(&text)
    }
}
