//! Notifications of servers to the proxy.

use std::sync::Weak;

use mcp_bindgen_runtime::__private::rpc::{MethodCall, Session};
use mcp_bindgen_runtime::{CallOptions, Client, ConnectionState, Notification, Notifications};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::attached::Attached;
use super::context::is_modern;
use super::list_changes::{Kind, ListChangeReader, PROMPTS_CHANGED, RESOURCES_CHANGED};

const LOGGED: &str = "notifications/message";

/// Handles the notifications of a server: lists again what has changed, and passes log messages to the client of the
/// connection.
pub(super) async fn hear(attached: Weak<Attached>, mut told: Notifications, session: Option<Session>) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        let changed: &[Kind] = match method.as_str() {
            // Changes of any list may be among the lost ones.
            _ if missed > 0 => &[Kind::Prompts, Kind::Resources, Kind::ResourceTemplates],
            PROMPTS_CHANGED => &[Kind::Prompts],
            RESOURCES_CHANGED => &[Kind::Resources, Kind::ResourceTemplates],
            _ => &[],
        };
        {
            let Some(attached) = attached.upgrade() else { return };
            if missed > 0 {
                tracing::warn!(
                    server = &*attached.name,
                    "lost {missed} notifications of the server: the queue was full"
                );
            }
            for kind in changed {
                attached.announce(*kind);
                attached.changed(*kind);
            }
        }
        if let (LOGGED, Some(session)) = (method.as_str(), &session)
            && session.notify(MethodCall::new(LOGGED, params)).await.is_err()
        {
            return;
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

/// Keeps the log level of a server equal to that of the client, on each new connection too. A server without a log is
/// not told.
pub(super) async fn keep_level(client: Client, mut level: watch::Receiver<Option<Value>>) {
    let mut state = client.watch_state();
    loop {
        tokio::select! {
            Some(_) = state.changed() => {}
            Ok(()) = level.changed() => {}
            else => return,
        }
        let wanted = level.borrow_and_update().clone().filter(|_| client.is_connected());
        let Some(level) = wanted else { continue };
        let Ok(declared) = client.declared().await else { continue };
        if declared.capabilities.is_some_and(|all| all.get("logging").is_some_and(Value::is_object)) {
            let params = Map::from_iter([("level".to_owned(), level)]);
            if let Err(error) = client.request("logging/setLevel", params, CallOptions::new()).await {
                tracing::debug!("failed to set the log level of a server: {error}");
            }
        }
    }
}

/// Logs once that requests of a server cannot be passed to clients without a session.
pub(super) async fn tell_of_era(client: Client) {
    let mut state = client.watch_state();
    while let Some(state) = state.changed().await {
        let declared = if state == ConnectionState::Connected { client.declared().await.ok() } else { None };
        let Some(version) = declared.map(|declared| declared.protocol_version) else { continue };
        if !is_modern(&version) {
            tracing::info!(
                server = client.name(),
                "the server uses {version}: its requests are not passed to clients without a session"
            );
        }
        return;
    }
}
