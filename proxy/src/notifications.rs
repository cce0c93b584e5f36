//! Notifications of servers to the proxy.

use std::sync::Weak;

use mcp_bindgen_runtime::{CallOptions, Client, ConnectionState, Notification, Notifications};
use rmcp::model::{CustomNotification, ProtocolVersion, ServerNotification};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::attached::{Attached, Kind};

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
            tracing::warn!(server = &*attached.name, "lost {missed} notifications of it: the queue was full");
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
        tracing::debug!("failed to set the log level of a server: {error}");
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
                "it speaks {version}: its requests are not passed to clients without a session"
            );
        }
        return;
    }
}
