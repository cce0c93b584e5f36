//! Notifications of a server about its list of tools.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::notices::{PROMPTS_CHANGED, RESOURCES_CHANGED};

/// The number of possible changes of the tool list since the connection began. It is counted on arrival, so a caller
/// with a response knows of every earlier change.
#[derive(Default)]
pub(crate) struct ListNews {
    count: watch::Sender<u64>,
    /// The number of changes that the server reported.
    told: watch::Sender<u64>,
    /// How often another list has changed.
    others: AtomicU64,
}

impl ListNews {
    /// Records what a request or notification of the server reveals about the list.
    pub(super) fn hear(&self, fields: &Map<String, Value>) {
        let tells_of_tools = || {
            let told = fields.get("params").and_then(|params| params.pointer("/notifications/toolsListChanged"));
            told == Some(&Value::Bool(true))
        };
        let is_news = match fields.get("method").and_then(Value::as_str) {
            Some("notifications/tools/list_changed") => {
                self.told.send_modify(|told| *told += 1);
                true
            }
            // From now on the server reports changes; earlier ones were not reported.
            Some("notifications/subscriptions/acknowledged") => tells_of_tools(),
            Some(PROMPTS_CHANGED | RESOURCES_CHANGED) => {
                self.others.fetch_add(1, Ordering::Relaxed);
                false
            }
            _ => false,
        };
        if is_news {
            self.note();
        }
    }

    /// Notes that the list may be another.
    pub(crate) fn note(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Records that changes are no longer reported: earlier lists are stale, but listeners need not look at once.
    pub(crate) fn note_silence(&self) {
        self.count.send_if_modified(|count| {
            *count += 1;
            false
        });
    }

    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    /// Returns the number of changes of other lists.
    pub(crate) fn of_others(&self) -> u64 {
        self.others.load(Ordering::Relaxed)
    }

    /// Watches the number of list changes that the server reported.
    pub(crate) fn told(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
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
    fn list_changes_and_acknowledged_subscriptions_are_counted() {
        let news = ListNews::default();
        let hear = |message: Value| {
            news.hear(message.as_object().expect("an object"));
            news.count()
        };
        assert_eq!(hear(json!({"method": "notifications/progress", "params": {}})), 0);
        assert_eq!(hear(json!({"method": "notifications/tools/list_changed"})), 1);
        let acknowledged = |what| json!({"method": "notifications/subscriptions/acknowledged", "params": what});
        assert_eq!(hear(acknowledged(json!({"notifications": {"toolsListChanged": true}}))), 2);
        assert_eq!(hear(acknowledged(json!({"notifications": {"resourceSubscriptions": ["a"]}}))), 2);
        assert_eq!(hear(json!({"method": 5})), 2);
    }

    #[test]
    fn changes_of_other_lists_are_counted_apart() {
        let news = ListNews::default();
        for method in [PROMPTS_CHANGED, RESOURCES_CHANGED, "notifications/resources/updated"] {
            news.hear(json!({ "method": method }).as_object().expect("an object"));
        }
        assert_eq!((news.of_others(), news.count()), (2, 0));
    }
}
