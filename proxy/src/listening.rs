//! Notifications: of servers to the proxy, and of the proxy to clients without a session.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::pending;
use futures_util::stream::{FuturesUnordered, StreamExt};
use mcp_bindgen_runtime::{
    CallError, CallOptions, Client, ConnectionState, Notification, Notifications, ResourceUpdates,
};
use rmcp::model::{CustomNotification, ErrorData, ProtocolVersion, ServerNotification};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSendError};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::attached::{Attached, FIRST_PAUSE, Kind, LONGEST_PAUSE};
use super::outcome::{no_resource, of_request};
use super::session::Inner;

/// More resources are not watched for one client at once.
pub(super) const MOST_WATCHED: usize = 1000;

/// How often a server said that its prompts, or its resources, are others.
type Announced = (u64, u64);

/// Hears what a server tells: changed lists are asked for, and its log goes to the client whose connection it is. Neither
/// waits for the other: what a server says while it lists something is not lost.
pub(super) async fn hear(attached: Weak<Attached>, told: Notifications, peer: Option<Peer<RoleServer>>) {
    let (announced, changes) = watch::channel(Announced::default());
    tokio::select! {
        () = take(&attached, told, peer, &announced) => {}
        () = list_anew(&attached, changes) => {}
    }
}

async fn take(
    attached: &Weak<Attached>,
    mut told: Notifications,
    peer: Option<Peer<RoleServer>>,
    announced: &watch::Sender<Announced>,
) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        if missed > 0 {
            let Some(attached) = attached.upgrade() else { return };
            tracing::warn!(server = &*attached.name, "{missed} notifications of it are lost: nobody took them in time");
            // Any list may have been among them.
            announced.send_modify(|(prompts, resources)| (*prompts, *resources) = (*prompts + 1, *resources + 1));
        }
        match (method.as_str(), &peer) {
            ("notifications/prompts/list_changed", _) => announced.send_modify(|(prompts, _)| *prompts += 1),
            ("notifications/resources/list_changed", _) => announced.send_modify(|(_, resources)| *resources += 1),
            ("notifications/message", Some(peer)) => {
                let message = CustomNotification::new(method, Some(Value::Object(params)));
                let message = ServerNotification::CustomNotification(message);
                if peer.send_notification(message).await.is_err() {
                    return;
                }
            }
            _ => {}
        }
    }
}

async fn list_anew(attached: &Weak<Attached>, mut changes: watch::Receiver<Announced>) {
    let mut listed = Announced::default();
    while changes.changed().await.is_ok() {
        let announced = *changes.borrow_and_update();
        let Some(attached) = attached.upgrade() else { return };
        if announced.0 != listed.0 {
            attached.changed(Kind::Prompts).await;
        }
        if announced.1 != listed.1 {
            tokio::join!(attached.changed(Kind::Resources), attached.changed(Kind::ResourceTemplates));
        }
        listed = announced;
    }
}

/// Tells a server of the level that its client wants, as often as it is connected.
pub(super) async fn keep_level(client: Client, level: watch::Receiver<Option<Value>>) {
    let mut state = client.watch_state();
    while let Some(state) = state.changed().await {
        let wanted = level.borrow().clone();
        if let (ConnectionState::Connected, Some(wanted)) = (state, wanted) {
            tell_level(&client, wanted).await;
        }
    }
}

/// Has a server write its log from a level on. Who has no log, or cannot be reached, has nothing to tell.
pub(super) async fn tell_level(client: &Client, level: Value) {
    let Ok(declared) = client.declared().await else { return };
    if !declared.capabilities.is_some_and(|all| all.get("logging").is_some_and(Value::is_object)) {
        return;
    }
    let params = Map::from_iter([("level".to_owned(), level)]);
    if let Err(error) = client.request("logging/setLevel", params, CallOptions::new()).await {
        tracing::debug!("a server was not told of a log level: {error}");
    }
}

/// Says once which server of clients without a session has no way to ask them.
pub(super) async fn tell_of_era(client: Client) {
    let mut state = client.watch_state();
    while let Some(state) = state.changed().await {
        if state != ConnectionState::Connected {
            continue;
        }
        let Ok(declared) = client.declared().await else { continue };
        if declared.protocol_version.as_str() < ProtocolVersion::V_2026_07_28.as_str() {
            let version = declared.protocol_version;
            tracing::info!(
                server = client.name(),
                "it speaks {version}: what it asks, clients without a session are not asked"
            );
        }
        return;
    }
}

/// A resource that a client is told of, over all connections to its server.
pub(super) struct Watched {
    client: Client,
    updates: ResourceUpdates,
    pause: Duration,
    /// Whether it may have changed while nobody could tell.
    is_behind: bool,
}

impl Watched {
    pub(super) fn new(client: Client, updates: ResourceUpdates) -> Self {
        Self { client, updates, pause: FIRST_PAUSE, is_behind: false }
    }

    /// Waits until it changed, or may have; `false` where its server tells no more of it.
    pub(super) async fn changed(&mut self) -> bool {
        loop {
            if self.is_behind {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                if self.client.connect().await.is_ok() {
                    self.is_behind = false;
                    return true;
                }
                continue;
            }
            match self.updates.changed().await {
                Ok(()) => {
                    self.pause = FIRST_PAUSE;
                    return true;
                }
                Err(error) if is_for_now(&error) => self.is_behind = true,
                Err(error) => {
                    tracing::debug!("a resource is no longer watched: {error}");
                    return false;
                }
            }
        }
    }
}

/// Returns `true` if another try may do.
fn is_for_now(error: &CallError) -> bool {
    use CallError::{NotConnected, OutcomeUnknown, Timeout, Transport};
    matches!(error, NotConnected { .. } | Transport { .. } | Timeout { .. } | OutcomeUnknown { .. })
}

/// Why a client is no longer told of changes.
enum End {
    /// It does not listen.
    Gone(SubscriptionSendError),
    /// A resource that it was promised cannot be watched.
    Unwatched(ErrorData),
}

impl From<SubscriptionSendError> for End {
    fn from(error: SubscriptionSendError) -> Self {
        Self::Gone(error)
    }
}

/// Tells a client of what it listens to (`subscriptions/listen`), until it no longer does. Where a resource cannot be watched,
/// or no longer, this ends: a client that listens anew is told what can be.
pub(super) async fn listen(session: &Arc<Inner>, context: &SubscriptionContext) -> Result<(), ErrorData> {
    let scope = session.proxy.pool().await;
    let mut news = scope.news.subscribe();
    let mut told = *news.borrow_and_update();
    let accepted = context.accepted().clone();
    // What nobody has asked for cannot be said to have changed.
    let listing = async {
        if accepted.tools_list_changed == Some(true) {
            scope.tools().await;
        }
        if accepted.prompts_list_changed == Some(true) {
            scope.prompts().await;
        }
        if accepted.resources_list_changed == Some(true) {
            tokio::join!(scope.resources(Kind::Resources), scope.resources(Kind::ResourceTemplates));
        }
        pending::<()>().await;
    };
    let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
    let watching = uris.into_iter().take(MOST_WATCHED).map(|uri| {
        let scope = scope.clone();
        async move {
            let attached = scope.owner(&uri).await.ok_or_else(|| no_resource(&uri))?;
            let mut pause = FIRST_PAUSE;
            loop {
                match attached.client.subscribe(uri.clone()).await {
                    Ok(updates) => return Ok(Watched::new(attached.client.clone(), updates)),
                    Err(error) if is_for_now(&error) => tokio::time::sleep(pause).await,
                    Err(error) => return Err(of_request("resource", &uri, error)),
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    });
    let mut subscribing: FuturesUnordered<_> = watching.collect();
    let mut changing = FuturesUnordered::new();
    let sink = context.sink();
    let telling = async {
        loop {
            tokio::select! {
                changed = news.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    let now = *news.borrow_and_update();
                    if now.tools != told.tools && accepted.tools_list_changed == Some(true) {
                        sink.notify_tool_list_changed().await?;
                    }
                    if now.prompts != told.prompts && accepted.prompts_list_changed == Some(true) {
                        sink.notify_prompt_list_changed().await?;
                    }
                    if now.resources != told.resources && accepted.resources_list_changed == Some(true) {
                        sink.notify_resource_list_changed().await?;
                    }
                    told = now;
                }
                Some(watched) = subscribing.next(), if !subscribing.is_empty() => {
                    changing.push(next_change(watched.map_err(End::Unwatched)?));
                }
                Some((is_watched, watched)) = changing.next(), if !changing.is_empty() => {
                    if !is_watched {
                        return Ok(());
                    }
                    sink.notify_resource_updated(watched.updates.uri()).await?;
                    changing.push(next_change(watched));
                }
            }
        }
    };
    let outcome: Result<(), End> = tokio::select! {
        () = context.cancelled() => Ok(()),
        () = listing => Ok(()),
        outcome = telling => outcome,
    };
    match outcome {
        Ok(()) => Ok(()),
        Err(End::Unwatched(error)) => Err(error),
        Err(End::Gone(error)) => {
            tracing::debug!("a client is no longer told of changes: {error}");
            Ok(())
        }
    }
}

async fn next_change(mut watched: Watched) -> (bool, Watched) {
    (watched.changed().await, watched)
}
