//! The options of `serve` as those of the proxy.

use std::net::SocketAddr;
use std::time::Duration;
use std::{env, fs};

use mcp_bindgen_model::{ServerConfig, Transport};
use mcp_bindgen_proxy::{HttpOptions, JwtAuth, ProxyBuilder, RedisState, ServeError, TokenFile};

use crate::args;
use crate::exit::Failure;

/// How long calls that are under way may take after a signal, over HTTP.
pub(super) const DRAIN: Duration = Duration::from_secs(5);

pub(super) fn http_options(address: SocketAddr, arguments: &args::Serve) -> Result<HttpOptions, Failure> {
    let mut options = HttpOptions::new().address(address).drain(DRAIN);
    if let Some(name) = &arguments.bearer_env {
        // The error does not contain the value.
        let token = env::var(name).map_err(|_| {
            Failure::usage(format!("the environment variable `{name}` of `--bearer-env` is not set, or not text"))
        })?;
        options = options.bearer(token);
    }
    if let Some(path) = &arguments.tokens {
        options = options.tokens(TokenFile::load(path).map_err(Failure::of)?);
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
pub(super) async fn shared(mut builder: ProxyBuilder, arguments: &args::Serve) -> Result<ProxyBuilder, Failure> {
    let Some(url) = &arguments.state else { return Ok(builder) };
    let (text, source) = if let Some(name) = &arguments.key_env {
        let text = env::var(name).map_err(|_| "is not set, or not text".to_owned());
        (text, format!("the environment variable `{name}` of `--key-env`"))
    } else if let Some(path) = &arguments.key_file {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"));
        (text, format!("the file `{}` of `--key-file`", path.display()))
    } else {
        return Err(Failure::usage("`--state` requires `--key-env VARIABLE` or `--key-file FILE`"));
    };
    let text = text.map_err(|problem| Failure::usage(format!("{source} {problem}")))?;
    let mut keys = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    if keys.peek().is_none() {
        return Err(Failure::usage(format!("{source} is empty")));
    }
    for key in keys {
        builder = builder.key(key.as_bytes());
    }
    // Placeholders are expanded as in the configuration, so that passwords stay out of process lists.
    let expanded = ServerConfig::http("state", url).expand(|name| env::var(name).ok());
    let expanded = expanded.map_err(|error| Failure::usage(format!("`--state`: {}", error.message)))?;
    let url = match &expanded.transport {
        Transport::Http { url, .. } => url,
        _ => url,
    };
    let state = RedisState::connect(url).await.map_err(|error| Failure::new(format!("`--state`: {error}")))?;
    Ok(builder.state(state))
}

/// Describes an error with the options of the command line.
pub(super) fn failure(error: ServeError) -> Failure {
    let reached = |address| format!("address {address} is reachable from other machines");
    match error {
        ServeError::PublicAddress { address } => {
            Failure::usage(format!("{}\n  = help: use `--public` to allow this", reached(address)))
        }
        ServeError::Unauthenticated { address } => Failure::usage(format!(
            "{}, and anyone could call the tools\n  = help: set a token with `--bearer-env VARIABLE` or `--tokens FILE`, or use \
             `--no-auth` behind an authenticating proxy",
            reached(address)
        )),
        ServeError::Option { option, problem } => {
            let option = match option {
                "bearer" => "the token of `--bearer-env`".to_owned(),
                "issuer" | "audience" | "allow_origin" | "allow_host" => format!("`--{}`", option.replace('_', "-")),
                other => other.to_owned(),
            };
            Failure::usage(format!("{option}: {problem}"))
        }
        ServeError::AccessWithoutNames => {
            let help = "serve over HTTP with `--tokens FILE` or `--auth jwt`";
            Failure::usage(format!("`[access]` requires names of callers\n  = help: {help}"))
        }
        other => Failure::of(other),
    }
}
