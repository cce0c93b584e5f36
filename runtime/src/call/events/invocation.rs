//! Reports a call to observers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::event::{CallOutcome, CallSource, Event, ToolInvoked};
use super::metrics;
use super::observer::Observer;
use crate::{CallError, ToolCall, ToolResult};

/// Makes a call, and reports its outcome to the observer, even if the program drops it.
pub(crate) async fn report(
    observer: &Arc<Observer>,
    mut call: ToolCall,
    make: impl AsyncFnOnce(ToolCall) -> Result<ToolResult, CallError>,
) -> Result<ToolResult, CallError> {
    call.passage.observe_with(observer);
    let invocation = Invocation::begin(observer, &call);
    let outcome = make(call).await;
    if let Some(invocation) = invocation {
        invocation.end(&outcome);
    }
    outcome
}

/// A call of the program, which is reported once.
struct Invocation {
    observer: Arc<Observer>,
    is_bound: bool,
    begun: Instant,
    /// The event to publish at the end, until then with the outcome of a dropped call.
    event: Option<ToolInvoked>,
}

impl Invocation {
    /// Begins a call; returns `None` if nothing observes it.
    fn begin(observer: &Arc<Observer>, call: &ToolCall) -> Option<Self> {
        let has_subscribers = observer.bus.has_subscribers();
        (has_subscribers || metrics::ARE_KEPT).then(|| Self {
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
                arguments: if has_subscribers { observer.arguments(&call.arguments) } else { None },
                result: None,
            }),
        })
    }

    fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        let result = || self.observer.result(outcome.as_ref().ok()?);
        let result = if self.observer.bus.has_subscribers() { result() } else { None };
        self.publish(CallOutcome::of(outcome), result);
    }

    fn publish(&mut self, outcome: CallOutcome, result: Option<Value>) {
        let Some(event) = self.event.take() else { return };
        metrics::call_ended(&event.server, &event.tool, self.is_bound, outcome);
        let duration = self.begun.elapsed();
        self.observer.bus.publish(|| Event::ToolInvoked(ToolInvoked { duration, outcome, result, ..event }));
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        self.publish(CallOutcome::Dropped, None);
    }
}
