//! `serve --print-config`: the configuration with which a host starts or reaches the proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::absolute;

use mcp_bindgen_agents::Host;
use mcp_bindgen_model::{Config, SecretRef, SecretStore, ServerConfig};
use serde_json::{Value, json};

use crate::args;
use crate::exit::Failure;
use crate::project::needs;

/// The name of the proxy in the host's configuration, and the command that starts it.
const NAME: &str = "mcp-bindgen";

/// Returns the host's configuration of a proxy with these servers.
///
/// # Errors
/// Fails if a host cannot use the address, or if the configuration file is missing.
pub(super) fn host_config(
    host: args::Host,
    config: &Config,
    servers: &[ServerConfig],
    arguments: &args::Serve,
) -> Result<Value, Failure> {
    let host = match host {
        args::Host::Claude => Host::Claude,
        args::Host::Cursor => Host::Cursor,
        args::Host::Vscode => Host::VsCode,
    };
    let entry = match arguments.http {
        Some(address) if address.port() == 0 || address.ip().is_unspecified() => {
            return Err(Failure::usage(format!(
                "the address {address} is not allowed in the configuration of a host\n  = help: name one with a port, such as `--http 127.0.0.1:8080`"
            )));
        }
        Some(address) => {
            let token = arguments.bearer_env.iter();
            let headers = token.map(|name| ("Authorization", format!("Bearer {}", host.placeholder(name))));
            let headers: BTreeMap<&str, String> = headers.collect();
            json!({ "type": "http", "url": format!("http://{address}/mcp"), "headers": headers })
        }
        None => {
            let path = config.path.as_ref().ok_or_else(|| {
                let help = "write the servers to mcp.toml";
                Failure::usage(format!("a host does not have the variable `MCP_SERVERS`\n  = help: {help}"))
            })?;
            let path = absolute(path)?.to_string_lossy().into_owned();
            let mut command = vec!["serve".to_owned(), "--config".to_owned(), path];
            command.extend(arguments.servers.servers.iter().cloned());
            let env = variables(servers).into_iter().map(|name| (name.clone(), host.placeholder(&name)));
            let env: BTreeMap<String, String> = env.collect();
            json!({ "type": "stdio", "command": NAME, "args": command, "env": env })
        }
    };
    Ok(json!({ host.servers_key(): { NAME: entry } }))
}

/// Returns the variables without which a server is not served, each once.
fn variables(servers: &[ServerConfig]) -> BTreeSet<String> {
    let of = |server: &ServerConfig| -> Vec<String> {
        let stores = &server.secret_stores;
        let is_read = stores.is_empty() || stores.contains(&SecretStore::Env);
        let needed = |secret: &SecretRef| is_read && needs(server, secret);
        let placeholders = server.placeholders().into_iter().filter(needed);
        let names = placeholders.filter_map(|secret| match secret {
            SecretRef::Variable(name) => Some(name),
            _ => None,
        });
        names.chain(server.inherit_env.iter().cloned()).collect()
    };
    servers.iter().flat_map(of).collect()
}
