//! The streams to one client over HTTP: one for each of its requests, and one for everything else.
//!
//! Section "Streamable HTTP", "Sending Messages to the Server" and "Resumability and Redelivery".

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use futures_util::stream::{Stream, unfold};
use mcp_bindgen_runtime::__private::rpc::{
    Failure, Incoming, Ledger, Message, MethodCall, Outgoing, Receiving, Sender, Sending, Transport, serve,
};
use rmcp::model::{ProtocolVersion, RequestId};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::channel::{Channel, Data, Event};
use crate::client_state::ClientState;
use crate::context::Visit;
use crate::lock::lock;
use crate::shared::Shared;

/// Messages of a client that wait for their turn; over HTTP the next ones wait in their connections.
const MOST_ARRIVED: usize = 16;
/// Finished streams that are kept for a client whose connection broke off, and how many bytes of them that it may have
/// read.
const MOST_FINISHED: usize = 16;
const MOST_KEPT: usize = 64 * 1024;
const ENDED: &str = "the client's session ended";
const CANCELLED: &str = "notifications/cancelled";

/// The streams to one client.
pub(super) struct Streams {
    state: Mutex<State>,
    arriving: mpsc::Sender<Value>,
    /// `true` in sessions, whose broken streams can be resumed.
    is_resumable: bool,
    /// `true` if an empty event begins each stream of a request, from which it can be resumed: since 2025-11-25. Older
    /// clients take the data of each event for a message.
    is_primed: bool,
}

struct State {
    /// The streams of requests, by number; `None` is the stream of messages outside any request.
    channels: BTreeMap<Option<u64>, Channel>,
    /// The pending requests: the streams of their answers, and their callers. They keep their permits even without
    /// listeners.
    under_way: HashMap<RequestId, (u64, Visit)>,
    next: u64,
    listeners: u64,
}

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// Another one has its id.
    InUse,
    /// The session has ended.
    Ended,
}

impl Streams {
    /// Makes the streams of a client and the receiving side of its session, which must be polled. Its subscriptions end
    /// with `closing`. `version` is that of a session; a request without a session has none here.
    pub(super) fn open(
        proxy: &Arc<Shared>,
        closing: CancellationToken,
        version: Option<ProtocolVersion>,
    ) -> io::Result<(Arc<Self>, Receiving)> {
        let (arriving, arrived) = mpsc::channel(MOST_ARRIVED);
        let is_resumable = version.is_some();
        let is_primed = version.is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
        let state = State {
            channels: BTreeMap::from([(None, Channel::new(is_resumable))]),
            under_way: HashMap::new(),
            next: 0,
            listeners: 0,
        };
        let streams = Arc::new(Self { state: Mutex::new(state), arriving, is_resumable, is_primed });
        let known = Arc::downgrade(&streams);
        let visits = move |id: &RequestId| {
            let streams = known.upgrade()?;
            let state = lock(&streams.state);
            state.under_way.get(id).map(|(_, visit)| visit.clone())
        };
        let client = Arc::new(ClientState::new(proxy.clone(), Some(Box::new(visits)), closing));
        let receiving = serve(
            |ledger| Ok((streams.clone(), Box::new(Arrivals { ledger, arrived, streams: streams.clone() }))),
            client,
        )?;
        Ok((streams, receiving))
    }

    /// Accepts a request, and returns the stream of its response. Cancel safe: a future that is dropped early accepts
    /// nothing.
    pub(super) async fn request(
        self: &Arc<Self>,
        id: RequestId,
        message: Value,
        visit: Visit,
    ) -> Result<Listener, NotTaken> {
        let turn = self.arriving.reserve().await.map_err(|_| NotTaken::Ended)?;
        let mut state = lock(&self.state);
        if state.under_way.contains_key(&id) {
            return Err(NotTaken::InUse);
        }
        let number = state.next;
        state.next += 1;
        let mut channel = Channel::new(self.is_resumable);
        if self.is_primed {
            channel.push(None, Some(number));
        }
        state.forget_finished();
        state.channels.insert(Some(number), channel);
        state.under_way.insert(id, (number, visit));
        let own = state.listener();
        turn.send(message);
        Ok(Listener::new(self, Some(number), own))
    }

    /// Takes a notification or a response; `false` if the session has ended.
    pub(super) async fn take(&self, message: Value) -> bool {
        if message.get("method").and_then(Value::as_str) == Some(CANCELLED)
            && let Some(id) = message.pointer("/params/requestId")
            && let Ok(id) = serde_json::from_value(id.clone())
        {
            let mut state = lock(&self.state);
            if let Some((stream, _)) = state.under_way.remove(&id)
                && let Some(channel) = state.channels.get_mut(&Some(stream))
            {
                channel.finish();
            }
        }
        self.arriving.send(message).await.is_ok()
    }

    /// Returns the stream of messages outside any request. Only one of several listeners receives it.
    pub(super) fn own(self: &Arc<Self>) -> Listener {
        let own = lock(&self.state).listener();
        Listener::new(self, None, own)
    }

    /// Returns the rest of a stream after an event, or `None` if it is unknown.
    pub(super) fn resumed(self: &Arc<Self>, last: &str) -> Option<Listener> {
        let mut state = lock(&self.state);
        let (index, number) = match last.split_once('/') {
            Some((index, number)) => (index, Some(number.parse().ok()?)),
            None => (last, None),
        };
        let index = index.parse().ok()?;
        let own = state.listener();
        let is_there = state.channels.get_mut(&number)?.resume(index, own);
        drop(state);
        is_there.then(|| Listener::new(self, number, own))
    }

    /// Returns how many requests are not answered yet.
    pub(super) fn under_way(&self) -> usize {
        lock(&self.state).under_way.len()
    }

    /// Ends all streams.
    fn end(&self) {
        let mut state = lock(&self.state);
        state.channels.values_mut().for_each(Channel::finish);
        let under_way = std::mem::take(&mut state.under_way);
        drop(state);
        // Dropped without the lock.
        drop(under_way);
    }

    /// Waits until a stream has room for another notification.
    /// Cancel safe.
    async fn room(&self, about: Option<&RequestId>) {
        loop {
            let changed = {
                let mut state = lock(&self.state);
                let number = state.stream_of(about);
                match state.channels.get_mut(&number) {
                    Some(channel) if channel.is_full() => channel.changed(),
                    _ => return,
                }
            };
            changed.await;
        }
    }

    fn push(&self, message: &Message, data: Data) {
        let mut state = lock(&self.state);
        let (number, is_answer) = match message {
            Message::Response { id, .. } => match state.under_way.remove(id) {
                Some((stream, _)) => (Some(stream), true),
                // The client has cancelled it.
                None => return,
            },
            Message::Request { call, .. } | Message::Notification(call) => {
                (state.stream_of(call.about.as_ref()), false)
            }
        };
        if let Some(channel) = state.channels.get_mut(&number) {
            channel.push(Some(data), number);
            if is_answer {
                channel.finish();
            }
        }
    }
}

impl State {
    /// Returns the number of the next listener.
    fn listener(&mut self) -> u64 {
        self.listeners += 1;
        self.listeners
    }

    /// Returns the stream of a request that is under way.
    fn stream_of(&self, about: Option<&RequestId>) -> Option<u64> {
        Some(self.under_way.get(about?)?.0)
    }

    /// Drops the oldest finished streams, because clients resume soon or not at all.
    fn forget_finished(&mut self) {
        let (mut streams, mut bytes) = (0, 0);
        let finished = self.channels.iter().rev().filter(|(_, channel)| channel.is_abandoned());
        let mut is_forgotten = |channel: &Channel| {
            streams += 1;
            bytes += channel.kept_bytes();
            streams > MOST_FINISHED || bytes > MOST_KEPT || channel.is_old()
        };
        let forgotten: Vec<Option<u64>> =
            finished.filter(|(_, channel)| is_forgotten(channel)).map(|(number, _)| *number).collect();
        for number in forgotten {
            self.channels.remove(&number);
        }
    }
}

impl Sender for Streams {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        Box::pin(async move {
            if let Message::Request { call: MethodCall { about, .. }, .. }
            | Message::Notification(MethodCall { about, .. }) = &message
            {
                self.room(about.as_ref()).await;
            }
            let data = Data::of(&message).map_err(|error| Failure::not_sent(error.to_string()))?;
            if !outgoing.begin_write(None) {
                return Err(Failure::not_sent(ENDED));
            }
            self.push(&message, data);
            outgoing.written();
            Ok(())
        })
    }
}

/// The messages that a client sends.
struct Arrivals {
    ledger: Arc<Ledger>,
    arrived: mpsc::Receiver<Value>,
    streams: Arc<Streams>,
}

impl Transport for Arrivals {
    fn receive(&mut self) -> Pin<Box<dyn Future<Output = Option<Incoming>> + Send + '_>> {
        Box::pin(async move {
            loop {
                let message = self.arrived.recv().await?;
                if let Some(incoming) = self.ledger.received(message, None) {
                    return Some(incoming);
                }
            }
        })
    }

    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.ledger.close(&Failure::lost(ENDED), None);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.streams.end();
    }
}

/// Listens to a stream.
pub(super) struct Listener {
    streams: Arc<Streams>,
    number: Option<u64>,
    own: u64,
    has_begun: bool,
}

impl Listener {
    fn new(streams: &Arc<Streams>, number: Option<u64>, own: u64) -> Self {
        Self { streams: streams.clone(), number, own, has_begun: false }
    }

    /// Returns the next event, or `None` once the stream has ended or another listener has taken over. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            let changed = {
                let mut state = lock(&self.streams.state);
                let channel = state.channels.get_mut(&self.number)?;
                match channel.next(self.own, &mut self.has_begun) {
                    Poll::Ready(event) => return event,
                    Poll::Pending => channel.changed(),
                }
            };
            changed.await;
        }
    }

    /// Returns the answer to the request.
    pub(super) async fn answer(mut self) -> Option<Data> {
        loop {
            if let Some(data) = self.next().await?.data.filter(|data| data.answer.is_some()) {
                return Some(data);
            }
        }
    }

    pub(super) fn events(self) -> impl Stream<Item = Event> + Send {
        unfold(self, async |mut listener| Some((listener.next().await?, listener)))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = lock(&self.streams.state);
        if let Some(channel) = state.channels.get_mut(&self.number) {
            channel.leave(self.own);
        }
        state.forget_finished();
    }
}
