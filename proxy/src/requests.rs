//! Answers requests of clients, by their methods.

use std::collections::HashMap;
use std::sync::Arc;

use mcp_bindgen_runtime::__private::rpc::MethodCall;
use mcp_bindgen_runtime::PassedInput;
use rmcp::model::{ErrorCode, ErrorData, SubscribeRequestParams, UnsubscribeRequestParams};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::attached::FIRST_PAUSE;
use super::call::options;
use super::client_state::{ClientState, Context};
use super::list_changes::Kind;
use super::listening::{MOST_WATCHED, changed, listen};
use super::lock::lock;
use super::outcome::{fitted, of_request, unknown};
use super::shared::SKILLS_POINTER;

/// Reads the parameters of a method.
///
/// # Errors
/// They do not have the form that the protocol gives them.
pub(super) fn parsed<T: DeserializeOwned>(method: &str, params: Map<String, Value>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(params))
        .map_err(|error| ErrorData::invalid_params(format!("invalid parameters for `{method}`: {error}"), None))
}

impl ClientState {
    /// Answers a request. Dropping the future gives it up.
    pub(super) async fn dispatch(
        &self,
        method: &str,
        params: Map<String, Value>,
        context: &Context,
    ) -> Result<Value, ErrorData> {
        if let Some(kind) = Kind::of_method(method) {
            return list(kind, &params, context).await;
        }
        let (result, is_cacheable) = match method {
            "server/discover" => (self.discover(), false),
            "tools/call" => (self.call(parsed(method, params)?, context).await?, false),
            "prompts/get" | "completion/complete" => (relay(method, params, context).await?, false),
            "resources/read" => (relay(method, params, context).await?, true),
            "resources/subscribe" => (self.subscribe(parsed(method, params)?, context).await?, false),
            "resources/unsubscribe" => {
                let UnsubscribeRequestParams { uri, .. } = parsed(method, params)?;
                lock(&self.subscriptions).remove(&uri);
                (json!({}), false)
            }
            "logging/setLevel" => (set_level(&params, context)?, false),
            "skills/get" => (skill(parsed(method, params)?, context).await?, true),
            "subscriptions/listen" => (listen(self, parsed(method, params)?, context).await?, false),
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        };
        Ok(fitted(result, context.is_modern, is_cacheable))
    }

    async fn subscribe(&self, params: SubscribeRequestParams, context: &Context) -> Result<Value, ErrorData> {
        let uri = params.uri;
        may_subscribe(&lock(&self.subscriptions), &uri)?;
        let attached = context.owner(&uri).await?;
        let client = attached.client.clone();
        let updates = client.subscribe(uri.clone()).await;
        let mut updates = updates.map_err(|error| of_request("resource", &uri, error))?;
        let mut subscriptions = lock(&self.subscriptions);
        // Others may have come meanwhile.
        may_subscribe(&subscriptions, &uri)?;
        let (session, params) = (context.session.clone(), named(&uri));
        let mut telling = JoinSet::new();
        telling.spawn(async move {
            let mut pause = FIRST_PAUSE;
            while changed(&client, &mut updates, &mut pause).await {
                if session.notify(MethodCall::new("notifications/resources/updated", params.clone())).await.is_err() {
                    return;
                }
            }
        });
        subscriptions.insert(uri, telling);
        Ok(json!({}))
    }
}

/// Checks the limit on the subscriptions of a client.
fn may_subscribe(subscriptions: &HashMap<String, JoinSet<()>>, uri: &str) -> Result<(), ErrorData> {
    if subscriptions.len() < MOST_WATCHED || subscriptions.contains_key(uri) {
        return Ok(());
    }
    let message = format!("a client subscribes to {MOST_WATCHED} resources at most; unsubscribe from some first");
    Err(ErrorData::invalid_params(message, None))
}

/// The client's part of a request that asks for input in several rounds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    input_responses: Option<Map<String, Value>>,
    request_state: Option<String>,
}

/// Answers with a whole list; there are no pages.
async fn list(kind: Kind, params: &Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
    if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(ErrorData::invalid_params("unknown `cursor`: lists of this server have one page", None));
    }
    let Context { scope, sees, is_modern, .. } = context;
    let mut list = Map::from_iter([(kind.key().0.to_owned(), scope.items(kind, sees).await.into())]);
    if *is_modern {
        let terms = scope.terms(kind, sees);
        let scope = if terms.is_public { "public" } else { "private" };
        list.insert("ttlMs".to_owned(), u64::try_from(terms.ttl.as_millis()).unwrap_or(u64::MAX).into());
        list.insert("cacheScope".to_owned(), scope.into());
    }
    Ok(fitted(list.into(), *is_modern, true))
}

/// Passes a request on to the server of its prompt or resource, under the server's own name.
async fn relay(method: &str, mut params: Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
    let given = ["inputResponses", "requestState"].iter().filter_map(|key| params.shift_remove_entry(*key)).collect();
    let Input { input_responses, request_state } = parsed(method, given)?;
    let input = PassedInput::new().responses(input_responses).state(request_state);
    if method == "completion/complete" && !params.get("argument").is_some_and(Value::is_object) {
        let message = "invalid parameters for `completion/complete`: `argument` is not an object";
        return Err(ErrorData::invalid_params(message, None));
    }
    let target = match method {
        "completion/complete" => params.get_mut("ref").and_then(Value::as_object_mut),
        _ => Some(&mut params),
    };
    let text = |key: &str| target.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let kind = match method {
        "prompts/get" => Some("ref/prompt".to_owned()),
        "resources/read" => Some("ref/resource".to_owned()),
        _ => text("type"),
    };
    let (attached, what, name) = match (kind.as_deref(), text("name"), text("uri")) {
        (Some("ref/prompt"), Some(name), _) => {
            let found = context.scope.find_prompt(&name, &context.sees).await;
            let (attached, wire) = found.ok_or_else(|| unknown("prompt", &name))?;
            target.and_then(|target| target.insert("name".to_owned(), wire.into()));
            (attached, "prompt", name)
        }
        (Some("ref/resource"), _, Some(uri)) => (context.owner(&uri).await?, "resource", uri),
        _ => {
            let message = format!("invalid parameters for `{method}`: they name neither a prompt nor a resource");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let _working = attached.open.begin(context.id.clone());
    let result = attached.client.request(method, params, options(context, input)).await;
    result.map_err(|error| of_request(what, &name, error))
}

/// Returns the entry of a skill, from the server that lists it, or else from the first that has it.
async fn skill(params: SubscribeRequestParams, context: &Context) -> Result<Value, ErrorData> {
    let uri = params.uri;
    let listing = context.owner(&uri).await.ok();
    let mut upstreams = context.scope.upstreams();
    upstreams.retain(|attached| context.sees.server(&attached.name));
    upstreams.sort_by_key(|attached| listing.as_ref().is_none_or(|listing| !Arc::ptr_eq(attached, listing)));
    let mut found = Err(unknown("skill", &uri));
    for attached in upstreams {
        let declared = attached.client.declared().await.ok().and_then(|declared| declared.capabilities);
        if declared.is_none_or(|all| all.pointer(SKILLS_POINTER).is_none_or(Value::is_null)) {
            continue;
        }
        let result = attached.client.request("skills/get", named(&uri), options(context, PassedInput::new())).await;
        found = result.map_err(|error| of_request("skill", &uri, error));
        if found.is_ok() {
            break;
        }
    }
    found
}

/// Sets the log level of servers that are not shared by all clients, when they are connected.
fn set_level(params: &Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
    const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let level = params.get("level").filter(|level| level.as_str().is_some_and(|level| LEVELS.contains(&level)));
    let level = level.ok_or_else(|| {
        let levels = LEVELS.join(", ");
        let message = format!("invalid parameters for `logging/setLevel`: `level` must be one of {levels}");
        ErrorData::invalid_params(message, None)
    })?;
    context.scope.level.send_replace(Some(level.clone()));
    Ok(json!({}))
}

fn named(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}
