//! Metrics for the recorder that the program has installed for the `metrics` crate. Names and labels follow
//! OpenTelemetry's semantic conventions for MCP, if they define them. Labels have few values: none contains text of a
//! server or a model.

use std::sync::Once;
use std::time::Duration;

use metrics::{Label, Unit, counter, describe_counter, describe_histogram, histogram};

use super::endpoint::Endpoint;
use super::event::CallOutcome;
use super::{METHOD, OPERATION};
use crate::{CallError, CallErrorKind, ConnectionState, ToolResult};

pub(super) const ARE_KEPT: bool = true;

const OPERATION_DURATION: &str = "mcp.client.operation.duration";
const SESSION_DURATION: &str = "mcp.client.session.duration";
const CALLS: &str = "mcp_bindgen.client.calls";
const STATE_CHANGES: &str = "mcp_bindgen.client.state_changes";

/// The value for errors without a value of their own.
const OTHER: &str = "_OTHER";
/// The error codes that JSON-RPC has for itself.
const KNOWN_CODES: std::ops::RangeInclusive<i64> = -32768..=-32000;

fn describe() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        describe_histogram!(OPERATION_DURATION, Unit::Seconds, "Duration of requests to MCP servers");
        describe_histogram!(SESSION_DURATION, Unit::Seconds, "Duration of connections to MCP servers");
        describe_counter!(CALLS, Unit::Count, "Tool calls by outcome, each counted once");
        describe_counter!(STATE_CHANGES, Unit::Count, "State changes of connections to MCP servers");
    });
}

pub(super) fn state_changed(server: &str, state: ConnectionState) {
    describe();
    let state = match state {
        ConnectionState::Disconnected => "disconnected",
        ConnectionState::Connecting => "connecting",
        ConnectionState::Connected => "connected",
        ConnectionState::Reconnecting => "reconnecting",
        ConnectionState::ShutDown => "shut_down",
    };
    counter!(STATE_CHANGES, "mcp_bindgen.server" => server.to_owned(), "mcp_bindgen.state" => state).increment(1);
}

pub(super) fn session_ended(server: &str, endpoint: &Endpoint, after: Duration, was_lost: bool) {
    describe();
    let mut labels = labels_of(server, endpoint);
    labels.extend(was_lost.then(|| Label::from_static_parts("error.type", "connection_lost")));
    histogram!(SESSION_DURATION, labels).record(after);
}

pub(super) fn call_ended(server: &str, tool: &str, is_bound: bool, outcome: CallOutcome) {
    describe();
    let labels = vec![
        Label::new("mcp_bindgen.server", server.to_owned()),
        tool_label(tool, is_bound, outcome),
        Label::from_static_parts("mcp_bindgen.outcome", outcome.as_str()),
    ];
    counter!(CALLS, labels).increment(1);
}

/// Records a request of a call, which took this long.
pub(super) fn request_ended(
    (server, endpoint): (&str, &Endpoint),
    (tool, is_bound): (&str, bool),
    (duration, protocol_version): (Duration, String),
    outcome: &Result<ToolResult, CallError>,
) {
    describe();
    let ended = CallOutcome::of(outcome);
    let mut labels = labels_of(server, endpoint);
    labels.extend([
        Label::from_static_parts("mcp.method.name", METHOD),
        Label::from_static_parts("gen_ai.operation.name", OPERATION),
        Label::new("mcp.protocol.version", protocol_version),
        tool_label(tool, is_bound, ended),
    ]);
    if let Err(CallError::Rpc { code, .. }) = outcome {
        let code = if KNOWN_CODES.contains(code) { code.to_string() } else { OTHER.to_owned() };
        labels.push(Label::new("rpc.response.status_code", code.clone()));
        labels.push(Label::new("error.type", code));
    } else if ended.is_failure() {
        labels.push(Label::from_static_parts("error.type", ended.as_str()));
    }
    histogram!(OPERATION_DURATION, labels).record(duration);
}

fn labels_of(server: &str, endpoint: &Endpoint) -> Vec<Label> {
    let mut labels = vec![Label::new("mcp_bindgen.server", server.to_owned())];
    labels.extend(endpoint.transport.map(|transport| Label::from_static_parts("network.transport", transport)));
    labels.extend(endpoint.address.clone().map(|address| Label::new("server.address", address)));
    labels.extend(endpoint.port.map(|port| Label::new("server.port", port.to_string())));
    labels
}

/// Returns the label of a tool. Without bindings or an answer that confirm it, a model may have invented the name.
fn tool_label(tool: &str, is_bound: bool, outcome: CallOutcome) -> Label {
    let is_known = is_bound
        || match outcome {
            CallOutcome::Success | CallOutcome::ToolError | CallOutcome::InputRequired => true,
            CallOutcome::Failed { kind, .. } => kind == CallErrorKind::Tool,
            CallOutcome::Dropped => false,
        };
    Label::new("gen_ai.tool.name", if is_known { tool.to_owned() } else { OTHER.to_owned() })
}
