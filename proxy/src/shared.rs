//! The state that all clients of a proxy share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::future::join_all;
use mcp_bindgen_runtime::ClientOptions;
use mcp_bindgen_schema::names::PrefixedNames;
use rmcp::model::{Implementation, JsonObject, ProtocolVersion, ServerCapabilities, ServerConfig};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::approval::{ApprovalStore, Signer};
use super::approval_question::ask_client;
use super::attached::{Attached, Open};
use super::downstream::Downstream;
use super::events::Bus;
use super::joined::Wanted;
use super::notifications::{hear, keep_level, tell_of_era};
use super::scope::Scope;
use super::upstream::Upstream;
use mcp_bindgen_agents::NameStyle;

/// The extension for skills (SEP-2640).
const SKILLS: &str = "io.modelcontextprotocol/skills";
/// Its place in the capabilities of a server.
pub(super) const SKILLS_POINTER: &str = "/extensions/io.modelcontextprotocol~1skills";

#[derive(Debug)]
pub(crate) struct Shared {
    upstreams: Vec<Upstream>,
    names: (PrefixedNames, NameStyle, Wanted),
    options: ClientOptions,
    pub(super) signer: Signer,
    pub(super) store: Arc<dyn ApprovalStore>,
    instructions: Option<String>,
    pub(super) bus: Bus,
    /// The connections of all clients that keep no session.
    pool: OnceCell<Arc<Scope>>,
    /// All connections that are there.
    scopes: Mutex<Vec<Weak<Scope>>>,
    /// The tasks that pass on the events of connections that are for all.
    passing: Mutex<JoinSet<()>>,
    passes: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        upstreams: Vec<Upstream>,
        names: (PrefixedNames, NameStyle, Wanted),
        options: ClientOptions,
        signer: Signer,
        store: Arc<dyn ApprovalStore>,
        instructions: Option<String>,
    ) -> Self {
        Self {
            upstreams,
            names,
            options,
            signer,
            store,
            instructions,
            bus: Bus::default(),
            pool: OnceCell::new(),
            scopes: Mutex::default(),
            passing: Mutex::default(),
            passes: AtomicBool::new(false),
        }
    }

    /// Returns the proxy's description of itself. It declares all that servers may have: which of it they do have is known when
    /// they are connected, and lists of what nobody has are empty.
    // Servers still have features that the protocol deprecates.
    #[allow(deprecated)]
    pub(super) fn info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        capabilities.extensions = Some([(SKILLS.to_owned(), JsonObject::new())].into());
        let info = ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("mcp-bindgen", env!("CARGO_PKG_VERSION")));
        match &self.instructions {
            Some(text) => info.with_instructions(text.clone()),
            None => info,
        }
    }

    /// The same for clients without a session: they hear no logs, and what no server has is not declared once all servers are
    /// connected.
    pub(super) async fn info_without_session(&self) -> ServerConfig {
        let mut info = self.info();
        info.capabilities.logging = None;
        let Some(pool) = self.pool.get() else { return info };
        let Some(all) = pool.capabilities().await else { return info };
        let has =
            |capability: &str| all.iter().any(|declared| declared.pointer(capability).is_some_and(|it| !it.is_null()));
        if !has("/completions") {
            info.capabilities.completions = None;
        }
        if !has("/prompts") {
            info.capabilities.prompts = None;
        }
        if !has(SKILLS_POINTER) {
            info.capabilities.extensions = None;
        }
        if !has("/resources") {
            info.capabilities.resources = None;
        }
        info
    }

    /// The connections of all who keep no session. Of them nothing is declared by itself: each request says what its client
    /// can do.
    pub(super) async fn pool(&self) -> Arc<Scope> {
        let pool = self.pool.get_or_init(|| async {
            // Requests of such a server are only passed on in the same protocol version.
            let version = ProtocolVersion::V_2026_07_28.as_str();
            let options = |_: &Open| self.options.clone().protocol_version(version).on_approval(ask_client);
            self.scope(options, None)
        });
        pool.await.clone()
    }

    /// Connections of a client with a session.
    pub(super) fn scope_of(&self, downstream: &Downstream) -> Arc<Scope> {
        let options = self.options.clone().on_approval(ask_client);
        self.scope(|open| downstream.options(&options, open), Some(downstream.peer()))
    }

    fn scope(&self, options: impl Fn(&Open) -> ClientOptions, peer: Option<&Peer<RoleServer>>) -> Arc<Scope> {
        let news = Arc::new(watch::Sender::default());
        let level = Arc::new(watch::Sender::default());
        let mut listening = JoinSet::new();
        let passes = self.bus.is_heard();
        let passes_shared = passes && !self.passes.swap(true, Ordering::Relaxed);
        let attach = |upstream: &Upstream| {
            let open = Open::default();
            let made = upstream.attach(|| options(&open));
            if upstream.is_shared() && passes_shared {
                let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
                passing.spawn(self.bus.clone().pass_on(made.0.events()));
            } else if passes && !upstream.is_shared() {
                listening.spawn(self.bus.clone().pass_on(made.0.events()));
            }
            let told = made.0.notifications();
            let is_shared = upstream.is_shared();
            let attached = Arc::new(Attached::new(upstream.name.clone(), made, open, is_shared, news.clone()));
            // The log of a server that is for all is not for one.
            let peer = peer.filter(|_| !is_shared).cloned();
            if peer.is_some() {
                listening.spawn(keep_level(attached.client.clone(), level.subscribe()));
            } else if !is_shared {
                listening.spawn(tell_of_era(attached.client.clone()));
            }
            listening.spawn(hear(Arc::downgrade(&attached), told, peer));
            attached
        };
        let upstreams = self.upstreams.iter().map(attach).collect();
        let scope = Arc::new(Scope::new(upstreams, news, level, self.names.clone(), listening));
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        scopes.retain(|scope| scope.strong_count() > 0);
        scopes.push(Arc::downgrade(&scope));
        scope
    }

    pub(super) async fn close(&self) {
        let scopes: Vec<Arc<Scope>> = {
            let scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            scopes.iter().filter_map(Weak::upgrade).collect()
        };
        join_all(scopes.iter().map(|scope| scope.close())).await;
    }
}
