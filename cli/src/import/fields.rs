//! Reads the keys of a server, and reports those that are ignored.

use std::time::Duration;

use mcp_bindgen_model::parse_duration;
use serde_json::{Map, Value};

use super::variable::shown;

/// Longer than any argument of a program can be on Windows.
const LONGEST_TEXT: usize = 32 * 1024;

/// Why what people often write is not taken over.
const REASONS: [(&[&str], &str); 8] = [
    (&["headersHelper"], "it is a command, which is not run: add the headers with placeholders"),
    (&["envFile", "envfile", "env_file"], "the file is not read: list its variables in `inherit_env`"),
    (
        &["oauth", "auth", "scopes", "oauth_resource", "authProviderType", "CLIENT_ID", "targetAudience"],
        "for OAuth, run `mcp-bindgen auth login`, and use `ClientOptions::authorization` in a program",
    ),
    (
        &["trust", "autoApprove", "alwaysAllow", "approval_mode", "default_tools_approval_mode"],
        "list the tools that require approval in `approve`",
    ),
    (&["sandbox", "sandboxEnabled"], "use `isolation` to limit what the server can access"),
    (&["alwaysLoad", "dev", "required", "gallery"], "it only applies to the other program"),
    (&["settings", "extension", "source"], "it belongs to an extension of the other program"),
    (
        &["url", "serverUrl", "httpUrl", "command", "args", "env", "cwd", "headers", "env_vars", "http_headers"],
        "the server uses another transport",
    ),
];

/// The keys of a table that were not yet read.
pub(super) struct Fields {
    pub(super) left: Map<String, Value>,
    pub(super) notes: Vec<String>,
    /// The reason why the server cannot be started.
    pub(super) fault: Option<String>,
}

impl Fields {
    pub(super) fn of(value: Value) -> Self {
        let (mut left, fault) = match value {
            Value::Object(left) => (left, None),
            _ => (Map::new(), Some("it is not a table".to_owned())),
        };
        left.retain(|_, value| !value.is_null());
        Self { left, notes: Vec::new(), fault }
    }

    pub(super) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.left.contains_key(*key))
    }

    /// Takes the value of the first of these keys that is there.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<(String, Value)> {
        let key = keys.iter().find(|key| self.left.contains_key(**key))?;
        self.left.remove_entry(*key)
    }

    /// Takes a key if it has this value; otherwise it is left.
    pub(super) fn take_if(&mut self, key: &str, value: impl Into<Value>) -> bool {
        self.left.get(key) == Some(&value.into()) && self.left.remove(key).is_some()
    }

    pub(super) fn text(&mut self, keys: &[&str]) -> Option<String> {
        let (key, value) = self.take(keys)?;
        self.sound(&key, &value)
    }

    pub(super) fn texts(&mut self, keys: &[&str]) -> Option<Vec<String>> {
        let (key, value) = self.take(keys)?;
        let list = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        Some(list.iter().filter_map(|value| self.sound(&key, value)).collect())
    }

    /// Returns a table of texts, in order.
    pub(super) fn pairs(&mut self, keys: &[&str]) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        match self.take(keys) {
            Some((key, Value::Object(map))) => {
                for (name, value) in map {
                    let place = format!("`{}` in `{key}`", shown(&name));
                    if scalar(&value).is_none() {
                        self.omit(&place, "it is not a string");
                    } else if shown(&name) != name || name.contains("${") {
                        // A name cannot be a placeholder, so a secret in it cannot be kept out of mcp.toml.
                        self.omit(&place, "it is not a valid name");
                    } else {
                        pairs.extend(self.sound(&key, &value).map(|text| (name, text)));
                    }
                }
            }
            Some((key, _)) => self.fail(format!("`{key}` is not a table")),
            None => {}
        }
        pairs
    }

    /// Returns a time; a number counts milliseconds or seconds.
    pub(super) fn time(&mut self, key: &str, is_seconds: bool) -> Option<Duration> {
        let (_, value) = self.take(&[key])?;
        let unit = if is_seconds { 1.0 } else { 0.001 };
        let time = match &value {
            Value::Number(number) => number.as_f64().and_then(|number| Duration::try_from_secs_f64(number * unit).ok()),
            Value::String(text) => parse_duration(text),
            _ => None,
        };
        let whole = time.and_then(|time| u64::try_from(time.as_millis()).ok()).filter(|milliseconds| *milliseconds > 0);
        if whole.is_none() {
            self.omit(&format!("`{key}`"), "it is not a positive duration");
        }
        whole.map(Duration::from_millis)
    }

    /// Notes something that has no part in mcp.toml.
    pub(super) fn omit(&mut self, place: &str, why: &str) {
        self.notes.push(format!("{place} was not imported: {why}"));
    }

    /// Adds a note for every key that was not read.
    pub(super) fn omit_rest(&mut self) {
        self.notes.extend(self.left.iter().map(|(key, value)| left_out(key, value)));
    }

    fn fail(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    /// Returns the value as a text, unless no program could be started with it.
    fn sound(&mut self, key: &str, value: &Value) -> Option<String> {
        let why = match scalar(value) {
            None => "has a value that is not a string",
            Some(text) if text.contains('\0') => "contains a string with a NUL",
            Some(text) if text.len() > LONGEST_TEXT => "contains a string of more than 32 KiB",
            text => return text,
        };
        self.fail(format!("`{key}` {why}"));
        None
    }
}

/// Formats the note for a key that was not imported, with its contents and the reason.
pub(super) fn left_out(key: &str, value: &Value) -> String {
    let mut inside = Vec::new();
    keys_in(value, &mut inside);
    inside.dedup();
    let inside = if inside.is_empty() { String::new() } else { format!(" (with {})", inside.join(", ")) };
    let reason = REASONS.iter().find(|(keys, _)| keys.contains(&key));
    let reason = reason.map_or("mcp.toml has no equivalent", |(_, reason)| reason);
    format!("`{}`{inside} was not imported: {reason}", shown(key))
}

fn keys_in(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            keys.push(format!("`{}`", shown(key)));
            keys_in(value, keys);
        }),
        Value::Array(list) => list.iter().for_each(|value| keys_in(value, keys)),
        _ => {}
    }
}

/// Numbers and booleans are texts for most hosts.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
