//! Configurations as JSON, for generated code, and as they may be shown.

use std::fmt;

use serde_json::{Map, Value};

use super::values::LEFT_OUT;
use super::{Transport, View};
use crate::config::table::{ConfigValue, Field};
use crate::config::{ServerConfig, Table};
use crate::json_text::object;
use crate::placeholder::variable_name;
use crate::printable;
use crate::secrets::{ConfigField, find, find_literals, hide, quoted};

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
