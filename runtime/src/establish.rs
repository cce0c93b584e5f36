//! Opens connections: starts or reaches the server, and agrees with it on a protocol version.

use std::sync::Arc;
use std::time::Duration;

use mcp_model::{ServerConfig, Transport};
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::handler::Handler;
use crate::options::ClientOptions;
use crate::transport::open::{Link, OpenError, open};
use crate::{ConnectError, ConnectErrorKind as Kind};

const SHORTEST_SECRET: usize = 4;
const SHORTEST_LITERAL_SECRET: usize = 8;

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
    patience: Duration,
) -> Result<Connection, ConnectError> {
    let deadline = Instant::now() + patience;
    let hint = options.version_hint().and_then(known_version);
    let modern = hint.as_ref().is_some_and(|version| !version.has_initialize());
    let (first, second) = if modern { (Era::Discover, Era::Initialize) } else { (Era::Initialize, Era::Discover) };
    let (config, secrets) = expand(config)?;
    let attempt = |era, until| {
        let secrets = secrets.clone();
        attempt(&config, options, hint.clone(), secrets, era, until, patience)
    };
    let first_until = match first {
        Era::Initialize => deadline,
        // A legacy server may never answer a request that it does not know.
        Era::Discover => deadline.min(Instant::now() + patience / 2),
    };
    let failure = match attempt(first, first_until).await {
        Ok(connection) => return Ok(connection),
        Err(failure) => failure,
    };
    if !failure.other_era {
        return Err(failure.error);
    }
    match attempt(second, deadline).await {
        Ok(connection) => Ok(connection),
        // What a server says to a handshake is clearer than that it does not know `server/discover`.
        Err(second_failure) if second == Era::Initialize => Err(second_failure.error),
        Err(_) => Err(failure.error),
    }
}

/// The configuration with its placeholders replaced, and the values that no message may show.
fn expand(config: &ServerConfig) -> Result<(ServerConfig, Vec<String>), ConnectError> {
    let secrets = std::cell::RefCell::new(Vec::new());
    let expanded = config
        .expand(|variable| {
            let value = std::env::var(variable).ok()?;
            if value.len() >= SHORTEST_SECRET {
                secrets.borrow_mut().push(value.clone());
            }
            Some(value)
        })
        .map_err(|error| ConnectError::new(&config.name, Kind::Config, error.to_string()))?;
    let mut secrets = secrets.into_inner();
    let headers = match &expanded.transport {
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => Some(headers),
        Transport::Stdio { .. } => None,
    };
    let literals = expanded.env.values().chain(headers.into_iter().flat_map(|headers| headers.values()));
    secrets.extend(literals.filter(|value| value.len() >= SHORTEST_LITERAL_SECRET).cloned());
    secrets.extend(expanded.secrets().into_iter().filter(|value| value.len() >= SHORTEST_SECRET));
    // The longest first, so that no part of one is left over.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    Ok((expanded, secrets))
}

async fn attempt(
    config: &ServerConfig,
    options: &ClientOptions,
    hint: Option<ProtocolVersion>,
    secrets: Vec<String>,
    era: Era,
    until: Instant,
    patience: Duration,
) -> Result<Connection, Failure> {
    let link = Link::new(config, secrets);
    let fail = |kind, message: &str, other_era| Failure {
        error: ConnectError::new(&config.name, kind, link.notes.explain(message)),
        other_era,
    };
    let handler = handler(options, hint).map_err(|error| {
        fail(Kind::Config, &format!("the client capabilities are not those of the protocol: {error}"), false)
    })?;
    let declared = serde_json::to_value(&handler.capabilities).unwrap_or_default();
    let list_changes = handler.list_changes.clone();
    let elicitor = handler.elicitor.clone();
    let mode = match era {
        Era::Initialize => ClientLifecycleMode::Initialize,
        Era::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
    };
    let method = if era == Era::Initialize { "initialize" } else { "server/discover" };
    let service = match timeout_at(until, open(config, &link, handler, mode)).await {
        Ok(Ok(service)) => service,
        Ok(Err(OpenError::Start(kind, message))) => return Err(fail(kind, &message, false)),
        Ok(Err(OpenError::Begin(error))) => return Err(refused(&fail, method, era, &error)),
        Err(_) => {
            let message = format!("no answer to `{method}` within {patience:?}");
            return Err(fail(Kind::Timeout, &message, era == Era::Discover));
        }
    };
    let handshake = link.exchange.handshake().unwrap_or_default();
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
        elicitor,
    })
}

fn handler(options: &ClientOptions, hint: Option<ProtocolVersion>) -> Result<Handler, serde_json::Error> {
    let capabilities: ClientCapabilities = serde_json::from_value(options.declared_capabilities())?;
    Ok(Handler {
        capabilities,
        protocol_version: hint
            .filter(ProtocolVersion::has_initialize)
            .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE),
        elicitor: options.elicitor().cloned(),
        list_changes: Arc::default(),
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
            transport_failure(fail, method, era, error.error.as_ref())
        }
        other => fail(Kind::Protocol, &other.to_string(), false),
    }
}

fn transport_failure(
    fail: &impl Fn(Kind, &str, bool) -> Failure,
    method: &str,
    era: Era,
    error: &(dyn std::error::Error + Send + Sync + 'static),
) -> Failure {
    #[cfg(feature = "http")]
    if crate::transport::http::wants_authorization(error) {
        return fail(Kind::Auth, &crate::request::unsent(error).to_string(), false);
    }
    let cause = crate::request::unsent(error);
    fail(Kind::Transport, &format!("`{method}` was not answered: {cause}"), era == Era::Discover)
}
