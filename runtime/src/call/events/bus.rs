//! Delivers events to subscribers. A slow subscriber blocks nothing.

use std::sync::{Arc, RwLock};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::event::{Event, Lagged};
use crate::ground::sync::{read, write};

/// The maximum number of unread events of one listener; beyond it the oldest are dropped.
const UNREAD: usize = 1024;

/// Delivers the events of one client to its listeners. Each listener has its own ring, so one ring can receive the
/// events of several clients.
#[derive(Default)]
pub(super) struct Bus(RwLock<Vec<broadcast::Sender<Arc<Event>>>>);

impl Bus {
    /// Returns `true` if an event may have a listener; stays `true` for a while after the last listener is gone.
    pub(super) fn has_subscribers(&self) -> bool {
        !read(&self.0).is_empty()
    }

    /// Sends an event to all listeners, and removes those that are gone. Without listeners the event is not created.
    pub(super) fn publish(&self, event: impl FnOnce() -> Event) {
        if self.has_subscribers() {
            self.send(event());
        }
    }

    fn send(&self, event: Event) {
        let event = Arc::new(event);
        write(&self.0).retain(|subscriber| subscriber.send(event.clone()).is_ok());
    }
}

/// Subscribes to several buses at once, and removes listeners that are gone.
pub(super) fn listen(buses: &[&Bus]) -> Events {
    let (subscriber, events) = broadcast::channel(UNREAD);
    for bus in buses {
        let mut subscribers = write(&bus.0);
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
pub struct Events(broadcast::Receiver<Arc<Event>>);

impl Events {
    /// Waits for the next event; returns `None` once all clients and connections are gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => Some(Arc::unwrap_or_clone(event)),
            Err(RecvError::Lagged(missed)) => Some(Event::Lagged(Lagged { missed })),
            Err(RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::ToolsChanged;
    use super::*;

    fn event(number: usize) -> Event {
        Event::ToolsChanged(ToolsChanged { server: number.to_string() })
    }

    #[tokio::test]
    async fn slow_listener_receives_lagged_and_dropped_listener_is_removed() {
        let bus = Bus::default();
        bus.publish(|| unreachable!("nobody listens"));
        let (mut slow, gone) = (listen(&[&bus]), listen(&[&bus]));
        drop(gone);
        let last = listen(&[&bus]);
        assert_eq!(bus.0.read().unwrap().len(), 2, "a new listener replaces those that are gone");
        drop(last);
        (0..UNREAD + 6).for_each(|number| bus.publish(|| event(number)));
        assert_eq!(bus.0.read().unwrap().len(), 1, "who has gone is forgotten");
        assert_eq!(slow.next().await, Some(Event::Lagged(Lagged { missed: 6 })));
        assert_eq!(slow.next().await, Some(event(6)));
        drop(slow);
        bus.publish(|| event(0));
        assert!(!bus.has_subscribers());
    }

    #[tokio::test]
    async fn one_listener_receives_events_of_several_buses_until_all_close() {
        let (one, two) = (Bus::default(), Bus::default());
        let mut events = listen(&[&one, &two]);
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
}
