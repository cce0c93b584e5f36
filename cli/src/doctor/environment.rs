//! The environment of servers, and keys in files of other programs that are not obeyed here.

use std::env;

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Transport, is_secret_key};
use mcp_bindgen_runtime::{LocalSecrets, find_secret};

use super::Finding;
use crate::import::host::Folders;
use crate::import::of_file;
use crate::project::{folder_of, is_json, needs};
use crate::text::in_ticks;

/// Variables that programs often need to reach the network or to find files, and that children do not inherit by themselves.
const OFTEN_NEEDED: [&str; 6] =
    ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "npm_config_registry", "UV_INDEX_URL", "VOLTA_HOME"];

/// Checks that all variables in the configuration are set.
pub(super) async fn variables(server: &ServerConfig) -> Vec<Finding> {
    const SUBJECT: &str = "variables";
    let mut found = Vec::new();
    if let Err(error) = server.expand_with(|_| Some(String::new())) {
        found.push(Finding::error(SUBJECT, error.to_string(), "fix the placeholder"));
    }
    for secret in server.placeholders() {
        let SecretRef::Variable(name) = &secret else { continue };
        match find_secret(server, &secret, &LocalSecrets).await {
            Ok(Some(_)) => {
                found.push(Finding::fine(SUBJECT, format!("`{name}` is set")));
                continue;
            }
            Ok(None) => {}
            Err(error) => found.push(Finding::error(SUBJECT, error.to_string(), "fix it, or change `secrets`")),
        }
        // A default replaces a missing value.
        if needs(server, &secret) {
            let default = format!(", or give it a default: `${{{name}:-..}}`");
            let stores = in_ticks(server.secret_stores.iter().map(ToString::to_string));
            let set = match server.secret_stores.is_empty() {
                true => format!("`export {name}=..`"),
                false => format!("set it in one of {stores}"),
            };
            let help = format!("{set}{}", if is_secret_key(name) { "" } else { &default });
            found.push(Finding::error(SUBJECT, format!("`{name}` is not set"), help));
        } else {
            found.push(Finding::fine(SUBJECT, format!("`{name}` is not set, and has a default")));
        }
    }
    // Proxies and the like are often not set, and the server does not need them then.
    let is_unset = |name: &&String| !OFTEN_NEEDED.contains(&name.as_str()) && env::var_os(name.as_str()).is_none();
    found.extend(server.inherit_env.iter().filter(is_unset).map(|name| {
        let text = format!("`{name}` of `inherit_env` is not set");
        Finding::warning(SUBJECT, text, format!("`export {name}=..`"))
    }));
    found
}

/// Reports variables that are set here, are often needed, and do not reach the child.
pub(super) fn passed_on(server: &ServerConfig) -> Option<Finding> {
    const SUBJECT: &str = "environment";
    let Transport::Stdio { .. } = &server.transport else { return None };
    let is_given = |name: &str| server.env.contains_key(name) || server.inherit_env.iter().any(|given| given == name);
    // An empty variable counts as unset.
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let kept: Vec<&str> = OFTEN_NEEDED.into_iter().filter(|name| is_set(name) && !is_given(name)).collect();
    if kept.is_empty() {
        return None;
    }
    let list = kept.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let are = if kept.len() == 1 { "a variable is" } else { "variables are" };
    let text = format!("{are} set here and not passed to the server");
    Some(Finding::warning(SUBJECT, text, format!("to pass them: `inherit_env = [{list}]`")))
}

/// Returns the parts of a `.mcp.json` that are ignored when it is read directly.
pub(super) fn passed_over(config: &Config, server: &ServerConfig) -> Vec<Finding> {
    const SUBJECT: &str = "configuration";
    let Some(path) = config.path.as_deref().filter(|path| is_json(path)) else { return Vec::new() };
    let folder = folder_of(path);
    let found = of_file(path, &Folders::of_this_process(folder), folder);
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
    said.into_iter().map(|said| Finding::warning(SUBJECT, said, help.clone())).collect()
}
