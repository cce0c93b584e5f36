//! Calls as `tracing` spans, with the names of OpenTelemetry's semantic conventions for MCP and GenAI, version 1.41
//! (`open-telemetry/semantic-conventions-genai`, status Development). Other names begin with `mcp_bindgen.`; `otel.*`
//! is for `tracing-opentelemetry`.
//!
//! Spans omit `mcp.session.id`, because it grants access to the session. They omit the status description, because a
//! server may repeat in it what it received.

use std::sync::{Arc, OnceLock};

use rmcp::model::RequestId;
use serde_json::Value;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use super::event::{CallOutcome, CallSource};
use super::observer::Observer;
use super::{METHOD, OPERATION, metrics};
use crate::{CallError, ToolCall, ToolResult};

const TARGET: &str = "mcp_bindgen::calls";

/// Opens a span of this name and kind. Its other attributes are recorded as they are known.
macro_rules! call_span {
    ($name:ident, $kind:literal) => {
        tracing::info_span!(
            target: TARGET,
            $name,
            otel.name = Empty,
            otel.kind = $kind,
            otel.status_code = Empty,
            mcp.method.name = Empty,
            mcp.protocol.version = Empty,
            gen_ai.operation.name = Empty,
            gen_ai.tool.name = Empty,
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            jsonrpc.request.id = Empty,
            rpc.response.status_code = Empty,
            "error.type" = Empty,
            network.transport = Empty,
            server.address = Empty,
            server.port = Empty,
            mcp_bindgen.server = Empty,
            mcp_bindgen.source = Empty,
        )
    };
}

/// Reports a call, or one try of it, as a span, and the request of a try as a metric.
pub(crate) struct CallSpan {
    pub(crate) span: Span,
    observer: Arc<Observer>,
    is_bound: bool,
    /// `true` if this span records the call's content.
    has_content: bool,
    /// When the request of a try was sent, and the protocol version.
    sent: OnceLock<(Instant, String)>,
    has_ended: bool,
}

impl CallSpan {
    /// Opens the span around all attempts of a call, including calls that a layer answers.
    pub(crate) fn of_all(observer: &Arc<Observer>, call: &ToolCall) -> Self {
        let span = call_span!(OPERATION, "internal");
        if !span.is_disabled() {
            span.record("gen_ai.operation.name", OPERATION);
        }
        Self::begin(span, OPERATION, observer, call, true)
    }

    /// Opens the span of one request. A span around all attempts, if any, is the agent's operation; `is_all` is `true`
    /// if there is none.
    pub(crate) fn of_try(observer: &Arc<Observer>, call: &ToolCall, is_all: bool) -> Self {
        let span = call_span!(METHOD, "client");
        if !span.is_disabled() {
            span.record("mcp.method.name", METHOD);
            span.record("gen_ai.operation.name", is_all.then_some(OPERATION));
            span.record("network.transport", observer.endpoint.transport);
            span.record("server.address", observer.endpoint.address.as_deref());
            span.record("server.port", observer.endpoint.port);
        }
        Self::begin(span, METHOD, observer, call, is_all)
    }

    fn begin(span: Span, what: &str, observer: &Arc<Observer>, call: &ToolCall, has_content: bool) -> Self {
        if !span.is_disabled() {
            let tool = observer.name(&call.tool);
            span.record("otel.name", format!("{what} {tool}"));
            span.record("gen_ai.tool.name", tool);
            span.record("mcp_bindgen.server", observer.server_of(call));
            span.record("mcp_bindgen.source", observer.name(CallSource::of(call).as_str()));
            if has_content {
                let arguments = observer.arguments(&call.arguments);
                span.record("gen_ai.tool.call.arguments", arguments.map(|object| Value::Object(object).to_string()));
            }
        }
        let (observer, is_bound) = (observer.clone(), call.spec.is_some());
        Self { span, observer, is_bound, has_content, sent: OnceLock::new(), has_ended: false }
    }

    /// Records the protocol version right before the request is sent.
    pub(crate) fn connected(&self, protocol_version: &str) {
        self.span.record("mcp.protocol.version", protocol_version);
        self.sent.get_or_init(|| (Instant::now(), protocol_version.to_owned()));
    }

    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        self.has_ended = true;
        if metrics::ARE_KEPT
            && let Some((begun, protocol_version)) = self.sent.take()
        {
            let tool = self.observer.name(outcome.as_ref().map_or_else(CallError::tool, |result| &result.tool));
            let (server, request) = (self.observer.server(), (begun.elapsed(), protocol_version));
            metrics::request_ended((server, &self.observer.endpoint), (&tool, self.is_bound), request, outcome);
        }
        if self.span.is_disabled() {
            return;
        }
        if let Ok(result) = outcome
            && self.has_content
        {
            let result = self.observer.result(result);
            self.span.record("gen_ai.tool.call.result", result.map(|result| result.to_string()));
        }
        let code = match outcome {
            Err(CallError::Rpc { code, .. }) => Some(code.to_string()),
            _ => None,
        };
        self.span.record("rpc.response.status_code", code.as_deref());
        let outcome = CallOutcome::of(outcome);
        if outcome.is_failure() {
            self.failed(code.as_deref().unwrap_or(outcome.as_str()));
        }
    }

    fn failed(&self, how: &str) {
        self.span.record("error.type", how);
        self.span.record("otel.status_code", "ERROR");
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.has_ended && !self.span.is_disabled() {
            self.failed(CallOutcome::Dropped.as_str());
        }
    }
}

/// Records the request id of a call in the current span. If a server asks for input, a call has several requests, and
/// the last id stays.
pub(crate) fn note_request(id: &RequestId) {
    let span = Span::current();
    let is_ours = span.metadata().is_some_and(|metadata| metadata.target() == TARGET && metadata.name() == METHOD);
    if is_ours {
        span.record("jsonrpc.request.id", id.to_string());
    }
}
