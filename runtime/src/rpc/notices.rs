//! The notifications of a client's server: their listeners, across connections, and the changes that they report.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::RequestError;
use super::messages::is_of_protocol;
use crate::ground::redact::Redactor;
use crate::ground::sync::{Erased, count, lock};

/// The maximum number of unread notifications of one listener.
const UNREAD: usize = 1024;
const LONGEST_METHOD: usize = 512;
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub(crate) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(crate) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// The notifications for listeners. [`ToolChanges`](crate::ToolChanges) reports changes of tools; the caller of a
/// request receives the notifications for it.
const PUBLISHED: [&str; 4] =
    ["notifications/message", PROMPTS_CHANGED, RESOURCES_CHANGED, "notifications/resources/updated"];

/// A notification from a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The method: `notifications/message`, `notifications/prompts/list_changed`, `notifications/resources/list_changed`,
    /// `notifications/resources/updated`, or one that is not the protocol's.
    pub method: String,
    /// The parameters as sent, but for secrets of the server's configuration.
    pub params: Map<String, Value>,
    /// The number of notifications that were dropped before this one.
    pub missed: u64,
}

/// The subscribers to notifications of one client's server.
#[derive(Default)]
pub(crate) struct Notices {
    /// The channel, which exists only once the program listens, because it reserves memory.
    channel: OnceLock<broadcast::Sender<Erased>>,
    /// Cancelled once the program listens.
    pub(crate) is_wanted: CancellationToken,
    /// The watched resources, whose changes are reported apart.
    pub(crate) resources: Subscriptions,
}

impl Notices {
    #[inline]
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Erased> {
        let listener = self.channel.get_or_init(|| broadcast::Sender::new(UNREAD)).subscribe();
        self.is_wanted.cancel();
        listener
    }

    /// Passes on a notification of the server, without secrets and without parts that belong to the connection.
    pub(super) fn publish(&self, fields: &Map<String, Value>, redactor: &Redactor) {
        let Some(channel) = self.channel.get().filter(|_| !fields.contains_key("id")) else { return };
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
        let _ = channel.send(Arc::new(Notification { method: method.to_owned(), params, missed: 0 }));
    }

    /// Reports a possible change of a list after a time without reports.
    pub(crate) fn note(&self, method: &str) {
        if let Some(channel) = self.channel.get() {
            let _ = channel.send(Arc::new(Notification { method: method.to_owned(), params: Map::new(), missed: 0 }));
        }
    }
}

/// Counts how often the list of tools may have changed since the connection began. The count changes as messages arrive, so a
/// response is read after every change that the server reported before it.
#[derive(Default)]
pub(crate) struct ListChanges {
    pub(crate) count: watch::Sender<u64>,
    /// The number of changes that the server has reported.
    reported: watch::Sender<u64>,
    /// How often a list other than that of tools has changed.
    pub(crate) others: AtomicU64,
}

impl ListChanges {
    /// Counts the change that a request or notification of the server reports, if any.
    pub(super) fn record(&self, method: &str, params: &Value) {
        match method {
            TOOLS_CHANGED => {
                count(&self.reported);
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
        count(&self.count);
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

    /// Watches the number of changes that the server has reported.
    pub(crate) fn reported(&self) -> watch::Receiver<u64> {
        self.reported.subscribe()
    }
}

/// The watched resources of one server, over all its connections.
#[derive(Default)]
pub(crate) struct Subscriptions {
    watched: Mutex<HashMap<String, Watched>>,
    /// Counts how often resources came and went.
    pub(crate) changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Watched {
    watchers: usize,
    state: watch::Sender<ResourceState>,
}

/// The changes of one resource, and the answer to its subscription.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResourceState {
    /// How often it may have changed.
    pub(crate) count: u64,
    /// Whether the server reports changes; `None` before it has answered.
    pub(crate) answer: Option<Result<(), Refusal>>,
}

/// The reason why a server does not report changes of a resource.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The server reports changes of other resources only, or none.
    NotOffered,
    Failed(RequestError),
}

impl Subscriptions {
    /// Watches a resource until [`unwatch`](Self::unwatch). A refused subscription is requested again.
    #[inline]
    pub(crate) fn watch(&self, uri: &str) -> watch::Receiver<ResourceState> {
        let mut watched = lock(&self.watched);
        let Watched { watchers, state } = watched.entry(uri.to_owned()).or_default();
        *watchers += 1;
        if !matches!(state.borrow().answer, Some(Ok(()))) {
            state.send_modify(|state| state.answer = None);
            count(&self.changes);
        }
        state.subscribe()
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        let mut watched = lock(&self.watched);
        let Some(entry) = watched.get_mut(uri) else { return };
        entry.watchers = entry.watchers.saturating_sub(1);
        if entry.watchers == 0 {
            watched.remove(uri);
            count(&self.changes);
        }
    }

    /// Returns the resources that are watched, and whether the server's answer is awaited.
    pub(crate) fn wanted(&self) -> HashMap<String, bool> {
        let is_awaited = |entry: &Watched| entry.state.borrow().answer.is_none();
        lock(&self.watched).iter().map(|(uri, entry)| (uri.clone(), is_awaited(entry))).collect()
    }

    /// Records a changed resource, which may be inside a watched one.
    pub(crate) fn note(&self, uri: &str) {
        for (watched, entry) in lock(&self.watched).iter() {
            if is_or_is_inside(uri, watched) {
                entry.state.send_modify(|state| state.count += 1);
            }
        }
    }

    /// Records that the server now reports changes of a resource, or refuses to. Earlier changes may be unreported.
    pub(crate) fn settle(&self, uri: &str, answer: Result<(), Refusal>) {
        if let Some(entry) = lock(&self.watched).get(uri) {
            entry.state.send_modify(|state| {
                state.count += u64::from(answer.is_ok() && state.answer.is_some());
                state.answer = Some(answer);
            });
        }
    }
}

fn is_or_is_inside(uri: &str, watched: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || watched.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(mut listener: broadcast::Receiver<Erased>) -> Vec<Arc<Notification>> {
        let received = std::iter::from_fn(|| listener.try_recv().ok());
        received.map(|notice| notice.downcast().expect("a notification")).collect()
    }

    #[test]
    fn listeners_receive_reported_and_possible_changes() {
        let notices = Notices::default();
        notices.note(PROMPTS_CHANGED);
        assert!(!notices.is_wanted.is_cancelled());
        let listener = notices.subscribe();
        assert!(notices.is_wanted.is_cancelled());
        notices.note(RESOURCES_CHANGED);
        let meta = json!({ SUBSCRIPTION: 1 });
        for message in [
            json!({ "method": PROMPTS_CHANGED, "params": { "_meta": meta, "k": 1 } }),
            json!({ "method": "notifications/tools/list_changed" }),
            json!({ "method": PROMPTS_CHANGED, "id": 1 }),
        ] {
            notices.publish(message.as_object().expect("an object"), &Redactor::default());
        }
        let received = received(listener);
        let received: Vec<_> = received.iter().map(|notice| (&*notice.method, json!(notice.params))).collect();
        assert_eq!(received, [(RESOURCES_CHANGED, json!({})), (PROMPTS_CHANGED, json!({ "k": 1 }))]);
    }

    #[test]
    fn notification_of_an_extension_has_a_method_of_limited_length() {
        let notices = Notices::default();
        let listener = notices.subscribe();
        for length in [LONGEST_METHOD, LONGEST_METHOD + 1, 1] {
            let fields = Map::from_iter([("method".to_owned(), "n".repeat(length).into())]);
            notices.publish(&fields, &Redactor::default());
        }
        let lengths: Vec<_> = received(listener).iter().map(|notice| notice.method.len()).collect();
        assert_eq!(lengths, [LONGEST_METHOD, 1]);
    }

    #[test]
    fn loss_of_reports_counts_as_a_change_but_wakes_nobody() {
        let changes = ListChanges::default();
        let subscriber = changes.count.subscribe();
        changes.mark_unwatched();
        assert_eq!(changes.count(), 1);
        assert!(!subscriber.has_changed().expect("its sender lives"));
        changes.mark_changed();
        assert!(subscriber.has_changed().expect("its sender lives"));
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
        assert_eq!((changes.others.load(Ordering::Relaxed), changes.count()), (2, 0));
    }

    #[test]
    fn change_inside_a_resource_counts_as_a_change_of_the_resource() {
        assert!(is_or_is_inside("file:///a", "file:///a") && is_or_is_inside("file:///a/b", "file:///a"));
        assert!(is_or_is_inside("file:///a/b", "file:///a/") && is_or_is_inside("file:///a?b", "file:///a"));
        assert!(!is_or_is_inside("file:///ab", "file:///a") && !is_or_is_inside("file:///", "file:///a"));
    }

    #[test]
    fn unwatched_resources_are_not_tracked() {
        let subscriptions = Subscriptions::default();
        for number in 0..1000 {
            subscriptions.note(&format!("file:///{number}"));
        }
        let state = subscriptions.watch("file:///a");
        let again = subscriptions.watch("file:///a");
        subscriptions.settle("file:///a", Ok(()));
        subscriptions.note("file:///a");
        subscriptions.note("file:///b");
        assert_eq!((state.borrow().count, again.borrow().count), (1, 1));
        subscriptions.unwatch("file:///a");
        assert_eq!(subscriptions.wanted().len(), 1, "one of two still watches");
        subscriptions.unwatch("file:///a");
        assert!(subscriptions.wanted().is_empty() && lock(&subscriptions.watched).is_empty());
    }
}
