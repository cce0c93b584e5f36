//! The environment of servers: values of placeholders, variables, and keys in files of other programs that are not obeyed
//! here.

use std::cmp::Reverse;
use std::env;

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Transport, is_secret_key, printable};
use mcp_bindgen_runtime::{LocalSecrets, find_secret};

use super::Finding;
use crate::import::host::Folders;
use crate::import::of_file;
use crate::project::{folder_of, is_json, needs};
use crate::text::in_ticks;

/// Variables that programs often need to reach the network or to find files, and that children do not inherit by themselves.
const OFTEN_NEEDED: [&str; 6] =
    ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "npm_config_registry", "UV_INDEX_URL", "VOLTA_HOME"];
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
    /// Fills the placeholders, and checks that all variables in the configuration are set.
    pub(super) async fn of(server: &ServerConfig) -> (Self, Vec<Finding>) {
        let (mut known, mut open, mut found) = (Vec::new(), Vec::new(), Vec::new());
        if let Err(error) = server.expand_with(|_| Some(String::new())) {
            found.push(Finding::error(error.to_string(), "fix the placeholder"));
        }
        for secret in server.placeholders() {
            let value = find_secret(server, &secret, &LocalSecrets).await;
            // A default replaces a missing value.
            let is_open = !matches!(value, Ok(Some(_))) && needs(server, &secret);
            if let SecretRef::Variable(name) = &secret {
                let error = value.as_ref().err();
                found.extend(error.map(|error| Finding::error(error.to_string(), "fix it, or change `secrets`")));
                found.push(match &value {
                    Ok(Some(_)) => Finding::fine(format!("`{name}` is set")),
                    _ if is_open => unset(server, name),
                    _ => Finding::fine(format!("`{name}` is not set, and has a default")),
                });
            }
            match value {
                Ok(Some(value)) => known.push((value, secret)),
                _ if is_open => open.push(secret.to_string()),
                _ => {}
            }
        }
        // Proxies and the like are often not set, and the server does not need them then.
        let is_unset = |name: &&String| !OFTEN_NEEDED.contains(&name.as_str()) && env::var_os(name).is_none();
        found.extend(server.inherit_env.iter().filter(is_unset).map(|name| {
            Finding::warning(format!("`{name}` of `inherit_env` is not set"), format!("`export {name}=..`"))
        }));
        known.sort_by_key(|(value, _)| Reverse(value.len()));
        let config = server.expand_with(|asked| {
            let value = known.iter().find(|(_, secret)| secret == asked).map(|(value, _)| value.clone());
            value.or_else(|| Some(asked.to_string()).filter(|placeholder| open.contains(placeholder)))
        });
        (Self { config: config.unwrap_or_else(|_| server.clone()), known, open }, found)
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

/// Reports a variable that is not set, and has no default.
fn unset(server: &ServerConfig, name: &str) -> Finding {
    let stores = &server.secret_stores;
    let set = match stores.is_empty() {
        true => format!("`export {name}=..`"),
        false => format!("set it in one of {}", in_ticks(stores.iter().map(ToString::to_string))),
    };
    let default =
        if is_secret_key(name) { String::new() } else { format!(", or give it a default: `${{{name}:-..}}`") };
    Finding::error(format!("`{name}` is not set"), set + &default)
}

/// Reports variables that are set here, are often needed, and do not reach the child.
pub(super) fn passed_on(server: &ServerConfig) -> Option<Finding> {
    let Transport::Stdio { .. } = &server.transport else { return None };
    let is_given = |name: &str| server.env.contains_key(name) || server.inherit_env.iter().any(|given| given == name);
    // An empty variable counts as unset.
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let kept: Vec<&str> = OFTEN_NEEDED.into_iter().filter(|name| is_set(name) && !is_given(name)).collect();
    let are = if kept.len() == 1 { "a variable is" } else { "variables are" };
    let text = format!("{are} set here and not passed to the server");
    // The list is printed as TOML.
    (!kept.is_empty()).then(|| Finding::warning(text, format!("to pass them: `inherit_env = {kept:?}`")))
}

/// Returns the parts of a `.mcp.json` that are ignored when it is read directly.
pub(super) fn passed_over(config: &Config, server: &ServerConfig) -> Vec<Finding> {
    let Some(path) = config.path.as_deref().filter(|path| is_json(path)) else { return Vec::new() };
    let folder = folder_of(path);
    let found = of_file(path, &Folders::of_this_process(folder, folder));
    let help = format!(
        "`mcp-bindgen import --from {}` converts it to an mcp.toml, and reports unsupported settings",
        path.display()
    );
    let mut said = Vec::new();
    for entry in found.entries.into_iter().filter(|entry| entry.name == server.name) {
        said.extend(entry.off.map(|off| format!("it is disabled for other programs, but not here: {off}")));
        let is_without = |theirs: &ServerConfig| theirs.timeout.is_some() && server.timeout.is_none();
        if entry.found.as_ref().is_ok_and(is_without) {
            said.push("`timeout` is a number without a unit, and is ignored".to_owned());
        }
        said.extend(entry.notes);
    }
    said.into_iter().map(|said| Finding::warning(said, help.clone())).collect()
}
