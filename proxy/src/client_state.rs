//! The state of one client: its connections to servers, and its subscriptions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::__private::rpc::Session;
use mcp_bindgen_runtime::Caller;
use rmcp::model::{InitializeRequestParams, RequestId};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::attached::Attached;
use super::context::{Context, Visit, Visits};
use super::downstream::Downstream;
use super::scope::Scope;
use super::shared::Shared;
use super::visible_tools::VisibleTools;

/// The key of a request that has the client's name.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LONGEST_CLIENT: usize = 200;

/// One client: of a session, or of one request without a session.
pub(crate) struct ClientState {
    pub(super) proxy: Arc<Shared>,
    /// The parameters of its handshake, if it has a session.
    pub(super) client: OnceLock<InitializeRequestParams>,
    /// The source of callers' identities; `None` over stdio.
    visits: Option<Visits>,
    /// Cancelled when subscriptions are to end.
    pub(super) closing: CancellationToken,
    /// Its own connections, if it has a session.
    own: OnceCell<Arc<Scope>>,
    /// The client's subscriptions, by URI.
    pub(super) subscriptions: Mutex<HashMap<String, JoinSet<()>>>,
}

impl ClientState {
    pub(super) fn new(proxy: Arc<Shared>, visits: Option<Visits>, closing: CancellationToken) -> Self {
        let (client, own, subscriptions) = Default::default();
        Self { proxy, client, visits, closing, own, subscriptions }
    }

    /// Returns who sent a request; `None` if it was cancelled.
    pub(super) fn visit(&self, request: &RequestId) -> Option<Visit> {
        match &self.visits {
            Some(visits) => visits(request),
            None => Some(Visit::default()),
        }
    }

    /// Returns `true` if the transport applies limits to callers.
    pub(super) fn is_limited(&self) -> bool {
        self.visits.is_some()
    }

    /// Returns the caller of a request, from the transport and from the client's own information.
    pub(super) fn caller(&self, context: &Context) -> Arc<Caller> {
        let mut caller = context.visit.caller.clone();
        caller.client = if context.is_modern {
            let text = |key: &str| context.meta.get(CLIENT_INFO)?.get(key)?.as_str();
            text("name").map(|name| shown(name, text("version").unwrap_or_default()))
        } else {
            self.client.get().map(|client| shown(&client.client_info.name, &client.client_info.version))
        };
        Arc::new(caller)
    }

    /// Returns the servers and tools that the caller of a request sees.
    pub(super) fn sees(&self, context: &Context) -> VisibleTools {
        self.proxy.sees(&context.visit.caller)
    }

    /// Returns the server with a resource, if the caller sees it.
    pub(super) async fn owner(&self, context: &Context, uri: &str) -> Option<Arc<Attached>> {
        let scope = self.scope(context).await;
        scope.owner(uri, &self.caller(context), &self.sees(context)).await
    }

    /// Returns its client, to be asked.
    pub(super) fn downstream(&self, session: &Session) -> Downstream {
        let declared = self.client.get().and_then(|client| serde_json::to_value(&client.capabilities).ok());
        Downstream::new(session.clone(), &declared.unwrap_or_default())
    }

    /// Returns the connections for a request.
    pub(super) async fn scope(&self, context: &Context) -> Arc<Scope> {
        if context.is_modern {
            return self.proxy.pool().await;
        }
        self.own.get_or_init(|| async { self.proxy.scope_of(&self.downstream(&context.session)) }).await.clone()
    }
}

/// Returns the name and version of a client, as they are shown.
fn shown(name: &str, version: &str) -> String {
    printable(format!("{name} {version}").chars().take(LONGEST_CLIENT).collect::<String>().trim())
}
