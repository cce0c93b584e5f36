//! Opens connections: starts or reaches the server, and agrees with it on a protocol version.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_model::ServerConfig;
use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ProtocolVersion, RequestMetaObject, TASKS_EXTENSION_ID};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

#[cfg(feature = "cassette")]
use crate::CassetteError;
use crate::client::options::ClientOptions;
use crate::client::resolve::{Resolved, resolve, unresolved};
#[cfg(feature = "stdio")]
use crate::observe::notes::Notes;
use crate::observe::redact::Redactor;
use crate::session::connection::Connection;
use crate::session::deadline::Deadline;
use crate::session::failure::Failure as RequestFailure;
use crate::session::notices::Notices;
use crate::session::server_requests::{Answers, Handler};
#[cfg(feature = "stdio")]
use crate::transport::download::Download;
#[cfg(feature = "stdio")]
use crate::transport::duplex::Streams;
#[cfg(feature = "stdio")]
use crate::transport::environment::missed;
#[cfg(feature = "http")]
use crate::transport::http::refusals::HttpError;
#[cfg(feature = "stdio")]
use crate::transport::open::SPENT;
use crate::transport::open::{Link, OpenError, open};
use crate::{ConnectError, ConnectErrorKind as Kind, Evidence};

/// How a protocol version begins a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    /// With a handshake: up to 2025-11-25.
    Initialize,
    /// Without one: every request stands for itself.
    Discover,
}

/// A failed attempt; `other_era` where the server may do with the other beginning.
struct Failure {
    error: ConnectError,
    other_era: bool,
}

/// Connects to a server, within `patience` in all.
pub(crate) async fn establish(
    config: &ServerConfig,
    options: &ClientOptions,
    notices: &Arc<Notices>,
    patience: Duration,
) -> Result<Connection, ConnectError> {
    let deadline = Deadline::after(patience);
    #[cfg(feature = "stdio")]
    let _one = match options.streams() {
        Some(streams) if streams.are_spent() => return Err(ConnectError::new(&config.name, Kind::Transport, SPENT)),
        streams => streams.map(Streams::for_one_conversation),
    };
    let hint = options.version_hint().and_then(known_version);
    let modern = hint.as_ref().is_some_and(|version| !version.has_initialize());
    let source = options.secret_source();
    #[cfg(feature = "cassette")]
    if let Some(cassette) = options.inserted_cassette() {
        let wrong = |error: CassetteError| ConnectError::new(&config.name, Kind::Config, error.to_string());
        cassette.insert_for(&config.name).map_err(wrong)?;
    }
    let resolving = async {
        if options.replays() { Ok(unresolved(config, &source).await) } else { resolve(config, &source).await }
    };
    let Some(resolved) = deadline.bound(resolving).await else {
        let message = format!("the secrets of its configuration were not given within {patience:?}");
        return Err(ConnectError::new(&config.name, Kind::Timeout, message));
    };
    let Resolved { config, redactor } = resolved?;
    let time = (deadline, patience);
    #[cfg(feature = "stdio")]
    let config = if options.streams().is_none() && !options.replays() {
        downloaded(config, &redactor, time).await?
    } else {
        config
    };
    let attempt = |era| Box::pin(attempt((&config, options), notices, hint.clone(), &redactor, era, time));
    match (modern, options.opens_one_transport()) {
        (true, false) => discover_first(attempt, patience / 2).await,
        (true, true) => in_turn(attempt, [Era::Discover, Era::Initialize]).await,
        (false, _) => in_turn(attempt, [Era::Initialize, Era::Discover]).await,
    }
}

/// Downloads the server's package where that is a step of its own, and returns how the server is started.
#[cfg(feature = "stdio")]
async fn downloaded(
    config: ServerConfig,
    redactor: &Redactor,
    (deadline, patience): (Deadline, Duration),
) -> Result<ServerConfig, ConnectError> {
    let Some(download) = Download::before(&config) else { return Ok(config) };
    let notes = Notes::new(&config.name, redactor.clone());
    let failed = |kind, message: &str| {
        ConnectError::new(&config.name, kind, notes.explain(message)).with_evidence(notes.evidence())
    };
    match deadline.bound(Box::pin(download.run(&notes))).await {
        Some(outcome) => outcome.map_err(|(kind, message)| failed(kind, &message)),
        None => Err(failed(Kind::Timeout, &download.failed(&format!("was not complete within {patience:?}")))),
    }
}

async fn in_turn<F>(attempt: impl Fn(Era) -> F, [first, second]: [Era; 2]) -> Result<Connection, ConnectError>
where
    F: Future<Output = Result<Connection, Failure>>,
{
    match attempt(first).await {
        Ok(connection) => Ok(connection),
        Err(failure) if !failure.other_era => Err(failure.error),
        // What a server says to a handshake is clearer than that it does not know `server/discover`.
        Err(failure) => attempt(second).await.map_err(|other| match first {
            Era::Initialize => failure.error,
            Era::Discover => other.error,
        }),
    }
}

/// A legacy server may never answer a request that it does not know, and a modern one not before it was downloaded:
/// from `head_start` on the other beginning is tried beside this one, and the first answer counts.
async fn discover_first<F>(attempt: impl Fn(Era) -> F, head_start: Duration) -> Result<Connection, ConnectError>
where
    F: Future<Output = Result<Connection, Failure>>,
{
    let mut discovering = pin!(attempt(Era::Discover));
    let initializing = async {
        // What a server says to a handshake is clearer than that it does not know `server/discover`.
        attempt(Era::Initialize).await.map_err(|failure| failure.error)
    };
    match timeout(head_start, &mut discovering).await {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(failure)) if !failure.other_era => return Err(failure.error),
        Ok(Err(_)) => return initializing.await,
        Err(_) => {}
    }
    let mut initializing = pin!(initializing);
    tokio::select! {
        biased;
        outcome = &mut discovering => match outcome {
            Ok(connection) => Ok(connection),
            Err(failure) if !failure.other_era => Err(failure.error),
            Err(_) => initializing.await,
        },
        outcome = &mut initializing => match outcome {
            Ok(connection) => Ok(connection),
            Err(error) => discovering.await.map_err(|_| error),
        },
    }
}

async fn attempt(
    (config, options): (&ServerConfig, &ClientOptions),
    notices: &Arc<Notices>,
    hint: Option<ProtocolVersion>,
    redactor: &Redactor,
    era: Era,
    (until, patience): (Deadline, Duration),
) -> Result<Connection, Failure> {
    #[cfg_attr(
        not(any(feature = "auth", feature = "cassette")),
        expect(unused_mut, reason = "nobody else sets something on it")
    )]
    let mut link = Link {
        max_concurrent_requests: options.concurrent_requests(),
        #[cfg(feature = "stdio")]
        streams: options.streams().cloned(),
        ..Link::new(config, redactor, options.call_timeout(config.timeout))
    };
    link.ledger.heard_by(notices.clone());
    #[cfg(feature = "cassette")]
    if let Some(cassette) = options.inserted_cassette() {
        link.player = cassette.player();
        if let Some(witness) = cassette.witness(redactor) {
            link.ledger.witnessed_by(witness);
        }
    }
    #[cfg(feature = "auth")]
    match if options.replays() { Ok(None) } else { options.authorizer(&config.transport) } {
        Ok(authorizer) => link.authorizer = authorizer,
        Err(message) => {
            let error = ConnectError::new(&config.name, Kind::Config, link.notes.explain(&message));
            return Err(Failure { error, other_era: false });
        }
    }
    let fail = |kind, message: &str, other_era| {
        #[cfg_attr(not(feature = "stdio"), expect(unused_mut, reason = "nothing else is added to it"))]
        let mut message = link.notes.explain(message);
        #[cfg(feature = "stdio")]
        if matches!(kind, Kind::Transport | Kind::Timeout)
            && matches!(config.transport, mcp_model::Transport::Stdio { .. })
            && options.streams().is_none()
            && !options.replays()
            && let Some(missed) = missed(config, &link.notes.stderr())
        {
            message.push_str("\n  ");
            message.push_str(&missed);
        }
        let error = ConnectError::new(&config.name, kind, message).with_evidence(link.notes.evidence());
        Failure { error, other_era }
    };
    let mut handler = handler(options, hint).map_err(|error| {
        fail(Kind::Config, &format!("the client capabilities are not those of the protocol: {error}"), false)
    })?;
    let declared = serde_json::to_value(&handler.capabilities).unwrap_or_default();
    if era == Era::Discover {
        // Every client polls tasks to their end; a server makes none for one that does not say so.
        handler.capabilities.extensions.get_or_insert_default().entry(TASKS_EXTENSION_ID.to_owned()).or_default();
    }
    let mut stamp = RequestMetaObject::default();
    if era == Era::Discover {
        let me = handler.get_info();
        stamp.set_protocol_version(ProtocolVersion::LATEST);
        stamp.set_client_info(me.client_info);
        stamp.set_client_capabilities(me.capabilities);
    }
    let list_changes = handler.list_changes.clone();
    let answers = handler.answers.clone();
    let resources = handler.resources.clone();
    let mode = match era {
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
    };
    let method = if era == Era::Initialize { "initialize" } else { "server/discover" };
    let service = match until.bound(Box::pin(open(config, &link, handler, mode))).await {
        Some(Ok(service)) => service,
        Some(Err(OpenError::Start(kind, message))) => return Err(fail(kind, &message, false)),
        #[cfg(feature = "http")]
        Some(Err(OpenError::Below(failure))) => return Err(failed_below(&fail, "", *failure, false)),
        Some(Err(OpenError::Begin(error))) => {
            return Err(refused(&fail, method, era, &error, link.ledger.last_failure()));
        }
        None => {
            #[cfg(feature = "http")]
            if let Some(waits) = link.authorizer.as_ref().and_then(|authorizer| authorizer.waits_for()) {
                let message = format!("{waits}; it goes on waiting, and connecting again finds what came of it");
                return Err(fail(Kind::Auth, &message, false));
            }
            let message = format!("no answer to `{method}` within {patience:?}");
            return Err(fail(Kind::Timeout, &message, era == Era::Discover));
        }
    };
    let handshake = link.ledger.handshake().unwrap_or_default();
    let protocol_version = match era {
        Era::Initialize => handshake.get("protocolVersion").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Era::Discover => ProtocolVersion::LATEST.as_str().to_owned(),
    };
    if known_version(&protocol_version).is_none() {
        let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
        let known = known.join(", ");
        let message = format!("the server speaks protocol version `{protocol_version}`; supported are {known}");
        return Err(fail(Kind::Protocol, &message, false));
    }
    Ok(Connection {
        peer: service.peer().clone(),
        service: Mutex::new(Some(service)),
        link,
        protocol_version,
        handshake,
        declared,
        list_changes,
        answers,
        stamp,
        resources,
    })
}

fn handler(options: &ClientOptions, hint: Option<ProtocolVersion>) -> Result<Handler, serde_json::Error> {
    let capabilities: ClientCapabilities = serde_json::from_value(options.declared_capabilities())?;
    Ok(Handler {
        capabilities,
        protocol_version: hint
            .filter(ProtocolVersion::has_initialize)
            .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE),
        answers: Arc::new(Answers::new(options.handlers().clone())),
        list_changes: Arc::default(),
        resources: Arc::default(),
    })
}

fn known_version(version: &str) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version).cloned()
}

fn refused(
    fail: &impl Fn(Kind, &str, bool) -> Failure,
    method: &str,
    era: Era,
    error: &ClientInitializeError,
    below: Option<RequestFailure>,
) -> Failure {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            let message = format!("`{method}` failed with JSON-RPC error {}: {}", error.code.0, error.message);
            fail(Kind::Protocol, &message, true)
        }
        ClientInitializeError::ConnectionClosed(_) => {
            let message = format!("the connection was closed before `{method}` was answered");
            fail(Kind::Transport, &message, era == Era::Discover)
        }
        ClientInitializeError::ExpectedInitResult(_) => {
            let message = format!("the answer to `{method}` is not what the protocol says");
            fail(Kind::Protocol, &message, true)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let offered: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            let message = format!("no protocol version in common; the server speaks {}", offered.join(", "));
            fail(Kind::Protocol, &message, true)
        }
        ClientInitializeError::TransportError { error, .. } => {
            let below = below.unwrap_or_else(|| RequestFailure::not_sent(error.error.to_string()));
            let other_era = era == Era::Discover && !below.wants_authorization;
            failed_below(fail, &format!("`{method}` was not answered: "), below, other_era)
        }
        other => fail(Kind::Protocol, &other.to_string(), false),
    }
}

fn failed_below(
    fail: &impl Fn(Kind, &str, bool) -> Failure,
    what: &str,
    below: RequestFailure,
    other_era: bool,
) -> Failure {
    let failure = match below.wants_authorization {
        true => fail(Kind::Auth, &below.message, other_era),
        false => fail(Kind::Transport, &format!("{what}{}", below.message), other_era),
    };
    let evidence = Evidence { http_status: http_status(&below), ..failure.error.evidence().clone() };
    Failure { error: failure.error.with_retry_after(below.retry_after).with_evidence(evidence), ..failure }
}

/// The HTTP status that a request was refused with.
#[cfg(feature = "http")]
fn http_status(below: &RequestFailure) -> Option<u16> {
    below.source.as_deref()?.downcast_ref::<HttpError>()?.status()
}

#[cfg(not(feature = "http"))]
fn http_status(_: &RequestFailure) -> Option<u16> {
    None
}
