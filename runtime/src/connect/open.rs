//! Opens connections: starts or reaches the server, and agrees with it on a protocol version.

#[cfg(feature = "http")]
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{ServerConfig, Transport};
use rmcp::model::ProtocolVersion;

use super::connection::{Connection, KeptLists, Link};
use super::handshake::{Handshake, HandshakeError};
use super::limits::SharedLimits;
use super::options::ClientOptions;
#[cfg(feature = "stdio")]
use super::process::{Program, download::Download, environment::missed, tree};
use super::secrets::resolve;
use crate::ground::deadline::Deadline;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::ground::sync::lock;
use crate::rpc::failure::Failure;
use crate::rpc::handlers::Answers;
use crate::rpc::notices::Notices;
use crate::rpc::receiving;
use crate::rpc::request::RequestError;
use crate::rpc::transports::Sides;
#[cfg(feature = "cassette")]
use crate::rpc::transports::cassette::{Cassette, replay};
#[cfg(feature = "http")]
use crate::rpc::transports::http::{
    HttpClient, network::Network, network::place, network::shared, reach::exposes_headers, streamable,
};
#[cfg(feature = "http")]
use crate::rpc::transports::sse;
use crate::{ConnectError, ConnectErrorKind as Kind, Evidence};

struct FailedAttempt {
    error: ConnectError,
    /// `true` if the server ended at a request that it does not know, so that another start may accept the other one.
    may_restart: bool,
}

impl From<ConnectError> for FailedAttempt {
    fn from(error: ConnectError) -> Self {
        Self { error, may_restart: false }
    }
}

/// Connects to a server, within `patience` in total. If the future is dropped, its process is killed and its requests
/// are given up. A user can still finish a pending authorization.
pub(crate) async fn establish(
    (config, options): (&ServerConfig, &ClientOptions),
    (notices, limits): (&Arc<Notices>, &SharedLimits),
    patience: Duration,
) -> Result<Connection, ConnectError> {
    let deadline = Deadline::after(patience);
    let failed = |kind, message| ConnectError::new(&config.name, kind, message);
    #[cfg(feature = "cassette")]
    if let Some(cassette) = &options.cassette {
        cassette.insert_for(&config.name).map_err(|error| failed(Kind::Config, error.to_string()))?;
    }
    let replays = options.replays();
    let resolving = deadline.bound(resolve(config, &options.secrets, replays));
    let (ready, redactor) = resolving.await.ok_or_else(|| {
        failed(Kind::Timeout, format!("the secrets of its configuration were not resolved within {patience:?}"))
    })?;
    let config = if replays { config.clone() } else { ready? };
    let time = (deadline, patience);
    #[cfg(feature = "stdio")]
    let config = if options.starts_child(&config) { downloaded(config, &redactor, time).await? } else { config };
    let handshake = Handshake::new(options).map_err(|error| {
        let message = format!("invalid client capabilities: {error}");
        failed(Kind::Config, redactor.shown(&message, LONGEST_MESSAGE))
    })?;
    let attempt = async |discovers_first| {
        if options.starts_child(&config) {
            limits.begin_start()?;
        }
        let attempt = attempt((&config, options), (notices, &redactor), (&handshake, discovers_first), time);
        Box::pin(attempt).await.inspect_err(|failure| limits.start_failed(&failure.error))
    };
    let discovers_first = handshake.discovers_first;
    let failure = match attempt(discovers_first).await {
        Err(failure) if failure.may_restart && !options.opens_one_transport() => failure,
        outcome => return outcome.map_err(|failure| failure.error),
    };
    // The error of `initialize` is clearer than that of an unknown `server/discover`.
    attempt(!discovers_first).await.map_err(|again| if discovers_first { again.error } else { failure.error })
}

/// Downloads the server's package if that is a separate step, and returns the configuration to start. Dropping the
/// future ends the download.
#[cfg(feature = "stdio")]
async fn downloaded(
    config: ServerConfig,
    redactor: &Redactor,
    (deadline, patience): (Deadline, Duration),
) -> Result<ServerConfig, ConnectError> {
    let Some(download) = Download::before(&config) else { return Ok(config) };
    let notes = crate::rpc::notes::Notes::new(&config.name, redactor.clone());
    let outcome = deadline.bound(Box::pin(download.run(&notes))).await.unwrap_or_else(|| {
        let message = download.failed(&format!("was not complete within {patience:?}"));
        Err((Kind::Timeout, message))
    });
    outcome.map_err(|(kind, message)| notes.error(kind, &message))
}

/// Makes one attempt to connect; dropping it acts like dropping `establish`.
async fn attempt(
    (config, options): (&ServerConfig, &ClientOptions),
    (notices, redactor): (&Arc<Notices>, &Redactor),
    (handshake, discovers_first): (&Handshake, bool),
    (until, patience): (Deadline, Duration),
) -> Result<Connection, FailedAttempt> {
    let link = Link::new(config, options, notices, redactor)?;
    let fail = |kind, message: &str| {
        #[cfg_attr(not(feature = "stdio"), allow(unused_mut))] // only child processes miss variables
        let mut error = link.notes.error(kind, message);
        #[cfg(feature = "stdio")]
        if matches!(kind, Kind::Transport | Kind::Timeout) && options.starts_child(config) {
            let missed = missed(config, &link.notes.stderr()).map(|missed| format!("\n  {missed}"));
            error.message += &missed.unwrap_or_default();
        }
        error
    };
    let answers = Arc::new(Answers::new(options.handlers.clone()));
    let mut beginning = Box::pin(async {
        let opened = open(config, options, &link).await;
        let sides = opened.map_err(|(kind, failure)| failed_below(&fail, kind, "", &failure))?;
        let stamp = handshake.stamp(&ProtocolVersion::LATEST);
        let (mut session, mut receiving) = receiving::open(sides, link.ledger.clone(), answers.clone(), Some(stamp));
        let head_start = discovers_first.then_some(patience / 2);
        let begun = handshake.begin(&mut session, &mut receiving, head_start).await;
        #[cfg(feature = "stdio")]
        if let (Err(_), Some(sandbox)) = (&begun, link.sandbox.get().and_then(std::sync::Weak::upgrade))
            && let Some((kind, message)) = sandbox.refusal().await
        {
            return Err(fail(kind, &message).into());
        }
        let refusal = match begun {
            Ok(agreed) => return Ok((session, receiving, agreed)),
            Err(refusal) => refusal,
        };
        // Before the receiving side is dropped, which closes the connection.
        let may_restart = match discovers_first {
            true => refusal.error.is_none(),
            false => handshake.refusal.get().is_some() && !link.ledger.is_open(),
        };
        Err(FailedAttempt { error: refused(&fail, &refusal), may_restart })
    });
    let begun = until.bound(beginning.as_mut()).await;
    #[cfg(feature = "http")]
    let begun = match link.authorizer.as_ref().and_then(|authorizer| authorizer.extra_time()) {
        Some(more) if begun.is_none() => Deadline::after(more.saturating_add(patience)).bound(beginning.as_mut()).await,
        _ => begun,
    };
    drop(beginning);
    let Some(begun) = begun else {
        #[cfg(feature = "http")]
        if let Some(waits) = link.authorizer.as_ref().and_then(|authorizer| authorizer.waits_for()) {
            let message = format!("{waits}; the authorization continues, and the next connection uses its outcome");
            return Err(fail(Kind::Auth, &message).into());
        }
        let error = match handshake.refusal.get() {
            Some(refusal) => refused(&fail, refusal),
            None => fail(Kind::Timeout, &format!("no answer to `{}` within {patience:?}", lock(&handshake.last))),
        };
        return Err(error.into());
    };
    let (session, receiving, agreed) = begun?;
    Ok(Connection {
        session,
        receiving: Mutex::new(Some(receiving)),
        protocol_version: agreed.version.as_str().to_owned(),
        handshake: agreed.answer,
        declared: handshake.capabilities.clone(),
        answers,
        kept: KeptLists::default(),
        answers_of_handshake: link.ledger.answers(),
        link,
    })
}

fn refused(fail: &impl Fn(Kind, &str) -> ConnectError, refusal: &HandshakeError) -> ConnectError {
    let method = refusal.method;
    match refusal.error.as_deref() {
        None => fail(Kind::Transport, &format!("the connection was closed before `{method}` was answered")),
        Some(error @ RequestError::Rpc(_)) => fail(Kind::Protocol, &format!("`{method}` failed with {error}")),
        Some(error) if error.is_answer() => fail(Kind::Protocol, &format!("`{method}` failed: {error}")),
        Some(RequestError::Failed(failure)) => {
            failed_below(fail, Kind::Transport, &format!("`{method}` was not answered: "), failure)
        }
        Some(error) => fail(Kind::Transport, &format!("`{method}` was not answered: {error}")),
    }
}

fn failed_below(fail: &impl Fn(Kind, &str) -> ConnectError, kind: Kind, what: &str, below: &Failure) -> ConnectError {
    let (kind, what) = if below.wants_authorization { (Kind::Auth, "") } else { (kind, what) };
    let error = fail(kind, &format!("{what}{}", below.message));
    let evidence = Evidence { http_status: below.http_status, ..error.evidence().clone() };
    error.with_retry_after(below.retry_after).with_evidence(evidence)
}

/// Opens a transport. Only HTTP+SSE and a program's own connector wait here. Dropping the future closes the connection.
async fn open(config: &ServerConfig, options: &ClientOptions, link: &Link) -> Result<Sides, (Kind, Failure)> {
    let unsent = |kind, message: String| (kind, Failure::not_sent(message));
    if config.isolation.is_some() && !matches!(config.transport, Transport::Stdio { .. }) {
        let message = "`isolation` requires a child process; it cannot be enforced for a `url`";
        return Err(unsent(Kind::Config, message.to_owned()));
    }
    #[cfg(feature = "cassette")]
    if let Some(cassette) = options.cassette.clone().filter(Cassette::replays) {
        return Ok(replay(cassette, link.ledger.clone(), link.notes.redactor().clone()));
    }
    #[cfg(feature = "stdio")]
    if let Some(streams) = &options.streams {
        let ServerConfig { isolation, ca, client_cert, proxy, auth, .. } = config;
        let demands = [isolation.is_some(), ca.is_some(), client_cert.is_some(), proxy.is_some(), auth.is_some()];
        if demands.contains(&true) {
            let message = "`isolation`, `ca`, `client_cert`, `proxy` and `auth` cannot be enforced for streams of the \
                           program; remove them";
            return Err(unsent(Kind::Config, message.to_owned()));
        }
        let sides = streams.connect(link.ledger.clone(), link.notes.clone()).await;
        return sides.map_err(|error| unsent(Kind::Transport, error.to_string()));
    }
    #[cfg(feature = "stdio")]
    if let Some(program) = Program::of(config) {
        return tree::connect(&program, link).map_err(|(kind, message)| unsent(kind, message));
    }
    #[cfg(feature = "http")]
    if let Transport::Http { url, headers } | Transport::Sse { url, headers } = &config.transport {
        warn_of_exposed_headers(config);
        let client = http_client(config, options, (url, headers), link);
        let client = client.map_err(|(kind, message)| unsent(kind, message))?;
        let url =
            reqwest::Url::parse(url).map_err(|error| unsent(Kind::Config, format!("`url` is not a URL: {error}")))?;
        if let Some(param_headers) = &link.param_headers {
            return Ok(streamable::connect(url, client, param_headers.clone(), options.max_concurrent_requests));
        }
        return sse::connect(url, client).await.map_err(|failure| (Kind::Transport, failure));
    }
    let _ = (options, link);
    let missing = if cfg!(feature = "stdio") { "http" } else { "stdio" };
    let message = format!("unsupported in this build; enable the feature `{missing}` of mcp-bindgen");
    Err(unsent(Kind::Unsupported, message))
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
        runtime: tokio::runtime::Handle::current(),
        until: tokio_util::sync::CancellationToken::new(),
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
