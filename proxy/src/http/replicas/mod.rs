//! Sessions of clients over several instances. A session is held by one instance: others forward its requests there, through
//! the shared state, so that answers, cancellations, progress and streams are all where their call is. The session of a dead
//! instance goes on with another one if no server keeps anything of it, and else has ended.

mod forward;
mod message;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use mcp_bindgen_runtime::Caller;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::forward::Frame;
pub(super) use self::forward::forward;
pub(super) use self::message::Forwarded;
pub(super) use self::message::{Message, headers, texts};
use super::body::Payload;
use super::sessions::SessionId;
use crate::attached::Kind;
use crate::redis::{Holder, Inbox, KnownChanges, RedisState, RedisStateError, SessionRecord};

/// The record of a session outlives the time after which the session ends by itself by so much.
const MARGIN: Duration = Duration::from_secs(60);
/// How often it is looked who holds a session that somebody else goes on with.
pub(super) const MOST_LOOKS: usize = 50;
/// So many requests are remembered.
const MOST_SEEN: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The instance that answers a request.
pub(super) enum Route {
    Here(Payload),
    /// By this instance, with this body.
    Forwarded(String, String),
}

/// This instance among others.
pub(super) struct Replicas {
    state: RedisState,
    /// How long the record of an unused session is kept.
    kept: Duration,
    next: AtomicU64,
    /// The answers that are awaited from other instances.
    awaited: Mutex<HashMap<u64, mpsc::Sender<Frame>>>,
    /// The requests of other instances that are worked on here.
    working: Mutex<HashMap<(String, u64), AbortHandle>>,
    /// The requests of other instances that came, the latest ones: none is worked on twice.
    seen: Mutex<LruCache<(String, u64), ()>>,
    /// The sessions that are held here.
    records: Mutex<HashMap<SessionId, SessionRecord>>,
}

impl Replicas {
    pub(super) fn new(state: RedisState, idle: Duration) -> Self {
        let kept = idle + MARGIN;
        let (next, awaited, working, records) = Default::default();
        Self { state, kept, next, awaited, working, seen: Mutex::new(LruCache::new(MOST_SEEN)), records }
    }

    /// Notes that a session is held here.
    pub(super) async fn begun(
        &self,
        session: &SessionId,
        caller: &Caller,
        initialize: Value,
        can_move: bool,
    ) -> Result<(), RedisStateError> {
        let (holder, principal) = (self.state.id().to_owned(), caller.principal.clone());
        self.hold(session, SessionRecord { holder, principal, initialize, lasting: Vec::new(), can_move }).await
    }

    /// Notes a request whose effect lasts, for an instance that goes on with the session.
    pub(super) async fn note(&self, session: &SessionId, request: &Value) {
        let uri = request.pointer("/params/uri").and_then(Value::as_str);
        let (about, request) = match (request.get("method").and_then(Value::as_str), uri) {
            (Some("logging/setLevel"), _) => ("level", Some(request)),
            (Some("resources/subscribe"), Some(uri)) => (uri, Some(request)),
            (Some("resources/unsubscribe"), Some(uri)) => (uri, None),
            _ => return,
        };
        let record = {
            let mut records = lock(&self.records);
            let Some(record) = records.get_mut(session) else { return };
            record.lasting.retain(|(known, _)| known != about);
            record.lasting.extend(request.map(|request| (about.to_owned(), request.clone())));
            record.clone()
        };
        if let Err(error) = self.state.put_session(session, &record, self.kept).await {
            tracing::warn!(target: "mcp_bindgen_proxy", "a subscription is not kept for other instances: {error}");
        }
    }

    pub(super) async fn holder(&self, session: &SessionId) -> Result<Holder, RedisStateError> {
        self.state.holder(session).await
    }

    /// Claims the session of a dead instance; `false` if another instance has claimed it.
    pub(super) async fn claim(&self, session: &SessionId, record: &SessionRecord) -> Result<bool, RedisStateError> {
        self.state.claim(session, record).await
    }

    /// Takes over the record of a session that goes on here.
    pub(super) async fn took_over(&self, session: &SessionId, record: SessionRecord) -> Result<(), RedisStateError> {
        self.hold(session, SessionRecord { holder: self.state.id().to_owned(), ..record }).await
    }

    async fn hold(&self, session: &SessionId, record: SessionRecord) -> Result<(), RedisStateError> {
        self.state.put_session(session, &record, self.kept).await?;
        lock(&self.records).insert(session.clone(), record);
        Ok(())
    }

    /// Forgets a session that has ended.
    pub(super) async fn ended(&self, session: &SessionId) {
        if lock(&self.records).remove(session).is_none() {
            // Another instance holds it.
            return;
        }
        if let Err(error) = self.state.remove_session(session).await {
            tracing::debug!(target: "mcp_bindgen_proxy", "the record of an ended session stays for a while: {error}");
        }
    }

    /// Tells the others that this instance is alive.
    pub(super) async fn beat(&self) -> Result<(), RedisStateError> {
        self.state.beat().await
    }

    /// Tells the other instances of lists that have changed, and returns those that have changed as they say: each by its
    /// method and its server.
    pub(super) async fn changes(
        &self,
        own: &HashSet<(Arc<str>, Kind)>,
        known: &mut KnownChanges,
    ) -> Result<Vec<(Kind, String)>, RedisStateError> {
        for (server, kind) in own {
            self.state.count_change(&format!("{} {server}", kind.method()), known).await?;
        }
        let changed = self.state.changed_lists(known).await?;
        let list = |list: String| {
            let (method, server) = list.split_once(' ')?;
            Some((Kind::of_method(method)?, server.to_owned()))
        };
        Ok(changed.into_iter().filter_map(list).collect())
    }

    /// Keeps the records of the sessions that are held here, and returns the sessions that another instance holds now, which
    /// took this one for dead.
    pub(super) async fn renew(&self) -> Vec<SessionId> {
        let records: Vec<_> = lock(&self.records).iter().map(|(id, record)| (id.clone(), record.clone())).collect();
        let mut lost = Vec::new();
        for (session, record) in records {
            match self.state.renew_session(&session, &record, self.kept).await {
                Ok(true) => {}
                Ok(false) => {
                    lock(&self.records).remove(&session);
                    lost.push(session);
                }
                Err(_) => break,
            }
        }
        lost
    }

    pub(super) fn inbox(&self) -> Inbox {
        self.state.inbox()
    }

    /// Returns `true` the first time that a request comes.
    pub(super) fn is_new(&self, request: &(String, u64)) -> bool {
        lock(&self.seen).put(request.clone(), ()).is_none()
    }

    /// Begins to work on a request of another instance.
    pub(super) fn begin(&self, request: (String, u64), work: impl FnOnce() -> AbortHandle) {
        let mut working = lock(&self.working);
        // With the lock: it ends after this.
        working.insert(request, work());
    }

    pub(super) fn end(&self, request: &(String, u64)) {
        lock(&self.working).remove(request);
    }

    /// Ends the work on a request whose client is gone.
    pub(super) fn cancel(&self, request: &(String, u64)) {
        if let Some(working) = lock(&self.working).remove(request) {
            working.abort();
        }
    }

    /// Hands on a part of an answer to whoever waits for it. Who does not take it is let go.
    pub(super) fn hand_on(&self, answer: Message) {
        let mut awaited = lock(&self.awaited);
        let (number, frame) = match answer {
            Message::Head { number, status, headers } => (number, Some(Frame::Head(status, headers))),
            Message::Part { number, text } => (number, Some(Frame::Part(text))),
            Message::End { number } => (number, None),
            Message::Request { .. } | Message::Cancel { .. } => return,
        };
        let is_taken =
            frame.is_some_and(|frame| awaited.get(&number).is_some_and(|waiting| waiting.try_send(frame).is_ok()));
        if !is_taken {
            awaited.remove(&number);
        }
    }

    /// Takes back a message that an instance has not taken; `false` if it has.
    async fn take_back(&self, instance: &str, message: &Message) -> Result<bool, RedisStateError> {
        let text = serde_json::to_string(message).unwrap_or_default();
        self.state.take_back(instance, &text).await
    }

    /// Sends a message to an instance.
    pub(super) async fn send(&self, instance: &str, message: &Message) -> Result<(), RedisStateError> {
        let text = serde_json::to_string(message).unwrap_or_default();
        self.state.send(instance, &text).await
    }

    /// Tells the other instances that this one ends.
    pub(super) async fn leave(&self) {
        if let Err(error) = self.state.leave().await {
            tracing::debug!(target: "mcp_bindgen_proxy", "other instances find out for themselves that this one ended: {error}");
        }
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
