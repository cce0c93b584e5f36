//! What the server may ask of us and tell us.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value, json};

/// A question that a server puts to the user in the middle of a call (`elicitation/create`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// What the server wants to know, in the server's words.
    pub message: String,
    /// The JSON Schema of the answer, where it is a form.
    pub schema: Option<Value>,
    /// The parameters of the request, as sent.
    pub params: Value,
}

/// The answer to an [`ElicitationRequest`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationAnswer {
    /// The user gave this content.
    Accept(Map<String, Value>),
    /// The user said no.
    Decline,
    /// The user did not choose.
    Cancel,
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(crate) type Elicitor = Arc<dyn Fn(ElicitationRequest) -> BoxFuture<ElicitationAnswer> + Send + Sync>;

/// Answers `elicitation/create` with its parameters given and its result returned as JSON.
pub(crate) async fn elicit(elicitor: Option<&Elicitor>, params: Value) -> Value {
    let request = ElicitationRequest {
        message: params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        schema: params.get("requestedSchema").cloned(),
        params,
    };
    let answer = match elicitor {
        Some(elicitor) => elicitor(request).await,
        None => ElicitationAnswer::Decline,
    };
    match answer {
        ElicitationAnswer::Accept(content) => json!({"action": "accept", "content": content}),
        ElicitationAnswer::Decline => json!({"action": "decline"}),
        ElicitationAnswer::Cancel => json!({"action": "cancel"}),
    }
}

/// Our side of one connection.
pub(crate) struct Handler {
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) protocol_version: ProtocolVersion,
    pub(crate) elicitor: Option<Elicitor>,
    pub(crate) list_changes: Arc<AtomicU64>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), Implementation::new("mcp-bindgen", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(self.protocol_version.clone())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let internal = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        let params = serde_json::to_value(request).map_err(internal)?;
        let answer = elicit(self.elicitor.as_ref(), params).await;
        serde_json::from_value(answer).map_err(internal)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changes.fetch_add(1, Ordering::Relaxed);
    }
}
