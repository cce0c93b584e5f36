//! Lists that change while a program runs, and notifications of a server, for programs that pass them on.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::call::events::Observer;
use crate::connect::connection::Connection;
use crate::ground::backoff::Backoff;
use crate::ground::sync::{Erased, awaited, count};
use crate::rpc::RequestError;
use crate::rpc::notices::{Notices, Notification, PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED};
use crate::{Client, ConnectError};

const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pauses between attempts to listen. An attempt longer than the longest pause resets them.
pub(super) const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), LONGEST_PAUSE);

/// The state of one server's list of tools, over all its connections.
pub(crate) struct Changes {
    observer: Arc<Observer>,
    count: watch::Sender<u64>,
    /// Cancelled once the program watches the list.
    is_watched: CancellationToken,
}

impl Changes {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        Self { observer, count: watch::Sender::default(), is_watched: CancellationToken::new() }
    }

    /// Requests change notifications from servers that only send them on request.
    pub(crate) fn watch(&self) {
        self.is_watched.cancel();
    }

    /// Records that the list has changed, or may have.
    pub(crate) fn note(&self) {
        count(&self.count);
        self.observer.tools_changed();
    }
}

/// Reports changes of a server's tool list.
///
/// It keeps the connection open, unless [`ClientOptions::idle_timeout`](crate::ClientOptions::idle_timeout) is set: a
/// closed connection receives nothing.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::ConnectError> {
/// let mut changes = client.tool_changes();
/// loop {
///     let tools = changes.changed().await?;
///     println!("{} has {} tools now", client.name(), tools.len());
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct ToolChanges {
    client: Client,
    count: watch::Receiver<u64>,
    seen: u64,
}

impl ToolChanges {
    /// Waits until the tool list changes or the connection is re-established, then lists the tools as the server sent
    /// them. Cancel safe.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, if a lost connection cannot be opened again, or if the list cannot be
    /// read. Another call tries to connect, and returns the list at that time.
    pub async fn changed(&mut self) -> Result<Vec<Value>, ConnectError> {
        let shared = &self.client.supervisor.shared;
        let failures = shared.progress.borrow().failures;
        self.client.connection().await?;
        // Its sender lives as long as the client.
        let seen = self.seen;
        let mut is_change = |count: &u64| *count != seen;
        let count = tokio::select! {
            biased;
            count = awaited(&mut self.count, &mut is_change) => count,
            error = shared.failure(failures) => return Err(error),
        };
        let tools = self.client.list_tools_raw().await?;
        self.seen = count;
        Ok(tools)
    }
}

/// A stream of a server's notifications: log messages, changes of prompts and resources, updates of subscribed
/// resources, and notifications with custom methods. A slow reader blocks nothing: beyond 1,024 unread notifications
/// the oldest are dropped, and the next one has their number.
///
/// The stream does not keep a connection open, and receives from every connection of the client. A new connection
/// counts as a change of the lists.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) {
/// let mut notifications = client.notifications();
/// while let Some(notification) = notifications.next().await {
///     println!("{}: {:?}", notification.method, notification.params);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Notifications {
    notices: broadcast::Receiver<Erased>,
    missed: u64,
}

impl Notifications {
    /// Waits for the next notification; returns `None` once the last clone of the client is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Notification> {
        loop {
            match self.notices.recv().await {
                Ok(notice) => {
                    let missed = std::mem::take(&mut self.missed);
                    return notice
                        .downcast_ref::<Notification>()
                        .cloned()
                        .map(|notice| Notification { missed, ..notice });
                }
                Err(RecvError::Lagged(missed)) => self.missed = self.missed.saturating_add(missed),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl Client {
    /// Watches the list of tools from now on.
    #[must_use]
    pub fn tool_changes(&self) -> ToolChanges {
        let changes = &self.supervisor.shared.tools;
        changes.watch();
        let count = changes.count.subscribe();
        let seen = *count.borrow();
        ToolChanges { client: self.clone(), count, seen }
    }

    /// Subscribes to the server's notifications. For tools use [`tool_changes`](Self::tool_changes), for a resource
    /// [`subscribe`](Self::subscribe).
    #[must_use]
    #[inline]
    pub fn notifications(&self) -> Notifications {
        Notifications { notices: self.supervisor.shared.notices.subscribe(), missed: 0 }
    }
}

/// Records each change that the server of one connection reports, also during its handshake.
pub(crate) async fn forward(connection: &Connection, changes: &Changes) -> Infallible {
    let mut count = connection.link.ledger.list_changes.reported();
    let mut seen = 0;
    loop {
        seen = awaited(&mut count, &mut |count| *count != seen).await;
        changes.note();
    }
}

/// Subscribes to changes of the tool list, once the program watches it.
pub(crate) async fn subscribe_to_tools(connection: &Connection, changes: &Changes) -> Infallible {
    let lists: &[&str] = if reports_changes(connection, "tools") { &[TOOLS_CHANGED] } else { &[] };
    subscribe(connection, ("the tool list", lists), &changes.is_watched, &|| changes.note()).await
}

/// Subscribes to changes of the other lists, once the program listens to notifications. `is_another` is `true` after an
/// earlier connection, when changes may have been missed.
pub(crate) async fn subscribe_to_lists(connection: &Connection, notices: &Notices, is_another: bool) -> Infallible {
    let mut lists = Vec::new();
    for (list, method) in &[("prompts", PROMPTS_CHANGED), ("resources", RESOURCES_CHANGED)] {
        if reports_changes(connection, list) {
            lists.push(*method);
        }
    }
    let may_have_changed = || lists.iter().for_each(|method| notices.note(method));
    if is_another {
        may_have_changed();
    }
    subscribe(connection, ("prompts and resources", &lists), &notices.is_wanted, &may_have_changed).await
}

/// Subscribes to changes of lists on one connection, once they are wanted, if the server only reports them on request:
/// one of 2026-07-28, which reports them in a request that stays open.
async fn subscribe(
    connection: &Connection,
    (what, lists): (&str, &[&str]),
    is_wanted: &CancellationToken,
    changed: &(dyn Fn() + Sync),
) -> Infallible {
    if !connection.is_modern() || lists.is_empty() {
        return pending().await;
    }
    is_wanted.cancelled().await;
    listen_again(what, || connection.listen_to_lists(lists), changed).await
}

/// Returns `true` if the server of a connection declares that it reports changes of a list.
pub(super) fn reports_changes(connection: &Connection, list: &str) -> bool {
    let pointer = format!("/capabilities/{list}/listChanged");
    connection.handshake.pointer(&pointer) == Some(&Value::Bool(true))
}

/// Listens again and again, and runs `ended` after each pause, because changes during the pause were not reported.
async fn listen_again<L: Future<Output = Result<(), RequestError>>>(
    what: &str,
    listen: impl Fn() -> L,
    ended: &(dyn Fn() + Sync),
) -> Infallible {
    let mut pauses = PAUSES;
    loop {
        let begun = Instant::now();
        if let Err(error) = listen().await {
            tracing::debug!("cannot receive changes to {what}: {error}");
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pauses = PAUSES;
        }
        sleep(pauses.pause()).await;
        ended();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_an_attempt_lasts_a_minute() {
        let lasting = Mutex::new([0, 0, 0, 0, 0, 0, 0, 61, 0].into_iter());
        let ended = Mutex::new(Instant::now());
        let waited = Mutex::new(Vec::new());
        let listen = || async {
            let Some(lasts) = lasting.lock().expect("no panic").next() else { return pending().await };
            sleep(Duration::from_secs(lasts)).await;
            *ended.lock().expect("no panic") = Instant::now();
            Ok(())
        };
        let note = || waited.lock().expect("no panic").push(ended.lock().expect("no panic").elapsed().as_secs());
        let listening = listen_again("lists", listen, &note);
        tokio::time::timeout(Duration::from_secs(3600), listening).await.expect_err("it has no end");
        assert_eq!(*waited.lock().expect("no panic"), [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
