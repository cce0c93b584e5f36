//! Reports the events of a client, and delivers them to subscribers. A slow subscriber blocks nothing.

use std::slice;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::content::Copying;
use super::event::{
    CallKind, CallOutcome, CallSource, DriftDetected, Event, Lagged, ServerStateChanged, ToolInvoked, ToolsChanged,
};
use super::metrics::{self, Endpoint};
use crate::ground::redact::{LONGEST_MESSAGE, PrivateValues, Redactor, debug_as};
use crate::ground::sync::{Erased, read, write};
use crate::{CallError, ConnectError, ConnectionState, ToolResult};

/// The longest part of tools' and callers' names that is recorded, in characters.
const LONGEST_NAME: usize = 200;
/// The maximum number of unread events of one listener; beyond it the oldest are dropped.
const UNREAD: usize = 1024;

/// Reports the events of one client, or of a stack around another [`CallTool`](crate::CallTool). The default is for
/// such a stack and has no server.
#[derive(Default)]
pub(crate) struct Observer {
    /// The server of the client; without it, each call names its server.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) kind: CallKind,
    /// Each listener has its own ring, so one ring can receive the events of several clients.
    subscribers: RwLock<Vec<broadcast::Sender<Erased>>>,
    records_content: bool,
    /// Knows the secrets of the last connection, or of a configuration that has all of them itself.
    redactor: RwLock<Option<Redactor>>,
}

impl Observer {
    pub(crate) fn new(config: &ServerConfig, records_content: bool) -> Self {
        let has_all = config.placeholders().is_empty() && config.inherit_env.is_empty();
        let redactor = RwLock::new(has_all.then(|| Redactor::new(&PrivateValues::of(config))));
        Self { endpoint: Some(Endpoint::of(config)), records_content, redactor, ..Self::default() }
    }

    /// Creates an observer of functions of the program.
    pub(crate) fn of_functions() -> Self {
        Self { kind: CallKind::Native, ..Self::default() }
    }

    pub(crate) fn subscribe(self: &Arc<Self>) -> Events {
        subscribe_to_all(slice::from_ref(self))
    }

    /// Returns `true` if an event may have a listener; stays `true` for a while after the last listener is gone.
    pub(super) fn has_subscribers(&self) -> bool {
        !read(&self.subscribers).is_empty()
    }

    /// Sends an event to all listeners, and removes those that are gone. Without listeners the event is not created.
    pub(super) fn publish(&self, event: impl FnOnce() -> Event) {
        if self.has_subscribers() {
            self.send(event());
        }
    }

    fn send(&self, event: Event) {
        let event: Erased = Arc::new(event);
        write(&self.subscribers).retain(|subscriber| subscriber.send(event.clone()).is_ok());
    }

    /// Adds the secrets of a connection, which no event shows.
    pub(crate) fn redact_with(&self, redactor: &Redactor) {
        *write(&self.redactor) = Some(redactor.clone());
    }

    fn redactor(&self) -> Option<Redactor> {
        read(&self.redactor).clone()
    }

    fn server(&self) -> String {
        self.endpoint.as_ref().map(|endpoint| endpoint.server.clone()).unwrap_or_default()
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

    /// Returns the reason of a denied call, as it is shown.
    pub(super) fn reason(&self, outcome: &Result<ToolResult, CallError>) -> Option<String> {
        let Err(CallError::Denied { reason, .. }) = outcome else { return None };
        Some(self.redactor().unwrap_or_default().shown_line(reason, LONGEST_MESSAGE))
    }

    pub(crate) fn state_changed(&self, state: ConnectionState, error: Option<&ConnectError>) {
        if metrics::ARE_KEPT {
            metrics::state_changed(self.server(), state);
        }
        self.publish(|| {
            let error = error.map(|error| error.message.clone());
            Event::ServerStateChanged(ServerStateChanged { server: self.server(), state, error })
        });
    }

    /// Records the end of an open connection.
    pub(crate) fn session_ended(&self, after: Duration, was_lost: bool) {
        if metrics::ARE_KEPT
            && let Some(endpoint) = &self.endpoint
        {
            metrics::session_ended(endpoint, after, was_lost);
        }
    }

    pub(crate) fn tools_changed(&self) {
        self.publish(|| Event::ToolsChanged(ToolsChanged { server: self.server() }));
    }

    /// Reports a difference; `change` describes it.
    pub(crate) fn drift_detected(&self, tool: &str, change: &str, is_breaking: bool, is_refused: bool) {
        self.publish(|| {
            Event::DriftDetected(DriftDetected {
                server: self.server(),
                tool: self.name(tool),
                change: self.redactor().unwrap_or_default().shown(change, LONGEST_MESSAGE),
                is_breaking,
                is_refused,
            })
        });
    }
}

/// Subscribes to the events of several observers, and removes listeners that are gone.
#[inline]
pub(crate) fn subscribe_to_all(observers: &[Arc<Observer>]) -> Events {
    let (subscriber, events) = broadcast::channel(UNREAD);
    for observer in observers {
        let mut subscribers = write(&observer.subscribers);
        subscribers.retain(|subscriber| subscriber.receiver_count() > 0);
        subscribers.push(subscriber.clone());
    }
    Events(events)
}

/// A subscription to events.
///
/// The last 1,024 unread events are kept; older ones are dropped, and [`Event::Lagged`] has their number. An unread
/// subscription costs no more than these, and blocks no call.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) {
/// use mcp_bindgen_runtime::events::Event;
///
/// let mut events = client.events();
/// while let Some(event) = events.next().await {
///     match event {
///         Event::ToolInvoked(call) => println!("{} {}: {} in {:?}", call.server, call.tool, call.outcome, call.duration),
///         Event::Lagged(lag) => println!("{} events were missed", lag.missed),
///         other => println!("{other:?}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Events(broadcast::Receiver<Erased>);

impl Events {
    /// Waits for the next event; returns `None` once all clients and connections are gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => event.downcast().ok().map(Arc::unwrap_or_clone),
            Err(RecvError::Lagged(missed)) => Some(Event::Lagged(Lagged { missed })),
            Err(RecvError::Closed) => None,
        }
    }
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
        self.0.publish(|| {
            let outcome = if is_error { CallOutcome::ToolError } else { CallOutcome::Success };
            Event::ToolInvoked(ToolInvoked {
                server: self.0.name(server),
                tool: self.0.name(tool),
                kind: CallKind::Hosted,
                source: CallSource::Named(source.to_owned()),
                caller: None,
                duration: Duration::ZERO,
                outcome,
                reason: None,
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

    fn event(number: usize) -> Event {
        Event::ToolsChanged(ToolsChanged { server: number.to_string() })
    }

    #[tokio::test]
    async fn slow_listener_receives_lagged_and_dropped_listener_is_removed() {
        let observer = Arc::<Observer>::default();
        observer.publish(|| unreachable!("nobody listens"));
        let (mut slow, gone) = (observer.subscribe(), observer.subscribe());
        drop(gone);
        let last = observer.subscribe();
        assert_eq!(observer.subscribers.read().unwrap().len(), 2, "a new listener replaces those that are gone");
        drop(last);
        (0..UNREAD + 6).for_each(|number| observer.publish(|| event(number)));
        assert_eq!(observer.subscribers.read().unwrap().len(), 1, "a dropped listener is removed");
        assert_eq!(slow.next().await, Some(Event::Lagged(Lagged { missed: 6 })));
        assert_eq!(slow.next().await, Some(event(6)));
        drop(slow);
        observer.publish(|| event(0));
        assert!(!observer.has_subscribers());
    }

    #[tokio::test]
    async fn one_listener_receives_events_of_several_observers_until_all_close() {
        let (one, two) = (Arc::<Observer>::default(), Arc::<Observer>::default());
        let mut events = subscribe_to_all(&[one.clone(), two.clone()]);
        one.publish(|| event(1));
        two.publish(|| event(2));
        one.publish(|| event(3));
        drop(one);
        for number in 1..=3 {
            assert_eq!(events.next().await, Some(event(number)), "in the order in which they came");
        }
        drop(two);
        assert_eq!(events.next().await, None);
    }

    #[tokio::test]
    async fn drift_event_is_redacted_and_bounded() {
        let config = ServerConfig::stdio("s", "x").env("API_KEY", "hunter22-5a7c9e1b");
        let observer = Arc::new(Observer::new(&config, false));
        let mut events = observer.subscribe();
        observer.drift_detected("t\u{1b}[31m", &format!("hunter22-5a7c9e1b {}", "x".repeat(9000)), true, false);
        let Some(Event::DriftDetected(drift)) = events.next().await else { panic!("no event") };
        assert_eq!((drift.server.as_str(), drift.is_breaking, drift.is_refused), ("s", true, false));
        assert!(drift.change.starts_with("[redacted] xxx") && drift.change.len() < 3000, "{}", drift.change);
        assert!(!drift.tool.contains('\u{1b}'), "{}", drift.tool);
    }
}
