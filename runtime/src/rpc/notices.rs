//! Delivers notifications of a client's server, across its connections.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::messages::is_of_protocol;
use crate::ground::redact::Redactor;

/// How many notifications a listener may be behind.
const UNREAD: usize = 1024;
const LONGEST_METHOD: usize = 512;
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(crate) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// The notifications for listeners. [`ToolChanges`](crate::ToolChanges) reports changes of tools; the caller of a
/// request receives the notifications for it.
const HEARD: [&str; 4] =
    ["notifications/message", PROMPTS_CHANGED, RESOURCES_CHANGED, "notifications/resources/updated"];

/// One notification.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) method: Cow<'static, str>,
    pub(crate) params: Map<String, Value>,
}

/// The subscribers to notifications of one client's server.
#[derive(Default)]
pub(crate) struct Notices {
    /// The channel, which exists only while the program listens, because it reserves memory.
    ears: OnceLock<broadcast::Sender<Arc<Notice>>>,
    is_wanted: watch::Sender<bool>,
}

impl Notices {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        let heard = self.ears.get_or_init(|| broadcast::Sender::new(UNREAD)).subscribe();
        self.is_wanted.send_if_modified(|is_wanted| !std::mem::replace(is_wanted, true));
        heard
    }

    /// Waits until the program listens. Cancel safe.
    pub(crate) async fn wanted(&self) {
        let _ = self.is_wanted.subscribe().wait_for(|is_wanted| *is_wanted).await;
    }

    fn ears(&self) -> Option<&broadcast::Sender<Arc<Notice>>> {
        self.ears.get().filter(|ears| ears.receiver_count() > 0)
    }

    /// Passes on a notification of the server, without secrets and without parts that belong to the connection.
    pub(super) fn hear(&self, fields: &Map<String, Value>, redactor: &Redactor) {
        let Some(ears) = self.ears().filter(|_| !fields.contains_key("id")) else { return };
        let method = fields.get("method").and_then(Value::as_str);
        let Some(method) = method.and_then(heard) else { return };
        let mut params = fields.get("params").cloned().unwrap_or_default();
        redactor.value(&mut params);
        let Value::Object(mut params) = params else {
            let _ = ears.send(Arc::new(Notice { method, params: Map::new() }));
            return;
        };
        if let Some(Value::Object(meta)) = params.get_mut("_meta") {
            meta.remove(SUBSCRIPTION);
            if meta.is_empty() {
                params.remove("_meta");
            }
        }
        let _ = ears.send(Arc::new(Notice { method, params }));
    }

    /// Reports a possible change of a list after a time without reports.
    pub(crate) fn note(&self, method: &'static str) {
        if let Some(ears) = self.ears() {
            let _ = ears.send(Arc::new(Notice { method: method.into(), params: Map::new() }));
        }
    }
}

/// Returns the method of a notification that listeners hear of: one of [`HEARD`], or one that is not the protocol's.
fn heard(method: &str) -> Option<Cow<'static, str>> {
    let known = HEARD.into_iter().find(|known| *known == method).map(Cow::Borrowed);
    known.or_else(|| (!is_of_protocol(method) && method.len() <= LONGEST_METHOD).then(|| method.to_owned().into()))
}
