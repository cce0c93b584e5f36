//! The handshake: `initialize` up to protocol version 2025-11-25, `server/discover` from 2026-07-28 on.
//!
//! Sections "Lifecycle" of 2025-11-25 and "Versioning" of 2026-07-28.
//!
//! Dropping `begin` gives up its request (`make`, `initialize`, `try_initialize`, `discover` and `ask` are parts of
//! it); `HandshakeState` shows its progress. The session cannot be used then: the server may have begun it.

use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ErrorCode, Implementation, InitializeRequestParams, ProtocolVersion, RequestMetaObject,
    TASKS_EXTENSION_ID,
};
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::Dispatched;
use crate::ground::deadline::Patience;
use crate::ground::sync::lock;
use crate::rpc::receiving::Receiving;
use crate::rpc::request::RequestError;
use crate::rpc::sent::MethodCall;
use crate::rpc::session::Session;

/// Time for a server that is ending to close its output, so that the error can quote it.
const PATIENCE_WITH_LAST_WORDS: Duration = Duration::from_secs(1);

/// A request that a session begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeMethod {
    Initialize,
    Discover,
}

impl HandshakeMethod {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
        }
    }
}

/// The order in which the handshake methods are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HandshakeOrder {
    /// First `initialize`.
    InitializeFirst,
    /// First `server/discover`. After this time without an answer `initialize` is sent too; the first answer counts.
    DiscoverFirst(Duration),
    Only(HandshakeMethod),
}

/// The state of a handshake, readable after its future was dropped.
#[derive(Default)]
pub(crate) struct HandshakeState(Mutex<(Option<HandshakeMethod>, Option<HandshakeError>)>);

impl HandshakeState {
    fn sends(&self, method: HandshakeMethod) {
        lock(&self.0).0 = Some(method);
    }

    fn refused(&self, refusal: &HandshakeError) {
        lock(&self.0).1 = Some(refusal.clone());
    }

    /// Returns the request that was sent last.
    pub(crate) fn last(&self) -> HandshakeMethod {
        lock(&self.0).0.unwrap_or(HandshakeMethod::Initialize)
    }

    /// Returns the server's refusal of `initialize`.
    pub(crate) fn refusal(&self) -> Option<HandshakeError> {
        lock(&self.0).1.clone()
    }
}

/// The client's name, version and capabilities.
pub(crate) struct ClientInfo {
    pub(crate) name: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    /// The requested version of `initialize`.
    pub(crate) version: ProtocolVersion,
}

impl ClientInfo {
    /// Returns the `_meta` of requests without a handshake.
    pub(crate) fn stamp(&self, version: ProtocolVersion) -> RequestMetaObject {
        let mut capabilities = self.capabilities.clone();
        // Every client polls tasks to their end; a server only creates tasks for clients that declare this.
        capabilities.extensions.get_or_insert_default().entry(TASKS_EXTENSION_ID.to_owned()).or_default();
        RequestMetaObject::with_client_context(version, self.name.clone(), capabilities)
    }
}

/// The result of a handshake.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) version: ProtocolVersion,
    /// The server's answer, as sent.
    pub(crate) answer: Value,
}

/// An error of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeError {
    pub(crate) method: HandshakeMethod,
    pub(crate) kind: HandshakeErrorKind,
}

#[derive(Clone, Debug)]
pub(crate) enum HandshakeErrorKind {
    /// The connection was closed.
    Closed,
    Failed(RequestError),
    /// The answer does not follow the protocol.
    Unclear,
    /// The versions that the server speaks.
    NoCommonVersion(Vec<String>),
    /// The server speaks a version that the client did not offer.
    UnknownVersion(String),
}

impl HandshakeError {
    /// Returns `true` if the server may accept the other handshake method.
    fn is_about_the_method(&self) -> bool {
        match &self.kind {
            HandshakeErrorKind::Failed(RequestError::Rpc(_))
            | HandshakeErrorKind::Unclear
            | HandshakeErrorKind::NoCommonVersion(_) => true,
            HandshakeErrorKind::Failed(error) => {
                let is_auth = matches!(error, RequestError::Failed(failure) if failure.wants_authorization);
                self.method == HandshakeMethod::Discover && !is_auth
            }
            HandshakeErrorKind::Closed | HandshakeErrorKind::UnknownVersion(_) => false,
        }
    }

    /// Returns `true` if the server answered.
    fn is_answer(&self) -> bool {
        match &self.kind {
            HandshakeErrorKind::Failed(RequestError::Failed(failure)) => failure.dispatched == Dispatched::Yes,
            HandshakeErrorKind::Failed(RequestError::Rpc(_))
            | HandshakeErrorKind::Unclear
            | HandshakeErrorKind::NoCommonVersion(_)
            | HandshakeErrorKind::UnknownVersion(_) => true,
            HandshakeErrorKind::Failed(_) | HandshakeErrorKind::Closed => false,
        }
    }
}

/// Begins a session.
pub(crate) async fn begin(
    session: &mut Session,
    receiving: &mut Receiving,
    client: &ClientInfo,
    order: HandshakeOrder,
    state: &HandshakeState,
) -> Result<Agreed, HandshakeError> {
    let outcome = {
        let handshake = Handshake { session, client, state };
        let mut making = pin!(handshake.make(order));
        tokio::select! {
            biased;
            outcome = &mut making => outcome,
            () = receiving.until_end() => {
                // All requests have ended now.
                let ended = timeout(PATIENCE_WITH_LAST_WORDS, making).await;
                ended.unwrap_or_else(|_| Err(HandshakeError { method: state.last(), kind: HandshakeErrorKind::Closed }))
            }
        }
    };
    if let Err(refusal) = &outcome
        && !refusal.is_answer()
        && !session.ledger.is_open()
    {
        let _ = timeout(PATIENCE_WITH_LAST_WORDS, receiving.until_end()).await;
        return Err(HandshakeError { method: refusal.method, kind: HandshakeErrorKind::Closed });
    }
    let agreed = outcome?;
    let stamp = if agreed.version.has_initialize() {
        RequestMetaObject::default()
    } else {
        client.stamp(agreed.version.clone())
    };
    session.stamp(stamp);
    Ok(agreed)
}

struct Handshake<'s> {
    session: &'s Session,
    client: &'s ClientInfo,
    state: &'s HandshakeState,
}

impl Handshake<'_> {
    async fn make(&self, order: HandshakeOrder) -> Result<Agreed, HandshakeError> {
        let head_start = match order {
            HandshakeOrder::Only(HandshakeMethod::Initialize) => return self.initialize().await,
            HandshakeOrder::Only(HandshakeMethod::Discover) => return self.discover().await,
            HandshakeOrder::InitializeFirst => {
                return match self.initialize().await {
                    // The error of a handshake is clearer than an unknown `server/discover`.
                    Err(refusal) if refusal.is_about_the_method() => self.discover().await.map_err(|_| refusal),
                    outcome => outcome,
                };
            }
            HandshakeOrder::DiscoverFirst(head_start) => head_start,
        };
        let mut discovering = pin!(self.discover());
        // A server that is slow to start reads this request first, so it is not given up.
        match timeout(head_start, &mut discovering).await {
            Ok(Err(refusal)) if refusal.is_about_the_method() => return self.initialize().await,
            Ok(outcome) => return outcome,
            Err(_) => {}
        }
        let mut initializing = pin!(self.initialize());
        tokio::select! {
            biased;
            outcome = &mut discovering => match outcome {
                Err(refusal) if refusal.is_about_the_method() => initializing.await,
                outcome => outcome,
            },
            outcome = &mut initializing => match outcome {
                Err(refusal) => discovering.await.map_err(|_| refusal),
                agreed => agreed,
            },
        }
    }

    async fn initialize(&self) -> Result<Agreed, HandshakeError> {
        let outcome = self.try_initialize().await;
        if let Err(refusal) = &outcome
            && refusal.is_answer()
        {
            self.state.refused(refusal);
        }
        outcome
    }

    async fn try_initialize(&self) -> Result<Agreed, HandshakeError> {
        self.state.sends(HandshakeMethod::Initialize);
        let refused = |kind| HandshakeError { method: HandshakeMethod::Initialize, kind };
        let ClientInfo { name, capabilities, version } = self.client;
        let params = InitializeRequestParams::new(capabilities.clone(), name.clone());
        let params = serde_json::to_value(params.with_protocol_version(version.clone())).unwrap_or_default();
        let answer = self.ask(MethodCall::with("initialize", params)).await;
        let answer = answer.map_err(|error| refused(HandshakeErrorKind::Failed(error)))?;
        let Some(version) = answer.get("protocolVersion").and_then(Value::as_str) else {
            return Err(refused(HandshakeErrorKind::Unclear));
        };
        let Some(version) = known_version(version) else {
            return Err(refused(HandshakeErrorKind::UnknownVersion(version.to_owned())));
        };
        let begun = MethodCall::new("notifications/initialized", Map::new());
        let notified = self.session.notify(begun).await;
        notified.map_err(|failure| refused(HandshakeErrorKind::Failed(RequestError::Failed(failure))))?;
        Ok(Agreed { version, answer })
    }

    async fn discover(&self) -> Result<Agreed, HandshakeError> {
        self.state.sends(HandshakeMethod::Discover);
        let refused = |kind| HandshakeError { method: HandshakeMethod::Discover, kind };
        let version = ProtocolVersion::LATEST;
        let offers = |offered: Option<&Value>| {
            let offered = offered.and_then(Value::as_array).ok_or_else(|| refused(HandshakeErrorKind::Unclear))?;
            let offered: Vec<String> = offered.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect();
            match offered.iter().any(|offered| offered == version.as_str()) {
                true => Ok(()),
                false => Err(refused(HandshakeErrorKind::NoCommonVersion(offered))),
            }
        };
        let request = || MethodCall::new(HandshakeMethod::Discover.method(), Map::new());
        let mut answer = self.ask(request()).await;
        if let Err(RequestError::Rpc(error)) = &answer
            && error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        {
            offers(error.data.as_ref().and_then(|data| data.get("supported")))?;
            answer = self.ask(request()).await;
        }
        let answer = answer.map_err(|error| refused(HandshakeErrorKind::Failed(error)))?;
        offers(answer.get("supportedVersions"))?;
        Ok(Agreed { version, answer })
    }

    /// Sends a request without a timeout: the caller of [`begin`] sets one.
    async fn ask(&self, request: MethodCall) -> Result<Value, RequestError> {
        self.session.request(request, Patience::strictly(Duration::MAX).into()).await
    }
}

pub(crate) fn known_version(version: &str) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version).cloned()
}
