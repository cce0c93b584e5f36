//! Reports a call to observers: the whole call, and each attempt of a client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tracing::Span;

use super::event::{CallKind, CallOutcome, CallSource, Event, ToolInvoked};
use super::metrics::{self, Timing};
use super::observer::Observer;
use super::spans::CallSpan;
use crate::{CallError, Caller, ToolCall, ToolResult};

/// A call of the program, of which whoever watches is told once, also where nobody waits for its end.
pub(crate) struct Invocation {
    observer: Arc<Observer>,
    server: String,
    tool: String,
    is_bound: bool,
    kind: CallKind,
    source: CallSource,
    caller: Option<Arc<Caller>>,
    arguments: Option<Map<String, Value>>,
    begun: Instant,
    is_over: bool,
}

impl Invocation {
    /// None where nobody would hear of it.
    pub(crate) fn begin(observer: &Arc<Observer>, call: &ToolCall) -> Option<Self> {
        let is_heard = observer.is_heard();
        (is_heard || metrics::ARE_KEPT).then(|| Self {
            observer: observer.clone(),
            server: observer.server_of(call).to_owned(),
            tool: observer.name(&call.tool),
            is_bound: call.spec.is_some(),
            kind: observer.kind_of(call),
            source: match CallSource::of(call) {
                CallSource::Named(name) => CallSource::Named(observer.name(&name)),
                other => other,
            },
            caller: call.caller().cloned(),
            arguments: if is_heard { observer.arguments(&call.arguments) } else { None },
            begun: Instant::now(),
            is_over: false,
        })
    }

    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        let result = || self.observer.result(outcome.as_ref().ok()?);
        let result = if self.observer.is_heard() { result() } else { None };
        self.tell(CallOutcome::of(outcome), result);
    }

    fn tell(&mut self, outcome: CallOutcome, result: Option<Value>) {
        self.is_over = true;
        metrics::call_ended(&self.server, &self.tool, self.is_bound, outcome);
        let duration: Duration = self.begun.elapsed();
        let (server, tool) = (std::mem::take(&mut self.server), std::mem::take(&mut self.tool));
        let source = std::mem::replace(&mut self.source, CallSource::Untyped);
        let (kind, caller, arguments) = (self.kind, self.caller.take(), self.arguments.take());
        self.observer.publish(|| {
            Event::ToolInvoked(ToolInvoked { server, tool, kind, source, caller, duration, outcome, arguments, result })
        });
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        if !self.is_over {
            self.tell(CallOutcome::Dropped, None);
        }
    }
}

/// One try of a client to make a call.
pub(crate) struct Try {
    observer: Arc<Observer>,
    span: CallSpan,
    timing: Timing,
}

impl Try {
    /// `is_all` where nothing around the client tells of the call.
    pub(crate) fn begin(observer: &Arc<Observer>, call: &ToolCall, is_all: bool) -> Self {
        let timing = Timing::of(observer.name(&call.tool), call.spec.is_some());
        Self { observer: observer.clone(), span: CallSpan::of_try(observer, call, is_all), timing }
    }

    /// The request is about to be made.
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
