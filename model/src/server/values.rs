//! The texts of a configuration with placeholders and secrets, and configurations as JSON: for generated code, and as they
//! may be shown.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::{Transport, View};
use crate::config::table::{ConfigValue, Field};
use crate::config::{Change, Reach, ServerConfig, Table};
use crate::json_text::object;
use crate::placeholder::{self, Placeholder, SecretRef, variable_name};
use crate::secrets::{self, ConfigField, Secret, find, find_literals, hide, is_secret_key, quoted};
use crate::{FileError, printable};

/// The prefix of variables for secrets in bindings. No other variable has this prefix, so no unrelated variable is sent
/// to a server.
const LEFT_OUT: &str = "MCP_SECRET_";

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
            (Transport::Http { .. } | Transport::Sse { .. }, Transport::Stdio { .. }) => {}
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

impl ServerConfig {
    /// Returns the configuration as a JSON object for [`from_json`](Self::from_json). Placeholders are kept. Secrets
    /// never leave the file that they are written in: each is replaced with a placeholder for an unlikely environment
    /// variable, and connecting without that variable is an error that explains this.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("git", "mcp-server-git").env("GIT_TOKEN", "abc").env("HOME", "${HOME}");
    /// assert_eq!(
    ///     server.to_json().to_string(),
    ///     r#"{"command":"mcp-server-git","env":{"GIT_TOKEN":"${MCP_SECRET_GIT_GIT_TOKEN}","HOME":"${HOME}"}}"#
    /// );
    /// ```
    pub fn to_json(&self) -> Value {
        let mut variables: Vec<String> = Vec::new();
        let shown = self.replace_secrets(|_, _, secret| {
            if secret.is_default {
                return String::new();
            }
            let variable = format!("{LEFT_OUT}{}_{}", variable_name(&self.name), variable_name(&secret.key));
            let earlier = variables.iter().filter(|earlier| **earlier == variable).count();
            variables.push(variable.clone());
            if earlier == 0 { format!("${{{variable}}}") } else { format!("${{{variable}_{}}}", earlier + 1) }
        });
        let mut members = shown.members();
        members.append(&mut shown.transport_members());
        members.extend(shown.drift_rules.to_json(shown.drift).map(|drift| ("drift".to_owned(), drift)));
        let embedded = Self::KEYS.iter().filter(|key| key.is_embedded);
        object(embedded.map(|key| (key.name, members.remove(key.name))).collect()).into()
    }

    /// Returns the keys of the transport, with their values.
    fn transport_members(&self) -> Map<String, Value> {
        object(match &self.transport {
            Transport::Stdio { command, args, cwd } => {
                vec![("command", Some(command.to_json())), ("args", args.member()), ("cwd", cwd.member())]
            }
            Transport::Http { url, headers } => vec![("url", Some(url.to_json())), ("headers", headers.member())],
            Transport::Sse { url, headers } => {
                vec![("url", Some(url.to_json())), ("headers", headers.member()), ("transport", Some("sse".into()))]
            }
        })
    }
}

impl View {
    /// Returns the view as a JSON object, in the form of `mcp.toml`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.members().into()
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.written().map_texts(&mut |place, text| match place {
            // They hold most secrets, so only their placeholders are shown.
            ConfigField::Env(key) | ConfigField::Header(key) => hide(text, &find_literals(key, text)),
            ConfigField::Name(_) => quoted(text),
            ConfigField::Url => without_query_values(&hide(text, &find(place, text))),
            _ => hide(text, &find(place, text)),
        });
        let transport = Value::Object(shown.transport_members());
        let mut fields = f.debug_struct("ServerConfig");
        fields.field("name", &shown.name).field("transport", &format_args!("{}", printable(&transport.to_string())));
        shown.fields_mut().iter().for_each(|(key, field)| _ = fields.field(key, field));
        fields.field("drift", &shown.drift).field("drift_rules", &shown.drift_rules).finish()
    }
}

/// Prints no values, because a transport does not know its values before expansion.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, key, count) = match self {
            Self::Stdio { args, .. } => ("Stdio", "args", args.len()),
            Self::Http { headers, .. } => ("Http", "headers", headers.len()),
            Self::Sse { headers, .. } => ("Sse", "headers", headers.len()),
        };
        f.debug_struct(name).field(key, &count).finish_non_exhaustive()
    }
}

/// Returns a URL without the values of its query and fragment. Placeholders stay.
fn without_query_values(url: &str) -> String {
    let parts = url.split_inclusive(['?', '#', '&']).enumerate().map(|(index, part)| match part.split_once('=') {
        Some((key, value)) if index > 0 => {
            let (value, end) = value.split_at(value.trim_end_matches(['?', '#', '&']).len());
            format!("{key}={}{end}", hide(value, &find_literals(key, value)))
        }
        _ => part.to_owned(),
    });
    parts.collect()
}
