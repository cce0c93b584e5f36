//! Opens connections: starts or reaches the server, and agrees with it on a protocol version.

#[cfg(feature = "stdio")]
use std::sync::Weak;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion};

#[cfg(feature = "cassette")]
use crate::CassetteError;
use crate::connect::connection::Connection;
use crate::connect::handshake::{Handshake, HandshakeError, known_version};
use crate::connect::kept_lists::KeptLists;
use crate::connect::limits::StartLimit;
use crate::connect::open::{Link, open};
use crate::connect::options::ClientOptions;
#[cfg(feature = "stdio")]
use crate::connect::process::download::Download;
#[cfg(feature = "stdio")]
use crate::connect::process::environment::missed;
use crate::connect::resolve::{resolve, unresolved};
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
    (notices, starts): (&Arc<Notices>, &StartLimit),
    patience: Duration,
) -> Result<Connection, ConnectError> {
    let deadline = Deadline::after(patience);
    let source = options.secrets.clone().unwrap_or_default();
    #[cfg(feature = "cassette")]
    if let Some(cassette) = &options.cassette {
        let wrong = |error: CassetteError| ConnectError::new(&config.name, Kind::Config, error.to_string());
        cassette.insert_for(&config.name).map_err(wrong)?;
    }
    let resolving = async {
        if options.replays() { Ok(unresolved(config, &source).await) } else { resolve(config, &source).await }
    };
    let resolved = deadline.bound(resolving).await.unwrap_or_else(|| {
        let message = format!("the secrets of its configuration were not resolved within {patience:?}");
        Err(ConnectError::new(&config.name, Kind::Timeout, message))
    });
    let (config, redactor) = resolved?;
    let time = (deadline, patience);
    #[cfg(feature = "stdio")]
    let config = match options.starts_child(&config) {
        true => downloaded(config, &redactor, time).await?,
        false => config,
    };
    let hint = options.protocol_version.as_deref().and_then(known_version);
    let version = hint.clone().filter(ProtocolVersion::has_initialize);
    let version = version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let attempt = async |discovers_first| {
        if options.starts_child(&config) {
            starts.begin()?;
        }
        let order = (version.clone(), discovers_first);
        let outcome = Box::pin(attempt((&config, options), notices, &redactor, order, time)).await;
        outcome.inspect_err(|failure| starts.failed(&failure.error))
    };
    let discovers_first = hint.is_some_and(|version| !version.has_initialize());
    let failure = match attempt(discovers_first).await {
        Ok(connection) => return Ok(connection),
        Err(failure) => failure,
    };
    if !failure.may_restart || options.opens_one_transport() {
        return Err(failure.error);
    }
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
    let notes = Notes::new(&config.name, redactor.clone());
    let outcome = deadline.bound(Box::pin(download.run(&notes))).await.unwrap_or_else(|| {
        let message = download.failed(&format!("was not complete within {patience:?}"));
        Err((Kind::Timeout, message))
    });
    outcome.map_err(|(kind, message)| {
        ConnectError::new(&config.name, kind, notes.explain(&message)).with_evidence(notes.evidence())
    })
}

/// Makes one attempt to connect; dropping it acts like dropping `establish`.
async fn attempt(
    (config, options): (&ServerConfig, &ClientOptions),
    notices: &Arc<Notices>,
    redactor: &Redactor,
    (version, discovers_first): (ProtocolVersion, bool),
    (until, patience): (Deadline, Duration),
) -> Result<Connection, FailedAttempt> {
    #[cfg_attr(not(feature = "auth"), expect(unused_mut, reason = "nobody else sets something on it"))]
    let mut link = Link::new(config, options, redactor);
    let _ = link.ledger.notices.set(notices.clone());
    #[cfg(feature = "cassette")]
    if let Some(witness) = options.cassette.as_ref().and_then(|cassette| cassette.witness(redactor)) {
        let _ = link.ledger.witness.set(witness);
    }
    #[cfg(feature = "auth")]
    if !options.replays() {
        let wrong = |message: String| ConnectError::new(&config.name, Kind::Config, link.notes.explain(&message));
        link.authorizer = options.authorizer(config).map_err(wrong)?;
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
    let handshake = Handshake::new(Implementation::new(name, own_version), capabilities, version);
    let answers = Arc::new(Answers::new(options.handlers.clone()));
    let beginning = async {
        let opened = open(config, options, &link).await;
        let sides = opened.map_err(|(kind, failure)| failed_below(&fail, kind, "", &failure))?;
        let stamp = handshake.stamp(ProtocolVersion::LATEST);
        let (mut session, mut receiving) = receiving::open(sides, link.ledger.clone(), answers.clone(), Some(stamp));
        let head_start = discovers_first.then_some(patience / 2);
        let begun = handshake.begin(&mut session, &mut receiving, head_start).await;
        #[cfg(feature = "stdio")]
        if let (Err(_), Some(sandbox)) = (&begun, link.sandbox.get().and_then(Weak::upgrade))
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
            false => handshake.refusal().is_some() && !link.ledger.is_open(),
        };
        Err(FailedAttempt { error: refused(&fail, &refusal), may_restart })
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
        let error = match handshake.refusal() {
            Some(refusal) => refused(&fail, refusal),
            None => fail(Kind::Timeout, &format!("no answer to `{}` within {patience:?}", handshake.last())),
        };
        return Err(error.into());
    };
    let (session, receiving, agreed) = begun?;
    Ok(Connection {
        session,
        receiving: Mutex::new(Some(receiving)),
        protocol_version: agreed.version.as_str().to_owned(),
        handshake: agreed.answer,
        declared,
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
        Some(RequestError::Rpc(error)) => {
            let message = format!("`{method}` failed with JSON-RPC error {}: {}", error.code.0, error.message);
            fail(Kind::Protocol, &message)
        }
        Some(RequestError::Failed(failure)) if failure.dispatched == Dispatched::Yes => {
            fail(Kind::Protocol, &format!("`{method}` failed: {}", failure.message))
        }
        Some(RequestError::Failed(failure)) => {
            failed_below(fail, Kind::Transport, &format!("`{method}` was not answered: "), failure)
        }
        Some(error) => fail(Kind::Transport, &format!("`{method}` was not answered: {error}")),
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
