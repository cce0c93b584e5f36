//! The events of one stream, until its listener has taken them, and for a while after.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use mcp_bindgen_runtime::__private::rpc::Message;
use rmcp::model::ErrorCode;
use tokio::sync::Notify;

/// The number of events kept for a client that may reconnect.
const KEPT: usize = 16;
/// The number of unread notifications after which senders wait.
const MOST_UNREAD: usize = 16;
/// How long a finished stream waits for a client that does not come back.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event of a stream.
#[derive(Clone)]
pub(super) struct Event {
    /// The id, if the stream can be resumed.
    pub(super) id: Option<String>,
    /// The message; `None` in an event that only sets the position for resuming.
    pub(super) data: Option<Data>,
}

/// A message as text: a `Message` takes much more memory.
#[derive(Clone)]
pub(super) struct Data {
    pub(super) text: Bytes,
    /// For the answer to a request: whether it is an error.
    pub(super) answer: Option<Result<(), ErrorCode>>,
}

impl Data {
    pub(super) fn of(message: &Message) -> serde_json::Result<Self> {
        let answer = match message {
            Message::Response { outcome, .. } => Some(outcome.as_ref().map(drop).map_err(|error| error.code)),
            Message::Request { .. } | Message::Notification(_) => None,
        };
        Ok(Self { text: serde_json::to_vec(message)?.into(), answer })
    }
}

pub(super) struct Channel {
    events: VecDeque<Event>,
    /// The index of the next event.
    next: usize,
    /// The number of events that no listener has taken.
    unread: usize,
    /// The listener that takes them.
    listener: Option<u64>,
    /// When the stream ended.
    finished: Option<Instant>,
    is_resumable: bool,
    changed: Arc<Notify>,
}

impl Channel {
    pub(super) fn new(is_resumable: bool) -> Self {
        let (events, changed) = Default::default();
        Self { events, next: 0, unread: 0, listener: None, finished: None, is_resumable, changed }
    }

    /// Adds an event of a stream with this number; without a message it only sets the position for resuming.
    pub(super) fn push(&mut self, data: Option<Data>, number: Option<u64>) {
        if self.finished.is_some() {
            return;
        }
        let id = self.is_resumable.then(|| match number {
            Some(number) => format!("{}/{number}", self.next),
            None => self.next.to_string(),
        });
        self.events.push_back(Event { id, data });
        self.next += 1;
        self.unread += 1;
        self.forget();
        self.changed.notify_waiters();
    }

    /// Drops events that were taken, and the oldest events of a stream without a listener.
    fn forget(&mut self) {
        let kept = if self.is_resumable { KEPT } else { 0 };
        let kept = if self.listener.is_some() || !self.is_resumable { kept.max(self.unread) } else { kept };
        while self.events.len() > kept {
            self.events.pop_front();
        }
        self.unread = self.unread.min(self.events.len());
    }

    /// Ends the stream: its listener receives the remaining events.
    pub(super) fn finish(&mut self) {
        self.finished.get_or_insert_with(Instant::now);
        self.changed.notify_waiters();
    }

    /// Lets a new listener take what comes after an event, in place of any earlier listener; `false` if there never was
    /// such an event.
    pub(super) fn resume(&mut self, index: usize, listener: u64) -> bool {
        if index >= self.next {
            return false;
        }
        self.unread = (self.next - 1 - index).min(self.events.len());
        self.listener = Some(listener);
        self.changed.notify_waiters();
        true
    }

    /// Returns the next event for a listener; `None` once there are no more. One that comes later waits until the one
    /// before it has left.
    pub(super) fn next(&mut self, own: u64, has_begun: &mut bool) -> Poll<Option<Event>> {
        let nothing = if self.finished.is_some() { Poll::Ready(None) } else { Poll::Pending };
        match self.listener {
            Some(listener) if listener == own => {}
            Some(_) if *has_begun => return Poll::Ready(None),
            Some(_) => return nothing,
            None => self.listener = Some(own),
        }
        *has_begun = true;
        let index = self.events.len() - self.unread;
        let Some(event) = self.events.get(index).cloned() else { return nothing };
        self.unread -= 1;
        self.forget();
        self.changed.notify_waiters();
        Poll::Ready(Some(event))
    }

    pub(super) fn leave(&mut self, own: u64) {
        if self.listener == Some(own) {
            self.listener = None;
            self.changed.notify_waiters();
        }
    }

    /// Returns `true` if a listener is too far behind for more notifications.
    pub(super) fn is_full(&self) -> bool {
        self.listener.is_some() && self.unread >= MOST_UNREAD && self.finished.is_none()
    }

    /// Returns `true` if the stream has ended and has no listener.
    pub(super) fn is_abandoned(&self) -> bool {
        self.finished.is_some() && self.listener.is_none()
    }

    pub(super) fn is_old(&self) -> bool {
        self.finished.is_some_and(|finished| finished.elapsed() > PATIENCE)
    }

    /// Returns how many bytes of it were read, and are kept for a client that lost its connection meanwhile.
    pub(super) fn kept_bytes(&self) -> usize {
        let read = self.events.iter().take(self.events.len() - self.unread);
        read.filter_map(|event| event.data.as_ref()).map(|data| data.text.len()).sum()
    }

    /// Waits for the next change.
    pub(super) fn changed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.changed.clone().notified_owned()
    }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_runtime::__private::rpc::MethodCall;
    use serde_json::Map;

    use super::*;

    /// Returns a stream with that many events, and the ids that a listener receives at once.
    fn channel(events: usize) -> Channel {
        let mut channel = Channel::new(true);
        for _ in 0..events {
            channel.push(Some(notification()), Some(3));
        }
        channel
    }

    fn notification() -> Data {
        Data::of(&Message::Notification(MethodCall::new("m", Map::new()))).expect("JSON")
    }

    fn read(channel: &mut Channel, listener: u64, has_begun: &mut bool) -> Vec<String> {
        let mut ids = Vec::new();
        while let Poll::Ready(Some(event)) = channel.next(listener, has_begun) {
            ids.push(event.id.unwrap_or_default());
        }
        ids
    }

    #[test]
    fn unread_event_is_stored_for_the_client() {
        let mut channel = channel(2);
        channel.finish();
        assert!(channel.is_abandoned() && channel.kept_bytes() == 0);
        assert_eq!(read(&mut channel, 1, &mut false), ["0/3", "1/3"]);
        channel.leave(1);
        assert!(channel.is_abandoned() && channel.kept_bytes() > 0);
    }

    #[test]
    fn resumed_listener_receives_events_after_its_last_one() {
        let mut channel = channel(4);
        let mut first = false;
        assert_eq!(read(&mut channel, 1, &mut first).len(), 4);
        assert!(!channel.resume(4, 2) && channel.resume(1, 2));
        assert!(matches!(channel.next(1, &mut first), Poll::Ready(None)), "it was taken over");
        assert_eq!(read(&mut channel, 2, &mut false), ["2/3", "3/3"]);
    }

    #[test]
    fn second_listener_waits_until_the_first_leaves() {
        let mut channel = channel(1);
        let (mut first, mut second) = (false, false);
        assert_eq!(read(&mut channel, 1, &mut first).len(), 1);
        channel.push(Some(notification()), Some(3));
        assert!(matches!(channel.next(2, &mut second), Poll::Pending));
        channel.leave(1);
        assert_eq!(read(&mut channel, 2, &mut second), ["1/3"]);
    }

    #[test]
    fn stream_without_a_listener_stores_only_its_latest_events() {
        let mut channel = channel(KEPT + 5);
        assert!(!channel.is_full());
        let ids = read(&mut channel, 1, &mut false);
        assert_eq!((ids.len(), ids.last().map(String::as_str)), (KEPT, Some("20/3")));
    }

    #[test]
    fn unread_stream_becomes_full() {
        let mut channel = channel(0);
        let mut has_begun = false;
        assert!(matches!(channel.next(1, &mut has_begun), Poll::Pending));
        for _ in 0..MOST_UNREAD {
            assert!(!channel.is_full());
            channel.push(Some(notification()), None);
        }
        assert!(channel.is_full());
        read(&mut channel, 1, &mut has_begun);
        assert!(!channel.is_full());
    }
}
