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
const PUBLISHED: [&str; 4] =
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
    channel: OnceLock<broadcast::Sender<Arc<Notice>>>,
    is_wanted: watch::Sender<bool>,
}

impl Notices {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        let listener = self.channel.get_or_init(|| broadcast::Sender::new(UNREAD)).subscribe();
        self.is_wanted.send_if_modified(|is_wanted| !std::mem::replace(is_wanted, true));
        listener
    }

    /// Waits until the program listens. Cancel safe.
    pub(crate) async fn wanted(&self) {
        let _ = self.is_wanted.subscribe().wait_for(|is_wanted| *is_wanted).await;
    }

    fn channel(&self) -> Option<&broadcast::Sender<Arc<Notice>>> {
        self.channel.get().filter(|channel| channel.receiver_count() > 0)
    }

    /// Passes on a notification of the server, without secrets and without parts that belong to the connection.
    pub(super) fn publish(&self, fields: &Map<String, Value>, redactor: &Redactor) {
        let Some(channel) = self.channel().filter(|_| !fields.contains_key("id")) else { return };
        let method = fields.get("method").and_then(Value::as_str);
        let Some(method) = method.and_then(published) else { return };
        let mut params = fields.get("params").cloned().unwrap_or_default();
        redactor.value(&mut params);
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        if let Some(Value::Object(meta)) = params.get_mut("_meta") {
            meta.remove(SUBSCRIPTION);
            if meta.is_empty() {
                params.remove("_meta");
            }
        }
        let _ = channel.send(Arc::new(Notice { method, params }));
    }

    /// Reports a possible change of a list after a time without reports.
    pub(crate) fn note(&self, method: &'static str) {
        if let Some(channel) = self.channel() {
            let _ = channel.send(Arc::new(Notice { method: method.into(), params: Map::new() }));
        }
    }
}

/// Returns the method of a notification that listeners hear of: one of [`PUBLISHED`], or one that is not the protocol's.
fn published(method: &str) -> Option<Cow<'static, str>> {
    let known = PUBLISHED.into_iter().find(|known| *known == method).map(Cow::Borrowed);
    known.or_else(|| (!is_of_protocol(method) && method.len() <= LONGEST_METHOD).then(|| method.to_owned().into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn listeners_receive_reported_and_possible_changes() {
        let notices = Notices::default();
        notices.note(PROMPTS_CHANGED);
        let mut listener = notices.subscribe();
        notices.note(RESOURCES_CHANGED);
        let meta = json!({ SUBSCRIPTION: 1 });
        for message in [
            json!({ "method": PROMPTS_CHANGED, "params": { "_meta": meta, "k": 1 } }),
            json!({ "method": "notifications/tools/list_changed" }),
            json!({ "method": PROMPTS_CHANGED, "id": 1 }),
        ] {
            notices.publish(message.as_object().expect("an object"), &Redactor::default());
        }
        let received: Vec<_> = std::iter::from_fn(|| listener.try_recv().ok()).collect();
        let received: Vec<_> = received.iter().map(|notice| (&*notice.method, json!(notice.params))).collect();
        assert_eq!(received, [(RESOURCES_CHANGED, json!({})), (PROMPTS_CHANGED, json!({ "k": 1 }))]);
    }
}
