//! The environment variables that replace secrets.

use std::collections::BTreeMap;

use mcp_bindgen_model::{ConfigField, SecretRef, ServerConfig, is_server_name, printable, without_secrets};

/// A variable that must be set to use a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// The purpose, without any part of the value.
    pub(crate) why: String,
}

/// Returns the name of a variable for the value of a server's key.
pub(crate) fn variable(server: &str, key: &str) -> String {
    let (server, key) = (in_capitals(server), in_capitals(key));
    let is_named = key.strip_prefix(&server).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    let name = if is_named { key } else { format!("{server}_{key}") };
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Converts `api-key` to `API_KEY`.
pub(crate) fn in_capitals(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// Returns the server under this name without the secrets that are written out in it, the variables in place of them,
/// and notes on what was not imported.
pub(crate) fn settled(found: &ServerConfig, name: &str) -> (ServerConfig, Vec<Variable>, Vec<String>) {
    let (mut variables, mut notes) = (Vec::new(), Vec::new());
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let known = found.placeholders().into_iter().filter_map(|known| match known {
        SecretRef::Variable(name) => Some((name, 1)),
        _ => None,
    });
    let mut taken: BTreeMap<String, usize> = known.collect();
    let mut server = found.replace_secrets_exactly(|field, text, secret| {
        let label = field.label();
        if matches!(field, ConfigField::Note(_) | ConfigField::Name(_)) {
            notes.push(format!("a likely secret in {label} was not imported: it cannot be a placeholder there"));
            return "..".to_owned();
        }
        if secret.is_default {
            notes.push(format!("a placeholder default in {label} looks like a secret, and was not imported"));
            return String::new();
        }
        let value = text.get(secret.range.clone()).unwrap_or_default();
        let is_whole = secret.range == (0..text.len());
        let placeholder = names.entry(value.to_owned()).or_insert_with(|| {
            let key = match field {
                ConfigField::Env(key) if is_whole => key,
                _ => &secret.key,
            };
            let variable = unused(&variable(name, key), &mut taken);
            let mut why = format!("the plain text in {label}");
            if !is_whole && value.contains(|c: char| c.is_whitespace() || c == ';') {
                // It is uncertain where the secret ends.
                let until = if secret.range.end == text.len() { ", to its end" } else { ", including spaces" };
                why.push_str(&format!(" after `{}`{until}", shown(&secret.key)));
            }
            variables.push(Variable { name: variable.clone(), why });
            format!("${{{variable}}}")
        });
        placeholder.clone()
    });
    name.clone_into(&mut server.name);
    (server, variables, notes)
}

/// Returns a name that is not taken: this one, or this one with a number. Taken names have the last number after them.
pub(super) fn unused(first: &str, taken: &mut BTreeMap<String, usize>) -> String {
    let mut name = first.to_owned();
    while taken.contains_key(&name) {
        let count = taken.entry(first.to_owned()).or_insert(1);
        *count += 1;
        name = format!("{first}_{count}");
    }
    taken.insert(name.clone(), 1);
    name
}

/// Converts a server's name to a valid one: small letters, and `-` for other characters.
pub(crate) fn server_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let plain: String = name.chars().map(plain).collect();
    let start = plain.trim_start_matches(['-', '_']);
    let name: String = start.chars().take(64).collect();
    let name = name.trim_end_matches('-');
    if is_server_name(name) { name.to_owned() } else { "server".to_owned() }
}

/// Makes an untrusted text printable: without detectable secrets and control characters.
pub(crate) fn shown(text: &str) -> String {
    printable(&without_secrets("text", text, "<hidden>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_after_server_and_key() {
        for (server, key, expected) in [
            ("github", "GITHUB_TOKEN", "GITHUB_TOKEN"),
            ("git", "GITHUB_TOKEN", "GIT_GITHUB_TOKEN"),
            ("my-db", "password", "MY_DB_PASSWORD"),
            ("21st", "X-Api-Key", "_21ST_X_API_KEY"),
        ] {
            assert_eq!(variable(server, key), expected);
        }
    }

    #[test]
    fn foreign_server_names_are_normalized() {
        for (name, expected) in [
            ("github", "github"),
            ("My Server", "my-server"),
            ("awsDocs/v2", "awsdocs-v2"),
            ("_x", "x"),
            ("課題", "server"),
            ("", "server"),
        ] {
            assert_eq!(server_name(name), expected, "{name}");
        }
        assert!(is_server_name(&server_name(&"x".repeat(100))));
    }

    #[test]
    fn equal_secrets_share_one_variable() {
        let found = ServerConfig::stdio("db", "server")
            .args(["--token", "abc", "postgres://u:hunter2@h/db"])
            .env("API_TOKEN", "abc")
            .env("OTHER_TOKEN", "${DB_TOKEN_2:-hunter3}");
        let (server, variables, notes) = settled(&found, "db");
        assert!(server.secrets().is_empty(), "{server:?}");
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["DB_TOKEN", "DB_PASSWORD"]);
        assert_eq!(server.env["API_TOKEN"], "${DB_TOKEN}");
        assert_eq!(server.env["OTHER_TOKEN"], "${DB_TOKEN_2}");
        assert_eq!(notes.len(), 1);
    }
}
