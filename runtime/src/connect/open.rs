//! Starts or reaches a server.

#[cfg(feature = "http")]
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Mutex;
#[cfg(feature = "stdio")]
use std::sync::{OnceLock, Weak};

use mcp_bindgen_model::{ServerConfig, Transport};
#[cfg(feature = "http")]
use tokio::runtime::Handle;
#[cfg(feature = "http")]
use tokio_util::sync::CancellationToken;

use super::options::ClientOptions;
#[cfg(feature = "stdio")]
use super::process::{Program, isolation::Sandbox, stdio};
use crate::ConnectErrorKind as Kind;
use crate::ground::redact::Redactor;
#[cfg(feature = "http")]
use crate::ground::sync::lock;
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Ledger;
use crate::rpc::notes::Notes;
use crate::rpc::transports::Sides;
#[cfg(feature = "cassette")]
use crate::rpc::transports::cassette::{Cassette, replay};
#[cfg(feature = "http")]
use crate::rpc::transports::http::{
    HttpClient, authorization::Authorizer, client::shared, network::Network, network::place,
    param_headers::ParamHeaders, reach::exposes_headers, streamable,
};
#[cfg(feature = "http")]
use crate::rpc::transports::sse::SseTransport;

/// The state that a transport shares with the rest of its connection.
pub(crate) struct Link {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notes: Notes,
    /// The headers for tool parameters, if the transport is HTTP.
    #[cfg(feature = "http")]
    pub(crate) param_headers: Option<Arc<ParamHeaders>>,
    /// Authorizes its requests, if the program set it.
    #[cfg(feature = "http")]
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The sandbox of an isolated server, while that runs; it may explain why the server does not answer.
    #[cfg(feature = "stdio")]
    pub(super) sandbox: OnceLock<Weak<Sandbox>>,
}

impl Link {
    pub(crate) fn new(config: &ServerConfig, options: &ClientOptions, redactor: &Redactor) -> Self {
        Self {
            ledger: Ledger::new(options.call_timeout(config.timeout), redactor.clone()),
            notes: Notes::new(&config.name, redactor.clone()),
            #[cfg(feature = "http")]
            param_headers: matches!(config.transport, Transport::Http { .. }).then(Arc::default),
            #[cfg(feature = "http")]
            authorizer: None,
            #[cfg(feature = "stdio")]
            sandbox: OnceLock::new(),
        }
    }
}

/// Opens a transport. Only HTTP+SSE and a program's own connector wait here. Dropping the future closes the connection.
pub(super) async fn open(
    config: &ServerConfig,
    options: &ClientOptions,
    link: &Link,
) -> Result<Sides, (Kind, Failure)> {
    if config.isolation.is_some() && !matches!(config.transport, Transport::Stdio { .. }) {
        let message = "`isolation` requires a child process; it cannot be enforced for a `url`";
        return Err((Kind::Config, Failure::not_sent(message)));
    }
    #[cfg(feature = "cassette")]
    if let Some(cassette) = options.cassette.clone().filter(Cassette::replays) {
        return Ok(replay(cassette, link.ledger.clone(), link.notes.redactor().clone()));
    }
    #[cfg(feature = "stdio")]
    if let Some(streams) = &options.streams {
        let ways = [config.ca.is_some(), config.client_cert.is_some(), config.proxy.is_some(), config.auth.is_some()];
        if config.isolation.is_some() || ways.contains(&true) {
            let message = "`isolation`, `ca`, `client_cert`, `proxy` and `auth` cannot be enforced for streams of the \
                           program; remove them";
            return Err((Kind::Config, Failure::not_sent(message)));
        }
        let sides = streams.connect(link.ledger.clone(), link.notes.clone()).await;
        return sides.map_err(|error| (Kind::Transport, Failure::not_sent(error.to_string())));
    }
    #[cfg(feature = "stdio")]
    if let Some(program) = Program::of(config) {
        let started = stdio::start(&program, link.ledger.clone(), link.notes.clone());
        let (sides, sandbox) = started.map_err(|(kind, message)| (kind, Failure::not_sent(message)))?;
        if let Some(sandbox) = sandbox {
            link.sandbox.get_or_init(|| Arc::downgrade(&sandbox));
        }
        return Ok(sides);
    }
    #[cfg(feature = "http")]
    if let Transport::Http { url, headers } | Transport::Sse { url, headers } = &config.transport {
        warn_of_exposed_headers(config);
        let client = http_client(config, options, (url, headers), link);
        let client = client.map_err(|(kind, message)| (kind, Failure::not_sent(message)))?;
        let url = reqwest::Url::parse(url)
            .map_err(|error| (Kind::Config, Failure::not_sent(format!("`url` is not a URL: {error}"))))?;
        if let Some(param_headers) = &link.param_headers {
            return Ok(streamable::connect(url, client, param_headers.clone(), options.max_concurrent_requests));
        }
        return SseTransport::connect(url, client).await.map_err(|failure| (Kind::Transport, failure));
    }
    let _ = (options, link);
    let missing = if cfg!(feature = "stdio") { "http" } else { "stdio" };
    let message = format!("unsupported in this build; enable the feature `{missing}` of mcp-bindgen");
    Err((Kind::Unsupported, Failure::not_sent(message)))
}

/// Warns once of each server whose secret headers are sent unencrypted to another machine.
#[cfg(feature = "http")]
fn warn_of_exposed_headers(config: &ServerConfig) {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let server = &config.name;
    if exposes_headers(config) && lock(&WARNED).insert(server.clone()) {
        tracing::warn!(server, "secret headers are sent over unencrypted HTTP; use `https://` in `url`");
    }
}

#[cfg(feature = "http")]
fn http_client(
    config: &ServerConfig,
    options: &ClientOptions,
    (url, headers): (&str, &BTreeMap<String, String>),
    link: &Link,
) -> Result<HttpClient, (Kind, String)> {
    let wrong = |message| (Kind::Config, message);
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(wrong("`url` must begin with http:// or https://".to_owned()));
    }
    if config.auth.is_some() && link.authorizer.is_none() {
        let message = "`auth` requires the feature `auth` of mcp-bindgen, which this build does not have";
        return Err((Kind::Unsupported, message.to_owned()));
    }
    let network = Network::of(config, options.customize.clone()).map_err(wrong)?;
    Ok(HttpClient {
        client: shared(url, &network).map_err(|error| (Kind::Transport, error))?,
        proxy: network.proxy.as_ref().map(place),
        headers: header_map(headers).map_err(wrong)?,
        authorizer: link.authorizer.clone(),
        ledger: link.ledger.clone(),
        notes: link.notes.clone(),
        runtime: Handle::current(),
        until: CancellationToken::new(),
    })
}

#[cfg(feature = "http")]
fn header_map(headers: &BTreeMap<String, String>) -> Result<http::HeaderMap, String> {
    const OURS: &[&str] = &["accept", "content-type", "content-length", "host", "mcp-session-id", "last-event-id"];
    let mut map = http::HeaderMap::new();
    for (name, value) in headers {
        let header = http::HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("invalid header name `{name}` in `headers`"))?;
        if OURS.contains(&header.as_str()) {
            return Err(format!("the header `{name}` is set by the protocol; remove it from `headers`"));
        }
        let mut value = http::HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` has invalid characters"))?;
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}
