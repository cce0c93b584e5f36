//! Calls a tool: connects, limits the time, and returns the outcome as a result or a [`CallError`].

use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Map, Value};
use tower::Service;
use tracing::Instrument;

use super::state::Lease;
use super::{Client, Subject};
use crate::call::events::{CallSpan, report};
use crate::call::{Limit, Offer, ServiceFuture, wait};
use crate::client::catalog::drift::Bound;
use crate::connect::connection::Connection;
use crate::connect::rounds::Ask;
use crate::ground::deadline::{Deadline, Patience};
use crate::ground::redact::LONGEST_MESSAGE;
use crate::rpc::sent::{PROGRESS_TOKEN, RESERVED};
use crate::rpc::{Failure, RequestError};
use crate::{
    CallError, CallOptions, CallTool, Cause, ConnectError, ConnectErrorKind, Dispatched, ToolCall, ToolResult,
};

const INVALID_PARAMS: i32 = -32602;
/// The code of versions before 2026-07-28.
const RESOURCE_NOT_FOUND: i32 = -32002;
/// The maximum number of comparisons of a tool for one call, because a server may change its list all the time.
const MOST_COMPARISONS: usize = 5;
/// The reserved key of `_meta` that the caller may set: it requests log messages from the server.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

impl CallTool for Client {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let mut call = self.viewed(call)?;
        call.passage.forget_if_over();
        let observer = &self.supervisor.shared.observer;
        // A stack around this client reports the call as a whole.
        if call.passage.is_observed_by(observer) {
            return self.try_once(call, false).await;
        }
        report(observer, call, async |call| self.try_once(call, true).await).await
    }

    fn offer(&self) -> Offer {
        let config = self.supervisor.shared.config.clone();
        let offer = Offer::of(self.clone()).observed_by(self.supervisor.shared.observer.clone());
        offer.restricted(move |tool, is_remote| {
            let is_denied = config.policies.iter().any(|rule| rule.always_denies(tool));
            config.selects(tool) && !is_denied && (!is_remote || config.lets_remote_use(tool))
        })
    }
}

/// The service is always ready. A call that cannot be sent at once waits within its time limit.
impl Service<ToolCall> for Client {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        let client = self.clone();
        Box::pin(async move { client.call_tool(call).await })
    }
}

impl Client {
    /// Calls a tool by its wire name, without bindings.
    ///
    /// # Errors
    /// Fails like [`CallTool::call_tool`].
    pub async fn call(&self, tool: impl Into<String>, arguments: Map<String, Value>) -> Result<ToolResult, CallError> {
        self.call_tool(ToolCall::new(self.name().to_owned(), tool.into(), arguments)).await
    }

    /// Calls a tool within a time that bounds all of it, including connecting; see [`CallOptions::timeout`].
    ///
    /// # Errors
    /// Fails like [`CallTool::call_tool`].
    pub async fn call_tool_within(&self, call: ToolCall, timeout: Duration) -> Result<ToolResult, CallError> {
        self.call_tool(call.with(CallOptions::new().timeout(timeout))).await
    }

    /// Returns the time limits that the call sets, or `None` if the configured ones apply.
    fn given_patience(&self, options: &CallOptions) -> Option<Patience> {
        let (timeout, cap) = (options.given().timeout, options.given().cap);
        let capped = |cap| Patience::renewed_by_progress(timeout.unwrap_or_else(|| self.patience().timeout), cap);
        cap.map(capped).or_else(|| timeout.map(Patience::strictly))
    }

    /// Sends a request other than a call. Returns its result, and the connection that it came over.
    pub(super) async fn ask(
        &self,
        subject: Subject,
        name: &str,
        mut ask: Ask,
        options: &CallOptions,
    ) -> Result<(Value, Lease), CallError> {
        let (connection, patience) = self.ready(name, options, Limit::default()).await?;
        match connection.ask(&mut ask, options, patience).await {
            Ok(result) => Ok((result, connection)),
            Err(error) => Err(self.call_error(&connection, subject, name, patience.timeout, error)),
        }
    }

    /// Returns the connection and the time limits for a request, within the limit around it. `what` names its subject.
    pub(super) async fn ready(
        &self,
        what: &str,
        options: &CallOptions,
        limit: Limit,
    ) -> Result<(Lease, Patience), CallError> {
        if options.given().capabilities.as_deref().is_some_and(|capabilities| !capabilities.is_object()) {
            return Err(self.invalid(what, "expected a JSON object for the client capabilities"));
        }
        let is_reserved = |key: &&String| *key == PROGRESS_TOKEN || (key.starts_with(RESERVED) && *key != LOG_LEVEL);
        if let Some(key) = options.given().meta.as_ref().and_then(|meta| meta.keys().find(is_reserved)) {
            let message = format!("`{key}` in `_meta` is set by the client; remove it from the options");
            return Err(self.invalid(what, message));
        }
        let given = self.given_patience(options);
        let connecting = given.map_or(Deadline::NEVER, |given| given.first).earlier(limit.end);
        let connection = options.unless_cancelled(connecting.bound(self.connection())).await;
        let Some(connection) = connection.ok_or_else(|| self.cancelled(what, Dispatched::No))? else {
            let after = given.map_or(limit.after, |given| given.timeout);
            return Err(CallError::timeout(self.name(), what, after, Dispatched::No));
        };
        let connection = connection.map_err(|error| self.not_connected(what, error))?;
        if options.given().input.as_ref().is_some_and(|input| !input.is_empty()) && !connection.is_modern() {
            let version = &connection.protocol_version;
            let message =
                format!("input responses are set, but the server speaks {version}, which has none; remove them");
            return Err(self.invalid(what, message));
        }
        // The configured time starts when the connection is open.
        Ok((connection, given.unwrap_or_else(|| self.patience()).until(limit.end)))
    }

    pub(super) fn not_connected(&self, what: &str, error: ConnectError) -> CallError {
        let (server, tool, message) = (self.name().to_owned(), what.to_owned(), error.message.clone());
        CallError::NotConnected { server, tool, message, source: Some(Cause::new(error)) }
    }

    pub(super) fn invalid(&self, what: &str, message: impl Into<String>) -> CallError {
        CallError::invalid_arguments(self.name(), what, "", message)
    }

    /// Makes a call in a separate span.
    async fn try_once(&self, mut call: ToolCall, is_all: bool) -> Result<ToolResult, CallError> {
        let attempt = CallSpan::of_try(&self.supervisor.shared.observer, &call, is_all);
        let made = async {
            self.check(&call).await?;
            let bound = self.bound(&call)?;
            let turn =
                wait::within(&mut call, Limit::default(), self.supervisor.shared.limits.turn(self.name())).await?;
            let _place = turn.map_err(|error| self.uncounted(&call, &error))?;
            let (connection, patience) = self.ready(&call.tool, &call.options, call.passage.limit()).await?;
            attempt.connected(&connection.protocol_version);
            self.call_over(&connection, call, bound, patience).await
        };
        let outcome = made.instrument(attempt.span.clone()).await;
        attempt.end(&outcome);
        outcome
    }

    async fn call_over(
        &self,
        connection: &Lease,
        mut call: ToolCall,
        bound: Option<Bound>,
        mut patience: Patience,
    ) -> Result<ToolResult, CallError> {
        let mut ask = Ask::tool(&call.tool, std::mem::take(&mut call.arguments));
        #[cfg(feature = "http")]
        let mut has_listed = false;
        let mut comparisons = 0;
        let outcome = loop {
            // The check runs again after a stack, because an attempt may use another connection.
            if let Some(bound) = &bound {
                (patience, ask.list) = self.compare(connection, &call, bound, patience).await?;
            }
            comparisons += 1;
            #[cfg(feature = "http")]
            if comparisons == 1 {
                self.learn_headers(connection, &call)?;
            }
            match connection.ask(&mut ask, &call.options, patience).await {
                Err(RequestError::Failed(failure)) if failure.is_stale && comparisons < MOST_COMPARISONS => {}
                // The server refused it before acting on it; its list declares the required headers.
                #[cfg(feature = "http")]
                Err(error) if !ask.is_answered && !has_listed && connection.wants_headers(&error) => {
                    has_listed = true;
                    let listing = Box::pin(crate::client::catalog::tools(self.name(), connection, patience));
                    let listed = call.options.unless_cancelled(listing).await;
                    let listed = listed.ok_or_else(|| self.cancelled(&call.tool, Dispatched::No))?;
                    let reason = "the server requires the headers in its list of tools";
                    listed.map_err(|error| self.not_listed(&call.tool, patience, reason, error))?;
                    patience = patience.renewed();
                }
                outcome => break outcome,
            }
        };
        let result =
            outcome.map_err(|error| self.call_error(connection, Subject::Tool, &call.tool, patience.timeout, error))?;
        let redactor = connection.link.notes.redactor().clone();
        let result = ToolResult { redactor, ..ToolResult::from_json(self.name(), call.tool.as_ref(), result) };
        if result.is_error && names_unknown("tool", &call.tool, &result.text()) {
            return Err(CallError::tool_not_found(self.name(), &*call.tool));
        }
        Ok(result)
    }

    /// Learns the parameter headers of a tool from its bindings, so that the call needs no list of tools.
    #[cfg(feature = "http")]
    fn learn_headers(&self, connection: &Connection, call: &ToolCall) -> Result<(), CallError> {
        if let (Some(headers), Some(spec)) = (&connection.link.param_headers, call.known())
            && spec.declared_input_schema().contains("x-mcp-header")
            && let Ok(schema) = serde_json::from_str(spec.declared_input_schema())
        {
            headers.learn(&call.tool, &schema).map_err(|message| {
                CallError::transport(self.name(), &*call.tool, connection.link.notes.explain(&message))
            })?;
        }
        Ok(())
    }

    /// Returns the error of a call that requires a list of tools, if the listing failed.
    pub(super) fn not_listed(&self, tool: &str, patience: Patience, reason: &str, error: ConnectError) -> CallError {
        let (server, tool) = (self.name().to_owned(), tool.to_owned());
        if error.kind == ConnectErrorKind::Timeout {
            return CallError::timeout(server, tool, patience.timeout, Dispatched::No);
        }
        let (message, retry_after) = (format!("{reason}: {}", error.message), error.retry_after());
        CallError::Transport { server, tool, message, retry_after, source: Some(Cause::new(error)) }
    }

    /// Returns the outcome of a request as the error of a call.
    pub(super) fn call_error(
        &self,
        connection: &Connection,
        subject: Subject,
        name: &str,
        after: Duration,
        error: RequestError,
    ) -> CallError {
        let notes = &connection.link.notes;
        let (server, tool) = (self.name().to_owned(), name.to_owned());
        match error {
            RequestError::Timeout(dispatched) => CallError::Timeout { server, tool, after, dispatched },
            RequestError::Cancelled(dispatched) => CallError::Cancelled { server, tool, dispatched },
            RequestError::Failed(Failure { dispatched, message, retry_after, source, .. }) => {
                let message = notes.explain(&message);
                match dispatched {
                    Dispatched::No => CallError::Transport { server, tool, message, retry_after, source },
                    Dispatched::Unknown => CallError::OutcomeUnknown { server, tool, message, retry_after, source },
                    Dispatched::Yes => CallError::InvalidResponse { server, tool, message },
                }
            }
            RequestError::Rpc(error) => {
                let code = error.code.0;
                let is_unknown = |kind: &str| names_unknown(kind, &tool, &error.message);
                match subject {
                    Subject::Tool if code == INVALID_PARAMS && is_unknown("tool") => {
                        CallError::ToolNotFound { server, tool }
                    }
                    Subject::Prompt if is_unknown("prompt") => CallError::PromptNotFound { server, prompt: tool },
                    Subject::Resource if code == RESOURCE_NOT_FOUND || is_unknown("resource") => {
                        CallError::ResourceNotFound { server, uri: tool }
                    }
                    _ => CallError::Rpc {
                        server,
                        tool,
                        code: code.into(),
                        message: notes.redactor().shown(&error.message, LONGEST_MESSAGE),
                        data: error.data.map(Box::new),
                    },
                }
            }
        }
    }

    pub(super) fn cancelled(&self, tool: &str, dispatched: Dispatched) -> CallError {
        CallError::cancelled(self.name(), tool, dispatched)
    }
}

/// Returns `true` if a message is exactly an SDK's text for an unknown `tool`, `prompt` or `resource`.
fn names_unknown(kind: &str, name: &str, message: &str) -> bool {
    let bare = |text: &str| text.chars().filter(|c| !"`'\":".contains(*c)).collect::<String>();
    let text = bare(message.trim().trim_start_matches("MCP error -32602: ").trim_end_matches('.'));
    let name = bare(name);
    [format!("Unknown {kind} {name}"), format!("{kind} {name} not found"), format!("{kind} not found {name}")]
        .iter()
        .any(|words| words.eq_ignore_ascii_case(&text))
}

#[cfg(test)]
mod tests {
    use super::names_unknown;

    #[test]
    fn unknown_tool_error_is_recognized_for_every_sdk() {
        for message in [
            "MCP error -32602: Tool find not found",
            "Unknown tool: find",
            "Unknown tool: 'find'",
            "tool not found: find",
            "tool `find` not found.",
        ] {
            assert!(names_unknown("tool", "find", message), "{message}");
        }
        for message in ["Tool hammer not found in the shed", "find: tool not found", "not found", "Unknown tool: other"]
        {
            assert!(!names_unknown("tool", "find", message), "{message}");
        }
        assert!(names_unknown("resource", "note:///x", "Unknown resource: note:///x"));
        assert!(!names_unknown("prompt", "find", "Unknown tool: find"));
    }
}
