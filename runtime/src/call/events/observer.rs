//! Reports the events of a client.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value};

use super::bus::{Bus, Events, listen};
use super::content::Copying;
use super::endpoint::Endpoint;
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
            records_content,
            redactor: RwLock::new(redactor),
            endpoint: Endpoint::of(config),
            ..Self::default()
        }
    }

    /// Creates an observer of functions of the program.
    pub(crate) fn of_functions() -> Self {
        Self { kind: CallKind::Native, ..Self::default() }
    }

    pub(crate) fn subscribe(&self) -> Events {
        listen(&[&self.bus])
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
        let is_template = self.kind == CallKind::Mcp && call.options.given().is_template;
        if is_template { CallKind::Template } else { self.kind }
    }

    /// Returns the source of a call, as it is shown.
    pub(super) fn source_of(&self, call: &ToolCall) -> CallSource {
        match (call.options.given().source.as_deref(), call.spec) {
            (Some(name), _) => CallSource::Named(self.name(name)),
            (None, Some(_)) => CallSource::Bindings,
            (None, None) => CallSource::Untyped,
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
    /// They are unknown before the first connection of a client whose configuration has placeholders or `inherit_env`.
    pub(super) fn arguments(&self, arguments: &Map<String, Value>) -> Option<Map<String, Value>> {
        let redactor = self.redactor().filter(|_| self.records_content)?;
        Some(Copying::new(&redactor).object(arguments, 0))
    }

    /// Returns a redacted result under the conditions of [`arguments`](Self::arguments).
    pub(super) fn result(&self, result: &ToolResult) -> Option<Value> {
        let redactor = self.redactor().filter(|_| self.records_content)?;
        Some(Copying::new(&redactor).value("", &result.to_json(), 0))
    }

    pub(crate) fn state_changed(&self, state: ConnectionState, error: Option<&ConnectError>) {
        if metrics::ARE_KEPT {
            metrics::state_changed(self.server(), state);
        }
        self.bus.publish(|| {
            let (server, error) = (self.server().to_owned(), error.map(|error| error.message.clone()));
            Event::ServerStateChanged(ServerStateChanged { server, state, error })
        });
    }

    /// Records the end of an open connection.
    pub(crate) fn session_ended(&self, after: Duration, was_lost: bool) {
        if metrics::ARE_KEPT {
            metrics::session_ended(self.server(), &self.endpoint, after, was_lost);
        }
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
pub(crate) fn subscribe_to_all(observers: &[Arc<Observer>]) -> Events {
    listen(&observers.iter().map(|observer| &observer.bus).collect::<Vec<_>>())
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
}
