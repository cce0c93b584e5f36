//! Changes that clients subscribe to: resources in a session (`resources/subscribe`), and lists and resources without one
//! (`subscriptions/listen`).

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::{join_all, pending};
use futures_util::stream::{FuturesUnordered, StreamExt};
use mcp_bindgen_runtime::__private::rpc::MethodCall;
use mcp_bindgen_runtime::{CallError, Client, ResourceUpdates};
use rmcp::model::{ErrorData, SubscribeRequestParams, SubscriptionFilter};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::attached::{
    FIRST_PAUSE, Kind, LONGEST_PAUSE, PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED, notification_and_key,
};
use super::client_state::{ClientState, Context};
use super::context::SERVER_INFO;
use super::lock::lock;
use super::outcome::of_request;
use super::shared::Shared;

/// The key of a notification that has its subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const UPDATED: &str = "notifications/resources/updated";

/// More resources are not watched for one client at once.
pub(super) const MOST_WATCHED: usize = 1000;

/// Waits for a possible change of a resource, over all connections to its server; returns `false` if the server reports no
/// more. The caller keeps the pause before the next connection, which grows until there is a real change.
async fn changed(client: &Client, updates: &mut ResourceUpdates, pause: &mut Duration) -> bool {
    match updates.changed().await {
        Ok(()) => {
            *pause = FIRST_PAUSE;
            return true;
        }
        Err(error) if is_for_now(&error) => {}
        Err(error) => {
            tracing::debug!("stopped watching a resource: {error}");
            return false;
        }
    }
    // Changes may be missed until the server is connected again, and as long as it does not take the subscription.
    loop {
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(LONGEST_PAUSE);
        if client.connect().await.is_ok() {
            return true;
        }
    }
}

/// Returns `true` if another try may do.
fn is_for_now(error: &CallError) -> bool {
    use CallError::{NotConnected, OutcomeUnknown, Timeout, Transport};
    matches!(error, NotConnected { .. } | Transport { .. } | Timeout { .. } | OutcomeUnknown { .. })
}

/// Parameters of `subscriptions/listen`.
#[derive(Deserialize)]
pub(super) struct Listen {
    notifications: SubscriptionFilter,
}

/// Reports changes to a client until its `subscriptions/listen` ends. If a resource cannot be watched any more, the
/// request ends. A client that listens again learns which resources can be watched.
pub(super) async fn listen(client: &ClientState, params: Listen, context: &Context) -> Result<Value, ErrorData> {
    let requested = params.notifications;
    let mut watched = requested.clone();
    if let Some(uris) = &mut watched.resource_subscriptions {
        // Further resources are not watched; the acknowledgement shows this.
        uris.truncate(MOST_WATCHED);
    }
    let accepted = requested.intersection(&watched);
    let acknowledged = Map::from_iter([("notifications".to_owned(), json!(accepted))]);
    tell(context, "notifications/subscriptions/acknowledged", acknowledged).await?;
    let Context { scope, sees, .. } = context;
    let wanted = [
        (TOOLS_CHANGED, accepted.tools_list_changed),
        (PROMPTS_CHANGED, accepted.prompts_list_changed),
        (RESOURCES_CHANGED, accepted.resources_list_changed),
    ];
    let is_wanted = |method: &str| wanted.contains(&(method, Some(true)));
    // A list that was never requested cannot change.
    let kinds = [Kind::Tools, Kind::Prompts, Kind::Resources, Kind::ResourceTemplates].into_iter();
    let listed = kinds.filter(|kind| is_wanted(notification_and_key(*kind).0)).map(|kind| scope.items(kind, sees));
    let listing = async {
        join_all(listed).await;
        pending::<()>().await;
    };
    let changes = scope.news.iter().filter(|(method, _)| is_wanted(method)).map(|(method, signal)| {
        let mut signal = signal.subscribe();
        async move {
            while signal.changed().await.is_ok() {
                tell(context, method, Map::new()).await?;
            }
            Ok(())
        }
    });
    let mut changes: FuturesUnordered<_> = changes.collect();
    let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
    let mut watching: FuturesUnordered<_> = uris.iter().map(|uri| watch(context, uri)).collect();
    tokio::select! {
        () = client.closing.cancelled() => Ok(()),
        () = listing => Ok(()),
        Some(outcome) = changes.next() => outcome,
        Some(outcome) = watching.next() => outcome,
    }?;
    let meta = json!({ SUBSCRIPTION_ID: context.id, SERVER_INFO: Shared::own_info() });
    Ok(json!({ "resultType": "complete", "_meta": meta }))
}

/// Reports changes of a resource, as soon as it can be watched, until its server reports no more.
async fn watch(context: &Context, uri: &str) -> Result<(), ErrorData> {
    let attached = context.owner(uri).await?;
    let mut pause = FIRST_PAUSE;
    let mut updates = loop {
        match attached.client.subscribe(uri.to_owned()).await {
            Ok(updates) => break updates,
            Err(error) if is_for_now(&error) => tokio::time::sleep(pause).await,
            Err(error) => return Err(of_request("resource", uri, error)),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    pause = FIRST_PAUSE;
    while changed(&attached.client, &mut updates, &mut pause).await {
        tell(context, UPDATED, named(uri)).await?;
    }
    Ok(())
}

/// Sends a notification of a subscription.
async fn tell(context: &Context, method: &'static str, mut params: Map<String, Value>) -> Result<(), ErrorData> {
    params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID: context.id }));
    let sent = context.session.notify(MethodCall::new(method, params).about(Some(context.id.clone()))).await;
    sent.map_err(|_| ErrorData::internal_error("the client does not listen any more", None))
}

/// Reports changes of a resource to a client with a session.
pub(super) async fn subscribe(
    client: &ClientState,
    params: SubscribeRequestParams,
    context: &Context,
) -> Result<Value, ErrorData> {
    let uri = params.uri;
    may_subscribe(&lock(&client.subscriptions), &uri)?;
    let server = context.owner(&uri).await?.client.clone();
    let mut updates = server.subscribe(uri.clone()).await.map_err(|error| of_request("resource", &uri, error))?;
    let mut subscriptions = lock(&client.subscriptions);
    // Others may have come meanwhile.
    may_subscribe(&subscriptions, &uri)?;
    let (session, params) = (context.session.clone(), named(&uri));
    let mut telling = JoinSet::new();
    telling.spawn(async move {
        let mut pause = FIRST_PAUSE;
        while changed(&server, &mut updates, &mut pause).await {
            if session.notify(MethodCall::new(UPDATED, params.clone())).await.is_err() {
                return;
            }
        }
    });
    subscriptions.insert(uri, telling);
    Ok(json!({}))
}

/// Checks the limit on the subscriptions of a client.
fn may_subscribe(subscriptions: &HashMap<String, JoinSet<()>>, uri: &str) -> Result<(), ErrorData> {
    if subscriptions.len() < MOST_WATCHED || subscriptions.contains_key(uri) {
        return Ok(());
    }
    let message = format!("a client subscribes to {MOST_WATCHED} resources at most; unsubscribe from some first");
    Err(ErrorData::invalid_params(message, None))
}

/// Returns the parameters that name a resource.
pub(super) fn named(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}
