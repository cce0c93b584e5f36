//! An open connection to a server.
//!
//! Dropping `answers` or `set_subscription` gives up the request, as `Session::request` does; dropping
//! `listen_to_resources`, `listen_to_tools` or `listen_to_lists` ends the subscription.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use serde_json::{Map, Value, json};

use crate::Dispatched;
use crate::connect::handshake::known_version;
use crate::connect::kept_lists::KeptLists;
use crate::connect::open::Link;
use crate::ground::deadline::Patience;
use crate::ground::sync::lock;
use crate::rpc::notices::{PROMPTS_CHANGED, RESOURCES_CHANGED};
use crate::rpc::receiving::Receiving;
use crate::rpc::request::RequestError;
use crate::rpc::sent::MethodCall;
use crate::rpc::server_requests::Answers;
use crate::rpc::session::{Session, Subscription};

#[cfg(feature = "http")]
const HEADER_MISMATCH: i32 = -32020;

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
        if matches!(listing, Listing::Tools) { changes.count() } else { changes.other_lists() }
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
        match self.session.request(MethodCall::new(question, Map::new()), patience.into()).await {
            Ok(_) | Err(RequestError::Rpc(_)) => true,
            // Any response counts.
            Err(RequestError::Failed(failure)) => failure.dispatched == Dispatched::Yes,
            Err(_) => false,
        }
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
        self.session.listen(SubscriptionFilter::builder().resource_subscriptions(uris).build()).await
    }

    /// Subscribes to changes of the tool list (protocol 2026-07-28); returns when the subscription ends.
    pub(crate) async fn listen_to_tools(&self) -> Result<(), RequestError> {
        let mut subscription = self.session.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
        let ended = subscription.ended().await;
        // The server no longer reports changes.
        self.link.ledger.list_changes.mark_changed();
        ended
    }

    /// Subscribes to changes of these lists (protocol 2026-07-28); returns when the subscription ends.
    pub(crate) async fn listen_to_lists(&self, changes: &[&str]) -> Result<(), RequestError> {
        let mut filter = SubscriptionFilter::builder();
        if changes.contains(&PROMPTS_CHANGED) {
            filter = filter.prompts_list_changed();
        }
        if changes.contains(&RESOURCES_CHANGED) {
            filter = filter.resources_list_changed();
        }
        self.session.listen(filter.build()).await?.ended().await
    }

    /// Returns `true` if the server refused a call because of a missing header, which its list of tools declares.
    #[cfg(feature = "http")]
    pub(crate) fn wants_headers(&self, error: &RequestError) -> bool {
        self.link.param_headers.is_some()
            && matches!(error, RequestError::Rpc(error) if error.code.0 == HEADER_MISMATCH)
    }
}
