//! The conversation with one client.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorData, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, Service};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::Shared;
use super::attached::News;
use super::downstream::Downstream;
use super::requests::Request;
use super::scope::Scope;

/// The session of one client. It is cheap to make: nothing is reached before something is asked for.
#[derive(Debug)]
pub(crate) struct Session {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) proxy: Arc<Shared>,
    /// Its own connections, where it has a session.
    own: OnceCell<Own>,
    /// The client's subscriptions, by URI.
    pub(super) subscriptions: Mutex<HashMap<String, JoinSet<()>>>,
}

struct Own {
    scope: Arc<Scope>,
    /// The task that tells the client of changes; it ends with the session.
    _telling: JoinSet<()>,
}

/// Returns `true` if a request keeps no session: every version since 2026-07-28.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl Session {
    pub(super) fn new(proxy: Arc<Shared>) -> Self {
        Self { inner: Arc::new(Inner { proxy, own: OnceCell::new(), subscriptions: Mutex::default() }) }
    }
}

impl Inner {
    /// The connections for a request.
    pub(super) async fn scope(&self, context: &RequestContext<RoleServer>) -> Arc<Scope> {
        if is_modern(context) {
            return self.proxy.pool().await;
        }
        let own = self.own.get_or_init(|| async {
            let downstream = Downstream::new(context.peer.clone());
            let scope = self.proxy.scope_of(&downstream);
            let mut telling = JoinSet::new();
            telling.spawn(tell(scope.news.subscribe(), context.peer.clone()));
            Own { scope, _telling: telling }
        });
        own.await.scope.clone()
    }
}

/// Tells a client of the lists that change.
async fn tell(mut news: watch::Receiver<News>, peer: Peer<RoleServer>) {
    let mut told = *news.borrow_and_update();
    while news.changed().await.is_ok() {
        let now = *news.borrow_and_update();
        if now.tools != told.tools && peer.notify_tool_list_changed().await.is_err() {
            return;
        }
        if now.prompts != told.prompts && peer.notify_prompt_list_changed().await.is_err() {
            return;
        }
        if now.resources != told.resources && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        told = now;
    }
}

impl Service<RoleServer> for Session {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let handler = Request::new(self.inner.clone());
        // What the protocol demands of requests, rmcp checks; results go past its types.
        let result = Service::handle_request(&handler, request, context).await?;
        Ok(match handler.into_raw() {
            Some(raw) => ServerResult::CustomResult(CustomResult::new(raw)),
            None => result,
        })
    }

    async fn handle_notification(
        &self,
        _notification: ClientNotification,
        _context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Cancellation is rmcp's, and of the rest nothing is for servers.
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        self.inner.proxy.info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("has_connections", &self.own.initialized()).finish_non_exhaustive()
    }
}
