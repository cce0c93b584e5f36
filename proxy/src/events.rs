//! The events of a proxy.

use mcp_bindgen_runtime::events::{Event, Events};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// How many events wait for a listener; of more the oldest go.
pub(super) const UNREAD: usize = 1024;

/// The events of all servers of a [`Proxy`](super::Proxy), for all its clients; returned by
/// [`Proxy::events`](super::Proxy::events).
#[derive(Debug)]
pub struct ProxyEvents(pub(super) broadcast::Receiver<Event>);

impl ProxyEvents {
    /// Waits for the next event; returns `None` once the proxy is dropped. Cancel safe. A slow reader loses the
    /// oldest of more than 1024 events, which is logged.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.0.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(missed)) => tracing::warn!("{missed} events of a proxy were missed"),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Passes on the events of one client, until it or the proxy is gone.
pub(super) async fn pass_on(bus: broadcast::WeakSender<Event>, mut events: Events) {
    while let (Some(event), Some(bus)) = (events.next().await, bus.upgrade()) {
        // A send without listeners fails, which is fine.
        let _ = bus.send(event);
    }
}
