//! Reports the events of a client.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use mcp_bindgen_model::{ServerConfig, Transport};
use serde_json::{Map, Value};

use super::bus::{Bus, Events, listen};
use super::content;
use super::event::{
    ApprovalAsked, CallKind, CallOutcome, CallSource, DriftDetected, Event, ServerStateChanged, ToolInvoked,
    ToolsChanged,
};
use super::metrics;
use crate::ground::redact::{LONGEST_MESSAGE, PrivateValues, Redactor, debug_as};
use crate::ground::sync::{read, write};
use crate::{ConnectError, ConnectionState, ToolCall, ToolResult};

/// The longest part of tools' and callers' names that is recorded, in characters.
const LONGEST_NAME: usize = 200;

/// Reports the events of one client, or of a stack around another [`CallTool`](crate::CallTool). The default is for
/// such a stack and has no server name.
#[derive(Default)]
pub(crate) struct Observer {
    /// The server of the client; without it, each call names its server.
    server: Option<String>,
    kind: CallKind,
    pub(super) bus: Bus,
    records_content: bool,
    /// Knows the secrets of the last connection, or of a configuration that has all of them itself.
    redactor: RwLock<Option<Redactor>>,
    pub(super) endpoint: Endpoint,
}

impl Observer {
    pub(crate) fn new(config: &ServerConfig, records_content: bool) -> Self {
        let has_all = config.placeholders().is_empty() && config.inherit_env.is_empty();
        let redactor = has_all.then(|| Redactor::new(&PrivateValues::of(config)));
        Self {
            server: Some(config.name.clone()),
            kind: CallKind::Mcp,
            bus: Bus::default(),
            records_content,
            redactor: RwLock::new(redactor),
            endpoint: Endpoint::of(config),
        }
    }

    /// Creates an observer of functions of the program.
    pub(crate) fn of_functions() -> Self {
        Self { kind: CallKind::Native, ..Self::default() }
    }

    pub(crate) fn subscribe(&self) -> Events {
        listen(std::iter::once(&self.bus))
    }

    /// Adds the secrets of a connection, which no event shows.
    pub(crate) fn redact_with(&self, redactor: &Redactor) {
        *write(&self.redactor) = Some(redactor.clone());
    }

    fn redactor(&self) -> Option<Redactor> {
        read(&self.redactor).clone()
    }

    /// Returns the server of a call.
    pub(super) fn server_of<'c>(&'c self, call: &'c ToolCall) -> &'c str {
        self.server.as_deref().unwrap_or(&call.server)
    }

    pub(super) fn kind_of(&self, call: &ToolCall) -> CallKind {
        match self.kind {
            CallKind::Mcp if call.options.given().is_template => CallKind::Template,
            kind => kind,
        }
    }

    pub(super) fn server(&self) -> &str {
        self.server.as_deref().unwrap_or_default()
    }

    /// Returns a name that a caller chose, as it is shown.
    pub(super) fn name(&self, name: &str) -> String {
        self.redactor().unwrap_or_default().shown_line(name, LONGEST_NAME)
    }

    /// Returns the redacted arguments. Returns `None` if content is not recorded, or if the secrets are still unknown.
    /// They are unknown before the first connection of a client whose configuration has placeholders.
    pub(super) fn arguments(&self, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
        let redactor = self.redactor().filter(|_| self.records_content)?;
        Some(content::redacted_object(&redactor, arguments))
    }

    /// Returns a redacted result under the conditions of [`arguments`](Self::arguments).
    pub(super) fn result(&self, result: &ToolResult) -> Option<Value> {
        let redactor = self.redactor().filter(|_| self.records_content)?;
        Some(content::redacted(&redactor, &result.to_json()))
    }

    pub(crate) fn state_changed(&self, state: ConnectionState, error: Option<&ConnectError>) {
        metrics::state_changed(self.server(), state);
        self.bus.publish(|| {
            let (server, error) = (self.server().to_owned(), error.map(|error| error.message.clone()));
            Event::ServerStateChanged(ServerStateChanged { server, state, error })
        });
    }

    /// Records the end of an open connection.
    pub(crate) fn session_ended(&self, after: Duration, was_lost: bool) {
        metrics::session_ended(self, after, was_lost);
    }

    pub(crate) fn tools_changed(&self) {
        self.bus.publish(|| Event::ToolsChanged(ToolsChanged { server: self.server().to_owned() }));
    }

    pub(crate) fn approval_asked(&self, call: &ToolCall) {
        self.bus.publish(|| {
            Event::ApprovalAsked(ApprovalAsked {
                server: self.server_of(call).to_owned(),
                tool: self.name(&call.tool),
                arguments: self.arguments(&call.arguments),
            })
        });
    }

    /// Reports a difference; `change` describes it.
    pub(crate) fn drift_detected(&self, tool: &str, change: &str, is_breaking: bool, is_refused: bool) {
        self.bus.publish(|| {
            Event::DriftDetected(DriftDetected {
                server: self.server().to_owned(),
                tool: self.name(tool),
                change: self.redactor().unwrap_or_default().shown(change, LONGEST_MESSAGE),
                is_breaking,
                is_refused,
            })
        });
    }
}

/// Subscribes to the events of several observers.
pub(crate) fn subscribe_to_all<'o>(observers: impl Iterator<Item = &'o Observer>) -> Events {
    listen(observers.map(|observer| &observer.bus))
}

/// Reports the calls that a provider made itself, as its responses show them. Clones share their subscribers.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct HostedObserver(Arc<Observer>);

impl HostedObserver {
    /// Subscribes to the calls.
    #[must_use]
    pub fn events(&self) -> Events {
        self.0.subscribe()
    }

    /// Reports a call; `source` is the name of the provider.
    pub fn called(&self, source: &str, server: &str, tool: &str, is_error: bool) {
        self.0.bus.publish(|| {
            let outcome = if is_error { CallOutcome::ToolError } else { CallOutcome::Success };
            Event::ToolInvoked(ToolInvoked {
                server: self.0.name(server),
                tool: self.0.name(tool),
                kind: CallKind::Hosted,
                source: CallSource::Named(source.to_owned()),
                caller: None,
                duration: Duration::ZERO,
                outcome,
                arguments: None,
                result: None,
            })
        });
    }
}

debug_as!(HostedObserver, "HostedObserver");

/// The attributes of a server's place in traces and metrics.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    /// `pipe` or `tcp`; unknown without a configuration.
    pub(super) transport: Option<&'static str>,
    pub(super) address: Option<String>,
    pub(super) port: Option<u16>,
}

impl Endpoint {
    pub(super) fn of(config: &ServerConfig) -> Self {
        match &config.transport {
            Transport::Stdio { .. } => Self { transport: Some("pipe"), ..Self::default() },
            Transport::Http { url, .. } | Transport::Sse { url, .. } => {
                let (address, port) = place(url, &config.secrets()).unzip();
                Self { transport: Some("tcp"), address, port: port.flatten() }
            }
        }
    }
}

/// Returns the host and port of a URL, or `None` if they contain a placeholder or a secret.
#[cfg(feature = "http")]
fn place(url: &str, secrets: &[String]) -> Option<(String, Option<u16>)> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    if authority.contains("${") {
        return None;
    }
    let url = reqwest::Url::parse(url).ok()?;
    let host = url.host_str()?;
    let is_private = secrets.iter().any(|secret| !secret.is_empty() && host.contains(&secret.to_ascii_lowercase()));
    (!is_private).then(|| (host.to_owned(), url.port_or_known_default()))
}

/// Returns `None`, because this build has no HTTP transport.
#[cfg(not(feature = "http"))]
fn place(_: &str, _: &[String]) -> Option<(String, Option<u16>)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn drift_event_is_redacted_and_bounded() {
        let config = ServerConfig::stdio("s", "x").env("API_KEY", "hunter22-5a7c9e1b");
        let observer = Observer::new(&config, false);
        let mut events = observer.subscribe();
        observer.drift_detected("t\u{1b}[31m", &format!("hunter22-5a7c9e1b {}", "x".repeat(9000)), true, false);
        let Some(Event::DriftDetected(drift)) = events.next().await else { panic!("no event") };
        assert_eq!((drift.server.as_str(), drift.is_breaking, drift.is_refused), ("s", true, false));
        assert!(drift.change.starts_with("[redacted] xxx") && drift.change.len() < 3000, "{}", drift.change);
        assert!(!drift.tool.contains('\u{1b}'), "{}", drift.tool);
    }

    #[cfg(feature = "http")]
    #[test]
    fn endpoint_contains_host_and_port_but_no_secrets() {
        let place = |url: &str| {
            let Endpoint { transport, address, port } = Endpoint::of(&ServerConfig::http("s", url));
            assert_eq!(transport, Some("tcp"));
            address.map(|address| (address, port))
        };
        let known = |host: &str, port| Some((host.to_owned(), Some(port)));
        assert_eq!(place("https://user:hunter22@api.example.com/x?key=${K}"), known("api.example.com", 443));
        assert_eq!(place("http://127.0.0.1:8080/mcp"), known("127.0.0.1", 8080));
        assert_eq!(place("https://${HOST}/mcp"), None);
        assert_eq!(place("no url"), None);
        assert_eq!(Endpoint::of(&ServerConfig::stdio("s", "x")).transport, Some("pipe"));
    }
}
