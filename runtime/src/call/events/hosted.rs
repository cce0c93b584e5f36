//! Reports the calls that a provider made itself.

use std::sync::Arc;
use std::time::Duration;

use super::bus::Events;
use super::event::{CallKind, CallOutcome, CallSource, Event, ToolInvoked};
use super::observer::Observer;
use crate::ground::redact::debug_as;

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
