//! The state of one client: its connections to servers, and its subscriptions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::Caller;
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::attached::{Attached, News};
use super::downstream::Downstream;
use super::scope::Scope;
use super::sees::Sees;
use super::shared::Shared;
use super::visit::Visit;

/// The key of a request that has the client's name.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LONGEST_CLIENT: usize = 200;

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

    /// The caller of a request: what the transport knows, and what the client says of itself.
    pub(super) fn caller(&self, context: &RequestContext<RoleServer>) -> Arc<Caller> {
        let visit = context.extensions.get::<Visit>().cloned().unwrap_or_default();
        let client = if is_modern(context) {
            context.meta.get(CLIENT_INFO).cloned()
        } else {
            context.peer.peer_info().and_then(|info| serde_json::to_value(&info.client_info).ok())
        };
        let text = |key: &str| client.as_ref()?.get(key).and_then(Value::as_str);
        let client = text("name").map(|name| format!("{name} {}", text("version").unwrap_or_default()));
        let client = client.map(|client| printable(client.chars().take(LONGEST_CLIENT).collect::<String>().trim()));
        let mut caller = visit.caller;
        caller.client = client;
        Arc::new(caller)
    }

    /// Returns the servers and tools that the caller of a request sees.
    pub(super) fn sees(&self, context: &RequestContext<RoleServer>) -> Sees {
        match context.extensions.get::<Visit>() {
            Some(visit) => self.proxy.sees(&visit.caller),
            None => self.proxy.sees(&Caller::default()),
        }
    }

    /// The server with a resource, where the caller sees it.
    pub(super) async fn owner(&self, context: &RequestContext<RoleServer>, uri: &str) -> Option<Arc<Attached>> {
        let scope = self.scope(context).await;
        scope.owner(uri, &self.caller(context), &self.sees(context)).await
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
