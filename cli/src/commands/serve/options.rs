//! The options of `serve` as those of the proxy, and as the configuration of a host that starts or reaches it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::absolute;
use std::time::Duration;
use std::{env, fs};

use mcp_bindgen_agents::Host;
use mcp_bindgen_model::{Config, SecretRef, SecretStore, ServerConfig, Transport};
use mcp_bindgen_proxy::{HttpOptions, JwtAuth, ProxyBuilder, RedisState, ServeError, TokenFile};
use serde_json::{Value, json};

use crate::args;
use crate::exit::{Failure, Result};
use crate::project::needs;

/// How long calls that are under way may take after a signal, over HTTP.
pub(super) const DRAIN: Duration = Duration::from_secs(5);
/// The name of the proxy in the host's configuration, and the command that starts it.
const NAME: &str = "mcp-bindgen";

pub(super) fn http_options(address: SocketAddr, arguments: &args::Serve) -> Result<HttpOptions> {
    let mut options = HttpOptions::new().address(address).drain(DRAIN);
    if let Some(name) = &arguments.bearer_env {
        // The error does not contain the value.
        let token = env::var(name).map_err(|_| {
            Failure::usage(format!("the environment variable `{name}` of `--bearer-env` is not set, or not text"))
        })?;
        options = options.bearer(token);
    }
    if let Some(path) = &arguments.tokens {
        options = options.tokens(TokenFile::load(path)?);
    }
    if let (Some(_), Some(issuer), Some(audience)) = (&arguments.auth, &arguments.issuer, &arguments.audience) {
        let auth = JwtAuth::new(issuer, audience);
        options = options.jwt(arguments.scope.iter().fold(auth, |auth, scope| auth.scope(scope)));
    }
    if let Some(children) = arguments.max_children {
        options = options.max_children(children.get());
    }
    options = arguments.allow_origin.iter().fold(options, |options, origin| options.allow_origin(origin));
    options = arguments.allow_host.iter().fold(options, |options, host| options.allow_host(host));
    if arguments.public {
        options = options.allow_public();
    }
    if arguments.no_auth {
        options = options.without_authentication();
    }
    Ok(options)
}

/// Adds the state that instances share, and the keys with which they sign.
pub(super) async fn shared(mut builder: ProxyBuilder, arguments: &args::Serve) -> Result<ProxyBuilder> {
    let Some(url) = &arguments.state else { return Ok(builder) };
    let (text, source) = match (&arguments.key_env, &arguments.key_file) {
        (Some(name), _) => {
            let text = env::var(name).map_err(|_| "is not set, or not text".to_owned());
            (text, format!("the environment variable `{name}` of `--key-env`"))
        }
        (None, Some(path)) => {
            let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"));
            (text, format!("the file `{}` of `--key-file`", path.display()))
        }
        (None, None) => return Err(Failure::usage("`--state` requires `--key-env VARIABLE` or `--key-file FILE`")),
    };
    let text = text.map_err(|problem| Failure::usage(format!("{source} {problem}")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("{source} is empty")));
    }
    for key in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        builder = builder.key(key.as_bytes());
    }
    // Placeholders are expanded as in the configuration, so that passwords stay out of process lists.
    let expanded = ServerConfig::http("state", url).expand(|name| env::var(name).ok());
    let expanded = expanded.map_err(|error| Failure::usage(format!("`--state`: {}", error.message)))?;
    let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &expanded.transport else {
        return Err(Failure::usage("`--state` is not a URL"));
    };
    let state = RedisState::connect(url).await.map_err(|error| Failure::new(format!("`--state`: {error}")))?;
    Ok(builder.state(state))
}

/// Describes an error with the options of the command line.
pub(super) fn failure(error: ServeError) -> Failure {
    let (message, help) = match error {
        ServeError::PublicAddress { address } => {
            (format!("address {address} is reachable from other machines"), "use `--public` to allow this")
        }
        ServeError::Unauthenticated { address } => (
            format!("address {address} is reachable from other machines, and anyone could call the tools"),
            "set a token with `--bearer-env VARIABLE` or `--tokens FILE`, or use `--no-auth` behind an authenticating \
             proxy",
        ),
        ServeError::Option { option, problem } => {
            let option = match option {
                "bearer" => "the token of `--bearer-env`".to_owned(),
                "issuer" | "audience" | "allow_origin" | "allow_host" => format!("`--{}`", option.replace('_', "-")),
                other => other.to_owned(),
            };
            return Failure::usage(format!("{option}: {problem}"));
        }
        ServeError::AccessWithoutNames => {
            ("`[access]` requires names of callers".to_owned(), "serve over HTTP with `--tokens FILE` or `--auth jwt`")
        }
        other => return other.into(),
    };
    Failure::usage(message).with_help(help)
}

/// Returns the host's configuration of a proxy with these servers.
///
/// # Errors
/// Fails if a host cannot use the address, or if the configuration file is missing.
pub(super) fn host_config(
    host: Host,
    config: &Config,
    servers: &[ServerConfig],
    arguments: &args::Serve,
) -> Result<Value> {
    let entry = match arguments.http {
        Some(address) if address.port() == 0 || address.ip().is_unspecified() => {
            let message = format!("the address {address} is not allowed in the configuration of a host");
            return Err(Failure::usage(message).with_help("name one with a port, such as `--http 127.0.0.1:8080`"));
        }
        Some(address) => {
            let token = arguments.bearer_env.iter();
            let headers = token.map(|name| ("Authorization", format!("Bearer {}", host.placeholder(name))));
            let headers: BTreeMap<&str, String> = headers.collect();
            json!({ "type": "http", "url": format!("http://{address}/mcp"), "headers": headers })
        }
        None => {
            let path = config.path.as_ref().ok_or_else(|| {
                Failure::usage("a host does not have the variable `MCP_SERVERS`")
                    .with_help("write the servers to mcp.toml")
            })?;
            let path = absolute(path)?.to_string_lossy().into_owned();
            let mut command = vec!["serve", "--config", &path];
            command.extend(arguments.servers.servers.iter().map(String::as_str));
            let env = servers.iter().flat_map(variables).map(|name| (name.clone(), host.placeholder(&name)));
            let env: BTreeMap<String, String> = env.collect();
            json!({ "type": "stdio", "command": NAME, "args": command, "env": env })
        }
    };
    Ok(json!({ host.servers_key(): { NAME: entry } }))
}

/// Returns the variables without which a server is not served.
fn variables(server: &ServerConfig) -> impl Iterator<Item = String> {
    let is_read = server.secret_stores.is_empty() || server.secret_stores.contains(&SecretStore::Env);
    let names = server.placeholders().into_iter().filter(move |secret| is_read && needs(server, secret));
    let names = names.filter_map(|secret| match secret {
        SecretRef::Variable(name) => Some(name),
        _ => None,
    });
    names.chain(server.inherit_env.iter().cloned())
}
