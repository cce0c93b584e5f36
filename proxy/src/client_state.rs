//! The state of one client: its connections to servers, and its subscriptions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::attached::News;
use super::downstream::Downstream;
use super::scope::Scope;
use super::shared::Shared;

pub(super) struct ClientState {
    pub(super) proxy: Arc<Shared>,
    /// Its own connections, if it has a session.
    own: OnceCell<Own>,
    /// The client's subscriptions, by URI.
    pub(super) subscriptions: Mutex<HashMap<String, JoinSet<()>>>,
}

struct Own {
    scope: Arc<Scope>,
    /// The task that notifies the client of changes; it ends with the session.
    _telling: JoinSet<()>,
}

/// Returns `true` for requests without a session: those of 2026-07-28 and later.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ClientState {
    pub(super) fn new(proxy: Arc<Shared>) -> Self {
        Self { proxy, own: OnceCell::new(), subscriptions: Mutex::default() }
    }

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

/// Notifies a client of changed lists.
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

impl fmt::Debug for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientState").field("has_connections", &self.own.initialized()).finish_non_exhaustive()
    }
}
