//! Reads the keys of a server, and reports those that are ignored.

use std::time::Duration;

use mcp_bindgen_model::parse_duration;
use serde_json::{Map, Value};

use super::variable::shown;

/// Longer than any argument of a program can be on Windows.
const LONGEST_TEXT: usize = 32 * 1024;

/// Why what people often write is not taken over.
const REASONS: [(&[&str], &str); 10] = [
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
    (&["tcp"], "its transport is unsupported"),
    (
        &["url", "serverUrl", "httpUrl", "command", "args", "env", "cwd", "headers", "env_vars", "http_headers"],
        "the server uses another transport",
    ),
    (&["remote"], "it does not affect the connection"),
];

/// The keys of a table that were not yet read.
pub(super) struct Fields {
    left: Map<String, Value>,
    pub(super) notes: Vec<String>,
    /// The reason why the server cannot be started.
    pub(super) fault: Option<String>,
}

impl Fields {
    pub(super) fn new(map: Map<String, Value>) -> Self {
        let mut fields = Self { left: map, notes: Vec::new(), fault: None };
        fields.left.retain(|_, value| !value.is_null());
        fields
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.left.contains_key(key)
    }

    /// Takes the value of the first of these keys that is there.
    pub(super) fn take(&mut self, keys: &[&str]) -> Option<(String, Value)> {
        let key = keys.iter().find(|key| self.left.contains_key(**key))?;
        self.left.remove_entry(*key)
    }

    pub(super) fn put(&mut self, key: &str, value: Value) {
        self.left.insert(key.to_owned(), value);
    }

    pub(super) fn text(&mut self, keys: &[&str]) -> Option<String> {
        let (key, value) = self.take(keys)?;
        let text = scalar(&value);
        match text {
            Some(text) => self.sound(&key, text),
            None => {
                self.fault.get_or_insert(format!("`{key}` is not a string"));
                None
            }
        }
    }

    pub(super) fn texts(&mut self, keys: &[&str]) -> Option<Vec<String>> {
        let (key, value) = self.take(keys)?;
        let list = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        let mut texts = Vec::new();
        for value in &list {
            match scalar(value) {
                Some(text) => texts.extend(self.sound(&key, text)),
                None => {
                    self.fault.get_or_insert(format!("`{key}` contains a value that is not a string"));
                }
            }
        }
        Some(texts)
    }

    /// Returns a table of texts, in order.
    pub(super) fn pairs(&mut self, keys: &[&str]) -> Vec<(String, String)> {
        let Some((key, value)) = self.take(keys) else { return Vec::new() };
        let Value::Object(map) = value else {
            self.fault.get_or_insert(format!("`{key}` is not a table"));
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, value) in map {
            match scalar(&value) {
                // A name cannot be a placeholder, so a secret in it cannot be kept out of mcp.toml.
                Some(_) if shown(&name) != name || name.contains("${") => {
                    self.notes.push(format!("`{}` in `{key}` was not imported: it is not a valid name", shown(&name)));
                }
                Some(text) => pairs.extend(self.sound(&key, text).map(|text| (name, text))),
                None => self.notes.push(format!("`{name}` in `{key}` was not imported: it is not a string")),
            }
        }
        pairs
    }

    /// Returns a boolean, or `None` if it is missing.
    pub(super) fn switch(&mut self, key: &str) -> Option<bool> {
        let (_, value) = self.take(&[key])?;
        let is_on = value.as_bool();
        if is_on.is_none() {
            self.notes.push(format!("`{key}` was not imported: it is not a boolean"));
        }
        is_on
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
            self.notes.push(format!("`{key}` was not imported: it is not a positive duration"));
        }
        whole.map(Duration::from_millis)
    }

    /// Adds a note for every key that was not read.
    pub(super) fn rest(&mut self) {
        for (key, value) in std::mem::take(&mut self.left) {
            self.notes.push(left_out(&key, &value));
        }
    }

    /// Returns the text, unless no program could be started with it.
    fn sound(&mut self, key: &str, text: String) -> Option<String> {
        let why = match () {
            () if text.contains('\0') => "contains a string with a NUL",
            () if text.len() > LONGEST_TEXT => "contains a string of more than 32 KiB",
            () => return Some(text),
        };
        self.fault.get_or_insert(format!("`{key}` {why}"));
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
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
