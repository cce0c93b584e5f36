//! Lists of tools that change while a program runs.

use serde_json::Value;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

use super::pauses::{listen_again, reports_changes};
use crate::call::events::Observer;
use crate::connect::connection::Connection;
use crate::ground::sync::awaited;
use crate::{Client, ConnectError};

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
        self.is_watched.send_replace(true);
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
        let changes = &self.supervisor.status.tools;
        changes.watch();
        let count = changes.count.subscribe();
        let seen = *count.borrow();
        ToolChanges { client: self.clone(), count, seen }
    }
}

/// Notes each change that one connection hears of.
pub(crate) async fn forward(connection: &Connection, changes: &Changes) -> Infallible {
    let mut count = connection.link.ledger.list_changes.reported();
    // Changes during the handshake count too.
    count.mark_changed();
    if *count.borrow_and_update() > 0 {
        changes.note();
    }
    while count.changed().await.is_ok() {
        changes.note();
    }
    pending().await
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
