//! Resources that change while a program runs.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::pauses::Pauses;
use super::resources::resource_error;
use crate::connect::connection::Connection;
use crate::ground::deadline::{Deadline, Patience};
use crate::ground::sync::awaited;
use crate::rpc::request::RequestError;
use crate::rpc::session::Subscription;
use crate::rpc::subscriptions::{News, Refusal, Standing, Subscriptions};
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
#[derive(Debug)]
pub struct ResourceUpdates {
    watch: Watch,
    seen: u64,
}

struct Watch {
    client: Client,
    uri: String,
    news: watch::Receiver<News>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("client", &self.client).field("uri", &self.uri).finish()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.client.supervisor.status.resources.unwatch(&self.uri);
    }
}

impl ResourceUpdates {
    /// Returns the resource.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.watch.uri
    }

    /// Waits until the resource, or something inside it, changes or the connection is re-established; quick
    /// successive changes are reported once. Cancel safe.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or no longer reports changes of the resource.
    pub async fn changed(&mut self) -> Result<(), CallError> {
        let Watch { client, uri, news } = &mut self.watch;
        client.connection().await.map_err(|error| client.not_connected(uri, error))?;
        let seen = self.seen;
        // Its sender lives as long as this watches.
        let is_change = |news: &News| news.count != seen || matches!(news.standing, Standing::Refused(_));
        let news = awaited(news, is_change).await;
        if let Standing::Refused(refusal) = news.standing {
            return Err(client.refused(uri, refusal).await);
        }
        self.seen = news.count;
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
        let (connection, patience) = self.ready(&uri, &CallOptions::new()).await?;
        let offered = connection.handshake.pointer("/capabilities/resources/subscribe").and_then(Value::as_bool);
        if !connection.is_modern() && offered != Some(true) {
            return Err(CallError::not_offered(self.name(), uri, UPDATES));
        }
        let news = self.supervisor.status.resources.watch(&uri);
        let mut watch = Watch { client: self.clone(), uri, news };
        let settled = awaited(&mut watch.news, |news| !matches!(news.standing, Standing::Asked));
        let Some(news) = Deadline::after(patience.timeout).bound(settled).await else {
            let error = RequestError::Timeout(Dispatched::Unknown);
            return Err(self.call_error(&connection, &watch.uri, patience.timeout, error));
        };
        match news.standing {
            Standing::Refused(refusal) => Err(self.refused(&watch.uri, refusal).await),
            Standing::Asked | Standing::Told => Ok(ResourceUpdates { watch, seen: news.count }),
        }
    }

    async fn refused(&self, uri: &str, refusal: Refusal) -> CallError {
        match (refusal, self.connection().await) {
            (Refusal::NotOffered, _) => CallError::not_offered(self.name(), uri, UPDATES),
            (Refusal::Failed(error), Ok(connection)) => {
                resource_error(self, &connection, uri, self.patience().timeout, error)
            }
            (Refusal::Failed(_), Err(error)) => self.not_connected(uri, error),
        }
    }
}

/// Keeps the subscriptions of one connection equal to the watched resources.
pub(crate) async fn keep(connection: &Connection, watched: &Arc<Subscriptions>, patience: Duration) -> Infallible {
    // A connection has one keeper.
    connection.link.ledger.resources_watched_by(watched.clone());
    if connection.is_modern() {
        listen(connection, watched, patience).await
    } else {
        ask(connection, watched, patience).await
    }
}

/// Keeps the subscriptions of a server without `subscriptions/listen` current, with one request for each resource.
async fn ask(connection: &Connection, watched: &Subscriptions, patience: Duration) -> Infallible {
    let mut changes = watched.changes();
    let mut subscribed: HashSet<String> = HashSet::new();
    loop {
        changes.borrow_and_update();
        let wanted = watched.wanted();
        let gone: Vec<String> =
            subscribed.iter().filter(|uri| !wanted.iter().any(|(wanted, _)| wanted == *uri)).cloned().collect();
        for uri in gone {
            subscribed.remove(&uri);
            if let Err(error) = connection.set_subscription(&uri, false, Patience::strictly(patience)).await {
                tracing::debug!("cannot unsubscribe from a resource: {error}");
            }
        }
        for (uri, is_awaited) in wanted {
            if subscribed.insert(uri.clone()) || is_awaited {
                let outcome = connection.set_subscription(&uri, true, Patience::strictly(patience)).await;
                watched.settle(&uri, outcome.map_err(Refusal::Failed));
            }
        }
        if changes.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

/// Receives changes from a server of 2026-07-28, in the response to one request that stays open.
async fn listen(connection: &Connection, watched: &Subscriptions, patience: Duration) -> Infallible {
    let mut changes = watched.changes();
    let mut listening = Listening { stream: None, covered: HashSet::new() };
    let mut pauses = Pauses::default();
    loop {
        changes.borrow_and_update();
        let wanted = watched.wanted();
        listening.begin(connection, watched, &wanted, patience).await;
        if listening.stream.is_some() {
            pauses = Pauses::default();
        }
        loop {
            tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => pending().await,
                },
                () = listening.ended() => listening.end(),
                () = pauses.after(Duration::ZERO), if listening.stream.is_none() && !wanted.is_empty() => break,
            }
        }
    }
}

/// A stream of a server's reports, with the resources that it covers.
struct Listening {
    stream: Option<Subscription>,
    covered: HashSet<String>,
}

impl Listening {
    /// Opens a stream for these resources; the last one goes on until then.
    async fn begin(
        &mut self,
        connection: &Connection,
        watched: &Subscriptions,
        wanted: &[(String, bool)],
        patience: Duration,
    ) {
        if wanted.is_empty() {
            return self.end();
        }
        self.covered.retain(|covered| wanted.iter().any(|(uri, _)| uri == covered));
        let uris = wanted.iter().map(|(uri, _)| uri.clone()).collect();
        let mut opening = pin!(Deadline::after(patience).bound(connection.listen_to_resources(uris)));
        // Notifications of the last stream are still received.
        let opened = loop {
            tokio::select! {
                biased;
                opened = &mut opening => break opened,
                () = self.ended() => self.stream = None,
            }
        };
        match opened.unwrap_or(Err(RequestError::Timeout(Dispatched::Unknown))) {
            Ok(stream) => {
                for (uri, is_awaited) in wanted {
                    if self.covered.insert(uri.clone()) || *is_awaited {
                        watched.settle(uri, if stream.has_resource(uri) { Ok(()) } else { Err(Refusal::NotOffered) });
                    }
                }
                self.stream = Some(stream);
            }
            Err(error) => {
                tracing::debug!("cannot receive changes to resources: {error}");
                let failure = RequestError::invalid(format!("`subscriptions/listen` failed: {error}"));
                for (uri, _) in wanted.iter().filter(|(_, is_awaited)| *is_awaited) {
                    watched.settle(uri, Err(Refusal::Failed(failure.clone())));
                }
                self.end();
            }
        }
    }

    /// Ends the stream. Changes are not reported until a new stream opens.
    fn end(&mut self) {
        self.stream = None;
        self.covered.clear();
    }

    /// Waits until the stream ends.
    async fn ended(&mut self) {
        match &mut self.stream {
            // Another stream is opened, whatever the reason.
            Some(stream) => drop(stream.ended().await),
            None => pending().await,
        }
    }
}
