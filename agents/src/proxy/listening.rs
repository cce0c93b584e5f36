//! What is told without being asked for: by servers to the proxy, and by the proxy to clients without a session.

use std::sync::{Arc, Weak};

use futures_util::future::pending;
use futures_util::stream::{FuturesUnordered, StreamExt};
use mcp_runtime::{Notification, Notifications, ResourceUpdates};
use rmcp::model::{CustomNotification, ErrorData, ServerNotification};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSendError};
use serde_json::Value;

use super::attached::{Attached, Kind};
use super::session::Inner;

/// More resources are not watched for one client at once.
const MOST_WATCHED: usize = 1000;

/// Hears what a server tells: changed lists are asked for, and its log goes to the client whose connection it is.
pub(super) async fn hear(attached: Weak<Attached>, mut told: Notifications, peer: Option<Peer<RoleServer>>) {
    while let Some(Notification { method, params, missed, .. }) = told.next().await {
        let Some(attached) = attached.upgrade() else { return };
        if missed > 0 {
            tracing::warn!(server = &*attached.name, "{missed} notifications of it are lost: nobody took them in time");
        }
        match (method.as_str(), &peer) {
            ("notifications/prompts/list_changed", _) => attached.changed(Kind::Prompts).await,
            ("notifications/resources/list_changed", _) => {
                attached.changed(Kind::Resources).await;
                attached.changed(Kind::ResourceTemplates).await;
            }
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

/// Tells a client of what it listens to (`subscriptions/listen`), until it no longer does.
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
            let attached = scope.owner(&uri).await?;
            let updates = attached.client.subscribe(uri.clone()).await;
            updates.inspect_err(|error| tracing::debug!("a resource is not watched: {error}")).ok()
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
                    changing.extend(watched.map(next_change));
                }
                Some((changed, updates)) = changing.next(), if !changing.is_empty() => {
                    if changed {
                        sink.notify_resource_updated(updates.uri()).await?;
                        changing.push(next_change(updates));
                    }
                }
            }
        }
    };
    let outcome: Result<(), SubscriptionSendError> = tokio::select! {
        () = context.cancelled() => Ok(()),
        () = listing => Ok(()),
        outcome = telling => outcome,
    };
    if let Err(error) = outcome {
        tracing::debug!("a client is no longer told of changes: {error}");
    }
    Ok(())
}

async fn next_change(mut updates: ResourceUpdates) -> (bool, ResourceUpdates) {
    (updates.changed().await.is_ok(), updates)
}
