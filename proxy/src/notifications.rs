//! Notifications of servers to the proxy.

use std::sync::Weak;

use mcp_bindgen_runtime::__private::rpc::{MethodCall, Session};
use mcp_bindgen_runtime::{CallOptions, Client, ConnectionState, Notification, Notifications};
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::attached::Attached;
use super::list_changes::{Kind, ListChangeReader, ListChanges, PROMPTS_CHANGED, RESOURCES_CHANGED};

const LOGGED: &str = "notifications/message";

/// Handles the notifications of a server: requests changed lists, and passes log messages to the client of the connection.
/// Both run concurrently, so that no notification is lost during a listing.
pub(super) async fn hear(attached: Weak<Attached>, told: Notifications, session: Option<Session>) {
    let (announced, changes) = watch::channel(ListChanges::default());
    let changes = ListChangeReader::new(changes);
    tokio::select! {
        () = take(&attached, told, session, &announced) => {}
        () = list_anew(&attached, changes) => {}
    }
}

async fn take(
    attached: &Weak<Attached>,
    mut told: Notifications,
    session: Option<Session>,
    announced: &watch::Sender<ListChanges>,
) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        if missed > 0 {
            let Some(attached) = attached.upgrade() else { return };
            tracing::warn!(server = &*attached.name, "lost {missed} notifications of the server: the queue was full");
            // They may have reported changes of any list.
            announced.send_modify(ListChanges::note_all);
        }
        match method.as_str() {
            PROMPTS_CHANGED | RESOURCES_CHANGED => {
                announced.send_modify(|news| news.note(&method));
                let kind = if method == PROMPTS_CHANGED { Kind::Prompts } else { Kind::Resources };
                attached.upgrade().inspect(|attached| attached.announce(kind));
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

async fn list_anew(attached: &Weak<Attached>, mut changes: ListChangeReader) {
    while let Some(changed) = changes.next().await {
        let Some(attached) = attached.upgrade() else { return };
        if changed.contains(&PROMPTS_CHANGED) {
            attached.changed(Kind::Prompts).await;
        }
        if changed.contains(&RESOURCES_CHANGED) {
            tokio::join!(attached.changed(Kind::Resources), attached.changed(Kind::ResourceTemplates));
        }
    }
}

/// Notifies a client of changed lists.
pub(super) async fn tell(mut news: ListChangeReader, session: Session) {
    while let Some(changed) = news.next().await {
        for method in changed {
            if session.notify(MethodCall::new(method, Map::new())).await.is_err() {
                return;
            }
        }
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
