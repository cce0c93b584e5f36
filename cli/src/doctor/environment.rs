//! The environment of servers.

use std::env;

use mcp_bindgen_model::{SecretRef, ServerConfig, Transport, is_secret_key};

use mcp_bindgen_runtime::{LocalSecrets, find_secret};

use super::Finding;
use super::filled::needs;

/// Variables that programs often need to reach the network or to find files, and that children do not inherit by themselves.
const OFTEN_NEEDED: [&str; 6] =
    ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "npm_config_registry", "UV_INDEX_URL", "VOLTA_HOME"];

/// Whether all variables are set that the configuration names.
pub(super) async fn variables(server: &ServerConfig) -> Vec<Finding> {
    const SUBJECT: &str = "variables";
    let missing: Vec<String> =
        server.expand_with(|_| Some(String::new())).err().map(|error| error.to_string()).into_iter().collect();
    let mut found: Vec<Finding> =
        missing.into_iter().map(|error| Finding::error(SUBJECT, error, "fix the placeholder")).collect();
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
        // A default stands in where there is one.
        if needs(server, &secret) {
            let default = format!(", or give it a default: `${{{name}:-..}}`");
            let stores: Vec<String> = server.secret_stores.iter().map(|store| format!("`{store}`")).collect();
            let set = match stores.as_slice() {
                [] => format!("`export {name}=..`"),
                stores => format!("set it in one of {}", stores.join(", ")),
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
    let text = format!(
        "{} set here and not passed to the server",
        if kept.len() == 1 { "a variable is" } else { "variables are" }
    );
    Some(Finding::warning(SUBJECT, text, format!("to pass them: `inherit_env = [{list}]`")))
}
