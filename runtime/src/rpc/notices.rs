//! The notifications of a client's server: their listeners, across connections, and the changes that they report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};

use super::messages::is_of_protocol;
use crate::ground::redact::Redactor;

/// The maximum number of unread notifications of one listener.
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
    pub(crate) method: String,
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
        let Some(method) = fields.get("method").and_then(Value::as_str) else { return };
        // Listeners receive these, and those that are not the protocol's.
        if !PUBLISHED.contains(&method) && (is_of_protocol(method) || method.len() > LONGEST_METHOD) {
            return;
        }
        let mut params = fields.get("params").cloned().unwrap_or_default();
        redactor.value(&mut params);
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        if let Some(Value::Object(meta)) = params.get_mut("_meta") {
            meta.remove(SUBSCRIPTION);
            if meta.is_empty() {
                params.remove("_meta");
            }
        }
        let _ = channel.send(Arc::new(Notice { method: method.to_owned(), params }));
    }

    /// Reports a possible change of a list after a time without reports.
    pub(crate) fn note(&self, method: &str) {
        if let Some(channel) = self.channel() {
            let _ = channel.send(Arc::new(Notice { method: method.to_owned(), params: Map::new() }));
        }
    }
}

/// Counts how often the list of tools may have changed since the connection began. The count changes as messages arrive, so a
/// response is read after every change that the server reported before it.
#[derive(Default)]
pub(crate) struct ListChanges {
    count: watch::Sender<u64>,
    /// The number of changes that the server has reported.
    reported: watch::Sender<u64>,
    /// The number of changes of other lists.
    others: AtomicU64,
}

impl ListChanges {
    /// Counts the change that a request or notification of the server reports, if any.
    pub(super) fn record(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => {
                self.reported.send_modify(|reported| *reported += 1);
                self.mark_changed();
            }
            // The server reports changes from now on; earlier ones were not reported.
            "notifications/subscriptions/acknowledged"
                if params.pointer("/notifications/toolsListChanged") == Some(&Value::Bool(true)) =>
            {
                self.mark_changed();
            }
            PROMPTS_CHANGED | RESOURCES_CHANGED => {
                self.others.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Counts a possible change of the list of tools.
    pub(crate) fn mark_changed(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Counts a possible change without waking subscribers: the server no longer reports changes, so earlier lists are stale.
    pub(crate) fn mark_unwatched(&self) {
        self.count.send_if_modified(|count| {
            *count += 1;
            false
        });
    }

    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    /// Returns how often a list other than that of tools has changed.
    pub(crate) fn other_lists(&self) -> u64 {
        self.others.load(Ordering::Relaxed)
    }

    /// Watches the number of changes that the server has reported.
    pub(crate) fn reported(&self) -> watch::Receiver<u64> {
        self.reported.subscribe()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
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

    #[test]
    fn list_changes_and_acknowledged_subscriptions_are_counted() {
        let changes = ListChanges::default();
        let record = |method: &str, params: Value| {
            changes.record(method, &params);
            changes.count()
        };
        assert_eq!(record("notifications/progress", json!({})), 0);
        assert_eq!(record("notifications/tools/list_changed", Value::Null), 1);
        let acknowledged = |what| record("notifications/subscriptions/acknowledged", what);
        assert_eq!(acknowledged(json!({"notifications": {"toolsListChanged": true}})), 2);
        assert_eq!(acknowledged(json!({"notifications": {"resourceSubscriptions": ["a"]}})), 2);
        assert_eq!(record("", Value::Null), 2);
    }

    #[test]
    fn changes_of_other_lists_are_counted_apart() {
        let changes = ListChanges::default();
        for method in [PROMPTS_CHANGED, RESOURCES_CHANGED, "notifications/resources/updated"] {
            changes.record(method, &Value::Null);
        }
        assert_eq!((changes.other_lists(), changes.count()), (2, 0));
    }
}
