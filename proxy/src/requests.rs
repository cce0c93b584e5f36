//! Answers requests of clients, by their methods.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_runtime::__private::rpc::MethodCall;
use mcp_bindgen_runtime::PassedInput;
use rmcp::model::{
    ErrorCode, ErrorData, GetPromptRequestParams, ReadResourceRequestParams, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::attached::Attached;
use super::call::{options, passed};
use super::client_state::ClientState;
use super::context::Context;
use super::list_changes::Kind;
use super::listening::{MOST_WATCHED, Watched, listen};
use super::lock::lock;
use super::notifications::tell_level;
use super::outcome::{fitted, no_resource, of_request, unknown};
use super::shared::SKILLS_POINTER;

const PATIENCE_FOR_LEVELS: Duration = Duration::from_secs(20);

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
            return self.list(kind, &params, context).await;
        }
        let (result, is_cacheable) = match method {
            "ping" => (json!({}), false),
            "server/discover" => (self.discover().await, false),
            "tools/call" => (self.call(parsed(method, params)?, context).await?, false),
            "prompts/get" => (self.prompt(parsed(method, params)?, context).await?, false),
            "resources/read" => (self.resource(parsed(method, params)?, context).await?, true),
            "resources/subscribe" => (self.subscribe(parsed(method, params)?, context).await?, false),
            "resources/unsubscribe" => (self.unsubscribe(&parsed(method, params)?), false),
            "completion/complete" => (self.complete(params, context).await?, false),
            "logging/setLevel" => (self.set_level(&params, context).await?, false),
            "skills/get" => (self.skill(parsed(method, params)?, context).await?, true),
            "subscriptions/listen" => (listen(self, parsed(method, params)?, context).await?, false),
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        };
        Ok(fitted(result, context.is_modern, is_cacheable))
    }

    /// Answers with a whole list; there are no pages.
    async fn list(&self, kind: Kind, params: &Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(ErrorData::invalid_params("unknown `cursor`: lists of this server have one page", None));
        }
        let sees = self.sees(context);
        let scope = self.scope(context).await;
        let mut list = json!({ kind.key().0: scope.items(kind, &sees).await });
        if context.is_modern
            && let Some(fields) = list.as_object_mut()
        {
            let terms = scope.terms(kind, &sees);
            let scope = if terms.is_public { "public" } else { "private" };
            fields.insert("ttlMs".to_owned(), u64::try_from(terms.ttl.as_millis()).unwrap_or(u64::MAX).into());
            fields.insert("cacheScope".to_owned(), scope.into());
        }
        Ok(fitted(list, context.is_modern, true))
    }

    /// Returns the entry of a skill, from the server that lists it, or else from the first that has it.
    async fn skill(
        &self,
        SubscribeRequestParams { uri, .. }: SubscribeRequestParams,
        context: &Context,
    ) -> Result<Value, ErrorData> {
        let scope = self.scope(context).await;
        let mut found = Err(unknown("skill", &uri));
        let listing = self.owner(context, &uri).await;
        let sees = self.sees(context);
        let is_other = |one: &&Arc<Attached>| {
            sees.server(&one.name) && listing.as_ref().is_none_or(|listing| !Arc::ptr_eq(one, listing))
        };
        let upstreams = scope.upstreams();
        let others = upstreams.iter().filter(is_other);
        for attached in listing.iter().chain(others) {
            let declared = attached.client.declared().await.ok().and_then(|declared| declared.capabilities);
            if declared.is_none_or(|all| all.pointer(SKILLS_POINTER).is_none_or(Value::is_null)) {
                continue;
            }
            let options = options(context, PassedInput::new());
            let result = attached.client.request("skills/get", named(&uri), options).await;
            found = result.map_err(|error| of_request("skill", &uri, error));
            if found.is_ok() {
                break;
            }
        }
        found
    }

    async fn prompt(&self, params: GetPromptRequestParams, context: &Context) -> Result<Value, ErrorData> {
        let GetPromptRequestParams { name, arguments, input_responses, request_state, .. } = params;
        let scope = self.scope(context).await;
        let found = scope.find(Kind::Prompts, &name, &self.sees(context)).await;
        let (attached, prompt) = found.ok_or_else(|| unknown("prompt", &name))?;
        let _working = attached.open.begin(context.id.clone());
        let arguments = arguments.map(|arguments| ("arguments".to_owned(), Value::Object(arguments)));
        let params = [("name".to_owned(), Value::from(prompt))].into_iter().chain(arguments).collect();
        let result = attached
            .client
            .request("prompts/get", params, options(context, passed(input_responses, request_state)))
            .await;
        result.map_err(|error| of_request("prompt", &name, error))
    }

    async fn resource(&self, params: ReadResourceRequestParams, context: &Context) -> Result<Value, ErrorData> {
        let ReadResourceRequestParams { uri, input_responses, request_state, .. } = params;
        let attached = self.owner(context, &uri).await.ok_or_else(|| no_resource(&uri))?;
        let _working = attached.open.begin(context.id.clone());
        let result = attached
            .client
            .request("resources/read", named(&uri), options(context, passed(input_responses, request_state)))
            .await;
        result.map_err(|error| of_request("resource", &uri, error))
    }

    async fn complete(&self, mut params: Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
        let text = |key: &str| params.get("ref")?.get(key)?.as_str().map(str::to_owned);
        let (attached, name) = match (text("type").as_deref(), text("name"), text("uri")) {
            (Some("ref/prompt"), Some(name), _) => {
                let scope = self.scope(context).await;
                let found = scope.find(Kind::Prompts, &name, &self.sees(context)).await;
                let (attached, wire) = found.ok_or_else(|| unknown("prompt", &name))?;
                if let Some(of) = params.get_mut("ref").and_then(|of| of.get_mut("name")) {
                    *of = Value::from(wire);
                }
                (attached, name)
            }
            (Some("ref/resource"), _, Some(uri)) => {
                (self.owner(context, &uri).await.ok_or_else(|| no_resource(&uri))?, uri)
            }
            _ => {
                let message =
                    "invalid parameters for `completion/complete`: `ref` names neither a prompt nor a resource";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        if !params.get("argument").is_some_and(Value::is_object) {
            let message = "invalid parameters for `completion/complete`: `argument` is not an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        let options = options(context, PassedInput::new());
        let result = attached.client.request("completion/complete", params, options).await;
        result.map_err(|error| of_request("completion", &name, error))
    }

    async fn set_level(&self, params: &Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
        const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
        let level = params.get("level").filter(|level| level.as_str().is_some_and(|level| LEVELS.contains(&level)));
        let Some(level) = level else {
            let levels = LEVELS.join(", ");
            let message = format!("invalid parameters for `logging/setLevel`: `level` must be one of {levels}");
            return Err(ErrorData::invalid_params(message, None));
        };
        let scope = self.scope(context).await;
        scope.level.send_replace(Some(level.clone()));
        // Other servers receive the level when they connect. Servers that are shared by all clients receive none.
        let upstreams = scope.upstreams();
        let connected =
            upstreams.iter().filter(|attached| !attached.upstream.is_shared() && attached.client.is_connected());
        let all = connected.map(|attached| tell_level(&attached.client, level.clone()));
        if tokio::time::timeout(PATIENCE_FOR_LEVELS, join_all(all)).await.is_err() {
            tracing::debug!("setting the log level of some servers takes long");
        }
        Ok(json!({}))
    }

    async fn subscribe(&self, params: SubscribeRequestParams, context: &Context) -> Result<Value, ErrorData> {
        let uri = params.uri;
        may_subscribe(&lock(&self.subscriptions), &uri)?;
        let attached = self.owner(context, &uri).await.ok_or_else(|| no_resource(&uri))?;
        let updates = attached.client.subscribe(uri.clone()).await;
        let updates = updates.map_err(|error| of_request("resource", &uri, error))?;
        let mut watched = Watched::new(attached.client.clone(), updates);
        let (session, params) = (context.session.clone(), named(&uri));
        let mut telling = JoinSet::new();
        telling.spawn(async move {
            while watched.changed().await {
                if session.notify(MethodCall::new("notifications/resources/updated", params.clone())).await.is_err() {
                    return;
                }
            }
        });
        let mut subscriptions = lock(&self.subscriptions);
        // Others may have come meanwhile.
        may_subscribe(&subscriptions, &uri)?;
        subscriptions.insert(uri, telling);
        Ok(json!({}))
    }

    fn unsubscribe(&self, params: &UnsubscribeRequestParams) -> Value {
        lock(&self.subscriptions).remove(&params.uri);
        json!({})
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

fn named(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}
