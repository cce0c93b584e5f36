//! Reports a call to observers: the whole call, and each attempt of a client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tracing::Span;

use super::event::{CallOutcome, CallSource, Event, ToolInvoked};
use super::metrics::{self, Timing};
use super::observer::Observer;
use super::spans::CallSpan;
use crate::{CallError, ToolCall, ToolResult};

/// A call of the program. It reports one outcome to observers, even if the program drops the call.
pub(crate) struct Invocation {
    observer: Arc<Observer>,
    is_bound: bool,
    begun: Instant,
    /// The event to publish at the end, until then with the outcome of a dropped call.
    event: Option<ToolInvoked>,
}

impl Invocation {
    /// Begins a call; returns `None` if nothing observes it.
    pub(crate) fn begin(observer: &Arc<Observer>, call: &ToolCall) -> Option<Self> {
        let is_heard = observer.bus.is_heard();
        (is_heard || metrics::ARE_KEPT).then(|| Self {
            observer: observer.clone(),
            is_bound: call.spec.is_some(),
            begun: Instant::now(),
            event: Some(ToolInvoked {
                server: observer.server_of(call).to_owned(),
                tool: observer.name(&call.tool),
                kind: observer.kind_of(call),
                source: match CallSource::of(call) {
                    CallSource::Named(name) => CallSource::Named(observer.name(&name)),
                    other => other,
                },
                caller: call.caller().cloned(),
                duration: Duration::ZERO,
                outcome: CallOutcome::Dropped,
                arguments: if is_heard { observer.arguments(&call.arguments) } else { None },
                result: None,
            }),
        })
    }

    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        let result = || self.observer.result(outcome.as_ref().ok()?);
        let result = if self.observer.bus.is_heard() { result() } else { None };
        self.tell(CallOutcome::of(outcome), result);
    }

    fn tell(&mut self, outcome: CallOutcome, result: Option<Value>) {
        let Some(event) = self.event.take() else { return };
        metrics::call_ended(&event.server, &event.tool, self.is_bound, outcome);
        let duration = self.begun.elapsed();
        self.observer.bus.publish(|| Event::ToolInvoked(ToolInvoked { duration, outcome, result, ..event }));
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        self.tell(CallOutcome::Dropped, None);
    }
}

/// One try of a client to make a call.
pub(crate) struct Try {
    observer: Arc<Observer>,
    span: CallSpan,
    timing: Timing,
}

impl Try {
    /// Begins an attempt; `is_all` is `true` if no layer around the client reports the call.
    pub(crate) fn begin(observer: &Arc<Observer>, call: &ToolCall, is_all: bool) -> Self {
        let timing = Timing::of(observer.name(&call.tool), call.spec.is_some());
        Self { observer: observer.clone(), span: CallSpan::of_try(observer, call, is_all), timing }
    }

    /// Records the protocol version right before the request is sent.
    pub(crate) fn connected(&self, protocol_version: &str) {
        self.span.connected(protocol_version);
        self.timing.begin(protocol_version);
    }

    pub(crate) fn span(&self) -> Span {
        self.span.span()
    }

    pub(crate) fn end(self, outcome: &Result<ToolResult, CallError>) {
        let Observer { endpoint, .. } = &*self.observer;
        self.timing.end(self.observer.server(), endpoint, CallOutcome::of(outcome), outcome.as_ref().err());
        self.span.end(outcome);
    }
}
