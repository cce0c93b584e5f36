//! Metrics for the recorder that the program has installed for the `metrics` crate. Names and labels follow
//! OpenTelemetry's semantic conventions for MCP, if they define them. Labels have few values: none contains text of a
//! server or a model. Without feature `metrics`, nothing is recorded.

use std::borrow::Cow;
use std::time::Duration;

use mcp_bindgen_model::{ServerConfig, Transport};

use super::event::CallOutcome;
use super::{METHOD, OPERATION};
use crate::{CallError, CallErrorKind, ConnectionState, ToolResult};

pub(super) const ARE_KEPT: bool = cfg!(feature = "metrics");

const OPERATION_DURATION: &str = "mcp.client.operation.duration";
const SESSION_DURATION: &str = "mcp.client.session.duration";
const CALLS: &str = "mcp_bindgen.client.calls";
const STATE_CHANGES: &str = "mcp_bindgen.client.state_changes";
const SERVER: &str = "mcp_bindgen.server";

/// The value for errors without a value of their own.
const OTHER: &str = "_OTHER";
/// The error codes that JSON-RPC has for itself.
const KNOWN_CODES: std::ops::RangeInclusive<i64> = -32768..=-32000;

type Labels = Vec<(&'static str, Cow<'static, str>)>;

/// A server in traces and metrics, without secrets.
pub(super) struct Endpoint {
    pub(super) server: String,
    /// `pipe` or `tcp`.
    pub(super) transport: &'static str,
    pub(super) address: Option<String>,
    pub(super) port: Option<u16>,
}

impl Endpoint {
    pub(super) fn of(config: &ServerConfig) -> Self {
        let is_local = matches!(config.transport, Transport::Stdio { .. });
        let (server, transport) = (config.name.clone(), if is_local { "pipe" } else { "tcp" });
        #[cfg(feature = "http")]
        if let Some(url) = url(config) {
            let (address, port) = (url.host_str().map(str::to_owned), url.port_or_known_default());
            return Self { server, transport, address, port };
        }
        Self { server, transport, address: None, port: None }
    }
}

/// Returns the URL of a server, or `None` if its host contains a brace or a secret.
#[cfg(feature = "http")]
fn url(config: &ServerConfig) -> Option<reqwest::Url> {
    // A placeholder may contain `@` and `/`, so each becomes a text that no host contains.
    let marked = config.expand_with(|_| Some("{}".to_owned())).ok()?;
    let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &marked.transport else { return None };
    let url = reqwest::Url::parse(url).ok()?;
    let host = url.host_str()?;
    let has = |secret: &String| !secret.is_empty() && host.contains(&secret.to_ascii_lowercase());
    (!host.contains(['{', '}']) && !config.secrets().iter().any(has)).then_some(url)
}

/// Passes a duration to the recorder, or counts something without one.
#[cfg(feature = "metrics")]
fn record(name: &'static str, duration: Option<Duration>, labels: Labels) {
    use metrics::{Label, Unit, counter, describe_counter, describe_histogram, histogram};

    static DESCRIBED: std::sync::Once = std::sync::Once::new();
    DESCRIBED.call_once(|| {
        describe_histogram!(OPERATION_DURATION, Unit::Seconds, "Duration of requests to MCP servers");
        describe_histogram!(SESSION_DURATION, Unit::Seconds, "Duration of connections to MCP servers");
        describe_counter!(CALLS, Unit::Count, "Tool calls by outcome, each counted once");
        describe_counter!(STATE_CHANGES, Unit::Count, "State changes of connections to MCP servers");
    });
    let labels: Vec<Label> = labels.into_iter().map(|(key, value)| Label::new(key, value)).collect();
    match duration {
        Some(duration) => histogram!(name, labels).record(duration),
        None => counter!(name, labels).increment(1),
    }
}

#[cfg(not(feature = "metrics"))]
fn record(_: &'static str, _: Option<Duration>, _: Labels) {}

pub(super) fn state_changed(server: String, state: ConnectionState) {
    let state = match state {
        ConnectionState::Disconnected => "disconnected",
        ConnectionState::Connecting => "connecting",
        ConnectionState::Connected => "connected",
        ConnectionState::Reconnecting => "reconnecting",
        ConnectionState::ShutDown => "shut_down",
    };
    record(STATE_CHANGES, None, vec![(SERVER, server.into()), ("mcp_bindgen.state", state.into())]);
}

pub(super) fn session_ended(endpoint: &Endpoint, after: Duration, was_lost: bool) {
    let mut labels = labels_of(endpoint);
    labels.extend(was_lost.then_some(("error.type", "connection_lost".into())));
    record(SESSION_DURATION, Some(after), labels);
}

pub(super) fn call_ended(server: &str, tool: &str, is_bound: bool, outcome: CallOutcome) {
    let outcome_label = ("mcp_bindgen.outcome", outcome.as_str().into());
    record(CALLS, None, vec![(SERVER, server.to_owned().into()), tool_label(tool, is_bound, outcome), outcome_label]);
}

/// Records a request of a call, which took this long.
pub(super) fn request_ended(
    endpoint: &Endpoint,
    (tool, is_bound): (&str, bool),
    (duration, protocol_version): (Duration, String),
    outcome: &Result<ToolResult, CallError>,
) {
    let ended = CallOutcome::of(outcome);
    let mut labels = labels_of(endpoint);
    labels.extend([
        ("mcp.method.name", METHOD.into()),
        ("gen_ai.operation.name", OPERATION.into()),
        ("mcp.protocol.version", protocol_version.into()),
        tool_label(tool, is_bound, ended),
    ]);
    if let Err(CallError::Rpc { code, .. }) = outcome {
        let is_known = KNOWN_CODES.contains(code);
        let code: Cow<'_, str> = if is_known { code.to_string().into() } else { OTHER.into() };
        labels.extend([("rpc.response.status_code", code.clone()), ("error.type", code)]);
    } else if ended.is_failure() {
        labels.push(("error.type", ended.as_str().into()));
    }
    record(OPERATION_DURATION, Some(duration), labels);
}

fn labels_of(endpoint: &Endpoint) -> Labels {
    let Endpoint { server, transport, address, port } = endpoint;
    let mut labels: Labels = vec![(SERVER, server.clone().into()), ("network.transport", (*transport).into())];
    labels.extend(address.clone().map(|address| ("server.address", address.into())));
    labels.extend(port.map(|port| ("server.port", port.to_string().into())));
    labels
}

/// Returns the label of a tool. Without bindings or an answer that confirm it, a model may have invented the name.
fn tool_label(tool: &str, is_bound: bool, outcome: CallOutcome) -> (&'static str, Cow<'static, str>) {
    let is_known = is_bound
        || match outcome {
            CallOutcome::Success | CallOutcome::ToolError | CallOutcome::InputRequired => true,
            CallOutcome::Failed { kind, .. } => kind == CallErrorKind::Tool,
            CallOutcome::Dropped => false,
        };
    ("gen_ai.tool.name", if is_known { tool.to_owned().into() } else { OTHER.into() })
}

#[cfg(test)]
#[cfg(feature = "http")]
mod tests {
    use super::*;

    #[test]
    fn endpoint_contains_host_and_port_but_no_secrets() {
        let place = |url: &str| {
            let Endpoint { transport, address, port, .. } = Endpoint::of(&ServerConfig::http("s", url));
            assert_eq!(transport, "tcp");
            address.map(|address| (address, port))
        };
        let known = |host: &str, port| Some((host.to_owned(), Some(port)));
        assert_eq!(place("https://user:hunter22@api.example.com/x?key=${K}"), known("api.example.com", 443));
        assert_eq!(place("http://127.0.0.1:8080/mcp"), known("127.0.0.1", 8080));
        assert_eq!(place("https://${USER}:${PASS}@api.example.com/"), known("api.example.com", 443));
        for unknown in [
            "https://${HOST}/mcp",
            "https://${keyring:me@corp}.example.com/mcp",
            "https://${keyring:me@corp/x}.example.com/mcp",
            "https://${CREDS:-bob:pw@internal}.example.com",
            "https://${CREDS:-bob:pw@internal/x}.example.com",
            "https://${NO NAME:-bob:pw@internal}.example.com",
            "no url",
        ] {
            assert_eq!(place(unknown), None, "{unknown}");
        }
        assert_eq!(Endpoint::of(&ServerConfig::stdio("s", "x")).transport, "pipe");
    }
}
