//! Answers requests of clients. rmcp's types lack some fields of servers, so each response is kept as JSON, and the
//! value that rmcp receives instead is discarded.

// Servers still have features that the protocol deprecates.
#![allow(deprecated)]

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_runtime::PassedInput;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::attached::{Attached, Kind};
use super::call::{options, passed};
use super::client_state::{ClientState, is_modern};
use super::listening::{MOST_WATCHED, Watched};
use super::notifications::tell_level;
use super::outcome::{cancelled, fitted, no_resource, of_request, unknown};
use super::shared::SKILLS_POINTER;

const PATIENCE_FOR_LEVELS: Duration = Duration::from_secs(20);
/// The methods that the protocol has, with parameters that must not be missing.
const KNOWN: [&str; 10] = [
    "skills/get",
    "tools/call",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "initialize",
];

/// Those of them that there are no more as of 2026-07-28.
const REMOVED: [&str; 4] = ["resources/subscribe", "resources/unsubscribe", "logging/setLevel", "initialize"];

/// One request.
pub(super) struct Request {
    session: Arc<ClientState>,
    raw: Mutex<Option<Value>>,
}

type Context = RequestContext<RoleServer>;

impl Request {
    pub(super) fn new(session: Arc<ClientState>) -> Self {
        Self { session, raw: Mutex::default() }
    }

    /// The answer, where it is not rmcp's.
    pub(super) fn into_raw(self) -> Option<Value> {
        self.raw.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, result: Value, context: &Context, is_cacheable: bool) {
        let result = fitted(result, is_modern(context), is_cacheable);
        *self.raw.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// Answers with a whole list; there are no pages.
    async fn list(
        &self,
        page: Option<PaginatedRequestParams>,
        context: &Context,
        (key, kind): (&str, Kind),
    ) -> Result<(), ErrorData> {
        if page.and_then(|page| page.cursor).is_some() {
            return Err(ErrorData::invalid_params("unknown `cursor`: lists of this server have one page", None));
        }
        let sees = self.session.sees(context);
        let (items, terms) = until_cancelled(context, async {
            let scope = self.session.scope(context).await;
            let items = match kind {
                Kind::Tools => scope.tools(&sees).await,
                Kind::Prompts => scope.prompts(&sees).await,
                Kind::Resources | Kind::ResourceTemplates | Kind::Skills => scope.resources(kind, &sees).await,
            };
            Ok((items, scope.terms(kind, &sees)))
        })
        .await?;
        let mut list = fields(json!({ key: items }));
        if is_modern(context) {
            let scope = if terms.is_public { "public" } else { "private" };
            list.insert("ttlMs".to_owned(), u64::try_from(terms.ttl.as_millis()).unwrap_or(u64::MAX).into());
            list.insert("cacheScope".to_owned(), scope.into());
        }
        self.keep(Value::Object(list), context, true);
        Ok(())
    }
}

impl Request {
    /// The entry of a skill, from the server that lists it, or else from the first that has it.
    async fn skill(&self, uri: &str, context: &Context) -> Result<Value, ErrorData> {
        until_cancelled(context, async {
            let scope = self.session.scope(context).await;
            let mut found = Err(unknown("skill", uri));
            let listing = self.session.owner(context, uri).await;
            let sees = self.session.sees(context);
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
                let options = options(&context.meta, is_modern(context), PassedInput::new());
                let result = attached.client.request("skills/get", fields(json!({ "uri": uri })), options).await;
                found = result.map_err(|error| of_request("skill", uri, error));
                if found.is_ok() {
                    break;
                }
            }
            found
        })
        .await
    }
}

/// Gives up with the request.
async fn until_cancelled<T>(
    context: &Context,
    future: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    tokio::select! {
        biased;
        () = context.ct.cancelled() => Err(cancelled()),
        result = future => result,
    }
}

/// Whether a client that has so many subscriptions may have this one.
fn may_subscribe(subscriptions: &HashMap<String, JoinSet<()>>, uri: &str) -> Result<(), ErrorData> {
    if subscriptions.len() < MOST_WATCHED || subscriptions.contains_key(uri) {
        return Ok(());
    }
    let message = format!("a client subscribes to {MOST_WATCHED} resources at most; unsubscribe from some first");
    Err(ErrorData::invalid_params(message, None))
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

impl ServerHandler for Request {
    fn get_info(&self) -> ServerConfig {
        self.session.proxy.info()
    }

    async fn discover(&self, _context: Context) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.session.proxy.info_without_session().await))
    }

    async fn call_tool(&self, params: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let result = self.session.call(params, &context).await?;
        self.keep(result, &context, false);
        Ok(CallToolResult::success(Vec::new()).into())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        self.list(page, &context, ("tools", Kind::Tools)).await?;
        Ok(ListToolsResult::default())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.list(page, &context, ("prompts", Kind::Prompts)).await?;
        Ok(ListPromptsResult::default())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.list(page, &context, ("resources", Kind::Resources)).await?;
        Ok(ListResourcesResult::default())
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.list(page, &context, ("resourceTemplates", Kind::ResourceTemplates)).await?;
        Ok(ListResourceTemplatesResult::default())
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let GetPromptRequestParams { name, arguments, input_responses, request_state, .. } = params;
        let result = until_cancelled(&context, async {
            let scope = self.session.scope(&context).await;
            let (attached, prompt) = scope
                .find(Kind::Prompts, &name, &self.session.sees(&context))
                .await
                .ok_or_else(|| unknown("prompt", &name))?;
            let _working = attached.open.begin(context.id.clone());
            let mut params = fields(json!({ "name": prompt }));
            if let Some(arguments) = arguments {
                params.insert("arguments".to_owned(), Value::Object(arguments));
            }
            let options = options(&context.meta, is_modern(&context), passed(input_responses, request_state));
            let result = attached.client.request("prompts/get", params, options).await;
            result.map_err(|error| of_request("prompt", &name, error))
        });
        let result = result.await?;
        self.keep(result, &context, false);
        Ok(GetPromptResult::new(Vec::new()).into())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let ReadResourceRequestParams { uri, input_responses, request_state, .. } = params;
        let result = until_cancelled(&context, async {
            let attached = self.session.owner(&context, &uri).await.ok_or_else(|| no_resource(&uri))?;
            let _working = attached.open.begin(context.id.clone());
            let options = options(&context.meta, is_modern(&context), passed(input_responses, request_state));
            let result = attached.client.request("resources/read", fields(json!({ "uri": uri })), options).await;
            result.map_err(|error| of_request("resource", &uri, error))
        });
        let result = result.await?;
        self.keep(result, &context, true);
        Ok(ReadResourceResult::new(Vec::new()).into())
    }

    async fn complete(&self, params: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        let mut asked = fields(serde_json::to_value(&params).unwrap_or_default());
        asked.shift_remove("_meta");
        let result = until_cancelled(&context, async {
            let scope = self.session.scope(&context).await;
            let (attached, name) = match &params.r#ref {
                Reference::Prompt(prompt) => {
                    let (attached, wire) = scope
                        .find(Kind::Prompts, &prompt.name, &self.session.sees(&context))
                        .await
                        .ok_or_else(|| unknown("prompt", &prompt.name))?;
                    if let Some(name) = asked.get_mut("ref").and_then(|of| of.get_mut("name")) {
                        *name = Value::from(wire);
                    }
                    (attached, prompt.name.as_str())
                }
                Reference::Resource(resource) => {
                    let attached =
                        self.session.owner(&context, &resource.uri).await.ok_or_else(|| no_resource(&resource.uri))?;
                    (attached, resource.uri.as_str())
                }
                _ => return Err(ErrorData::invalid_params("unknown type of `ref`", None)),
            };
            let options = options(&context.meta, is_modern(&context), PassedInput::new());
            let result = attached.client.request("completion/complete", asked, options).await;
            result.map_err(|error| of_request("completion", name, error))
        });
        let result = result.await?;
        self.keep(result, &context, false);
        Ok(CompleteResult::default())
    }

    async fn set_level(&self, params: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        let level = serde_json::to_value(params.level).unwrap_or_default();
        let scope = self.session.scope(&context).await;
        scope.level.send_replace(Some(level.clone()));
        // The others are told when they are connected, and those that are for all clients are none's.
        let upstreams = scope.upstreams();
        let connected =
            upstreams.iter().filter(|attached| !attached.upstream.is_shared() && attached.client.is_connected());
        let all = connected.map(|attached| tell_level(&attached.client, level.clone()));
        let all = tokio::time::timeout(PATIENCE_FOR_LEVELS, join_all(all));
        until_cancelled(&context, async {
            if all.await.is_err() {
                tracing::debug!("setting the log level of some servers takes long");
            }
            Ok(())
        })
        .await
    }

    async fn subscribe(&self, params: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        let uri = params.uri;
        may_subscribe(&self.session.subscriptions.lock().unwrap_or_else(PoisonError::into_inner), &uri)?;
        let mut watched = until_cancelled(&context, async {
            let attached = self.session.owner(&context, &uri).await.ok_or_else(|| no_resource(&uri))?;
            let updates = attached.client.subscribe(uri.clone()).await;
            let updates = updates.map_err(|error| of_request("resource", &uri, error))?;
            Ok(Watched::new(attached.client.clone(), updates))
        })
        .await?;
        let (peer, told) = (context.peer.clone(), uri.clone());
        let mut telling = JoinSet::new();
        telling.spawn(async move {
            while watched.changed().await {
                let params = rmcp::model::ResourceUpdatedNotificationParam::new(told.clone());
                if peer.notify_resource_updated(params).await.is_err() {
                    return;
                }
            }
        });
        let mut subscriptions = self.session.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        // Others may have come meanwhile.
        may_subscribe(&subscriptions, &uri)?;
        subscriptions.insert(uri, telling);
        Ok(())
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, _context: Context) -> Result<(), ErrorData> {
        self.session.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            // Further resources are not watched, and the client is told.
            uris.truncate(MOST_WATCHED);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let (caller, sees) = (self.session.caller(request), self.session.sees(request));
        super::listening::listen(&self.session, (&caller, &sees), &context).await
    }

    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let text = |key: &str| request.params.as_ref().and_then(|params| params.get(key)).and_then(Value::as_str);
        match (method, text("uri")) {
            ("skills/list", _) => {
                let page =
                    text("cursor").map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.into())));
                self.list(page, &context, ("skills", Kind::Skills)).await?;
                return Ok(CustomResult::new(Value::Null));
            }
            ("skills/get", Some(uri)) => {
                self.keep(self.skill(uri, &context).await?, &context, true);
                return Ok(CustomResult::new(Value::Null));
            }
            _ => {}
        }
        // Known methods with invalid parameters arrive here too.
        if KNOWN.contains(&method) && !(is_modern(&context) && REMOVED.contains(&method)) {
            let message = format!("invalid parameters for `{}`", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }
}
