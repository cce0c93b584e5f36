//! Sessions of clients over several instances. One instance holds a session, and others forward its requests there
//! through the shared state. Thus responses, cancellations, progress and streams are all on the instance of their call.
//! If an instance dies, another one continues its session if no server keeps state for it; otherwise the session ends.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use mcp_bindgen_runtime::Caller;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use super::headers::SessionId;
use crate::lock::lock;
use crate::redis::{RedisState, RedisStateError, SessionRecord};

/// The time by which the record of a session outlives its idle timeout.
const MARGIN: Duration = Duration::from_secs(60);

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
    /// The number of the next request that is forwarded.
    pub(super) next: AtomicU64,
    /// The answers that are awaited from other instances.
    pub(super) awaited: Mutex<HashMap<u64, mpsc::Sender<Frame>>>,
    /// The sessions that are held here.
    records: Mutex<HashMap<SessionId, SessionRecord>>,
}

impl Replicas {
    pub(super) fn new(state: RedisState, idle: Duration) -> Self {
        let kept = idle + MARGIN;
        let (next, awaited, records) = Default::default();
        Self { state, kept, next, awaited, records }
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
        if let Err(error) = self.state.put_session(session, &record, self.state.id(), self.kept).await {
            tracing::warn!(target: "mcp_bindgen_proxy", "a subscription is not kept for other instances: {error}");
        }
    }

    /// Records that this instance holds a session, in place of an earlier holder.
    pub(super) async fn hold(&self, session: &SessionId, mut record: SessionRecord) -> Result<(), RedisStateError> {
        let before = std::mem::replace(&mut record.holder, self.state.id().to_owned());
        if !self.state.put_session(session, &record, &before, self.kept).await? {
            return Err(RedisStateError::new("another instance holds the session"));
        }
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

    /// Keeps the records of the sessions that are held here, and returns the sessions that another instance holds now, which
    /// took this one for dead.
    pub(super) async fn renew(&self) -> Vec<SessionId> {
        let records: Vec<_> = lock(&self.records).iter().map(|(id, record)| (id.clone(), record.clone())).collect();
        let mut lost = Vec::new();
        for (session, record) in records {
            match self.state.put_session(&session, &record, self.state.id(), self.kept).await {
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
}
