//! `subscriptions/listen`: changes, for clients without a session.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::pending;
use futures_util::stream::{FuturesUnordered, StreamExt};
use mcp_bindgen_runtime::{CallError, Caller, Client, ResourceUpdates};
use rmcp::model::ErrorData;
use rmcp::service::{SubscriptionContext, SubscriptionSendError};

use super::attached::{FIRST_PAUSE, Kind, LONGEST_PAUSE};
use super::client_state::ClientState;
use super::outcome::{no_resource, of_request};
use super::sees::Sees;

/// More resources are not watched for one client at once.
pub(super) const MOST_WATCHED: usize = 1000;

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
                    tracing::debug!("stopped watching a resource: {error}");
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
pub(super) async fn listen(
    client: &Arc<ClientState>,
    (caller, sees): (&Caller, &Sees),
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let scope = client.proxy.pool().await;
    let mut news = scope.news.subscribe();
    let mut told = *news.borrow_and_update();
    let accepted = context.accepted().clone();
    // A list that was never requested cannot change.
    let listing = async {
        if accepted.tools_list_changed == Some(true) {
            scope.tools(sees).await;
        }
        if accepted.prompts_list_changed == Some(true) {
            scope.prompts(sees).await;
        }
        if accepted.resources_list_changed == Some(true) {
            tokio::join!(scope.resources(Kind::Resources, sees), scope.resources(Kind::ResourceTemplates, sees));
        }
        pending::<()>().await;
    };
    let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
    let watching = uris.into_iter().take(MOST_WATCHED).map(|uri| {
        let scope = scope.clone();
        async move {
            let attached = scope.owner(&uri, caller, sees).await.ok_or_else(|| no_resource(&uri))?;
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
            tracing::debug!("stopped notifying a client of changes: {error}");
            Ok(())
        }
    }
}

async fn next_change(mut watched: Watched) -> (bool, Watched) {
    (watched.changed().await, watched)
}
