//! One open connection to a server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams, PingRequest, ProtocolVersion, RequestMetaObject,
    ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
// Deprecated by the protocol, and what older servers know.
#[allow(deprecated)]
use rmcp::model::{SubscribeRequest, UnsubscribeRequest};
use rmcp::service::{Peer, RoleClient, RunningService, Subscription};
use serde_json::Value;
use tokio::sync::{Mutex, watch};

use crate::Dispatched;
use crate::session::deadline::Patience;
use crate::session::notices::{PROMPTS_CHANGED, RESOURCES_CHANGED};
use crate::session::request::{RequestError, request};
use crate::session::server_requests::{Answers, Handler};
use crate::session::subscriptions::Subscriptions;
use crate::transport::open::Link;

#[cfg(feature = "http")]
const HEADER_MISMATCH: i32 = -32020;

/// What can be listed.
#[derive(Clone, Copy)]
pub(crate) enum Listing {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

impl Listing {
    /// The key of the items in a result, and the capability that promises them.
    pub(crate) fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "tools"),
            Self::Prompts => ("prompts", "prompts"),
            Self::Resources => ("resources", "resources"),
            Self::ResourceTemplates => ("resourceTemplates", "resources"),
        }
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() }),
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..Default::default() }),
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() })
            }
            Self::ResourceTemplates => ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params,
                ..Default::default()
            }),
        }
    }
}

/// What a server tells of resources, as long as it does.
pub(crate) struct ResourceStream(Subscription);

impl ResourceStream {
    /// Whether the server tells of this one.
    pub(crate) fn has(&self, uri: &str) -> bool {
        let told = &self.0.acknowledged().resource_subscriptions;
        told.as_ref().is_some_and(|told| told.iter().any(|told| told == uri))
    }

    /// The next resource that changed; `None` where the server stops telling.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, String> {
        while let Some(notification) = self.0.next().await.map_err(|error| error.to_string())? {
            if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
                return Ok(Some(updated.params.uri));
            }
        }
        Ok(None)
    }
}

/// What an open connection consists of.
pub(crate) struct Connection {
    pub(crate) service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) link: Link,
    /// The protocol version that was agreed.
    pub(crate) protocol_version: String,
    /// What the server answered to `initialize` or `server/discover`, as sent.
    pub(crate) handshake: Value,
    /// The client capabilities that the program declared; what every client has is left out.
    pub(crate) declared: Value,
    /// How often the server has said that its list of tools changed.
    pub(crate) list_changes: Arc<watch::Sender<u64>>,
    pub(crate) answers: Arc<Answers>,
    /// What each request says of its sender, where no handshake has said it.
    pub(crate) stamp: RequestMetaObject,
    /// Who hears of resources that the server says have changed.
    pub(crate) resources: Arc<OnceLock<Arc<Subscriptions>>>,
}

impl Connection {
    pub(crate) fn is_open(&self) -> bool {
        self.link.ledger.is_open() && !self.peer.is_transport_closed()
    }

    /// How often the server has said that its list of tools changed.
    pub(crate) fn list_changes(&self) -> u64 {
        *self.list_changes.borrow()
    }

    /// What serves the connection. Whoever takes it ends the connection by dropping it, or waits for the end.
    pub(crate) async fn take_service(&self) -> Option<RunningService<RoleClient, Handler>> {
        self.service.lock().await.take()
    }

    /// Whether the protocol version is one without a handshake.
    pub(crate) fn is_modern(&self) -> bool {
        let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
        known.any(|version| version.as_str() == self.protocol_version && !version.has_initialize())
    }

    /// Whether the server says anything at all.
    pub(crate) async fn answers(&self, patience: Duration) -> bool {
        let question = if self.is_modern() {
            ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
        } else {
            ClientRequest::PingRequest(PingRequest::default())
        };
        let patience = Patience::strictly(patience);
        match request(&self.peer, &self.link.ledger, question, patience).await {
            Ok(_) | Err(RequestError::Rpc(_)) => true,
            // Whatever it answered, it answered.
            Err(RequestError::Failed(failure)) => failure.dispatched == Dispatched::Yes,
            Err(RequestError::Timeout(_) | RequestError::Cancelled(_)) => false,
        }
    }

    /// Asks a server of older versions to tell when a resource changes, or not to any more.
    // Deprecated by the protocol, and what older servers know.
    #[allow(deprecated)]
    pub(crate) async fn set_subscription(
        &self,
        uri: &str,
        wanted: bool,
        patience: Patience,
    ) -> Result<(), RequestError> {
        let request = if wanted {
            ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri)))
        } else {
            ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)))
        };
        self::request(&self.peer, &self.link.ledger, request, patience).await.map(drop)
    }

    /// Opens a stream of what the server has to tell of resources, where it tells of them on request alone.
    pub(crate) async fn listen_to_resources(&self, uris: Vec<String>) -> Result<ResourceStream, String> {
        let filter = SubscriptionFilter::builder().resource_subscriptions(uris).build();
        self.peer.listen(filter).await.map(ResourceStream).map_err(|error| error.to_string())
    }

    /// Hears of changes to the list of tools, where the server tells of them on request alone; ends when it stops.
    pub(crate) async fn subscribe_to_list_changes(&self) -> Result<(), String> {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = self.peer.listen(filter).await.map_err(|error| error.to_string())?;
        let ended = loop {
            match subscription.next().await {
                Ok(Some(ServerNotification::ToolListChangedNotification(_))) => {
                    self.list_changes.send_modify(|count| *count += 1);
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            }
        };
        // Changes from here on are not heard of.
        self.link.ledger.list_news.note();
        ended
    }

    /// Has a server tell of changes to these lists, where it does on request alone; ends when it stops. What it tells is heard
    /// where messages arrive.
    pub(crate) async fn listen_to_lists(&self, changes: &[&str]) -> Result<(), String> {
        let mut filter = SubscriptionFilter::builder();
        if changes.contains(&PROMPTS_CHANGED) {
            filter = filter.prompts_list_changed();
        }
        if changes.contains(&RESOURCES_CHANGED) {
            filter = filter.resources_list_changed();
        }
        let mut subscription = self.peer.listen(filter.build()).await.map_err(|error| error.to_string())?;
        while subscription.next().await.map_err(|error| error.to_string())?.is_some() {}
        Ok(())
    }

    /// One page of a list.
    pub(crate) async fn list_page(
        &self,
        listing: Listing,
        cursor: Option<String>,
        patience: Patience,
    ) -> Result<Value, RequestError> {
        request(&self.peer, &self.link.ledger, listing.request(cursor), patience.renewed()).await
    }

    /// Whether the server refused a call for want of a header that only its list of tools tells of.
    #[cfg(feature = "http")]
    pub(crate) fn wants_headers(&self, error: &RequestError) -> bool {
        self.link.param_headers.is_some()
            && matches!(error, RequestError::Rpc(error) if error.code.0 == HEADER_MISMATCH)
    }
}
