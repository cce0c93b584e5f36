//! Records calls: in metrics, and in a log.

mod log;
mod metrics;

use std::time::{Instant, SystemTime};

use mcp_bindgen_model::digest;
use mcp_bindgen_runtime::events::CallOutcome;
use mcp_bindgen_runtime::{CallError, ToolCall, ToolResult};
use serde_json::{Value, json};

pub use self::log::{CallLog, CallLogError};
pub(crate) use self::metrics::Metrics;

/// The metrics and the log of a proxy.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) metrics: Metrics,
    pub(crate) log: Option<CallLog>,
}

impl Records {
    /// Begins the record of a call, which is written when it ends or is dropped.
    ///
    /// # Errors
    /// Fails if the log cannot be written: then no call is made.
    pub(crate) fn begin(&self, call: &ToolCall) -> Result<Record<'_>, CallError> {
        let (server, tool) = (call.server.to_string(), call.tool.to_string());
        let line = match &self.log {
            Some(log) => {
                log.check().map_err(|error| {
                    tracing::error!("calls are denied, because the log of calls cannot be written: {error}");
                    CallError::denied(&*call.server, &*call.tool, "the log of calls cannot be written")
                })?;
                let caller = call.caller().map(|caller| {
                    json!({
                        "principal": caller.principal, "session": caller.session, "client": caller.client,
                        "address": caller.address,
                    })
                });
                let arguments = digest(&Value::Object(call.arguments.clone()));
                Some(json!({ "caller": caller, "server": server, "tool": tool, "arguments": arguments }))
            }
            None => None,
        };
        Ok(Record { records: self, server, tool, line, begun: Instant::now(), outcome: CallOutcome::Dropped })
    }
}

/// The record of one call, which is written on drop.
pub(crate) struct Record<'a> {
    records: &'a Records,
    server: String,
    tool: String,
    line: Option<Value>,
    begun: Instant,
    outcome: CallOutcome,
}

impl Record<'_> {
    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        self.outcome = CallOutcome::of(outcome);
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let (outcome, duration) = (self.outcome.as_str(), self.begun.elapsed());
        self.records.metrics.call_ended(&self.server, &self.tool, outcome, duration);
        if let (Some(log), Some(Value::Object(mut line))) = (&self.records.log, self.line.take()) {
            line.insert("outcome".to_owned(), outcome.into());
            let milliseconds = (duration.as_secs_f64() * 1e6).round() / 1e3;
            line.insert("duration_ms".to_owned(), milliseconds.into());
            log.write(SystemTime::now(), line);
        }
    }
}
