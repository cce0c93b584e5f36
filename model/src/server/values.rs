//! The texts of a configuration with placeholders and secrets.

use std::collections::BTreeMap;

use super::Transport;
use crate::FileError;
use crate::config::table::ConfigValue;
use crate::config::{Change, Reach, ServerConfig, Table};
use crate::placeholder::{self, Placeholder, SecretRef};
use crate::secrets::{self, ConfigField, Secret, is_secret_key};

/// The prefix of variables for secrets in bindings. No other variable has this prefix, so no unrelated variable is sent
/// to a server.
pub(super) const LEFT_OUT: &str = "MCP_SECRET_";

impl ServerConfig {
    /// Replaces the placeholders with their values, just before connecting, and makes relative paths absolute if the
    /// [folder](Self::folder) is known. `lookup` returns the value of an environment variable; placeholders for
    /// keyrings fail. `Debug` and [`to_json`](Self::to_json) of the result still show the placeholders.
    ///
    /// # Errors
    /// Names the variable that is not set, and the server that needs it.
    pub fn expand(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, FileError> {
        self.expand_with(|secret| match secret {
            SecretRef::Variable(name) => lookup(name),
            SecretRef::Keyring(_) => None,
        })
    }

    /// Expands values like [`expand`](Self::expand), with placeholders of every kind.
    ///
    /// # Errors
    /// Fails with the missing placeholder, and the server that needs it.
    pub fn expand_with(&self, lookup: impl Fn(&SecretRef) -> Option<String>) -> Result<Self, FileError> {
        let mut missing = None;
        let mut ready = self.map_texts(&mut |place, text| {
            if !place.is_expanded() {
                return text.to_owned();
            }
            placeholder::expand(text, &lookup).unwrap_or_else(|secret| {
                missing.get_or_insert_with(|| self.missing(&place.label(), &secret));
                String::new()
            })
        });
        if let Some(missing) = missing {
            return Err(missing);
        }
        ready.as_written = Some(Box::new(self.written().clone()));
        ready.resolve_paths();
        Ok(ready)
    }

    /// Returns the sources of all placeholders, without duplicates, sorted by name.
    pub fn placeholders(&self) -> Vec<SecretRef> {
        let mut found: Vec<SecretRef> = Vec::new();
        self.map_texts(&mut |place, text| {
            for Placeholder { source, .. } in placeholder::find(text) {
                if let (true, Err(at)) = (place.is_expanded(), found.binary_search(&source)) {
                    found.insert(at, source);
                }
            }
            String::new()
        });
        found
    }

    /// Returns the original configuration, before placeholders were replaced.
    pub(super) fn written(&self) -> &Self {
        self.as_written.as_deref().unwrap_or(self)
    }

    fn missing(&self, place: &str, secret: &SecretRef) -> FileError {
        let name = &self.name;
        let (fact, help) = match secret {
            SecretRef::Keyring(_) => (
                format!("no keyring entry `{secret}`; server `{name}` needs it for {place}"),
                "add it to the keyring with that name and the service `mcp-bindgen`".to_owned(),
            ),
            SecretRef::Variable(variable) if variable.starts_with(LEFT_OUT) => (
                format!("{place} of server `{name}` was a secret in plain text, which bindings do not embed"),
                format!(
                    "use a placeholder in the configuration and rebuild, set `{variable}`, or configure the server in \
                     `MCP_SERVERS`"
                ),
            ),
            SecretRef::Variable(variable) => {
                let or_default = format!(", or give it a default: `${{{variable}:-...}}`");
                (
                    format!("environment variable `{variable}` is not set; server `{name}` needs it for {place}"),
                    format!("set `{variable}`{}", if is_secret_key(variable) { "" } else { &or_default }),
                )
            }
        };
        FileError::new(fact).with_help(help)
    }

    /// Returns the values that look like secrets; output of the program should not contain them. For an
    /// [expanded](Self::expand) configuration these are the real values.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("git", "mcp-server-git").args(["--token=abc", "--port=80"]).env("PASSWORD", "${P}");
    /// assert_eq!(server.secrets(), ["abc"]);
    /// assert_eq!(server.expand(|_| Some("hunter2".to_owned()))?.secrets(), ["abc", "hunter2"]);
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    pub fn secrets(&self) -> Vec<String> {
        let mut values = Vec::new();
        self.each_secret(&mut |_, text, secret| {
            let value = text.get(secret.range.clone()).unwrap_or_default();
            values.push(if secret.is_default { value.trim_start_matches(":-") } else { value }.to_owned());
        });
        values
    }

    /// Replaces every secret in the configuration as it was written. If a secret is the [default](Secret::is_default)
    /// of a placeholder, the `:-` before it is replaced too. `instead` receives the whole text around the secret.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("git", "mcp-server-git").args(["--token=abc"]).env("PASSWORD", "hunter2");
    /// let server = server.replace_secrets(|_, _, secret| format!("${{{}}}", secret.key.to_uppercase()));
    /// assert_eq!(server, ServerConfig::stdio("git", "mcp-server-git").args(["--token=${TOKEN}"]).env("PASSWORD", "${PASSWORD}"));
    /// ```
    #[must_use]
    pub fn replace_secrets(&self, mut instead: impl FnMut(ConfigField<'_>, &str, &Secret) -> String) -> Self {
        self.written().map_texts(&mut |place, text| {
            secrets::replace(text, &secrets::find(place, text), &mut |secret| instead(place, text, secret))
        })
    }

    /// Replaces secrets like [`replace_secrets`](Self::replace_secrets), but as little as possible: text around a
    /// secret in a command line stays. In doubt, more is replaced, never less.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("a", "sh").args(["-c", "API_KEY=abc; exec server"]);
    /// let server = server.replace_secrets_exactly(|_, _, secret| format!("${{{}}}", secret.key));
    /// assert_eq!(server, ServerConfig::stdio("a", "sh").args(["-c", "API_KEY=${API_KEY}; exec server"]));
    /// ```
    #[must_use]
    pub fn replace_secrets_exactly(&self, mut instead: impl FnMut(ConfigField<'_>, &str, &Secret) -> String) -> Self {
        self.written().map_texts(&mut |place, text| {
            secrets::replace_exactly(place, text, &mut |secret| instead(place, text, secret))
        })
    }

    pub(crate) fn each_secret(&self, see: &mut dyn FnMut(ConfigField<'_>, &str, &Secret)) {
        self.map_texts(&mut |place, text| {
            secrets::find(place, text).iter().for_each(|secret| see(place, text, secret));
            String::new()
        });
    }

    pub(super) fn map_texts(&self, change: &mut Change<'_>) -> Self {
        let mut copy = self.clone();
        match (&self.transport, &mut copy.transport) {
            (Transport::Stdio { command, args, .. }, Transport::Stdio { command: own, args: others, cwd }) => {
                for (index, argument) in others.iter_mut().enumerate() {
                    *argument = change(ConfigField::Argument { command, all: args, index }, argument);
                }
                *own = change(ConfigField::Command, command);
                cwd.iter_mut().for_each(|cwd| *cwd = change(ConfigField::Folder, cwd));
            }
            (_, Transport::Http { url, headers } | Transport::Sse { url, headers }) => {
                *url = change(ConfigField::Url, url);
                change_entries(headers, |name| ConfigField::Header(name), change);
            }
            _ => {}
        }
        change_entries(&mut copy.env, |name| ConfigField::Env(name), change);
        for (key, field) in copy.fields_mut() {
            let is_remote = Self::KEYS.iter().any(|known| known.name == key && known.reach == Reach::Remote);
            field.change(if is_remote { ConfigField::Network(key) } else { ConfigField::Note(key) }, change);
        }
        copy.drift_rules.accept.change_texts(ConfigField::Note("drift"), change);
        copy
    }
}

/// Replaces the names and the values of variables or headers.
fn change_entries(entries: &mut BTreeMap<String, String>, field: fn(&str) -> ConfigField<'_>, change: &mut Change<'_>) {
    let (key, _) = field("").key();
    let mut changed = BTreeMap::new();
    for (name, value) in &*entries {
        changed.insert(change(ConfigField::Name(key), name), change(field(name), value));
    }
    *entries = changed;
}
