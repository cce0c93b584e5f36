//! Sessions of clients over several instances. One instance holds a session, and others forward its requests there
//! through the shared state. Thus responses, cancellations, progress and streams are all on the instance of their call.
//! If an instance dies, another one continues its session if no server keeps state for it; otherwise the session ends.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use lru::LruCache;
use mcp_bindgen_runtime::Caller;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::body::{Answer, Payload};
use super::sessions::SessionId;
use crate::list_changes::Kind;
use crate::lock::lock;
use crate::redis::{KnownChanges, RedisState, RedisStateError, SessionRecord};

/// The time by which the record of a session outlives its idle timeout.
const MARGIN: Duration = Duration::from_secs(60);
/// The number of remembered requests.
const MOST_SEEN: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The instance that answers a request.
pub(super) enum Route {
    /// This one, with this body.
    Here(Payload),
    /// Another one, with this answer.
    Elsewhere(Answer),
}

/// A message between instances. Numbers are those of the instance that forwards a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// A request of a session that the receiver holds.
    Request { from: String, number: u64, request: Box<Forwarded> },
    /// The client of a forwarded request is gone.
    Cancel { from: String, number: u64 },
    /// A part of an answer; `None` ends it.
    Answer { number: u64, frame: Option<Frame> },
}

/// A part of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Frame {
    /// The status and the headers.
    Head(u16, Headers),
    /// A part of the body.
    Part(String),
}

/// A request as it came to another instance.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Forwarded {
    pub(super) method: String,
    pub(super) headers: Headers,
    pub(super) body: String,
    pub(super) caller: Caller,
}

/// Headers as text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text =
            |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
        Self(headers.iter().filter_map(text).collect())
    }

    pub(super) fn map(&self) -> HeaderMap {
        let header = |(name, value): &(String, String)| {
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
        };
        self.0.iter().filter_map(header).collect()
    }
}

/// This instance among others.
pub(super) struct Replicas {
    pub(super) state: RedisState,
    /// How long the record of an unused session is kept.
    kept: Duration,
    next: AtomicU64,
    /// The answers that are awaited from other instances.
    pub(super) awaited: Mutex<HashMap<u64, mpsc::Sender<Frame>>>,
    /// The requests of other instances that are worked on here.
    working: Mutex<HashMap<(String, u64), AbortHandle>>,
    /// The latest requests of other instances, so that none is handled twice.
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

    /// Records that this instance holds a session, in place of any earlier holder.
    pub(super) async fn hold(&self, session: &SessionId, record: SessionRecord) -> Result<(), RedisStateError> {
        let record = SessionRecord { holder: self.state.id().to_owned(), ..record };
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

    /// Begins to work on a request of another instance, the first time that it comes.
    pub(super) fn begin(&self, request: (String, u64), work: impl FnOnce() -> AbortHandle) {
        if lock(&self.seen).put(request.clone(), ()).is_some() {
            return;
        }
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

    /// Passes a part of an answer to its waiting request. A request that does not take it is dropped.
    pub(super) fn hand_on(&self, number: u64, frame: Option<Frame>) {
        let mut awaited = lock(&self.awaited);
        let is_taken =
            frame.is_some_and(|frame| awaited.get(&number).is_some_and(|waiting| waiting.try_send(frame).is_ok()));
        if !is_taken {
            awaited.remove(&number);
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}
