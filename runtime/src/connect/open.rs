//! Starts or reaches a server.

#[cfg(feature = "http")]
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Mutex;

use mcp_bindgen_model::{ServerConfig, Transport};
#[cfg(feature = "http")]
use tokio::runtime::Handle;
#[cfg(feature = "http")]
use tokio_util::sync::CancellationToken;

use super::options::ClientOptions;
#[cfg(feature = "stdio")]
use super::process::{Program, isolation::Sandbox, stdio::StdioTransport};
use crate::ConnectErrorKind as Kind;
use crate::ground::redact::Redactor;
#[cfg(feature = "http")]
use crate::ground::sync::lock;
use crate::rpc::failure::Failure;
use crate::rpc::ledger::{Ledger, Limits};
use crate::rpc::notes::Notes;
use crate::rpc::transports::Sides;
#[cfg(feature = "cassette")]
use crate::rpc::transports::cassette::{Cassette, replay};
#[cfg(feature = "stdio")]
use crate::rpc::transports::duplex::DuplexTransport;
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
}

impl Link {
    pub(crate) fn new(config: &ServerConfig, options: &ClientOptions, redactor: &Redactor) -> Self {
        Self {
            ledger: Ledger::new(Limits::default(), options.call_timeout(config.timeout), redactor.clone()),
            notes: Notes::new(&config.name, redactor.clone()),
            #[cfg(feature = "http")]
            param_headers: matches!(config.transport, Transport::Http { .. }).then(Arc::default),
            #[cfg(feature = "http")]
            authorizer: None,
        }
    }
}

/// Why no transport could be opened.
pub(crate) struct OpenError {
    pub(crate) kind: Kind,
    pub(crate) failure: Failure,
}

impl OpenError {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, failure: Failure::not_sent(message) }
    }
}

/// A transport that is open.
pub(crate) struct Opened {
    pub(crate) sides: Sides,
    /// The sandbox of an isolated server; it may explain why the server does not answer.
    #[cfg(feature = "stdio")]
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

impl From<Sides> for Opened {
    fn from(sides: Sides) -> Self {
        Self {
            sides,
            #[cfg(feature = "stdio")]
            sandbox: None,
        }
    }
}

/// Opens a transport.
/// Dropped: the connection is closed. Only HTTP+SSE and a program's own connector wait here.
pub(crate) async fn open(config: &ServerConfig, options: &ClientOptions, link: &Link) -> Result<Opened, OpenError> {
    if config.isolation.is_some() && !matches!(config.transport, Transport::Stdio { .. }) {
        let message = "`isolation` requires a child process; it cannot be enforced for a `url`";
        return Err(OpenError::new(Kind::Config, message));
    }
    #[cfg(feature = "cassette")]
    if let Some(player) = options.cassette.as_ref().and_then(Cassette::player) {
        return Ok(Opened::from(replay(player, link.ledger.clone(), link.notes.redactor().clone())));
    }
    #[cfg(feature = "stdio")]
    if let Some(streams) = &options.streams {
        let ways = [config.ca.is_some(), config.client_cert.is_some(), config.proxy.is_some(), config.auth.is_some()];
        if config.isolation.is_some() || ways.contains(&true) {
            let message = "`isolation`, `ca`, `client_cert`, `proxy` and `auth` cannot be enforced for streams of the \
                           program; remove them";
            return Err(OpenError::new(Kind::Config, message));
        }
        let sides = DuplexTransport::over(streams, link.ledger.clone(), link.notes.clone()).await;
        return sides.map(Opened::from).map_err(|error| OpenError::new(Kind::Transport, error.to_string()));
    }
    #[cfg(feature = "stdio")]
    if let Some(program) = Program::of(config) {
        let started = StdioTransport::start(&program, link.ledger.clone(), link.notes.clone());
        let (sides, sandbox) = started.map_err(|(kind, message)| OpenError::new(kind, message))?;
        return Ok(Opened { sides, sandbox });
    }
    #[cfg(feature = "http")]
    if let Transport::Http { url, headers } | Transport::Sse { url, headers } = &config.transport {
        warn_of_exposed_headers(config);
        let client = http_client(config, options, (url, headers), link)?;
        let url = reqwest::Url::parse(url)
            .map_err(|error| OpenError::new(Kind::Config, format!("`url` is not a URL: {error}")))?;
        if let Some(param_headers) = &link.param_headers {
            let sides = streamable::connect(url, client, param_headers.clone(), options.max_concurrent_requests);
            return Ok(sides.into());
        }
        let sides = SseTransport::connect(url, client).await;
        return sides.map(Opened::from).map_err(|failure| OpenError { kind: Kind::Transport, failure });
    }
    let _ = (options, link);
    let missing = if cfg!(feature = "stdio") { "http" } else { "stdio" };
    let message = format!("unsupported in this build; enable the feature `{missing}` of mcp-bindgen");
    Err(OpenError::new(Kind::Unsupported, message))
}

/// Warns once of each server whose headers others can read on their way.
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
) -> Result<HttpClient, OpenError> {
    let wrong = |message| OpenError::new(Kind::Config, message);
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(wrong("`url` must begin with http:// or https://".to_owned()));
    }
    if config.auth.is_some() && link.authorizer.is_none() {
        let message = "`auth` requires the feature `auth` of mcp-bindgen, which this build does not have";
        return Err(OpenError::new(Kind::Unsupported, message));
    }
    let network = Network::of(config, options.customize.clone()).map_err(wrong)?;
    Ok(HttpClient {
        client: shared(url, &network).map_err(|error| OpenError::new(Kind::Transport, error))?,
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
