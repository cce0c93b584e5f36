//! Counts the changes that a server reports of its lists.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tokio::sync::watch;

use super::notices::{PROMPTS_CHANGED, RESOURCES_CHANGED};

/// Counts how often the list of tools may have changed since the connection began. The count changes as messages arrive, so a
/// response is read after every change that the server reported before it.
#[derive(Default)]
pub(crate) struct ListChanges {
    count: watch::Sender<u64>,
    /// How often the server has reported a change.
    reported: watch::Sender<u64>,
    /// How often another list has changed.
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

    /// Returns the number of changes that the server has reported.
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
