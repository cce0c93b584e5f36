//! Starts or reaches a server.

#[cfg(feature = "http")]
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::Mutex;

use mcp_bindgen_model::{ServerConfig, Transport};
#[cfg(feature = "http")]
use tokio_util::sync::CancellationToken;

use super::options::ClientOptions;
#[cfg(feature = "stdio")]
use super::process::isolation::Sandbox;
use crate::ConnectErrorKind as Kind;
use crate::ground::redact::Redactor;
#[cfg(feature = "http")]
use crate::ground::sync::lock;
#[cfg(feature = "http")]
use crate::rpc::failure::Failure;
use crate::rpc::ledger::{Ledger, Limits};
use crate::rpc::notes::Notes;
#[cfg(feature = "cassette")]
use crate::rpc::transports::cassette::{Player, replay};
#[cfg(feature = "stdio")]
use crate::rpc::transports::duplex::{DuplexTransport, Streams};
#[cfg(feature = "http")]
use crate::rpc::transports::http::{
    HttpClient, authorization::Authorizer, client::shared, network::Customize, network::Network,
    param_headers::ParamHeaders, reach::exposes_headers, streamable,
};
#[cfg(feature = "http")]
use crate::rpc::transports::sse::SseTransport;
use crate::rpc::transports::{self, Sender, Sides};

/// The state that a transport shares with the rest of its connection.
pub(crate) struct Link {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notes: Notes,
    /// The limit on concurrent HTTP requests, if one is set.
    pub(crate) max_concurrent_requests: Option<usize>,
    /// The streams to the server, if the program opens them.
    #[cfg(feature = "stdio")]
    pub(crate) streams: Option<Streams>,
    /// The player that answers in the server's place.
    #[cfg(feature = "cassette")]
    pub(crate) player: Option<Arc<Player>>,
    /// The headers for tool parameters, if the transport is HTTP.
    #[cfg(feature = "http")]
    pub(crate) param_headers: Option<Arc<ParamHeaders>>,
    /// The program's changes to the HTTP client.
    #[cfg(feature = "http")]
    pub(crate) customize: Option<Customize>,
    /// Authorizes its requests, if the program set it.
    #[cfg(feature = "http")]
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
}

impl Link {
    pub(crate) fn new(config: &ServerConfig, options: &ClientOptions, redactor: &Redactor) -> Self {
        Self {
            ledger: Ledger::new(Limits::default(), options.call_timeout(config.timeout), redactor.clone()),
            notes: Notes::new(&config.name, redactor.clone()),
            max_concurrent_requests: options.max_concurrent_requests,
            #[cfg(feature = "stdio")]
            streams: options.streams.clone(),
            #[cfg(feature = "cassette")]
            player: None,
            #[cfg(feature = "http")]
            param_headers: matches!(config.transport, Transport::Http { .. }).then(Arc::default),
            #[cfg(feature = "http")]
            customize: options.customize.clone(),
            #[cfg(feature = "http")]
            authorizer: None,
        }
    }
}

/// Why no transport could be opened.
pub(crate) enum OpenError {
    /// The server could not be started, or the configuration has no transport.
    Start(Kind, String),
    /// The server could not be reached, or refused.
    #[cfg(feature = "http")]
    Below(Box<Failure>),
}

/// A transport that is open.
pub(crate) struct Opened {
    pub(crate) sides: Sides,
    /// The sandbox of an isolated server; it may explain why the server does not answer.
    #[cfg(feature = "stdio")]
    pub(crate) sandbox: Option<Sandbox>,
}

impl Opened {
    fn new(sender: Arc<impl Sender + 'static>, transport: impl transports::Transport + 'static) -> Self {
        Self {
            sides: (sender, Box::new(transport)),
            #[cfg(feature = "stdio")]
            sandbox: None,
        }
    }
}

/// Opens a transport.
/// Dropped: the connection is closed. Only HTTP+SSE and a program's own connector wait here.
pub(crate) async fn open(config: &ServerConfig, link: &Link) -> Result<Opened, OpenError> {
    let is_child = matches!(config.transport, Transport::Stdio { .. });
    if config.isolation.is_some() && !is_child {
        let message = "`isolation` requires a child process; it cannot be enforced for a `url`";
        return Err(OpenError::Start(Kind::Config, message.to_owned()));
    }
    #[cfg(feature = "cassette")]
    if let Some(player) = &link.player {
        let (sender, transport) = replay(player.clone(), link.ledger.clone(), link.notes.redactor().clone());
        return Ok(Opened::new(sender, transport));
    }
    #[cfg(feature = "stdio")]
    if let Some(streams) = &link.streams {
        let ways = [config.ca.is_some(), config.client_cert.is_some(), config.proxy.is_some(), config.auth.is_some()];
        if config.isolation.is_some() || ways.contains(&true) {
            let message = "`isolation`, `ca`, `client_cert`, `proxy` and `auth` cannot be enforced for streams of the \
                           program; remove them";
            return Err(OpenError::Start(Kind::Config, message.to_owned()));
        }
        let sides = DuplexTransport::over(streams, link.ledger.clone(), link.notes.clone()).await;
        let (sender, transport) = sides.map_err(|message| OpenError::Start(Kind::Transport, message))?;
        return Ok(Opened::new(sender, transport));
    }
    match &config.transport {
        #[cfg(feature = "stdio")]
        Transport::Stdio { command, args, cwd } => {
            let program = super::process::Program {
                command,
                args,
                cwd: cwd.as_deref(),
                env: &config.env,
                inherit_env: &config.inherit_env,
            };
            let sandbox = config.isolation.as_ref().map(|isolation| Sandbox::new(isolation, &program)).transpose();
            let sandbox = sandbox.map_err(|(kind, message)| OpenError::Start(kind, message))?;
            let (sender, transport) = super::process::stdio::StdioTransport::start(
                &program,
                sandbox.as_ref(),
                link.ledger.clone(),
                link.notes.clone(),
            )
            .map_err(|error| OpenError::Start(Kind::Spawn, cannot_start(command, cwd.as_deref(), &error)))?;
            Ok(Opened { sandbox, ..Opened::new(sender, transport) })
        }
        #[cfg(feature = "http")]
        Transport::Http { url, headers } => {
            warn_of_exposed_headers(config);
            let client = http_client(config, (url, headers), link)?;
            let param_headers = link.param_headers.clone().unwrap_or_default();
            let url = reqwest::Url::parse(url)
                .map_err(|error| OpenError::Start(Kind::Config, format!("`url` is not a URL: {error}")))?;
            let (sender, transport) = streamable::connect(url, client, param_headers, link.max_concurrent_requests);
            Ok(Opened::new(sender, transport))
        }
        #[cfg(feature = "http")]
        Transport::Sse { url, headers } => {
            warn_of_exposed_headers(config);
            let client = http_client(config, (url, headers), link)?;
            let sides = SseTransport::connect(url, client).await;
            let (sender, transport) = sides.map_err(|error| OpenError::Below(Box::new(error)))?;
            Ok(Opened::new(sender, transport))
        }
        #[cfg(not(all(feature = "stdio", feature = "http")))]
        _ => {
            let _ = link;
            let missing = if cfg!(feature = "stdio") { "http" } else { "stdio" };
            let message = format!("unsupported in this build; enable the feature `{missing}` of mcp-bindgen");
            Err(OpenError::Start(Kind::Unsupported, message))
        }
    }
}

/// Returns the message of a program that the system did not start.
#[cfg(feature = "stdio")]
pub(super) fn cannot_start(command: &str, cwd: Option<&str>, error: &std::io::Error) -> String {
    match (error.kind(), cwd) {
        (std::io::ErrorKind::NotFound, Some(cwd)) if !std::path::Path::new(cwd).is_dir() => {
            format!("failed to start `{command}`: the folder `{cwd}` (cwd) does not exist")
        }
        _ => format!("failed to start `{command}`: {error}"),
    }
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
    (url, headers): (&str, &BTreeMap<String, String>),
    link: &Link,
) -> Result<HttpClient, OpenError> {
    let wrong = |message| OpenError::Start(Kind::Config, message);
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(wrong("`url` must begin with http:// or https://".to_owned()));
    }
    if config.auth.is_some() && link.authorizer.is_none() {
        let message = "`auth` requires the feature `auth` of mcp-bindgen, which this build does not have";
        return Err(OpenError::Start(Kind::Unsupported, message.to_owned()));
    }
    let network = Network::of(config, link.customize.clone()).map_err(wrong)?;
    Ok(HttpClient {
        client: shared(url, &network).map_err(|error| OpenError::Start(Kind::Transport, error))?,
        proxy: network.proxy_place(),
        headers: header_map(headers).map_err(wrong)?,
        authorizer: link.authorizer.clone(),
        ledger: link.ledger.clone(),
        notes: link.notes.clone(),
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
