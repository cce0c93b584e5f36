//! Sessions of clients up to 2025-11-25.
//!
//! A session ends after some time without an open request or stream of its client, even if a call still runs. It never
//! ends by itself while one is open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_bindgen_runtime::Caller;
use rmcp::model::RequestId;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::body::{Answer, busy, failed};
use super::channel::Data;
use super::headers::SessionId;
use super::options::Limits;
use super::streams::Streams;
use crate::context::{Visit, session_version};
use crate::lock::lock;
use crate::random::random_id;
#[cfg(feature = "redis")]
use crate::redis::{RedisState, RedisStateError, SessionRecord};
use crate::shared::Shared;

/// The time by which the record of a session outlives its idle timeout.
#[cfg(feature = "redis")]
const MARGIN: Duration = Duration::from_secs(60);

/// All sessions of a server.
#[derive(Clone)]
pub(super) struct Sessions {
    pub(super) proxy: Arc<Shared>,
    pub(super) open: Arc<Mutex<HashMap<SessionId, Session>>>,
    pub(super) limits: Limits,
    /// Ends all of them.
    pub(super) ending: CancellationToken,
    /// Ends their subscriptions.
    pub(super) closing: CancellationToken,
}

#[derive(Clone)]
pub(super) struct Session {
    streams: Arc<Streams>,
    /// How many requests and streams of its client are open.
    present: Arc<watch::Sender<usize>>,
    /// The time of the last use.
    used: Instant,
    ending: CancellationToken,
    /// The principal that began the session; no other may use it.
    principal: Option<String>,
    /// The record for other instances, once this one holds the session.
    #[cfg(feature = "redis")]
    record: Option<SessionRecord>,
}

/// A client in the session, which does not end from idleness while this is held.
pub(super) struct Presence {
    pub(super) streams: Arc<Streams>,
    present: Arc<watch::Sender<usize>>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.present.send_modify(|present| *present = present.saturating_sub(1));
    }
}

impl Sessions {
    /// Begins a session with `initialize`, and gives its answer. One of another instance keeps its name.
    pub(super) async fn begin(
        &self,
        (request, initialize): (RequestId, Value),
        caller: &Caller,
        known_as: Option<SessionId>,
    ) -> Result<(SessionId, Data), Answer> {
        let not_begun = || failed("failed to start the session");
        let id = known_as.or_else(|| random_id().map(SessionId::from)).ok_or_else(not_begun)?;
        let asked = initialize.pointer("/params/protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let opened = Streams::open(&self.proxy, self.closing.clone(), Some(session_version(asked)));
        let (streams, receiving) = opened.map_err(|_| not_begun())?;
        let session = Session {
            streams: streams.clone(),
            principal: caller.principal.clone(),
            present: Arc::new(watch::Sender::new(1)),
            used: Instant::now(),
            ending: self.ending.child_token(),
            #[cfg(feature = "redis")]
            record: None,
        };
        let _here = Presence { streams: streams.clone(), present: session.present.clone() };
        // Each session may start this many child processes.
        let children = self.proxy.children_of_session();
        let most = self.limits.children.checked_div(children).unwrap_or(usize::MAX).max(1).min(self.limits.sessions);
        {
            let mut open = lock(&self.open);
            let is_own = |session: &Session| session.principal == caller.principal;
            let own = open.values().filter(|session| is_own(session)).count();
            let exceeds_own = caller.principal.is_some() && own >= self.limits.sessions.div_ceil(4);
            if exceeds_own || open.len() >= most {
                // The session that was idle longest: of all sessions, or of the principal.
                let idle = open.iter().filter(|(_, session)| *session.present.borrow() == 0);
                let idle = idle.filter(|(_, session)| !exceeds_own || is_own(session));
                let idle = idle.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
                let idle = idle.ok_or_else(|| busy("sessions"))?;
                tracing::debug!(target: "mcp_bindgen_proxy", "session limit reached: closing the session that was idle longest");
                // The session is removed at once, so that no other request finds it.
                open.remove(&idle).inspect(|session| session.ending.cancel());
            }
            open.insert(id.clone(), session.clone());
        }
        let (sessions, this) = (self.clone(), id.clone());
        tokio::spawn(async move {
            let ending = session.ending.clone();
            let serving = receiving.run(ending.clone());
            let unused = async {
                unused(session.present.subscribe(), sessions.limits.idle).await;
                tracing::debug!(target: "mcp_bindgen_proxy", "closing an idle session");
                ending.cancel();
                std::future::pending().await
            };
            tokio::select! {
                () = serving => {}
                () = unused => {}
            }
            session.ending.cancel();
            lock(&sessions.open).remove(&this);
            #[cfg(feature = "redis")]
            if let Some(state) = sessions.proxy.redis.as_ref().filter(|_| !sessions.ending.is_cancelled())
                && let Err(error) = state.put_session(&this, None, state.id(), sessions.kept()).await
            {
                tracing::debug!(target: "mcp_bindgen_proxy", "the record of an ended session stays for a while: {error}");
            }
        });
        let answer = async { streams.request(request, initialize, Visit::default()).await.ok()?.answer().await };
        match answer.await {
            Some(answer) => Ok((id, answer)),
            None => {
                self.end(&id);
                Err(not_begun())
            }
        }
    }

    /// Counts a client as present, if the session exists. A session of another principal counts as missing.
    pub(super) fn present(&self, id: &SessionId, caller: &Caller) -> Option<Presence> {
        let mut open = lock(&self.open);
        let session = open.get_mut(id).filter(|session| session.principal == caller.principal)?;
        session.used = Instant::now();
        session.present.send_modify(|present| *present += 1);
        Some(Presence { streams: session.streams.clone(), present: session.present.clone() })
    }

    /// Returns `true` if there is such a session here.
    pub(super) fn has(&self, id: &SessionId) -> bool {
        lock(&self.open).contains_key(id)
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    /// Ends a session, and with it what of it is under way.
    pub(super) fn end(&self, id: &SessionId) {
        lock(&self.open).remove(id).inspect(|session| session.ending.cancel());
    }
}

#[cfg(feature = "redis")]
impl Sessions {
    /// How long the record of an unused session is kept.
    fn kept(&self) -> Duration {
        self.limits.idle + MARGIN
    }

    /// Records that this instance holds a session, in place of an earlier holder. The session ends if that fails.
    pub(super) async fn hold(
        &self,
        state: &RedisState,
        id: &SessionId,
        mut record: SessionRecord,
    ) -> Result<(), RedisStateError> {
        let before = std::mem::replace(&mut record.holder, state.id().to_owned());
        let held = match state.put_session(id, Some(&record), &before, self.kept()).await {
            Ok(false) => Err(RedisStateError::new("another instance holds the session")),
            written => written.map(drop),
        };
        match lock(&self.open).get_mut(id) {
            Some(session) if held.is_ok() => session.record = Some(record),
            _ => {}
        }
        held.inspect_err(|_| self.end(id))
    }

    /// Notes a request whose effect lasts, for an instance that goes on with the session.
    pub(super) async fn note(&self, state: &RedisState, id: &SessionId, request: &Value) {
        let uri = request.pointer("/params/uri").and_then(Value::as_str);
        let (about, request) = match (request.get("method").and_then(Value::as_str), uri) {
            (Some("logging/setLevel"), _) => ("level", Some(request)),
            (Some("resources/subscribe"), Some(uri)) => (uri, Some(request)),
            (Some("resources/unsubscribe"), Some(uri)) => (uri, None),
            _ => return,
        };
        let record = {
            let mut open = lock(&self.open);
            let Some(record) = open.get_mut(id).and_then(|session| session.record.as_mut()) else { return };
            record.lasting.retain(|(known, _)| known != about);
            record.lasting.extend(request.map(|request| (about.to_owned(), request.clone())));
            record.clone()
        };
        if let Err(error) = state.put_session(id, Some(&record), state.id(), self.kept()).await {
            tracing::warn!(target: "mcp_bindgen_proxy", "a subscription is not kept for other instances: {error}");
        }
    }

    /// Keeps the records of the sessions that are held here, and ends the sessions that another instance holds now, which
    /// took this one for dead.
    pub(super) async fn renew(&self, state: &RedisState) {
        let record = |(id, session): (&SessionId, &Session)| Some((id.clone(), session.record.clone()?));
        let records: Vec<_> = lock(&self.open).iter().filter_map(record).collect();
        for (id, record) in records {
            match state.put_session(&id, Some(&record), state.id(), self.kept()).await {
                Ok(true) => {}
                Ok(false) => self.end(&id),
                Err(_) => break,
            }
        }
    }
}

/// Waits until the session has been unused for this time.
async fn unused(mut present: watch::Receiver<usize>, idle: Duration) {
    while present.wait_for(|present| *present == 0).await.is_ok() {
        if !matches!(tokio::time::timeout(idle, present.changed()).await, Ok(Ok(()))) {
            return;
        }
    }
}
