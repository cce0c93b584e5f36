//! Lists of tools that change while a program runs.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::call::events::Observer;
use crate::connect::connection::Connection;
use crate::ground::backoff::Backoff;
use crate::ground::sync::awaited;
use crate::rpc::request::RequestError;
use crate::{Client, ConnectError};

const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pauses between attempts to listen. An attempt longer than the longest pause resets them.
pub(super) const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), LONGEST_PAUSE);

/// The state of one server's list of tools, over all its connections.
pub(crate) struct Changes {
    observer: Arc<Observer>,
    count: watch::Sender<u64>,
    is_watched: watch::Sender<bool>,
}

impl Changes {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        Self { observer, count: watch::Sender::default(), is_watched: watch::Sender::default() }
    }

    /// Requests change notifications from servers that only send them on request.
    pub(crate) fn watch(&self) {
        self.is_watched.send_if_modified(|is_watched| !std::mem::replace(is_watched, true));
    }

    /// Records that the list has changed, or may have.
    pub(crate) fn note(&self) {
        self.count.send_modify(|count| *count += 1);
        self.observer.tools_changed();
    }

    /// Requests change notifications from a server that only sends them on request. Returns `true` for such a server.
    pub(crate) fn ask_for(&self, connection: &Connection) -> bool {
        self.watch();
        connection.is_modern() && reports_changes(connection, "tools")
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
        self.client.connection().await?;
        // Its sender lives as long as the client.
        let seen = self.seen;
        let count = tokio::select! {
            biased;
            count = awaited(&mut self.count, |count| *count != seen) => count,
            error = self.client.supervisor.lost() => return Err(error),
        };
        let tools = self.client.list_tools_raw().await?;
        self.seen = count;
        Ok(tools)
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
}

/// Notes each change that one connection hears of, also during its handshake.
pub(crate) async fn forward(connection: &Connection, changes: &Changes) -> Infallible {
    let mut count = connection.link.ledger.list_changes.reported();
    let mut seen = 0;
    loop {
        seen = awaited(&mut count, |count| *count != seen).await;
        changes.note();
    }
}

/// Subscribes to changes of a server of 2026-07-28, which reports them in a request that stays open. It waits until the
/// program watches the list.
pub(crate) async fn subscribe(connection: &Connection, changes: &Changes) -> Infallible {
    if !connection.is_modern() || !reports_changes(connection, "tools") {
        return pending().await;
    }
    awaited(&mut changes.is_watched.subscribe(), |is_watched| *is_watched).await;
    listen_again("the tool list", || connection.listen_to_tools(), || changes.note()).await
}

/// Returns `true` if the server of a connection declares that it reports changes of a list.
pub(super) fn reports_changes(connection: &Connection, list: &str) -> bool {
    let pointer = format!("/capabilities/{list}/listChanged");
    connection.handshake.pointer(&pointer) == Some(&Value::Bool(true))
}

/// Listens again and again, with pauses, and runs `ended` after each: changes in between were not reported.
pub(super) async fn listen_again<L: Future<Output = Result<(), RequestError>>>(
    what: &str,
    listen: impl Fn() -> L,
    ended: impl Fn(),
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
        let listening = listen_again("lists", listen, note);
        tokio::time::timeout(Duration::from_secs(3600), listening).await.expect_err("it has no end");
        assert_eq!(*waited.lock().expect("no panic"), [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
