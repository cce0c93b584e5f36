//! An open connection to a server, the state that it shares with its transport, and the lists that it keeps.
//!
//! Dropping `answers` or `set_subscription` gives up the request, as `Session::request` does; dropping
//! `listen_to_resources` ends the subscription.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value, json};

use super::handshake::known_version;
use super::options::ClientOptions;
use crate::ConnectError;
use crate::ground::deadline::Patience;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::handlers::Answers;
use crate::rpc::ledger::Ledger;
use crate::rpc::notes::Notes;
use crate::rpc::notices::Notices;
use crate::rpc::receiving::Receiving;
use crate::rpc::request::RequestError;
use crate::rpc::sent::MethodCall;
use crate::rpc::session::{Session, Subscription};
#[cfg(feature = "http")]
use crate::rpc::transports::http::{authorization::Authorizer, param_headers::ParamHeaders};

#[cfg(feature = "http")]
const HEADER_MISMATCH: i32 = -32020;
/// No list is kept longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// The kinds of a server's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the protocol")]
pub enum Listing {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
    Skills,
}

impl Listing {
    const ALL: [Self; 5] = [Self::Tools, Self::Prompts, Self::Resources, Self::ResourceTemplates, Self::Skills];

    /// Returns the kind that a method lists.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// Returns the method that lists it, with the key of the items in a result and the capability that promises them.
    fn names(self) -> (&'static str, (&'static str, &'static str)) {
        match self {
            Self::Tools => ("tools/list", ("tools", "tools")),
            Self::Prompts => ("prompts/list", ("prompts", "prompts")),
            Self::Resources => ("resources/list", ("resources", "resources")),
            Self::ResourceTemplates => ("resources/templates/list", ("resourceTemplates", "resources")),
            Self::Skills => ("skills/list", ("skills", "extensions/io.modelcontextprotocol~1skills")),
        }
    }

    /// Returns the key of the items in a result, and the capability that promises them.
    pub fn key(self) -> (&'static str, &'static str) {
        self.names().1
    }

    /// Returns the method that lists it.
    pub fn method(self) -> &'static str {
        self.names().0
    }

    pub(crate) fn request(self, cursor: Option<String>) -> MethodCall {
        let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor.into()));
        MethodCall::new(self.method(), cursor.into_iter().collect())
    }
}

/// The lifetime and the scope of a cached list: `ttlMs` and `cacheScope` of 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListTerms {
    /// The time from now on.
    pub ttl: Duration,
    /// `true` if the list may be shared between callers: `cacheScope` is `public`.
    pub is_public: bool,
}

/// The terms of the pages of a list: the strictest of all.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    end: Instant,
    is_public: bool,
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self { end: Instant::now() + LONGEST, is_public: true }
    }

    /// Adds the terms of a page. Its time to live counts from `requested`, the time of its request.
    pub(crate) fn add(&mut self, page: &Value, requested: Instant) {
        let ttl = page.get("ttlMs").and_then(Value::as_u64).map_or(Duration::ZERO, Duration::from_millis);
        self.end = self.end.min(requested + ttl.min(LONGEST));
        self.is_public &= page.get("cacheScope").and_then(Value::as_str) == Some("public");
    }
}

/// The lists of a connection, at most one for each method.
#[derive(Default)]
pub(crate) struct KeptLists(Mutex<Vec<Kept>>);

struct Kept {
    method: &'static str,
    items: Arc<Vec<Value>>,
    terms: Terms,
    /// How often the list had changed.
    changes: u64,
}

impl KeptLists {
    /// Returns a cached list that is still valid, with its remaining terms. `changes` is the current number of changes
    /// of the list.
    pub(crate) fn get(&self, method: &str, changes: u64) -> Option<(Arc<Vec<Value>>, ListTerms)> {
        let lists = lock(&self.0);
        let Kept { items, terms, .. } = lists.iter().find(|kept| kept.method == method && kept.changes == changes)?;
        let ttl = terms.end.saturating_duration_since(Instant::now());
        (!ttl.is_zero()).then(|| (items.clone(), ListTerms { ttl, is_public: terms.is_public }))
    }

    /// Keeps a list, where its terms allow it.
    pub(crate) fn put(&self, method: &'static str, items: &[Value], terms: &Terms, changes: u64) {
        let mut lists = lock(&self.0);
        lists.retain(|kept| kept.method != method);
        if terms.end > Instant::now() {
            lists.push(Kept { method, items: Arc::new(items.to_vec()), terms: *terms, changes });
        }
    }
}

/// The state that a transport shares with the rest of its connection.
pub(crate) struct Link {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notes: Notes,
    /// The headers for tool parameters, if the transport is HTTP.
    #[cfg(feature = "http")]
    pub(crate) param_headers: Option<Arc<ParamHeaders>>,
    /// Authorizes its requests, if the program set it.
    #[cfg(feature = "http")]
    pub(super) authorizer: Option<Arc<dyn Authorizer>>,
    /// The sandbox of an isolated server, while that runs; it may explain why the server does not answer.
    #[cfg(feature = "stdio")]
    pub(super) sandbox: std::sync::OnceLock<std::sync::Weak<super::process::isolation::Sandbox>>,
}

impl Link {
    /// Creates the state of a new connection.
    ///
    /// # Errors
    /// Fails if the authorization is invalid.
    pub(super) fn new(
        config: &ServerConfig,
        options: &ClientOptions,
        notices: &Arc<Notices>,
        redactor: &Redactor,
    ) -> Result<Self, ConnectError> {
        let notes = Notes::new(&config.name, redactor.clone());
        let ledger = Ledger::new(options.call_timeout(config.timeout), redactor.clone());
        let _ = ledger.notices.set(notices.clone());
        #[cfg(feature = "cassette")]
        if let Some(witness) = options.cassette.as_ref().and_then(|cassette| cassette.witness(redactor)) {
            let _ = ledger.witness.set(witness);
        }
        Ok(Self {
            ledger,
            #[cfg(feature = "http")]
            param_headers: matches!(config.transport, mcp_bindgen_model::Transport::Http { .. }).then(Arc::default),
            #[cfg(feature = "http")]
            authorizer: options
                .authorizer(config)
                .map_err(|message| notes.error(crate::ConnectErrorKind::Config, &message))?,
            #[cfg(feature = "stdio")]
            sandbox: std::sync::OnceLock::new(),
            notes,
        })
    }
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) session: Session,
    /// The receiving side, until the keeper takes it.
    pub(super) receiving: Mutex<Option<Receiving>>,
    pub(crate) link: Link,
    /// The protocol version that was agreed.
    pub(crate) protocol_version: String,
    /// The server's answer to `initialize` or `server/discover`, as sent.
    pub(crate) handshake: Value,
    /// The client capabilities that the program declared, without those that every client has.
    pub(crate) declared: Value,
    pub(crate) answers: Arc<Answers>,
    pub(crate) kept: KeptLists,
    /// The number of answered requests at the end of the handshake.
    pub(super) answers_of_handshake: u64,
}

impl Connection {
    pub(crate) fn is_open(&self) -> bool {
        self.link.ledger.is_open()
    }

    /// Returns `true` if the server has answered anything after the handshake.
    pub(crate) fn has_worked(&self) -> bool {
        self.link.ledger.answers() > self.answers_of_handshake
    }

    /// Returns the number of list changes that the server reported.
    pub(crate) fn list_changes(&self) -> u64 {
        *self.link.ledger.list_changes.reported().borrow()
    }

    /// Returns how often a list may have changed since the connection began.
    pub(crate) fn changes_of(&self, listing: Listing) -> u64 {
        let changes = &self.link.ledger.list_changes;
        if matches!(listing, Listing::Tools) { changes.count() } else { changes.others.load(Ordering::Relaxed) }
    }

    /// Returns the receiving side, once. Dropping it ends the connection.
    pub(crate) fn take_receiving(&self) -> Option<Receiving> {
        lock(&self.receiving).take()
    }

    /// Returns `true` if the protocol version is one without a handshake.
    pub(crate) fn is_modern(&self) -> bool {
        known_version(&self.protocol_version).is_some_and(|version| !version.has_initialize())
    }

    /// Sends a ping, or `server/discover` without a handshake. Returns `true` if any response arrives.
    pub(crate) async fn answers(&self, patience: Duration) -> bool {
        let question = if self.is_modern() { "server/discover" } else { "ping" };
        let patience = Patience::strictly(patience);
        let answer = self.session.request(MethodCall::new(question, Map::new()), patience.into()).await;
        answer.map_or_else(|error| error.is_answer(), |_| true)
    }

    /// Subscribes to a resource of a server of older versions, or unsubscribes from it.
    pub(crate) async fn set_subscription(
        &self,
        uri: &str,
        wanted: bool,
        patience: Patience,
    ) -> Result<(), RequestError> {
        let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
        let request = MethodCall::with(method, json!({ "uri": uri }));
        self.session.request(request, patience.into()).await.map(drop)
    }

    /// Subscribes to these resources (protocol 2026-07-28).
    pub(crate) async fn listen_to_resources(&self, uris: Vec<String>) -> Result<Subscription, RequestError> {
        self.session.listen(json!({ "resourceSubscriptions": uris })).await
    }

    /// Returns `true` if the server refused a call because of a missing header, which its list of tools declares.
    #[cfg(feature = "http")]
    pub(crate) fn wants_headers(&self, error: &RequestError) -> bool {
        self.link.param_headers.is_some()
            && matches!(error, RequestError::Rpc(error) if error.code.0 == HEADER_MISMATCH)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strictest_page_sets_the_cache_terms_until_the_list_changes() {
        let kept = KeptLists::default();
        let put = |pages: &[Value]| {
            let mut terms = Terms::new();
            pages.iter().for_each(|page| terms.add(page, Instant::now()));
            kept.put("tools/list", &[json!(1)], &terms, 7);
            kept.get("tools/list", 7).map(|(_, terms)| terms)
        };
        let public = json!({ "ttlMs": 60_000, "cacheScope": "public" });
        let terms = put(&[public.clone(), json!({ "ttlMs": 30_000, "cacheScope": "private" })]).expect("it is kept");
        assert!(!terms.is_public && terms.ttl <= Duration::from_secs(30) && terms.ttl > Duration::from_secs(20));
        assert!(put(std::slice::from_ref(&public)).is_some_and(|terms| terms.is_public));
        assert_eq!(kept.get("tools/list", 7).map(|(items, _)| items.to_vec()), Some(vec![json!(1)]));
        assert_eq!((kept.get("tools/list", 8), kept.get("prompts/list", 7)), (None, None));
        for page in [json!({}), json!({ "ttlMs": 0 }), json!({ "ttlMs": -1 }), json!({ "ttlMs": "60" })] {
            assert_eq!(put(&[public.clone(), page]), None);
        }
        let (mut slow, asked) = (Terms::new(), Instant::now());
        std::thread::sleep(Duration::from_millis(2));
        slow.add(&json!({ "ttlMs": 1 }), asked);
        kept.put("tools/list", &[json!(1)], &slow, 7);
        assert_eq!(kept.get("tools/list", 7), None, "the time counts from the request");
    }
}
