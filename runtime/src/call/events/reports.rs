//! Reports of calls: as events and metrics, and as `tracing` spans, with the names of OpenTelemetry's semantic
//! conventions for MCP and GenAI, version 1.41 (`open-telemetry/semantic-conventions-genai`, status Development). Other
//! names begin with `mcp_bindgen.`; `otel.*` is for `tracing-opentelemetry`.
//!
//! Spans omit `mcp.session.id`, because it grants access to the session. They omit the status description, because a
//! server may repeat in it what it received.

use std::mem;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::RequestId;
use serde_json::Value;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use super::event::{ApprovalAsked, CallKind, CallOutcome, CallSource, Event, ToolInvoked};
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
            otel.name = Empty, otel.kind = $kind, otel.status_code = Empty,
            mcp.method.name = Empty, mcp.protocol.version = Empty,
            gen_ai.operation.name = Empty, gen_ai.tool.name = Empty,
            gen_ai.tool.call.arguments = Empty, gen_ai.tool.call.result = Empty,
            jsonrpc.request.id = Empty, rpc.response.status_code = Empty, "error.type" = Empty,
            network.transport = Empty, server.address = Empty, server.port = Empty,
            mcp_bindgen.server = Empty, mcp_bindgen.source = Empty,
        )
    };
}

impl Observer {
    /// Returns the server of a call.
    fn server_of<'c>(&'c self, call: &'c ToolCall) -> &'c str {
        self.endpoint.as_ref().map_or(&call.server, |endpoint| &endpoint.server)
    }

    /// Returns the source of a call, as it is shown.
    fn source_of(&self, call: &ToolCall) -> CallSource {
        match (call.options.given().source.as_deref(), call.spec) {
            (Some(name), _) => CallSource::Named(self.name(name)),
            (None, Some(_)) => CallSource::Bindings,
            (None, None) => CallSource::Untyped,
        }
    }

    pub(crate) fn approval_asked(&self, call: &ToolCall) {
        self.publish(|| {
            Event::ApprovalAsked(ApprovalAsked {
                server: self.server_of(call).to_owned(),
                tool: self.name(&call.tool),
                arguments: self.arguments(&call.arguments),
            })
        });
    }
}

/// Makes a call, and reports its outcome to the observer, even if the program drops it.
pub(crate) async fn report(
    observer: &Arc<Observer>,
    mut call: ToolCall,
    make: impl AsyncFnOnce(ToolCall) -> Result<ToolResult, CallError>,
) -> Result<ToolResult, CallError> {
    call.passage.observe_with(observer);
    let mut invocation = Invocation::begin(observer, &call);
    let outcome = make(call).await;
    invocation.end(Some(&outcome));
    outcome
}

/// A call of the program, which is reported once.
struct Invocation {
    observer: Arc<Observer>,
    is_bound: bool,
    begun: Instant,
    /// The event to publish at the end, until then with the outcome of a dropped call; `None` if nothing observed the
    /// beginning.
    event: Option<ToolInvoked>,
}

impl Invocation {
    fn begin(observer: &Arc<Observer>, call: &ToolCall) -> Self {
        let has_subscribers = observer.has_subscribers();
        let is_template = observer.kind == CallKind::Mcp && call.options.given().is_template;
        let event = (has_subscribers || metrics::ARE_KEPT).then(|| ToolInvoked {
            server: observer.server_of(call).to_owned(),
            tool: observer.name(&call.tool),
            kind: if is_template { CallKind::Template } else { observer.kind },
            source: observer.source_of(call),
            caller: call.caller().cloned(),
            duration: Duration::ZERO,
            outcome: CallOutcome::Dropped,
            reason: None,
            arguments: if has_subscribers { observer.arguments(&call.arguments) } else { None },
            result: None,
        });
        Self { observer: observer.clone(), is_bound: call.spec.is_some(), begun: Instant::now(), event }
    }

    /// Publishes the event, once; without an outcome the call was dropped.
    fn end(&mut self, outcome: Option<&Result<ToolResult, CallError>>) {
        let Some(event) = self.event.take() else { return };
        let (duration, ended) = (self.begun.elapsed(), outcome);
        let outcome = ended.map_or(CallOutcome::Dropped, CallOutcome::of);
        if metrics::ARE_KEPT {
            metrics::call_ended(&event.server, &event.tool, self.is_bound, outcome);
        }
        self.observer.publish(|| {
            let result = ended.and_then(|ended| self.observer.result(ended.as_ref().ok()?));
            let reason = ended.and_then(|ended| self.observer.reason(ended));
            Event::ToolInvoked(ToolInvoked { duration, outcome, reason, result, ..event })
        });
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// Reports a call, or one try of it, as a span, and the request of a try as a metric.
pub(crate) struct CallSpan {
    pub(crate) span: Span,
    observer: Arc<Observer>,
    is_bound: bool,
    /// `true` if this span is the whole operation, and records the call's content.
    is_all: bool,
    /// When the request of a try was sent, and the protocol version.
    sent: OnceLock<(Instant, String)>,
}

impl CallSpan {
    /// Opens the span around all attempts of a call, including calls that a layer answers.
    pub(crate) fn of_all(observer: &Arc<Observer>, call: &ToolCall) -> Self {
        Self::begin(call_span!(OPERATION, "internal"), OPERATION, observer, call, true)
    }

    /// Opens the span of one request. A span around all attempts, if any, is the agent's operation; `is_all` is `true`
    /// if there is none.
    pub(crate) fn of_try(observer: &Arc<Observer>, call: &ToolCall, is_all: bool) -> Self {
        Self::begin(call_span!(METHOD, "client"), METHOD, observer, call, is_all)
    }

    fn begin(span: Span, what: &str, observer: &Arc<Observer>, call: &ToolCall, is_all: bool) -> Self {
        if !span.is_disabled() {
            let tool = observer.name(&call.tool);
            span.record("otel.name", format!("{what} {tool}"));
            span.record("gen_ai.tool.name", tool);
            span.record("mcp_bindgen.server", observer.server_of(call));
            span.record("mcp_bindgen.source", observer.source_of(call).as_str());
            if let Some(endpoint) = observer.endpoint.as_ref().filter(|_| what == METHOD) {
                span.record("mcp.method.name", METHOD);
                span.record("network.transport", endpoint.transport);
                span.record("server.address", endpoint.address.as_deref());
                span.record("server.port", endpoint.port);
            }
            if is_all {
                span.record("gen_ai.operation.name", OPERATION);
                let arguments = observer.arguments(&call.arguments);
                span.record("gen_ai.tool.call.arguments", arguments.map(|object| Value::Object(object).to_string()));
            }
        }
        let (observer, is_bound) = (observer.clone(), call.spec.is_some());
        Self { span, observer, is_bound, is_all, sent: OnceLock::new() }
    }

    /// Records the protocol version right before the request is sent.
    pub(crate) fn connected(&self, protocol_version: &str) {
        self.span.record("mcp.protocol.version", protocol_version);
        self.sent.get_or_init(|| (Instant::now(), protocol_version.to_owned()));
    }

    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        if metrics::ARE_KEPT
            && let (Some(endpoint), Some((begun, protocol_version))) = (&self.observer.endpoint, self.sent.take())
        {
            let tool = self.observer.name(outcome.as_ref().map_or_else(CallError::tool, |result| &result.tool));
            let request = (begun.elapsed(), protocol_version);
            metrics::request_ended(endpoint, (&tool, self.is_bound), request, outcome);
        }
        let span = mem::replace(&mut self.span, Span::none());
        if span.is_disabled() {
            return;
        }
        if let Ok(result) = outcome
            && self.is_all
        {
            let result = self.observer.result(result);
            span.record("gen_ai.tool.call.result", result.map(|result| result.to_string()));
        }
        let code = if let Err(CallError::Rpc { code, .. }) = outcome { Some(code.to_string()) } else { None };
        span.record("rpc.response.status_code", code.as_deref());
        let outcome = CallOutcome::of(outcome);
        if outcome.is_failure() {
            failed(&span, code.as_deref().unwrap_or(outcome.as_str()));
        }
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        // The span of a call that has ended is gone.
        if !self.span.is_disabled() {
            failed(&self.span, CallOutcome::Dropped.as_str());
        }
    }
}

fn failed(span: &Span, how: &str) {
    span.record("error.type", how);
    span.record("otel.status_code", "ERROR");
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
