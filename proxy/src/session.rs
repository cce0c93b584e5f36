//! The eras of a client: the start of a session, and the required context of a request without one.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_runtime::__private::rpc::{Boxed, OpenLimits, Question, Respond, Session};
use rmcp::model::{ErrorCode, ErrorData, InitializeRequestParams, ProtocolVersion};
use serde_json::{Map, Value, json};

use super::client_state::ClientState;
use super::context::{CAPABILITIES, SERVER_INFO, VERSION, Visit, is_modern};
use super::outcome::cancelled;
use super::requests::parsed;
use super::shared::Shared;

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
        let meta = match params.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        let version = meta.get(VERSION).and_then(Value::as_str);
        if let Some(version) = version
            && !ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
        {
            return Err(unsupported(version));
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

    /// Begins a session. A version that sessions do not have is answered with the latest that they have.
    fn initialize(&self, client: InitializeRequestParams) -> Result<Value, ErrorData> {
        let asked = &client.protocol_version;
        let is_known = asked.has_initialize() && ProtocolVersion::KNOWN_VERSIONS.contains(asked);
        let version = if is_known { asked } else { &ProtocolVersion::LATEST_WITH_INITIALIZE };
        let result = self.instructed(json!({
            "protocolVersion": version,
            "capabilities": self.proxy.capabilities(true),
            "serverInfo": Shared::own_info(),
        }));
        // The first of two handshakes counts.
        let _ = self.client.set(client);
        Ok(result)
    }

    /// Says what there is without a session.
    pub(super) fn discover(&self) -> Value {
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

/// Checks that a request without a session carries the required context.
fn complete(meta: &Map<String, Value>) -> Result<(), ErrorData> {
    let there = [
        (VERSION, meta.get(VERSION).is_some_and(Value::is_string)),
        (CAPABILITIES, meta.get(CAPABILITIES).is_some_and(Value::is_object)),
    ];
    let missing: Vec<&str> = there.into_iter().filter_map(|(key, is_there)| (!is_there).then_some(key)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "`_meta` of the request lacks {}; a request without a session must have them, and a session begins with `initialize`",
        missing.join(", ")
    );
    Err(ErrorData::invalid_params(message, None))
}

fn unsupported(version: &str) -> ErrorData {
    let data = json!({ "requested": version, "supported": ProtocolVersion::KNOWN_VERSIONS });
    ErrorData::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", Some(data))
}
