//! Opens connections: starts or reaches the server, and agrees with it on a protocol version.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};

#[cfg(feature = "cassette")]
use crate::CassetteError;
use crate::connect::connection::Connection;
use crate::connect::handshake;
use crate::connect::handshake::{
    ClientInfo, HandshakeError, HandshakeErrorKind, HandshakeMethod, HandshakeOrder, HandshakeState, known_version,
};
use crate::connect::open::{Link, open};
use crate::connect::options::ClientOptions;
#[cfg(feature = "stdio")]
use crate::connect::process::download::Download;
#[cfg(feature = "stdio")]
use crate::connect::process::environment::missed;
use crate::connect::resolve::{Resolved, resolve, unresolved};
use crate::connect::start_limit::StartLimit;
use crate::ground::deadline::Deadline;
use crate::ground::redact::Redactor;
use crate::rpc::failure::Failure;
#[cfg(feature = "stdio")]
use crate::rpc::notes::Notes;
use crate::rpc::notices::Notices;
use crate::rpc::receiving;
use crate::rpc::request::RequestError;
use crate::rpc::server_requests::Answers;
use crate::{ConnectError, ConnectErrorKind as Kind, Dispatched, Evidence};

/// The `clientInfo` of programs that set none.
const NAME: &str = "mcp-bindgen";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A failed attempt.
struct FailedAttempt {
    error: ConnectError,
    /// The handshake method to try with another start of the server.
    may_take: Option<HandshakeMethod>,
}

impl From<ConnectError> for FailedAttempt {
    fn from(error: ConnectError) -> Self {
        Self { error, may_take: None }
    }
}

/// Connects to a server, within `patience` in total. If the future is dropped, its process is killed and its requests
/// are given up. A user can still finish a pending authorization.
pub(crate) async fn establish(
    (config, options): (&ServerConfig, &ClientOptions),
    (notices, starts): (&Arc<Notices>, &StartLimit),
    patience: Duration,
) -> Result<Connection, ConnectError> {
    let deadline = Deadline::after(patience);
    let hint = options.protocol_version.as_deref().and_then(known_version);
    let modern = hint.as_ref().is_some_and(|version| !version.has_initialize());
    let source = options.secrets.clone().unwrap_or_default();
    #[cfg(feature = "cassette")]
    if let Some(cassette) = &options.cassette {
        let wrong = |error: CassetteError| ConnectError::new(&config.name, Kind::Config, error.to_string());
        cassette.insert_for(&config.name).map_err(wrong)?;
    }
    let resolving = async {
        if options.replays() { Ok(unresolved(config, &source).await) } else { resolve(config, &source).await }
    };
    let Some(resolved) = deadline.bound(resolving).await else {
        let message = format!("the secrets of its configuration were not resolved within {patience:?}");
        return Err(ConnectError::new(&config.name, Kind::Timeout, message));
    };
    let Resolved { config, redactor } = resolved?;
    let time = (deadline, patience);
    #[cfg(feature = "stdio")]
    let config = match options.starts_child(&config) {
        true => downloaded(config, &redactor, time).await?,
        false => config,
    };
    let version = hint.filter(ProtocolVersion::has_initialize).unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let attempt = async |order| {
        if options.starts_child(&config) {
            starts.begin()?;
        }
        let outcome = Box::pin(attempt((&config, options), notices, version.clone(), &redactor, order, time)).await;
        outcome.inspect_err(|failure| starts.failed(&failure.error))
    };
    let order = if modern { HandshakeOrder::DiscoverFirst(patience / 2) } else { HandshakeOrder::InitializeFirst };
    let failure = match attempt(order).await {
        Ok(connection) => return Ok(connection),
        Err(failure) => failure,
    };
    match failure.may_take {
        // The server ended at a request that it does not know.
        Some(other) if !options.opens_one_transport() => {
            attempt(HandshakeOrder::Only(other)).await.map_err(|again| match other {
                HandshakeMethod::Initialize => again.error,
                HandshakeMethod::Discover => failure.error,
            })
        }
        _ => Err(failure.error),
    }
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
    let notes = Notes::new(&config.name, redactor.clone());
    let failed = |kind, message: &str| {
        ConnectError::new(&config.name, kind, notes.explain(message)).with_evidence(notes.evidence())
    };
    match deadline.bound(Box::pin(download.run(&notes))).await {
        Some(outcome) => outcome.map_err(|(kind, message)| failed(kind, &message)),
        None => Err(failed(Kind::Timeout, &download.failed(&format!("was not complete within {patience:?}")))),
    }
}

/// Makes one attempt to connect; dropping it acts like dropping `establish`.
async fn attempt(
    (config, options): (&ServerConfig, &ClientOptions),
    notices: &Arc<Notices>,
    version: ProtocolVersion,
    redactor: &Redactor,
    order: HandshakeOrder,
    (until, patience): (Deadline, Duration),
) -> Result<Connection, FailedAttempt> {
    #[cfg_attr(not(feature = "auth"), expect(unused_mut, reason = "nobody else sets something on it"))]
    let mut link = Link::new(config, options, redactor);
    link.ledger.reports_to(notices.clone());
    #[cfg(feature = "cassette")]
    if let Some(witness) = options.cassette.as_ref().and_then(|cassette| cassette.witness(redactor)) {
        link.ledger.witnessed_by(witness);
    }
    #[cfg(feature = "auth")]
    match if options.replays() { Ok(None) } else { options.authorizer(config) } {
        Ok(authorizer) => link.authorizer = authorizer,
        Err(message) => {
            return Err(ConnectError::new(&config.name, Kind::Config, link.notes.explain(&message)).into());
        }
    }
    let fail = |kind, message: &str| {
        #[cfg_attr(not(feature = "stdio"), expect(unused_mut, reason = "nothing else is added to it"))]
        let mut message = link.notes.explain(message);
        #[cfg(feature = "stdio")]
        if matches!(kind, Kind::Transport | Kind::Timeout)
            && options.starts_child(config)
            && let Some(missed) = missed(config, &link.notes.stderr())
        {
            message.push_str("\n  ");
            message.push_str(&missed);
        }
        ConnectError::new(&config.name, kind, message).with_evidence(link.notes.evidence())
    };
    let capabilities: ClientCapabilities = serde_json::from_value(options.declared_capabilities())
        .map_err(|error| fail(Kind::Config, &format!("invalid client capabilities: {error}")))?;
    let declared = serde_json::to_value(&capabilities).unwrap_or_default();
    let (name, own_version) = options.client_info.clone().unwrap_or_else(|| (NAME.to_owned(), VERSION.to_owned()));
    let client = ClientInfo { name: Implementation::new(name, own_version), capabilities, version };
    let answers = Arc::new(Answers::new(options.handlers.clone()));
    let state = HandshakeState::default();
    let beginning = async {
        let opened = open(config, options, &link).await;
        let opened = opened.map_err(|error| failed_below(&fail, error.kind, "", &error.failure))?;
        let stamp = client.stamp(ProtocolVersion::LATEST);
        let (mut session, mut receiving) =
            receiving::open(opened.sides, link.ledger.clone(), answers.clone(), Some(stamp));
        let begun = handshake::begin(&mut session, &mut receiving, &client, order, &state).await;
        #[cfg(feature = "stdio")]
        if let (Err(_), Some(sandbox)) = (&begun, &opened.sandbox)
            && let Some((kind, message)) = sandbox.refusal().await
        {
            return Err(fail(kind, &message).into());
        }
        begun.map(|agreed| (session, receiving, agreed)).map_err(|refusal| {
            let may_take = match (order, &refusal.kind) {
                (HandshakeOrder::DiscoverFirst(_), HandshakeErrorKind::Closed) => Some(HandshakeMethod::Initialize),
                (HandshakeOrder::InitializeFirst, _) if state.refusal().is_some() && !link.ledger.is_open() => {
                    Some(HandshakeMethod::Discover)
                }
                _ => None,
            };
            FailedAttempt { error: refused(&fail, &refusal), may_take }
        })
    };
    let begun = {
        let mut beginning = Box::pin(beginning);
        #[cfg_attr(not(feature = "http"), expect(unused_mut, reason = "only HTTP waits for a user"))]
        let mut begun = until.bound(beginning.as_mut()).await;
        #[cfg(feature = "http")]
        if let (None, Some(more)) = (&begun, link.authorizer.as_ref().and_then(|authorizer| authorizer.extra_time())) {
            begun = Deadline::after(more.saturating_add(patience)).bound(beginning).await;
        }
        begun
    };
    let Some(begun) = begun else {
        #[cfg(feature = "http")]
        if let Some(waits) = link.authorizer.as_ref().and_then(|authorizer| authorizer.waits_for()) {
            let message = format!("{waits}; the authorization continues, and the next connection uses its outcome");
            return Err(fail(Kind::Auth, &message).into());
        }
        if let Some(refusal) = state.refusal() {
            return Err(refused(&fail, &refusal).into());
        }
        let message = format!("no answer to `{}` within {patience:?}", state.last().method());
        return Err(fail(Kind::Timeout, &message).into());
    };
    let (session, receiving, agreed) = begun?;
    Ok(Connection::new((session, receiving), link, agreed, declared, answers))
}

fn refused(fail: &impl Fn(Kind, &str) -> ConnectError, refusal: &HandshakeError) -> ConnectError {
    let method = refusal.method.method();
    match &refusal.kind {
        HandshakeErrorKind::Closed => {
            fail(Kind::Transport, &format!("the connection was closed before `{method}` was answered"))
        }
        HandshakeErrorKind::Failed(RequestError::Rpc(error)) => {
            let message = format!("`{method}` failed with JSON-RPC error {}: {}", error.code.0, error.message);
            fail(Kind::Protocol, &message)
        }
        HandshakeErrorKind::Failed(RequestError::Failed(failure)) if failure.dispatched == Dispatched::Yes => {
            fail(Kind::Protocol, &format!("`{method}` failed: {}", failure.message))
        }
        HandshakeErrorKind::Failed(RequestError::Failed(failure)) => {
            failed_below(fail, Kind::Transport, &format!("`{method}` was not answered: "), failure)
        }
        HandshakeErrorKind::Failed(error) => fail(Kind::Transport, &format!("`{method}` was not answered: {error}")),
        HandshakeErrorKind::Unclear => fail(Kind::Protocol, &format!("the response to `{method}` is invalid")),
        HandshakeErrorKind::NoCommonVersion(offered) => {
            let message = format!("no common protocol version; the server speaks {}", offered.join(", "));
            fail(Kind::Protocol, &message)
        }
        HandshakeErrorKind::UnknownVersion(version) => {
            let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
            let known = known.join(", ");
            fail(Kind::Protocol, &format!("the server speaks protocol version `{version}`; supported are {known}"))
        }
    }
}

fn failed_below(fail: &impl Fn(Kind, &str) -> ConnectError, kind: Kind, what: &str, below: &Failure) -> ConnectError {
    let error = match below.wants_authorization {
        true => fail(Kind::Auth, &below.message),
        false => fail(kind, &format!("{what}{}", below.message)),
    };
    let evidence = Evidence { http_status: below.http_status, ..error.evidence().clone() };
    error.with_retry_after(below.retry_after).with_evidence(evidence)
}
