//! How a session begins: with `initialize` up to protocol version 2025-11-25, with `server/discover` from 2026-07-28 on.
//!
//! Sections "Lifecycle" of 2025-11-25 and "Versioning" of 2026-07-28.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientNotification, ClientRequest, DiscoverRequest, DiscoverRequestParams, ErrorCode,
    Implementation, InitializeRequest, InitializeRequestParams, InitializedNotification, ProtocolVersion,
    RequestMetaObject, TASKS_EXTENSION_ID,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::Dispatched;
use crate::ground::deadline::Patience;
use crate::rpc::receiving::Receiving;
use crate::rpc::request::RequestError;
use crate::rpc::session::Session;

/// How long a server that is ending may take, so that what it left behind can be told.
const PATIENCE_WITH_LAST_WORDS: Duration = Duration::from_secs(1);

/// A request that a session begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    Initialize,
    Discover,
}

impl Beginning {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
        }
    }
}

/// Which of them to try.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempts {
    /// First `initialize`.
    InitializeFirst,
    /// First `server/discover`. A server of older versions may never answer a request that it does not know: after so long the
    /// other is sent too, and the first answer counts.
    DiscoverFirst(Duration),
    Only(Beginning),
}

/// How far a handshake came, also where it was dropped.
#[derive(Default)]
pub(crate) struct Progress(Mutex<(Option<Beginning>, Option<Refusal>)>);

impl Progress {
    fn asks(&self, beginning: Beginning) {
        self.lock().0 = Some(beginning);
    }

    fn refused(&self, refusal: &Refusal) {
        self.lock().1 = Some(refusal.clone());
    }

    /// The request that was sent last.
    pub(crate) fn last(&self) -> Beginning {
        self.lock().0.unwrap_or(Beginning::Initialize)
    }

    /// What the server answered to `initialize`, where it refused that.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.lock().1.clone()
    }

    fn lock(&self) -> MutexGuard<'_, (Option<Beginning>, Option<Refusal>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client says of itself.
pub(crate) struct Introduction {
    pub(crate) capabilities: ClientCapabilities,
    /// The version that `initialize` asks for.
    pub(crate) version: ProtocolVersion,
}

impl Introduction {
    fn name() -> Implementation {
        Implementation::new("mcp-bindgen", env!("CARGO_PKG_VERSION"))
    }

    /// The `_meta` of requests without a handshake.
    pub(crate) fn stamp(&self, version: ProtocolVersion) -> RequestMetaObject {
        let mut capabilities = self.capabilities.clone();
        // Every client polls tasks to their end; a server makes none for one that does not say so.
        capabilities.extensions.get_or_insert_default().entry(TASKS_EXTENSION_ID.to_owned()).or_default();
        RequestMetaObject::with_client_context(version, Self::name(), capabilities)
    }
}

/// What was agreed.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) version: ProtocolVersion,
    /// What the server answered, as sent.
    pub(crate) answer: Value,
}

/// Why a session has not begun.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) beginning: Beginning,
    pub(crate) reason: Reason,
}

#[derive(Clone, Debug)]
pub(crate) enum Reason {
    /// The connection was closed.
    Closed,
    Failed(RequestError),
    /// The answer is not what the protocol says.
    Unclear,
    /// The versions that the server speaks.
    NoCommonVersion(Vec<String>),
    /// The server speaks a version that nobody asked for.
    UnknownVersion(String),
}

impl Refusal {
    /// Returns `true` if the server may take the other beginning.
    fn is_about_the_beginning(&self) -> bool {
        match &self.reason {
            Reason::Failed(RequestError::Rpc(_)) | Reason::Unclear | Reason::NoCommonVersion(_) => true,
            Reason::Failed(RequestError::Failed(failure)) => {
                self.beginning == Beginning::Discover && !failure.wants_authorization
            }
            Reason::Failed(_) => self.beginning == Beginning::Discover,
            Reason::Closed | Reason::UnknownVersion(_) => false,
        }
    }

    /// Returns `true` if the server answered.
    fn is_answer(&self) -> bool {
        match &self.reason {
            Reason::Failed(RequestError::Failed(failure)) => failure.dispatched == Dispatched::Yes,
            Reason::Failed(RequestError::Rpc(_))
            | Reason::Unclear
            | Reason::NoCommonVersion(_)
            | Reason::UnknownVersion(_) => true,
            Reason::Failed(_) | Reason::Closed => false,
        }
    }
}

/// Begins a session.
pub(crate) async fn begin(
    session: &mut Session,
    receiving: &mut Receiving,
    introduction: &Introduction,
    attempts: Attempts,
    progress: &Progress,
) -> Result<Agreed, Refusal> {
    let outcome = {
        let handshake = Handshake { session, introduction, progress };
        let mut making = pin!(handshake.make(attempts));
        tokio::select! {
            biased;
            outcome = &mut making => outcome,
            () = receiving.until_end() => {
                // All requests have ended now.
                let ended = timeout(PATIENCE_WITH_LAST_WORDS, making).await;
                ended.unwrap_or_else(|_| Err(Refusal { beginning: progress.last(), reason: Reason::Closed }))
            }
        }
    };
    if let Err(refusal) = &outcome
        && !refusal.is_answer()
        && !session.ledger.is_open()
    {
        let _ = timeout(PATIENCE_WITH_LAST_WORDS, receiving.until_end()).await;
        return Err(Refusal { beginning: refusal.beginning, reason: Reason::Closed });
    }
    let agreed = outcome?;
    let stamp = if agreed.version.has_initialize() {
        RequestMetaObject::default()
    } else {
        introduction.stamp(agreed.version.clone())
    };
    session.stamp(stamp);
    Ok(agreed)
}

struct Handshake<'s> {
    session: &'s Session,
    introduction: &'s Introduction,
    progress: &'s Progress,
}

impl Handshake<'_> {
    async fn make(&self, attempts: Attempts) -> Result<Agreed, Refusal> {
        let head_start = match attempts {
            Attempts::Only(Beginning::Initialize) => return self.initialize().await,
            Attempts::Only(Beginning::Discover) => return self.discover().await,
            Attempts::InitializeFirst => {
                return match self.initialize().await {
                    // What a server says to a handshake is clearer than that it does not know `server/discover`.
                    Err(refusal) if refusal.is_about_the_beginning() => self.discover().await.map_err(|_| refusal),
                    outcome => outcome,
                };
            }
            Attempts::DiscoverFirst(head_start) => head_start,
        };
        let mut discovering = pin!(self.discover());
        match timeout(head_start, &mut discovering).await {
            Ok(Err(refusal)) if refusal.is_about_the_beginning() => return self.initialize().await,
            Ok(outcome) => return outcome,
            Err(_) => {}
        }
        let mut initializing = pin!(self.initialize());
        tokio::select! {
            biased;
            outcome = &mut discovering => match outcome {
                Err(refusal) if refusal.is_about_the_beginning() => initializing.await,
                outcome => outcome,
            },
            outcome = &mut initializing => match outcome {
                Ok(agreed) => Ok(agreed),
                Err(refusal) => discovering.await.map_err(|_| refusal),
            },
        }
    }

    async fn initialize(&self) -> Result<Agreed, Refusal> {
        let outcome = self.try_initialize().await;
        if let Err(refusal) = &outcome
            && refusal.is_answer()
        {
            self.progress.refused(refusal);
        }
        outcome
    }

    async fn try_initialize(&self) -> Result<Agreed, Refusal> {
        self.progress.asks(Beginning::Initialize);
        let refused = |reason| Refusal { beginning: Beginning::Initialize, reason };
        let Introduction { capabilities, version } = self.introduction;
        let params = InitializeRequestParams::new(capabilities.clone(), Introduction::name());
        let request = InitializeRequest::new(params.with_protocol_version(version.clone()));
        let answer = self.ask(ClientRequest::InitializeRequest(request)).await;
        let answer = answer.map_err(|error| refused(Reason::Failed(error)))?;
        let Some(version) = answer.get("protocolVersion").and_then(Value::as_str) else {
            return Err(refused(Reason::Unclear));
        };
        let Some(version) = known_version(version) else {
            return Err(refused(Reason::UnknownVersion(version.to_owned())));
        };
        let begun = ClientNotification::InitializedNotification(InitializedNotification::default());
        let told = self.session.notify(begun).await;
        told.map_err(|failure| refused(Reason::Failed(RequestError::Failed(failure))))?;
        Ok(Agreed { version, answer })
    }

    async fn discover(&self) -> Result<Agreed, Refusal> {
        self.progress.asks(Beginning::Discover);
        let refused = |reason| Refusal { beginning: Beginning::Discover, reason };
        let version = ProtocolVersion::LATEST;
        let request = || ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}));
        let mut answer = self.ask(request()).await;
        if let Err(RequestError::Rpc(error)) = &answer
            && error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        {
            let offered = texts(error.data.as_ref().and_then(|data| data.get("supported")));
            if !offered.iter().any(|offered| offered == version.as_str()) {
                return Err(refused(Reason::NoCommonVersion(offered)));
            }
            answer = self.ask(request()).await;
        }
        let answer = answer.map_err(|error| refused(Reason::Failed(error)))?;
        let offered = answer.get("supportedVersions");
        if !offered.is_some_and(Value::is_array) {
            return Err(refused(Reason::Unclear));
        }
        let offered = texts(offered);
        if !offered.iter().any(|offered| offered == version.as_str()) {
            return Err(refused(Reason::NoCommonVersion(offered)));
        }
        Ok(Agreed { version, answer })
    }

    /// Whoever begins the session has a limit for all of it.
    async fn ask(&self, request: ClientRequest) -> Result<Value, RequestError> {
        self.session.request(request, Patience::strictly(Duration::MAX)).await
    }
}

pub(crate) fn known_version(version: &str) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == version).cloned()
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let texts = list.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
