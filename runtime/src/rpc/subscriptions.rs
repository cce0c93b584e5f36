//! The watched resources of one server, over all its connections.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::watch;

use crate::ground::sync::lock;
use crate::rpc::request::RequestError;

/// The watchers of each resource, and its state.
#[derive(Default)]
pub(crate) struct Subscriptions {
    watched: Mutex<HashMap<String, Watched>>,
    /// Counts resources that come and go.
    changes: watch::Sender<u64>,
}

struct Watched {
    watchers: usize,
    state: watch::Sender<ResourceState>,
}

/// The changes of one resource.
#[derive(Clone, Default)]
pub(crate) struct ResourceState {
    /// How often it may have changed.
    pub(crate) count: u64,
    pub(crate) reporting: Reporting,
}

/// The state of the server's reports on a resource.
#[derive(Clone, Default)]
pub(crate) enum Reporting {
    /// It has not answered yet.
    #[default]
    Pending,
    Active,
    Refused(Refusal),
}

/// The reason why a server does not report changes of a resource.
#[derive(Clone)]
pub(crate) enum Refusal {
    /// The server reports changes of other resources only, or none.
    NotOffered,
    Failed(RequestError),
}

impl Subscriptions {
    /// Watches a resource until [`unwatch`](Self::unwatch). A refused subscription is requested again.
    pub(crate) fn watch(&self, uri: &str) -> watch::Receiver<ResourceState> {
        let mut watched = lock(&self.watched);
        let entry =
            watched.entry(uri.to_owned()).or_insert_with(|| Watched { watchers: 0, state: watch::Sender::default() });
        entry.watchers += 1;
        if matches!(entry.state.borrow().reporting, Reporting::Active) {
            return entry.state.subscribe();
        }
        entry.state.send_modify(|state| state.reporting = Reporting::Pending);
        let state = entry.state.subscribe();
        drop(watched);
        self.changes.send_modify(|count| *count += 1);
        state
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        let mut watched = lock(&self.watched);
        let Some(entry) = watched.get_mut(uri) else { return };
        entry.watchers = entry.watchers.saturating_sub(1);
        if entry.watchers == 0 {
            watched.remove(uri);
            drop(watched);
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Sees that resources come and go.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns the resources that are watched, and whether the server's answer is awaited.
    pub(crate) fn wanted(&self) -> Vec<(String, bool)> {
        let is_pending = |entry: &Watched| matches!(entry.state.borrow().reporting, Reporting::Pending);
        lock(&self.watched).iter().map(|(uri, entry)| (uri.clone(), is_pending(entry))).collect()
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
    pub(crate) fn settle(&self, uri: &str, outcome: Result<(), Refusal>) {
        let Some(state) = lock(&self.watched).get(uri).map(|entry| entry.state.clone()) else { return };
        state.send_modify(|state| {
            if outcome.is_ok() && !matches!(state.reporting, Reporting::Pending) {
                state.count += 1;
            }
            state.reporting = outcome.map_or_else(Reporting::Refused, |()| Reporting::Active);
        });
    }
}

fn is_or_is_inside(uri: &str, watched: &str) -> bool {
    uri.strip_prefix(watched)
        .is_some_and(|rest| rest.is_empty() || watched.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

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
