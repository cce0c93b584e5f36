//! Resources that change while a program runs.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use super::changes::PAUSES;
use crate::call::Limit;
use crate::client::calling::Subject;
use crate::connect::connection::Connection;
use crate::ground::deadline::{Deadline, Patience};
use crate::ground::sync::awaited;
use crate::rpc::RequestError;
use crate::rpc::notices::{Refusal, ResourceState, Subscriptions};
use crate::rpc::session::Subscription;
use crate::{CallError, CallOptions, Client, Dispatched};

const UPDATES: &str = "changes of resources";

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
        let Self { client, uri, state, seen } = self;
        client.connection().await.map_err(|error| client.not_connected(uri, error))?;
        // Its sender lives as long as this watches.
        let mut is_change = |state: &ResourceState| state.count != *seen || matches!(state.answer, Some(Err(_)));
        let state = awaited(state, &mut is_change).await;
        if let Some(Err(refusal)) = state.answer {
            return Err(client.refused(uri, refusal).await);
        }
        *seen = state.count;
        Ok(())
    }
}

impl Client {
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
        let settled = awaited(&mut updates.state, &mut is_answered);
        let Some(state) = Deadline::after(patience.timeout).bound(settled).await else {
            return Err(CallError::timeout(self.name(), &*updates.uri, patience.timeout, Dispatched::Unknown));
        };
        if let Some(Err(refusal)) = state.answer {
            return Err(self.refused(&updates.uri, refusal).await);
        }
        updates.seen = state.count;
        Ok(updates)
    }

    async fn refused(&self, uri: &str, refusal: Refusal) -> CallError {
        match (refusal, self.connection().await) {
            (Refusal::NotOffered, _) => CallError::not_offered(self.name(), uri, UPDATES),
            (Refusal::Failed(error), Ok(connection)) => {
                self.call_error(&connection, Subject::Resource, uri, self.patience().timeout, error)
            }
            (Refusal::Failed(_), Err(error)) => self.not_connected(uri, error),
        }
    }
}

/// Keeps the subscriptions of one connection equal to the watched resources.
pub(crate) async fn keep(connection: &Connection, watched: &Subscriptions, patience: Duration) -> Infallible {
    let (mut stream, mut pauses, mut covered) = (None, PAUSES, HashSet::new());
    let mut changes = watched.changes.subscribe();
    loop {
        changes.borrow_and_update();
        let wanted = watched.wanted();
        if !connection.is_modern() {
            ask(connection, watched, &wanted, &mut covered, patience).await;
        } else if wanted.is_empty() {
            (stream, covered) = (None, HashSet::new());
        } else {
            listen(connection, watched, &wanted, (&mut stream, &mut covered), patience).await;
        }
        let rest = async {
            if stream.is_some() {
                pauses = PAUSES;
                // Another stream is opened, whatever the reason. Changes in between are not reported.
                ended(&mut stream).await;
                (stream, covered) = (None, HashSet::new());
            }
            sleep(pauses.pause()).await;
        };
        tokio::select! {
            // Its sender is in `watched`.
            _ = changes.changed() => {}
            () = rest, if connection.is_modern() && !wanted.is_empty() => {}
        }
    }
}

/// Subscribes to resources of a server without `subscriptions/listen`, with one request for each.
async fn ask(
    connection: &Connection,
    watched: &Subscriptions,
    wanted: &HashMap<String, bool>,
    covered: &mut HashSet<String>,
    patience: Duration,
) {
    for uri in covered.extract_if(|uri| !wanted.contains_key(uri)) {
        if let Err(error) = connection.set_subscription(&uri, false, Patience::strictly(patience)).await {
            tracing::debug!("cannot unsubscribe from a resource: {error}");
        }
    }
    for (uri, is_awaited) in wanted {
        if covered.insert(uri.clone()) || *is_awaited {
            let outcome = connection.set_subscription(uri, true, Patience::strictly(patience)).await;
            watched.settle(uri, outcome.map_err(Refusal::Failed));
        }
    }
}

/// Opens a stream for resources of a server of 2026-07-28, in the response to one request. The previous stream stays
/// open until then.
async fn listen(
    connection: &Connection,
    watched: &Subscriptions,
    wanted: &HashMap<String, bool>,
    (stream, covered): (&mut Option<Subscription>, &mut HashSet<String>),
    patience: Duration,
) {
    covered.retain(|uri| wanted.contains_key(uri));
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
    match opened.unwrap_or(Err(RequestError::Timeout(Dispatched::Unknown))) {
        Ok(opened) => {
            for (uri, is_awaited) in wanted {
                if covered.insert(uri.clone()) || *is_awaited {
                    watched.settle(uri, if opened.has_resource(uri) { Ok(()) } else { Err(Refusal::NotOffered) });
                }
            }
            *stream = Some(opened);
        }
        Err(error) => {
            tracing::debug!("cannot receive changes to resources: {error}");
            let failure = RequestError::invalid(format!("`subscriptions/listen` failed: {error}"));
            for (uri, _) in wanted.iter().filter(|(_, is_awaited)| **is_awaited) {
                watched.settle(uri, Err(Refusal::Failed(failure.clone())));
            }
            *stream = None;
            covered.clear();
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
