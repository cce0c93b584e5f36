//! Our side of one connection: what the server may ask of us and tell us.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RoleClient};
use serde_json::Value;
use tokio::sync::watch;

use crate::client::handlers::{Handlers, Unanswered};
use crate::session::clock::{Open, Questions};
use crate::session::subscriptions::Subscriptions;

/// How many answers that take as long as they may one call waits for.
const ANSWERS_IN_ALL: u32 = 10;

/// Our side of one connection, as rmcp asks for it.
pub(crate) struct Handler {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) protocol_version: ProtocolVersion,
    pub(crate) answers: Arc<Answers>,
    pub(crate) list_changes: Arc<watch::Sender<u64>>,
    pub(crate) resources: Arc<OnceLock<Arc<Subscriptions>>>,
}

/// Answers what a server asks, and knows which of its questions are open: the time of the calls that they may be about
/// stands still meanwhile.
pub(crate) struct Answers {
    handlers: Handlers,
    open: watch::Sender<Open>,
}

impl Answers {
    pub(crate) fn new(handlers: Handlers) -> Self {
        Self { handlers, open: watch::Sender::default() }
    }

    /// What holds up the time of a call that begins now.
    pub(crate) fn questions(&self) -> Questions {
        Questions::new(self.open.subscribe(), self.longest_in_all())
    }

    /// How long answers may hold up one call.
    pub(crate) fn longest_in_all(&self) -> Duration {
        self.handlers.longest_answer().saturating_mul(ANSWERS_IN_ALL)
    }

    pub(crate) async fn answer(&self, method: &str, params: Value) -> Result<Value, Unanswered> {
        let _open = Asked::new(&self.open);
        self.handlers.answer(method, params).await
    }
}

/// A question until it is answered, or given up.
struct Asked<'a> {
    open: &'a watch::Sender<Open>,
    number: u64,
}

impl<'a> Asked<'a> {
    fn new(open: &'a watch::Sender<Open>) -> Self {
        let mut number = 0;
        open.send_modify(|open| number = open.ask());
        Self { open, number }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.open.send_modify(|open| open.close(self.number));
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), Implementation::new("mcp-bindgen", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(self.protocol_version.clone())
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // Before somebody subscribes over this connection, nobody listens.
        if let Some(subscriptions) = self.resources.get() {
            subscriptions.note(&params.uri);
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changes.send_modify(|count| *count += 1);
    }
}
