//! The handshake: `initialize` up to protocol version 2025-11-25, `server/discover` from 2026-07-28 on.
//!
//! Sections "Lifecycle" of 2025-11-25 and "Versioning" of 2026-07-28.
//!
//! Dropping `begin` gives up its request (`make`, `initialize` and `discover` are parts of it); the [`Handshake`] shows
//! its progress. The session cannot be used then: the server may have begun it.

use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ErrorCode, ProtocolVersion, TASKS_EXTENSION_ID};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::options::ClientOptions;
use crate::ground::sync::lock;
use crate::rpc::receiving::Receiving;
use crate::rpc::request::RequestError;
use crate::rpc::sent::{CLIENT_CAPABILITIES, CLIENT_INFO, MethodCall, VERSION};
use crate::rpc::session::Session;

/// Time for a server that is ending to close its output, so that the error can quote it.
const PATIENCE_WITH_LAST_WORDS: Duration = Duration::from_secs(1);
const INITIALIZE: &str = "initialize";
const DISCOVER: &str = "server/discover";
/// The `clientInfo` of programs that set none.
const NAME: &str = "mcp-bindgen";
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The handshake of a client, for all attempts of one connection. It is readable after the future of
/// [`begin`](Self::begin) was dropped.
pub(crate) struct Handshake {
    /// The name and the version of the program, as servers see them.
    client_info: Value,
    pub(super) capabilities: Value,
    /// The requested version of `initialize`.
    version: ProtocolVersion,
    /// `true` if the program asks for a version without `initialize`.
    pub(super) discovers_first: bool,
    /// The request that was sent last.
    pub(super) last: Mutex<&'static str>,
    /// The server's refusal of `initialize`.
    pub(super) refusal: OnceLock<HandshakeError>,
}

/// The outcome of a handshake.
pub(super) struct Agreed {
    pub(super) version: ProtocolVersion,
    /// The server's answer, as sent.
    pub(super) answer: Value,
}

/// An error of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct HandshakeError {
    pub(crate) method: &'static str,
    /// The error of the request; `None` if the connection was closed.
    pub(crate) error: Option<Box<RequestError>>,
    /// `true` if the server may accept the other handshake method.
    is_about_the_method: bool,
}

impl HandshakeError {
    /// Returns `true` if the server answered.
    fn is_answer(&self) -> bool {
        self.error.as_deref().is_some_and(RequestError::is_answer)
    }
}

impl Handshake {
    /// Prepares the handshake of a client.
    ///
    /// # Errors
    /// Fails if the client capabilities are invalid.
    pub(super) fn new(options: &ClientOptions) -> serde_json::Result<Self> {
        // By reference, because that code is compiled in rmcp already.
        let capabilities = ClientCapabilities::deserialize(&options.declared_capabilities())?;
        let capabilities = serde_json::to_value(capabilities)?;
        let client_info =
            options.client_info.clone().unwrap_or_else(|| json!({ "name": NAME, "version": OWN_VERSION }));
        let hint = options.protocol_version.as_deref().and_then(known_version);
        let discovers_first = hint.as_ref().is_some_and(|version| !version.has_initialize());
        let version = hint.filter(ProtocolVersion::has_initialize).unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let (last, refusal) = (Mutex::new(INITIALIZE), OnceLock::new());
        Ok(Self { client_info, capabilities, version, discovers_first, last, refusal })
    }

    /// Returns the `_meta` of requests without a handshake.
    pub(super) fn stamp(&self, version: &ProtocolVersion) -> Map<String, Value> {
        let mut capabilities = self.capabilities.clone();
        // Every client polls tasks to their end; a server only creates tasks for clients that declare this.
        if let Value::Object(declared) = &mut capabilities
            && let Value::Object(extensions) = declared.entry("extensions").or_insert_with(|| json!({}))
        {
            extensions.entry(TASKS_EXTENSION_ID).or_insert_with(|| json!({}));
        }
        let mut stamp = Map::new();
        stamp.insert(VERSION.to_owned(), version.as_str().into());
        stamp.insert(CLIENT_INFO.to_owned(), self.client_info.clone());
        stamp.insert(CLIENT_CAPABILITIES.to_owned(), capabilities);
        stamp
    }

    /// Begins a session. First sends `initialize`, or `server/discover` if that has a head start. `initialize` follows
    /// after this time without an answer, or at once if the server refuses; the first agreement counts.
    pub(super) async fn begin(
        &self,
        session: &mut Session,
        receiving: &mut Receiving,
        head_start: Option<Duration>,
    ) -> Result<Agreed, HandshakeError> {
        let closed = |method| HandshakeError { method, error: None, is_about_the_method: false };
        let outcome = {
            let mut making = pin!(self.make(session, head_start));
            tokio::select! {
                biased;
                outcome = &mut making => outcome,
                () = receiving.until_end() => {
                    // All requests have ended now.
                    let ended = timeout(PATIENCE_WITH_LAST_WORDS, making).await;
                    ended.unwrap_or_else(|_| Err(closed(*lock(&self.last))))
                }
            }
        };
        if let Err(refusal) = &outcome
            && !refusal.is_answer()
            && !session.ledger.is_open()
        {
            let _ = timeout(PATIENCE_WITH_LAST_WORDS, receiving.until_end()).await;
            return Err(closed(refusal.method));
        }
        let agreed = outcome?;
        let stamp = if agreed.version.has_initialize() { Map::new() } else { self.stamp(&agreed.version) };
        session.stamp = Some(Arc::new(stamp));
        Ok(agreed)
    }

    async fn make(&self, session: &Session, head_start: Option<Duration>) -> Result<Agreed, HandshakeError> {
        let Some(head_start) = head_start else {
            return match self.initialize(session).await {
                // The error of a handshake is clearer than an unknown `server/discover`.
                Err(refusal) if refusal.is_about_the_method => self.discover(session).await.map_err(|_| refusal),
                outcome => outcome,
            };
        };
        let refused = CancellationToken::new();
        // A server that is slow to start reads this request first, so it is not given up.
        let mut discovering = pin!(self.discover(session));
        let mut initializing = pin!(async {
            let _ = timeout(head_start, refused.cancelled()).await;
            self.initialize(session).await
        });
        tokio::select! {
            biased;
            outcome = &mut discovering => match outcome {
                Err(refusal) if refusal.is_about_the_method => {
                    refused.cancel();
                    initializing.await
                }
                outcome => outcome,
            },
            outcome = &mut initializing => match outcome {
                Err(refusal) => discovering.await.map_err(|_| refusal),
                agreed => agreed,
            },
        }
    }

    async fn initialize(&self, session: &Session) -> Result<Agreed, HandshakeError> {
        *lock(&self.last) = INITIALIZE;
        let exchange = async {
            let params = json!({
                "protocolVersion": self.version.as_str(),
                "capabilities": self.capabilities,
                "clientInfo": self.client_info,
            });
            let answer = session.ask(MethodCall::with(INITIALIZE, params)).await;
            let answer = answer.map_err(|error| (matches!(error, RequestError::Rpc(_)), error))?;
            let version = answer.get("protocolVersion").and_then(Value::as_str);
            let version =
                version.ok_or_else(|| (true, RequestError::invalid("the response has no `protocolVersion`")))?;
            let version = known_version(version).ok_or_else(|| {
                let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
                let known = known.join(", ");
                let message = format!("the server speaks protocol version `{version}`; supported are {known}");
                (false, RequestError::invalid(message))
            })?;
            let begun = MethodCall::new("notifications/initialized", Map::new());
            session.notify(begun).await.map_err(|failure| (false, RequestError::Failed(failure)))?;
            Ok(Agreed { version, answer })
        };
        exchange.await.map_err(|(is_about_the_method, error)| {
            let refusal = HandshakeError { method: INITIALIZE, error: Some(Box::new(error)), is_about_the_method };
            if refusal.is_answer() {
                self.refusal.get_or_init(|| refusal.clone());
            }
            refusal
        })
    }

    async fn discover(&self, session: &Session) -> Result<Agreed, HandshakeError> {
        *lock(&self.last) = DISCOVER;
        let version = ProtocolVersion::LATEST;
        let is_in = |offered: Option<&Value>| {
            let offered = offered.and_then(Value::as_array);
            offered.is_some_and(|offered| offered.iter().any(|offered| offered == version.as_str()))
        };
        let ask = || session.ask(MethodCall::new(DISCOVER, Map::new()));
        let mut answer = ask().await;
        // The server refused the version, and names it as one that it supports.
        if let Err(RequestError::Rpc(error)) = &answer
            && error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            && is_in(error.data.as_ref().and_then(|data| data.get("supported")))
        {
            answer = ask().await;
        }
        let checked = answer.and_then(|answer| match is_in(answer.get("supportedVersions")) {
            true => Ok(Agreed { version: version.clone(), answer }),
            false => Err(RequestError::invalid(format!("the server does not support version {version}"))),
        });
        checked.map_err(|error| {
            let is_auth = matches!(&error, RequestError::Failed(failure) if failure.wants_authorization);
            HandshakeError { method: DISCOVER, error: Some(Box::new(error)), is_about_the_method: !is_auth }
        })
    }
}

pub(crate) fn known_version(version: &str) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version).cloned()
}
