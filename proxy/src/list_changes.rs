//! Kinds of lists, and their changes.

pub(crate) use mcp_bindgen_runtime::__private::Listing as Kind;
use tokio::sync::watch;

pub(super) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub(super) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(super) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const CHANGED: [&str; 3] = [TOOLS_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED];

/// Returns the notification of a changed list, and the key that identifies its items.
pub(super) fn notification_and_key(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Tools => (TOOLS_CHANGED, "name"),
        Kind::Prompts => (PROMPTS_CHANGED, "name"),
        Kind::Resources | Kind::Skills => (RESOURCES_CHANGED, "uri"),
        Kind::ResourceTemplates => (RESOURCES_CHANGED, "uriTemplate"),
    }
}

/// How often each of the lists has changed, in the order of [`CHANGED`].
#[derive(Clone, Copy, Default)]
pub(super) struct ListChanges([u64; CHANGED.len()]);

impl ListChanges {
    /// Notes that the list of a notification has changed, or any list without a notification.
    pub(super) fn note(&mut self, method: Option<&str>) {
        let counts = CHANGED.into_iter().zip(&mut self.0);
        counts.filter(|(known, _)| method.is_none_or(|method| method == *known)).for_each(|(_, count)| *count += 1);
    }
}

/// Reads the changes from its creation on.
pub(super) struct ListChangeReader {
    changes: watch::Receiver<ListChanges>,
    seen: ListChanges,
}

impl ListChangeReader {
    pub(super) fn new(mut changes: watch::Receiver<ListChanges>) -> Self {
        let seen = *changes.borrow_and_update();
        Self { changes, seen }
    }

    /// Waits for changes, and returns the notifications of the changed lists. Returns `None` once no more can come.
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Vec<&'static str>> {
        self.changes.changed().await.ok()?;
        let now = *self.changes.borrow_and_update();
        let seen = std::mem::replace(&mut self.seen, now);
        let counts = CHANGED.into_iter().zip(now.0.into_iter().zip(seen.0));
        Some(counts.filter(|(_, (now, seen))| now != seen).map(|(method, _)| method).collect())
    }
}
