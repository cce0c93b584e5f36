//! Configurations as JSON, for generated code.

use serde_json::{Map, Value, json};

use super::values::LEFT_OUT;
use super::{Pin, Prefix, ServerConfig, Transport, Types, View};
use crate::placeholder::variable_name;
use crate::{FileError, config, duration};

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
        let shown = self.hide_secrets(&mut |_, secret| {
            if secret.is_default {
                return String::new();
            }
            let variable = format!("{LEFT_OUT}{}_{}", variable_name(&self.name), variable_name(&secret.key));
            let earlier = variables.iter().filter(|earlier| **earlier == variable).count();
            variables.push(variable.clone());
            if earlier == 0 { format!("${{{variable}}}") } else { format!("${{{variable}_{}}}", earlier + 1) }
        });
        let mut json = Map::new();
        match &shown.transport {
            Transport::Stdio { command, args, cwd } => {
                json.insert("command".to_owned(), command.as_str().into());
                put_list(&mut json, "args", args);
                put_text(&mut json, "cwd", cwd.as_deref());
            }
            Transport::Http { url, headers } => {
                json.insert("url".to_owned(), url.as_str().into());
                put_map(&mut json, "headers", headers);
            }
            Transport::Sse { url, headers } => {
                json.insert("url".to_owned(), url.as_str().into());
                json.insert("transport".to_owned(), "sse".into());
                put_map(&mut json, "headers", headers);
            }
        }
        for (key, text) in [("ca", &shown.ca), ("client_cert", &shown.client_cert), ("proxy", &shown.proxy)] {
            put_text(&mut json, key, text.as_deref());
        }
        if let Some(auth) = &shown.auth {
            put(&mut json, "auth", auth.to_json());
        }
        put_map(&mut json, "env", &shown.env);
        put_list(&mut json, "inherit_env", &shown.inherit_env);
        if let Some(tools) = &shown.tools {
            json.insert("tools".to_owned(), tools.clone().into());
        }
        put_list(&mut json, "exclude", &shown.exclude);
        put_list(&mut json, "approve", &shown.approve);
        for (key, globs) in [("resources", &shown.resources), ("prompts", &shown.prompts)] {
            json.extend(globs.as_ref().map(|globs| (key.to_owned(), globs.clone().into())));
        }
        if !shown.policies.is_empty() {
            let rules: Vec<Value> = shown.policies.iter().map(super::PolicyRule::to_json).collect();
            put(&mut json, "policy", rules);
        }
        if shown.shared {
            put(&mut json, "shared", true);
        }
        put_list(&mut json, "remote_use", &shown.remote_use);
        match &shown.prefix {
            Prefix::ServerName => {}
            Prefix::None => put(&mut json, "prefix", false),
            Prefix::Named(prefix) => put(&mut json, "prefix", prefix.as_str()),
        }
        if shown.types != Types::default() {
            put(&mut json, "types", shown.types.name());
        }
        if !shown.views.is_empty() {
            let views: Map<String, Value> =
                shown.views.iter().map(|(tool, view)| (tool.clone(), view.to_json())).collect();
            put(&mut json, "view", views);
        }
        put_text(&mut json, "description", shown.description.as_deref());
        put_text(&mut json, "limit", shown.limit.map(|limit| limit.to_string()).as_deref());
        put_text(&mut json, "timeout", shown.timeout.map(duration::to_text).as_deref());
        put_text(&mut json, "connect_timeout", shown.connect_timeout.map(duration::to_text).as_deref());
        json.extend(shown.drift_rules.to_json(shown.drift).map(|drift| ("drift".to_owned(), drift)));
        put_text(&mut json, "pin", shown.pin.map(Pin::name));
        if let Some(isolation) = &shown.isolation {
            put(&mut json, "isolation", isolation.to_json());
        }
        let stores: Vec<String> = shown.secret_stores.iter().map(ToString::to_string).collect();
        put_list(&mut json, "secrets", &stores);
        if shown.hosted {
            put(&mut json, "hosted", true);
        }
        Value::Object(json)
    }

    /// Parses the result of [`to_json`](Self::to_json), or an entry of a `.mcp.json`.
    ///
    /// # Errors
    /// Fails if the name, a type or the way to reach the server is not as it has to be.
    pub fn from_json(name: &str, json: &Value) -> Result<Self, FileError> {
        config::server_from_json(name, json)
    }
}

impl View {
    /// Returns the view as a JSON object, in the form of `mcp.toml`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        for (key, text) in [("name", &self.name), ("title", &self.title), ("description", &self.description)] {
            json.extend(text.as_deref().map(|text| (key.to_owned(), text.into())));
        }
        if !self.hints.is_empty() {
            let hints: Map<String, Value> =
                self.hints.iter().map(|(hint, value)| (hint.name().to_owned(), json!(value))).collect();
            json.insert("hints".to_owned(), hints.into());
        }
        for (key, values) in [("fixed", &self.fixed), ("default", &self.default)] {
            if !values.is_empty() {
                json.insert(key.to_owned(), values.clone().into());
            }
        }
        if !self.hide.is_empty() {
            json.insert("hide".to_owned(), self.hide.clone().into());
        }
        json.into()
    }

    /// Parses the result of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// Fails if a key or a type is not as it has to be.
    pub fn from_json(json: &Value) -> Result<Self, FileError> {
        config::view_from_json(json)
    }
}

fn put(json: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    json.insert(key.to_owned(), value.into());
}

fn put_text(json: &mut Map<String, Value>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        put(json, key, text);
    }
}

fn put_list(json: &mut Map<String, Value>, key: &str, list: &[String]) {
    if !list.is_empty() {
        put(json, key, list.to_vec());
    }
}

fn put_map(json: &mut Map<String, Value>, key: &str, map: &std::collections::BTreeMap<String, String>) {
    if !map.is_empty() {
        let members: Map<String, Value> = map.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        put(json, key, members);
    }
}
