//! Lists and resources that change while a program runs, and notifications of a server, for programs that pass them on.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::call::Limit;
use crate::call::events::Observer;
use crate::client::Subject;
use crate::connect::connection::Connection;
use crate::ground::backoff::Backoff;
use crate::ground::deadline::{Deadline, Patience};
use crate::ground::sync::{Erased, awaited, count};
use crate::rpc::RequestError;
use crate::rpc::notices::{Notices, Notification, Refusal, ResourceState, Subscriptions};
use crate::rpc::session::Subscription;
use crate::{CallError, CallOptions, Client, ConnectError, Dispatched};

const UPDATES: &str = "changes of resources";
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The pauses between attempts to listen. An attempt longer than the longest pause resets them.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), LONGEST_PAUSE);

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

/// Reports changes of a resource. Dropping it ends the subscription. It keeps the connection open, unless
/// [`ClientOptions::idle_timeout`](crate::ClientOptions::idle_timeout) is set.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
/// let mut updates = client.subscribe("file:///var/log/today").await?;
/// loop {
///     updates.changed().await?;
///     let log = client.read("file:///var/log/today").await?;
///     println!("{}", log.text());
/// }
/// # }
/// ```
pub struct ResourceUpdates {
    client: Client,
    uri: String,
    state: watch::Receiver<ResourceState>,
    seen: u64,
}

impl fmt::Debug for ResourceUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceUpdates").field("client", &self.client).field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl Drop for ResourceUpdates {
    fn drop(&mut self) {
        self.client.supervisor.shared.notices.resources.unwatch(&self.uri);
    }
}

impl ResourceUpdates {
    /// Returns the resource.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits until the resource, or something inside it, changes or the connection is re-established; quick
    /// successive changes are reported once. Cancel safe.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or no longer reports changes of the resource.
    pub async fn changed(&mut self) -> Result<(), CallError> {
        self.client.connection().await.map_err(|error| self.client.not_connected(&self.uri, error))?;
        let seen = self.seen;
        let mut is_change = |state: &ResourceState| state.count != seen || matches!(state.answer, Some(Err(_)));
        // Its sender lives as long as this watches.
        let state = awaited(&mut self.state, &mut is_change).await;
        self.accept(state).await
    }

    /// Records a state of the resource as seen; a refusal in it is an error.
    async fn accept(&mut self, state: ResourceState) -> Result<(), CallError> {
        let Some(Err(refusal)) = state.answer else {
            self.seen = state.count;
            return Ok(());
        };
        Err(match (refusal, self.client.connection().await) {
            (Refusal::NotOffered, _) => CallError::not_offered(self.client.name(), &*self.uri, UPDATES),
            (Refusal::Failed(error), Ok(connection)) => {
                let after = self.client.patience().timeout;
                self.client.call_error(&connection, Subject::Resource, &self.uri, after, error)
            }
            (Refusal::Failed(_), Err(error)) => self.client.not_connected(&self.uri, error),
        })
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

    /// Subscribes to a resource until the returned value is dropped, across all connections of the client.
    ///
    /// # Errors
    /// Fails with [`CallError::NotOffered`] if the server does not report changes, with
    /// [`CallError::ResourceNotFound`], and with any error of the request.
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<ResourceUpdates, CallError> {
        let uri = uri.into();
        self.admit_resource(&uri)?;
        let (connection, patience) = self.ready(&uri, &CallOptions::new(), Limit::default()).await?;
        let offered = connection.handshake.pointer("/capabilities/resources/subscribe").and_then(Value::as_bool);
        if !connection.is_modern() && offered != Some(true) {
            return Err(CallError::not_offered(self.name(), uri, UPDATES));
        }
        let state = self.supervisor.shared.notices.resources.watch(&uri);
        let mut updates = ResourceUpdates { client: self.clone(), uri, state, seen: 0 };
        let mut is_answered = |state: &ResourceState| state.answer.is_some();
        match Deadline::after(patience.timeout).bound(awaited(&mut updates.state, &mut is_answered)).await {
            Some(state) => updates.accept(state).await.map(|()| updates),
            None => Err(CallError::timeout(self.name(), &*updates.uri, patience.timeout, Dispatched::Unknown)),
        }
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
    subscribe(connection, &["tools"], &changes.is_watched, false, &|_| changes.note()).await
}

/// Subscribes to changes of the other lists, once the program listens to notifications. `is_another` is `true` after an
/// earlier connection, when changes may have been missed.
pub(crate) async fn subscribe_to_lists(connection: &Connection, notices: &Notices, is_another: bool) -> Infallible {
    let changed = |list: &str| notices.note(&format!("notifications/{list}/list_changed"));
    subscribe(connection, &["prompts", "resources"], &notices.is_wanted, is_another, &changed).await
}

/// Subscribes to changes of lists on one connection, once they are wanted, if the server only reports them on request:
/// one of 2026-07-28, which reports them in a request that stays open. Runs `changed` for each list that may have changed
/// while nothing was reported.
async fn subscribe(
    connection: &Connection,
    lists: &[&str],
    is_wanted: &CancellationToken,
    is_another: bool,
    changed: &(dyn Fn(&str) + Sync),
) -> Infallible {
    let lists: Vec<&str> = lists.iter().copied().filter(|list| reports_changes(connection, list)).collect();
    let may_have_changed = || lists.iter().for_each(|list| changed(list));
    if is_another {
        may_have_changed();
    }
    if !connection.is_modern() || lists.is_empty() {
        return pending().await;
    }
    is_wanted.cancelled().await;
    let filter: Map<_, _> = lists.iter().map(|list| (format!("{list}ListChanged"), true.into())).collect();
    let listen = || async {
        let ended = connection.session.listen(filter.clone().into()).await?.ended().await;
        if lists.contains(&"tools") {
            // The server no longer reports changes.
            connection.link.ledger.list_changes.mark_changed();
        }
        ended
    };
    listen_again(&lists.join(" and "), listen, &may_have_changed).await
}

/// Returns `true` if the server of a connection declares that it reports changes of a list.
pub(super) fn reports_changes(connection: &Connection, list: &str) -> bool {
    let pointer = format!("/capabilities/{list}/listChanged");
    connection.handshake.pointer(&pointer) == Some(&Value::Bool(true))
}

/// Listens again and again, and runs `ended` after each pause, because changes during the pause were not reported.
async fn listen_again<L: Future<Output = Result<(), RequestError>>>(
    lists: &str,
    listen: impl Fn() -> L,
    ended: &(dyn Fn() + Sync),
) -> Infallible {
    let mut pauses = PAUSES;
    loop {
        let begun = Instant::now();
        if let Err(error) = listen().await {
            tracing::debug!("cannot receive changes to lists of {lists}: {error}");
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pauses = PAUSES;
        }
        sleep(pauses.pause()).await;
        ended();
    }
}

/// Keeps the subscriptions of one connection equal to the watched resources.
pub(crate) async fn subscribe_to_resources(
    connection: &Connection,
    watched: &Subscriptions,
    patience: Duration,
) -> Infallible {
    let (mut stream, mut pauses, mut before) = (None, PAUSES, None);
    let mut changes = watched.changes.subscribe();
    loop {
        changes.borrow_and_update();
        let wanted = watched.wanted();
        if !connection.is_modern() {
            request_resources(connection, watched, before.as_ref(), &wanted, patience).await;
        } else if wanted.is_empty() {
            stream = None;
        } else {
            stream_resources(connection, watched, &wanted, &mut stream, patience).await;
        }
        let rest = async {
            if stream.is_some() {
                pauses = PAUSES;
                // Another stream is opened, whatever the reason. Changes in between are not reported.
                ended(&mut stream).await;
                stream = None;
            }
            sleep(pauses.pause()).await;
        };
        tokio::select! {
            // Its sender is in `watched`.
            _ = changes.changed() => {}
            () = rest, if connection.is_modern() && !wanted.is_empty() => {}
        }
        before = Some(wanted);
    }
}

/// Unsubscribes from resources that are no longer wanted, and subscribes to new ones and to those with a waiting
/// caller, with one request each, for servers without `subscriptions/listen`.
async fn request_resources(
    connection: &Connection,
    watched: &Subscriptions,
    before: Option<&HashMap<String, bool>>,
    wanted: &HashMap<String, bool>,
    patience: Duration,
) {
    for uri in before.iter().flat_map(|before| before.keys()) {
        if !wanted.contains_key(uri)
            && let Err(error) = connection.set_subscription(uri, false, Patience::strictly(patience)).await
        {
            tracing::debug!("cannot unsubscribe from a resource: {error}");
        }
    }
    for (uri, is_awaited) in wanted {
        if *is_awaited || before.is_none_or(|before| !before.contains_key(uri)) {
            let outcome = connection.set_subscription(uri, true, Patience::strictly(patience)).await;
            watched.settle(uri, outcome.map_err(Refusal::Failed));
        }
    }
}

/// Opens a stream for resources of a server of 2026-07-28, in the response to one request. The previous stream stays
/// open until then.
async fn stream_resources(
    connection: &Connection,
    watched: &Subscriptions,
    wanted: &HashMap<String, bool>,
    stream: &mut Option<Subscription>,
    patience: Duration,
) {
    let uris = wanted.keys().cloned().collect();
    let mut opening = pin!(Deadline::after(patience).bound(connection.listen_to_resources(uris)));
    // Notifications of the previous stream are still received.
    let opened = loop {
        tokio::select! {
            biased;
            opened = &mut opening => break opened,
            () = ended(stream) => *stream = None,
        }
    };
    let outcome = opened.unwrap_or(Err(RequestError::Timeout(Dispatched::Unknown)));
    let failure = outcome.as_ref().err().map(|error| {
        tracing::debug!("cannot receive changes to resources: {error}");
        RequestError::invalid(format!("`subscriptions/listen` failed: {error}"))
    });
    // Without a previous stream, changes of all resources may be unreported.
    let has_gap = stream.is_none();
    *stream = outcome.ok();
    for (uri, is_awaited) in wanted {
        if *is_awaited || (has_gap && failure.is_none()) {
            let answer = match (&failure, &*stream) {
                (None, Some(stream)) if stream.has_resource(uri) => Ok(()),
                (None, _) => Err(Refusal::NotOffered),
                (Some(failure), _) => Err(Refusal::Failed(failure.clone())),
            };
            watched.settle(uri, answer);
        }
    }
}

/// Waits until a stream ends.
async fn ended(stream: &mut Option<Subscription>) {
    match stream {
        Some(stream) => drop(stream.ended().await),
        None => pending().await,
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
        let listening = listen_again("tools", listen, &note);
        tokio::time::timeout(Duration::from_secs(3600), listening).await.expect_err("it has no end");
        assert_eq!(*waited.lock().expect("no panic"), [1, 2, 4, 8, 16, 32, 60, 1, 2]);
    }
}
