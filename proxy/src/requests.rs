//! Answers requests of clients: by their protocol version, and by their methods.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_runtime::__private::rpc::{Boxed, OpenLimits, Question, Respond, Session};
use mcp_bindgen_runtime::PassedInput;
use rmcp::model::{
    ErrorCode, ErrorData, InitializeRequestParams, ProtocolVersion, SubscribeRequestParams, UnsubscribeRequestParams,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::attached::Kind;
use super::call::options;
use super::client_state::{ClientState, Context};
use super::context::{SERVER_INFO, VERSION, Visit, complete, is_known, is_modern, session_version};
use super::listening::{listen, named, subscribe};
use super::lock::lock;
use super::outcome::{cancelled, fitted, of_request, unknown};
use super::shared::{SKILLS_POINTER, Shared};

/// How much of one client is worked on at once, and how long after its last message. Over HTTP the limits are those of the
/// options.
const OPEN: OpenLimits = OpenLimits { requests: 1024, bytes: 64 * 1024 * 1024, at_the_end: Duration::from_secs(5) };

/// The methods that requests without a session do not have.
const OF_SESSIONS: [&str; 4] = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
const LISTEN: &str = "subscriptions/listen";

impl Respond for ClientState {
    fn limits(&self) -> OpenLimits {
        // Over HTTP the transport limits callers.
        if self.visits.is_some() { OpenLimits { requests: usize::MAX, bytes: usize::MAX, ..OPEN } } else { OPEN }
    }

    /// Requests may follow the handshake before it is answered.
    fn at_once(&self, Question { method, params, .. }: &Question) -> Option<Result<Value, ErrorData>> {
        let version = params.get("_meta").and_then(|meta| meta.get(VERSION)).and_then(Value::as_str);
        let begins = method == "initialize" && !version.is_some_and(is_modern);
        begins.then(|| self.initialize(parsed(method, params.as_object().cloned().unwrap_or_default())?))
    }

    fn respond(self: Arc<Self>, session: Session, question: Question) -> Boxed<Result<Value, ErrorData>> {
        Box::pin(async move { self.answer(session, question).await })
    }
}

impl ClientState {
    async fn answer(&self, session: Session, Question { id, method, params }: Question) -> Result<Value, ErrorData> {
        let mut params = match params {
            Value::Object(params) => params,
            Value::Null => Map::new(),
            _ => return Err(ErrorData::invalid_request("`params` must be an object", None)),
        };
        let meta = params.shift_remove("_meta").and_then(|mut meta| meta.as_object_mut().map(std::mem::take));
        let meta = meta.unwrap_or_default();
        let version = meta.get(VERSION).and_then(Value::as_str);
        if let Some(version) = version.filter(|version| !is_known(version)) {
            let data = json!({ "requested": version, "supported": ProtocolVersion::KNOWN_VERSIONS });
            let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
            return Err(ErrorData::new(code, "Unsupported protocol version", Some(data)));
        }
        let may_be_in_session = match method.as_str() {
            // It may come before the handshake.
            "ping" => true,
            "server/discover" => false,
            _ => self.client.get().is_some(),
        };
        let is_stateless = !may_be_in_session || version.is_some_and(is_modern);
        if is_stateless {
            complete(&meta)?;
        }
        let is_of_other_era = if is_stateless { OF_SESSIONS.contains(&method.as_str()) } else { method == LISTEN };
        if is_of_other_era {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let visit = match &self.visits {
            Some(visits) => visits(&id).ok_or_else(cancelled)?,
            None => Visit::default(),
        };
        // It may come before the handshake, on which the connections depend.
        if method == "ping" {
            return Ok(json!({}));
        }
        self.dispatch(&method, params, &self.context(id, session, meta, visit)).await
    }

    /// Answers a request. Dropping the future gives it up.
    async fn dispatch(&self, method: &str, params: Map<String, Value>, context: &Context) -> Result<Value, ErrorData> {
        if let Some(kind) = Kind::of_method(method) {
            return list(kind, &params, context).await;
        }
        let result = match method {
            "server/discover" => self.discover(),
            "tools/call" => self.call(parsed(method, params)?, context).await?,
            "prompts/get" | "completion/complete" | "resources/read" => relay(method, params, context).await?,
            "resources/subscribe" => subscribe(self, parsed(method, params)?, context).await?,
            "resources/unsubscribe" => {
                let UnsubscribeRequestParams { uri, .. } = parsed(method, params)?;
                lock(&self.subscriptions).remove(&uri);
                json!({})
            }
            "logging/setLevel" => set_level(&params, context)?,
            "skills/get" => skill(parsed(method, params)?, context).await?,
            "subscriptions/listen" => listen(self, parsed(method, params)?, context).await?,
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        };
        Ok(fitted(result, context.is_modern, matches!(method, "resources/read" | "skills/get")))
    }

    /// Begins a session. A version that sessions do not have is answered with the latest that they have.
    fn initialize(&self, client: InitializeRequestParams) -> Result<Value, ErrorData> {
        let result = self.instructed(json!({
            "protocolVersion": session_version(client.protocol_version.as_str()),
            "capabilities": self.proxy.capabilities(true),
            "serverInfo": Shared::own_info(),
        }));
        // The first of two handshakes counts.
        let _ = self.client.set(client);
        Ok(result)
    }

    /// Says what there is without a session.
    fn discover(&self) -> Value {
        self.instructed(json!({
            "resultType": "complete",
            "supportedVersions": ProtocolVersion::KNOWN_VERSIONS,
            "capabilities": self.proxy.capabilities(false),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": { SERVER_INFO: Shared::own_info() },
        }))
    }

    fn instructed(&self, mut result: Value) -> Value {
        if let (Some(fields), Some(text)) = (result.as_object_mut(), &self.proxy.instructions) {
            fields.insert("instructions".to_owned(), text.clone().into());
        }
        result
    }
}

/// Reads the parameters of a method.
///
/// # Errors
/// They do not have the form that the protocol gives them.
fn parsed<T: DeserializeOwned>(method: &str, params: Map<String, Value>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(params))
        .map_err(|error| ErrorData::invalid_params(format!("invalid parameters for `{method}`: {error}"), None))
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
