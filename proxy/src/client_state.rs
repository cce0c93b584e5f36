//! The state of one client: its connections to servers, and its subscriptions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::__private::rpc::Session;
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorData, InitializeRequestParams, RequestId};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::attached::Attached;
use super::context::{VERSION, VisibleTools, Visit, Visits, is_modern};
use super::downstream::{Downstream, passed_on};
use super::outcome::no_resource;
use super::scope::Scope;
use super::shared::Shared;

/// The key of a request that has the client's name.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LONGEST_CLIENT: usize = 200;

/// One client: of a session, or of one request without a session.
pub(crate) struct ClientState {
    pub(super) proxy: Arc<Shared>,
    /// The parameters of its handshake, if it has a session.
    pub(super) client: OnceLock<InitializeRequestParams>,
    /// The source of callers' identities; `None` over stdio.
    pub(super) visits: Option<Visits>,
    /// Cancelled when subscriptions are to end.
    pub(super) closing: CancellationToken,
    /// Its own connections, if it has a session.
    own: OnceLock<Arc<Scope>>,
    /// The client's subscriptions, by URI.
    pub(super) subscriptions: Mutex<HashMap<String, JoinSet<()>>>,
}

impl ClientState {
    pub(super) fn new(proxy: Arc<Shared>, visits: Option<Visits>, closing: CancellationToken) -> Self {
        let (client, own, subscriptions) = Default::default();
        Self { proxy, client, visits, closing, own, subscriptions }
    }

    /// Returns the context of a request, with the connections for it.
    pub(super) fn context(&self, id: RequestId, session: Session, meta: Map<String, Value>, visit: Visit) -> Context {
        let is_modern = meta.get(VERSION).and_then(Value::as_str).is_some_and(is_modern);
        let mut caller = visit.caller.clone();
        caller.client = if is_modern {
            let text = |key: &str| meta.get(CLIENT_INFO)?.get(key)?.as_str();
            text("name").map(|name| shown(name, text("version").unwrap_or_default()))
        } else {
            self.client.get().map(|client| shown(&client.client_info.name, &client.client_info.version))
        };
        let scope = if is_modern { self.proxy.pool() } else { self.own(&session) };
        let sees = self.proxy.sees(&caller);
        Context { id, session, meta, is_modern, visit, caller: Arc::new(caller), sees, scope }
    }

    /// Returns the connections of a client with a session.
    fn own(&self, session: &Session) -> Arc<Scope> {
        let own = self.own.get_or_init(|| {
            let declared = self.client.get().and_then(|client| serde_json::to_value(&client.capabilities).ok());
            let capabilities = passed_on(&declared.unwrap_or_default());
            self.proxy.scope(Some(Downstream { session: session.clone(), capabilities }))
        });
        own.clone()
    }
}

/// A request, besides its method and parameters.
pub(super) struct Context {
    pub(super) id: RequestId,
    /// The session of the client.
    pub(super) session: Session,
    pub(super) meta: Map<String, Value>,
    /// `true` for protocol 2026-07-28 or later.
    pub(super) is_modern: bool,
    pub(super) visit: Visit,
    /// The caller, from the transport and from the client's own information.
    pub(super) caller: Arc<Caller>,
    /// The servers and tools that the caller sees.
    pub(super) sees: VisibleTools,
    /// The connections for the request.
    pub(super) scope: Arc<Scope>,
}

impl Context {
    /// Returns the server with a resource, if the caller sees it.
    pub(super) async fn owner(&self, uri: &str) -> Result<Arc<Attached>, ErrorData> {
        self.scope.owner(uri, &self.caller, &self.sees).await.ok_or_else(|| no_resource(uri))
    }
}

/// Returns the name and version of a client, as they are shown.
fn shown(name: &str, version: &str) -> String {
    printable(format!("{name} {version}").chars().take(LONGEST_CLIENT).collect::<String>().trim())
}
