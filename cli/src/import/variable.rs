//! The environment variables that replace secrets.

use std::collections::BTreeMap;

use mcp_bindgen_model::{ConfigField, Secret, ServerConfig, is_server_name, printable, without_secrets};

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

/// A server without the secrets that were written out in it.
pub(crate) struct Settled {
    pub(crate) server: ServerConfig,
    /// The variables in place of the secrets.
    pub(crate) variables: Vec<Variable>,
    pub(crate) notes: Vec<String>,
}

/// Returns the server under this name without the secrets that are written out in it.
pub(crate) fn settled(found: &ServerConfig, name: &str) -> Settled {
    let mut variables: Vec<Variable> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut taken: Vec<String> = found.placeholders().iter().map(ToString::to_string).collect();
    let mut server = found.replace_secrets_exactly(|field, text, secret| {
        if matches!(field, ConfigField::Note(_) | ConfigField::Name(_)) {
            let label = field.label();
            notes.push(format!("a likely secret in {label} was not imported: it cannot be a placeholder there"));
            return "..".to_owned();
        }
        if secret.is_default {
            notes.push(format!("a placeholder default in {} looks like a secret, and was not imported", field.label()));
            return String::new();
        }
        let value = text.get(secret.range.clone()).unwrap_or_default();
        let known = names.entry(value.to_owned()).or_insert_with(|| {
            let first = variable(name, key(field, text, secret));
            let name = unused(&first, &mut taken);
            variables.push(Variable { name: name.clone(), why: why(field, text, secret) });
            name
        });
        format!("${{{known}}}")
    });
    name.clone_into(&mut server.name);
    Settled { server, variables, notes }
}

/// Describes the purpose of a variable, and the extent of the text that it replaces if that is unclear.
fn why(field: ConfigField<'_>, text: &str, secret: &Secret) -> String {
    let said = format!("the plain text in {}", field.label());
    let value = text.get(secret.range.clone()).unwrap_or_default();
    let is_part = secret.range != (0..text.len());
    if is_part && value.contains(|c: char| c.is_whitespace() || c == ';') {
        let until = if secret.range.end == text.len() { ", to its end" } else { ", including spaces" };
        return format!("{said} after `{}`{until}", shown(&secret.key));
    }
    said
}

/// Returns the name of a secret: the variable or header that it is all of, or the text before it.
fn key<'k>(field: ConfigField<'k>, text: &str, secret: &'k Secret) -> &'k str {
    match field {
        ConfigField::Env(name) if secret.range == (0..text.len()) => name,
        _ => &secret.key,
    }
}

fn unused(first: &str, taken: &mut Vec<String>) -> String {
    let mut name = first.to_owned();
    let mut count = 1;
    while taken.contains(&format!("${{{name}}}")) {
        count += 1;
        name = format!("{first}_{count}");
    }
    taken.push(format!("${{{name}}}"));
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
        let Settled { server, variables, notes } = settled(&found, "db");
        assert!(server.secrets().is_empty(), "{server:?}");
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["DB_TOKEN", "DB_PASSWORD"]);
        assert_eq!(server.env["API_TOKEN"], "${DB_TOKEN}");
        assert_eq!(server.env["OTHER_TOKEN"], "${DB_TOKEN_2}");
        assert_eq!(notes.len(), 1);
    }
}
