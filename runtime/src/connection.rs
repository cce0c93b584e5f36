//! One open connection to a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputResponses, ListPromptsRequest,
    ListResourceTemplatesRequest, ListToolsRequest, PaginatedRequestParams,
};
use rmcp::service::{Peer, RoleClient, RunningService};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::handler::{Elicitor, Handler, elicit};
use crate::request::{RequestError, request};
use crate::transport::open::Link;

const MAX_INPUT_ROUNDS: usize = 10;
const PAUSE_BEFORE_ASKING_AGAIN: Duration = Duration::from_millis(100);
#[cfg(feature = "http")]
const HEADER_MISMATCH: i32 = -32020;

/// What can be listed.
#[derive(Clone, Copy)]
pub(crate) enum Listing {
    Tools,
    Prompts,
    ResourceTemplates,
}

impl Listing {
    /// The key of the items in a result, and the capability that promises them.
    pub(crate) fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "tools"),
            Self::Prompts => ("prompts", "prompts"),
            Self::ResourceTemplates => ("resourceTemplates", "resources"),
        }
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() }),
            Self::Prompts => ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..Default::default() }),
            Self::ResourceTemplates => ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params,
                ..Default::default()
            }),
        }
    }
}

/// What an open connection consists of.
pub(crate) struct Connection {
    pub(crate) service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) link: Link,
    /// The protocol version that was agreed.
    pub(crate) protocol_version: String,
    /// What the server answered to `initialize` or `server/discover`, as sent.
    pub(crate) handshake: Value,
    /// The client capabilities that were declared.
    pub(crate) declared: Value,
    pub(crate) list_changes: Arc<AtomicU64>,
    pub(crate) elicitor: Option<Elicitor>,
}

impl Connection {
    pub(crate) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// How often the server has said that its list of tools changed.
    pub(crate) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Relaxed)
    }

    /// Closes the connection and, where the server is a child process, waits for its end.
    pub(crate) async fn close(&self) {
        if let Some(service) = self.service.lock().await.take() {
            // The outcome is that of a task which has nothing left to say.
            let _ = service.cancel().await;
        }
    }

    /// One page of a list.
    pub(crate) async fn list_page(
        &self,
        listing: Listing,
        cursor: Option<String>,
        patience: Duration,
    ) -> Result<Value, RequestError> {
        request(&self.peer, listing.request(cursor), patience).await
    }

    /// Calls a tool, answering what the server asks in between, and gives the raw result.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        patience: Duration,
    ) -> Result<Value, RequestError> {
        let deadline = Instant::now() + patience;
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        for _ in 0..MAX_INPUT_ROUNDS {
            let left = deadline.saturating_duration_since(Instant::now());
            let call = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            let result = request(&self.peer, call, left).await?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(result);
            }
            params.request_state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
            params.input_responses = match result.get("inputRequests") {
                Some(Value::Object(requests)) if !requests.is_empty() => {
                    let answers = tokio::time::timeout_at(deadline, self.answer(requests));
                    Some(answers.await.map_err(|_| RequestError::Timeout)??)
                }
                _ => {
                    tokio::time::sleep(PAUSE_BEFORE_ASKING_AGAIN).await;
                    None
                }
            };
        }
        Err(RequestError::Refused(format!("the server asked for input {MAX_INPUT_ROUNDS} times without an end")))
    }

    async fn answer(&self, requests: &Map<String, Value>) -> Result<InputResponses, RequestError> {
        let mut answers = InputResponses::new();
        for (key, asked) in requests {
            let params = asked.get("params").cloned().unwrap_or_default();
            let answer = match asked.get("method").and_then(Value::as_str).unwrap_or_default() {
                "elicitation/create" => elicit(self.elicitor.as_ref(), params).await,
                "roots/list" => serde_json::json!({"roots": []}),
                other => {
                    let message = format!("the server asks for `{other}`, which this client does not answer");
                    return Err(RequestError::Refused(message));
                }
            };
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }

    /// Whether the server refused a call for want of a header that only its list of tools tells of.
    #[cfg(feature = "http")]
    pub(crate) fn wants_headers(&self, error: &RequestError) -> bool {
        self.link.param_headers.is_some()
            && matches!(error, RequestError::Rpc(error) if error.code.0 == HEADER_MISMATCH)
    }
}
