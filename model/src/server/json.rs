//! Configurations as JSON, for generated code, and as they may be shown.

use std::fmt;

use serde_json::{Map, Value, json};

use super::values::LEFT_OUT;
use super::{Transport, View};
use crate::config::{ServerConfig, Table};
use crate::placeholder::variable_name;
use crate::secrets::{ConfigField, find, find_literals, hidden, quoted, replace};
use crate::{FileError, config, printable};

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
        members.extend(shown.transport_members());
        members.extend(shown.drift_rules.to_json(shown.drift).map(|drift| ("drift".to_owned(), drift)));
        let embedded = Self::KEYS.iter().filter(|key| key.is_embedded);
        Value::Object(embedded.filter_map(|key| members.remove_entry(key.name)).collect())
    }

    /// Returns the keys of the transport, with their values.
    fn transport_members(&self) -> Map<String, Value> {
        let members = match &self.transport {
            Transport::Stdio { command, args, cwd } => json!({ "command": command, "args": args, "cwd": cwd }),
            Transport::Http { url, headers } => json!({ "url": url, "headers": headers }),
            Transport::Sse { url, headers } => json!({ "url": url, "headers": headers, "transport": "sse" }),
        };
        let Value::Object(mut members) = members else { return Map::new() };
        members.retain(|_, value| ![Value::Null, json!([]), json!({})].contains(value));
        members
    }

    /// Parses the result of [`to_json`](Self::to_json), or an entry of a `.mcp.json`.
    ///
    /// # Errors
    /// Fails if the name, a type or the transport is invalid.
    pub fn from_json(name: &str, json: &Value) -> Result<Self, FileError> {
        config::server_from_json(name, json)
    }
}

impl View {
    /// Returns the view as a JSON object, in the form of `mcp.toml`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.members().into()
    }

    /// Parses the result of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// Fails if a key or a type is invalid.
    pub fn from_json(json: &Value) -> Result<Self, FileError> {
        config::view_from_json(json)
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.written().map_texts(&mut |place, text| match place {
            // They hold most secrets, so only their placeholders are shown.
            ConfigField::Env(key) | ConfigField::Header(key) => replace(text, &find_literals(key, text), hidden),
            ConfigField::Name(_) => quoted(text),
            ConfigField::Url => without_query_values(&replace(text, &find(place, text), hidden)),
            _ => replace(text, &find(place, text), hidden),
        });
        let transport = Value::Object(shown.transport_members());
        let mut fields = f.debug_struct("ServerConfig");
        fields.field("name", &shown.name).field("transport", &format_args!("{}", printable(&transport.to_string())));
        shown.show(&mut fields);
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
            format!("{key}={}{end}", replace(value, &find_literals(key, value), hidden))
        }
        _ => part.to_owned(),
    });
    parts.collect()
}
