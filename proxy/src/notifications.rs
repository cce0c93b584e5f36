//! Notifications of servers to the proxy.

use std::sync::Weak;

use mcp_bindgen_runtime::__private::rpc::{MethodCall, Session};
use mcp_bindgen_runtime::{CallOptions, Client, ConnectionState, Notification, Notifications};
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::attached::{Attached, Kind, PROMPTS_CHANGED, RESOURCES_CHANGED};

const LOGGED: &str = "notifications/message";

/// The numbers of reported changes of prompts and of resources.
type Announced = (u64, u64);

/// Handles the notifications of a server: requests changed lists, and passes log messages to the client of the connection.
/// Both run concurrently, so that no notification is lost during a listing.
pub(super) async fn hear(attached: Weak<Attached>, told: Notifications, session: Option<Session>) {
    let (announced, changes) = watch::channel(Announced::default());
    tokio::select! {
        () = take(&attached, told, session, &announced) => {}
        () = list_anew(&attached, changes) => {}
    }
}

async fn take(
    attached: &Weak<Attached>,
    mut told: Notifications,
    session: Option<Session>,
    announced: &watch::Sender<Announced>,
) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        if missed > 0 {
            let Some(attached) = attached.upgrade() else { return };
            tracing::warn!(server = &*attached.name, "lost {missed} notifications of the server: the queue was full");
            // They may have reported changes of any list.
            announced.send_modify(|(prompts, resources)| (*prompts, *resources) = (*prompts + 1, *resources + 1));
        }
        match method.as_str() {
            PROMPTS_CHANGED => {
                announced.send_modify(|(prompts, _)| *prompts += 1);
                attached.upgrade().inspect(|attached| attached.announce(Kind::Prompts));
            }
            RESOURCES_CHANGED => {
                announced.send_modify(|(_, resources)| *resources += 1);
                attached.upgrade().inspect(|attached| attached.announce(Kind::Resources));
            }
            LOGGED => {
                let Some(session) = &session else { continue };
                if session.notify(MethodCall::new(LOGGED, params)).await.is_err() {
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

/// Sets the client's log level on each new connection to a server.
pub(super) async fn keep_level(client: Client, level: watch::Receiver<Option<Value>>) {
    let mut state = client.watch_state();
    while let Some(state) = state.changed().await {
        let wanted = level.borrow().clone();
        if let (ConnectionState::Connected, Some(wanted)) = (state, wanted) {
            tell_level(&client, wanted).await;
        }
    }
}

/// Sets the log level of a server. Does nothing if it has no log or cannot be reached.
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

/// Logs once that requests of a server cannot be passed to clients without a session.
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
                "the server uses {version}: its requests are not passed to clients without a session"
            );
        }
        return;
    }
}
