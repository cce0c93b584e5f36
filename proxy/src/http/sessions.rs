//! Sessions of clients up to 2025-11-25.
//!
//! rmcp keeps what a session is made of, its streams and what can be resumed of them. When one ends is decided here: when
//! nobody was there for a while, however long a call takes, and never while somebody is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{BoxStream, StreamExt};
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest, ServerJsonRpcMessage};
use rmcp::service::serve_server_with_ct;
use rmcp::transport::TransportAdapterIdentity;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::body::Place;
use super::options::Limits;
use crate::Proxy;
use crate::shares::{Share, Shares};
use crate::under_way::{Noted, UnderWay};

/// So many ends of sessions wait for whoever listens.
const UNREAD_ENDS: usize = 4096;

/// All sessions of a server.
#[derive(Clone)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    open: Arc<Mutex<HashMap<SessionId, Session>>>,
    limits: Limits,
    /// The sessions of principals.
    shares: Shares,
    ended: tokio::sync::broadcast::Sender<SessionId>,
    /// Ends all of them.
    ending: CancellationToken,
}

#[derive(Clone)]
struct Session {
    /// The name by which rmcp knows it: another one than that of its client if another instance began it.
    internal: SessionId,
    /// How many requests and streams of its client are open.
    present: Arc<watch::Sender<usize>>,
    /// When somebody last came.
    used: Instant,
    ending: CancellationToken,
    /// Whoever began it: nobody else may use it.
    principal: Option<String>,
    /// Of the sessions of a principal, until it ends.
    share: Arc<Mutex<Option<Share>>>,
    /// Its requests hold their places until they are answered: whoever asks and goes away makes as much work as one who stays.
    under_way: UnderWay<Place>,
}

/// Somebody is there: the session does not end while this is held.
pub(super) struct Presence(Arc<watch::Sender<usize>>);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.send_modify(|present| *present = present.saturating_sub(1));
    }
}

/// Why there is no new session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotBegun {
    #[error("session limit reached")]
    Full,
    #[error(transparent)]
    Failed(#[from] LocalSessionManagerError),
}

/// Why a request was not sent.
pub(super) enum NotSent {
    NoSession,
    /// Another one has its id.
    InUse,
    /// The session has as many requests under way as one may have.
    Busy,
}

impl Sessions {
    pub(super) fn new(limits: &Limits, ending: CancellationToken) -> Self {
        let mut manager = LocalSessionManager::default();
        // It would count a call that takes long as nobody being there.
        manager.session_config.keep_alive = None;
        Self {
            manager: Arc::new(manager),
            open: Arc::default(),
            limits: *limits,
            shares: Shares::new(usize::MAX, limits.sessions.div_ceil(4)),
            ended: tokio::sync::broadcast::Sender::new(UNREAD_ENDS),
            ending,
        }
    }

    /// Begins a session with `initialize`, and gives its answer. One of another instance keeps its name.
    pub(super) async fn begin(
        &self,
        proxy: &Proxy,
        initialize: ClientJsonRpcMessage,
        caller: &Caller,
        known_as: Option<SessionId>,
    ) -> Result<(SessionId, ServerJsonRpcMessage), NotBegun> {
        let share = match &caller.principal {
            Some(principal) => Some(self.share_of(principal).await.ok_or(NotBegun::Full)?),
            None => None,
        };
        let (internal, transport) = self.manager.create_session().await?;
        let id = known_as.unwrap_or_else(|| internal.clone());
        let session = Session {
            internal: internal.clone(),
            principal: caller.principal.clone(),
            share: Arc::new(Mutex::new(share)),
            present: Arc::new(watch::Sender::new(1)),
            used: Instant::now(),
            ending: self.ending.child_token(),
            under_way: UnderWay::default(),
        };
        let _here = Presence(session.present.clone());
        let most = self.limits.for_children(proxy.children_of_session()).sessions;
        let idle = {
            let mut open = self.open();
            let is_full = open.len() >= most;
            let idle = if is_full { longest_idle(&open, None) } else { None };
            if !is_full || idle.is_some() {
                open.insert(id.clone(), session.clone());
            }
            // It is no session any more, before anybody else looks.
            let idle = idle.and_then(|id| open.remove_entry(&id));
            if is_full && idle.is_none() { Err(NotBegun::Full) } else { Ok(idle) }
        };
        match idle {
            Ok(None) => {}
            Ok(Some((other, session))) => {
                tracing::debug!(target: "mcp_bindgen_proxy", "session limit reached: closing the session that was idle longest");
                self.close(other, &session).await;
            }
            Err(full) => {
                self.manager.close_session(&internal).await?;
                return Err(full);
            }
        }
        let transport = Noted { transport, under_way: session.under_way.clone() };
        let (service, sessions, this) = (proxy.session(), self.clone(), id.clone());
        tokio::spawn(async move {
            let ending = session.ending.clone();
            let serving = async {
                let served =
                    serve_server_with_ct::<_, _, _, TransportAdapterIdentity>(service, transport, ending.clone()).await;
                if let Ok(running) = served {
                    let _ = running.waiting().await;
                }
            };
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
            sessions.open().remove(&this);
            sessions.close(this, &session).await;
        });
        let answer = self.manager.initialize_session(&internal, initialize).await;
        if answer.is_err() {
            self.end(&id).await;
        }
        Ok((id, answer?))
    }

    /// Takes a share of a principal's sessions. If there is none, the session of the principal that was idle longest ends.
    async fn share_of(&self, principal: &str) -> Option<Share> {
        if let Some(share) = self.shares.take(principal) {
            return Some(share);
        }
        let idle = {
            let mut open = self.open();
            longest_idle(&open, Some(principal)).and_then(|id| open.remove_entry(&id))
        };
        let (id, session) = idle?;
        self.close(id, &session).await;
        let share = session.share.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(share);
        self.shares.take(principal)
    }

    /// Counts a client as there, where it has such a session. One of another principal is as good as none.
    pub(super) fn present(&self, id: &SessionId, caller: &Caller) -> Option<Presence> {
        let mut open = self.open();
        let session = open.get_mut(id).filter(|session| session.principal == caller.principal)?;
        session.used = Instant::now();
        session.present.send_modify(|present| *present += 1);
        Some(Presence(session.present.clone()))
    }

    /// Sends a request, and gives what is answered until the answer itself. It holds its place until it is answered,
    /// whoever listens.
    pub(super) async fn request(
        &self,
        id: &SessionId,
        request: JsonRpcRequest<ClientRequest>,
        place: Place,
    ) -> Result<BoxStream<'static, ServerSseMessage>, NotSent> {
        let session = self.open().get(id).cloned().ok_or(NotSent::NoSession)?;
        let number = request.id.clone();
        // No client keeps all others from asking.
        if session.under_way.len() >= self.limits.requests.div_ceil(4) {
            return Err(NotSent::Busy);
        }
        if !session.under_way.begin(number.clone(), place) {
            return Err(NotSent::InUse);
        }
        match self.manager.create_stream(&session.internal, ClientJsonRpcMessage::Request(request)).await {
            Ok(answers) => Ok(answers.boxed()),
            Err(_) => {
                session.under_way.end(&number);
                Err(NotSent::NoSession)
            }
        }
    }

    /// Sends what has no answer: notifications, and answers to what was asked in between.
    pub(super) async fn tell(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), LocalSessionManagerError> {
        self.manager.accept_message(&self.internal(id), message).await
    }

    /// Returns the stream of the server's own messages.
    pub(super) async fn unasked(
        &self,
        id: &SessionId,
    ) -> Result<BoxStream<'static, ServerSseMessage>, LocalSessionManagerError> {
        Ok(self.manager.create_standalone_stream(&self.internal(id)).await?.boxed())
    }

    /// Returns the events after one of a stream that broke off.
    pub(super) async fn resumed(
        &self,
        id: &SessionId,
        last: String,
    ) -> Result<BoxStream<'static, ServerSseMessage>, LocalSessionManagerError> {
        Ok(self.manager.resume(&self.internal(id), last).await?.boxed())
    }

    /// Returns `true` if there is such a session here.
    #[cfg(feature = "redis")]
    pub(super) fn has(&self, id: &SessionId) -> bool {
        self.open().contains_key(id)
    }

    /// Returns the names of sessions as they end.
    #[cfg(feature = "redis")]
    pub(super) fn ends(&self) -> tokio::sync::broadcast::Receiver<SessionId> {
        self.ended.subscribe()
    }

    fn internal(&self, id: &SessionId) -> SessionId {
        self.open().get(id).map_or_else(|| id.clone(), |session| session.internal.clone())
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    /// Ends a session, and with it what of it is under way; says whether there was one.
    pub(super) async fn end(&self, id: &SessionId) -> bool {
        let Some(session) = self.open().remove(id) else { return false };
        self.close(id.clone(), &session).await;
        true
    }

    /// Closes a session that is no longer among the open ones.
    async fn close(&self, id: SessionId, session: &Session) {
        session.ending.cancel();
        let _ = self.manager.close_session(&session.internal).await;
        // Nobody listens to those of a single instance.
        let _ = self.ended.send(id);
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the session that nobody uses, of those the one that was used last the longest ago: of all, or of a principal.
fn longest_idle(open: &HashMap<SessionId, Session>, of: Option<&str>) -> Option<SessionId> {
    let is_of = |session: &Session| of.is_none_or(|principal| session.principal.as_deref() == Some(principal));
    let idle = open.iter().filter(|(_, session)| *session.present.borrow() == 0 && is_of(session));
    idle.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone())
}

/// Waits until nobody was there for this long.
async fn unused(mut present: watch::Receiver<usize>, idle: Duration) {
    loop {
        if present.wait_for(|present| *present == 0).await.is_err() {
            return;
        }
        match tokio::time::timeout(idle, present.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
