//! The state of a client's connection, and its use, to detect idle connections.

use std::future::pending;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ConnectError;
use crate::call::events::{ConnectionState, Observer};
use crate::client::catalog::changes::Changes;
use crate::client::catalog::drift::{LiveTools, Reported};
use crate::connect::connection::Connection;
use crate::connect::limits::SharedLimits;
use crate::connect::options::ClientOptions;
use crate::ground::redact::debug_as;
use crate::ground::sync::{awaited, lock};
use crate::rpc::notices::Notices;

/// The minimum lifetime of a new connection, for the callers that requested it.
const TIME_FOR_FIRST_USE: Duration = Duration::from_secs(1);

/// Watches a [`ConnectionState`]. Of several changes in quick succession, it may report only the last.
///
/// ```no_run
/// # async fn run(client: mcp_bindgen_runtime::Client) {
/// let mut watch = client.watch_state();
/// while let Some(state) = watch.changed().await {
///     println!("{}: {state:?}", client.name());
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct StateWatch(pub(super) watch::Receiver<Published>);

debug_as!(StateWatch, "StateWatch(..)");

impl StateWatch {
    /// Returns the state now.
    #[must_use]
    pub fn current(&self) -> ConnectionState {
        self.0.borrow().progress.state()
    }

    /// Waits until the state differs from the last one; returns `None` once all clients and connections are gone.
    pub async fn changed(&mut self) -> Option<ConnectionState> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().progress.state())
    }
}

/// The progress of a client's connection, and its failed attempts.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) progress: Progress,
    /// How many attempts failed.
    pub(super) failures: u64,
    /// The error of the last attempt that failed. The next attempt does not replace it, so nobody misses it.
    pub(super) error: Option<Arc<ConnectError>>,
}

/// The progress of a client's connection.
#[derive(Clone)]
pub(super) enum Progress {
    Closed,
    Opening,
    /// A lost connection is being replaced.
    Reopening,
    Open(Arc<Opened>),
    Failed(Failed),
    ShutDown,
}

impl Progress {
    pub(super) fn state(&self) -> ConnectionState {
        match self {
            Self::Closed | Self::Failed(_) => ConnectionState::Disconnected,
            Self::Opening => ConnectionState::Connecting,
            Self::Reopening => ConnectionState::Reconnecting,
            Self::Open(_) => ConnectionState::Connected,
            Self::ShutDown => ConnectionState::ShutDown,
        }
    }
}

/// The reason for a missing connection, and the time of the next attempt.
#[derive(Clone)]
pub(super) struct Failed {
    pub(super) error: ConnectError,
    pub(super) pause: Duration,
    pub(super) since: Instant,
}

impl Failed {
    /// Returns the error of a call before the next attempt is due.
    pub(super) fn too_early(&self) -> Option<ConnectError> {
        let left = self.pause.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())?;
        let mut error = self.error.clone();
        let left_in_ms = left.as_millis() + 1;
        error.message =
            format!("no new connection attempt for {left_in_ms} ms, because the last one failed: {}", error.message);
        Some(error.with_retry_after(Some(left)))
    }
}

/// An open connection, and its use.
pub(super) struct Opened {
    pub(super) connection: Arc<Connection>,
    /// Its tools, and whether they are those that were bound.
    pub(super) live_tools: LiveTools,
    /// Cancelled when the connection has ended, or must end.
    pub(super) end: CancellationToken,
    pub(super) activity: Mutex<Activity>,
}

/// The use of an open connection.
pub(super) struct Activity {
    pub(super) users: usize,
    pub(super) was_used: bool,
    since: Instant,
    is_retired: bool,
}

impl Opened {
    pub(super) fn new(connection: Connection, reported: &Arc<Reported>) -> Arc<Self> {
        let connection = Arc::new(connection);
        let live_tools = LiveTools::new(connection.clone(), reported.clone());
        let activity = Activity { users: 0, was_used: false, since: Instant::now(), is_retired: false };
        Arc::new(Self { connection, live_tools, end: CancellationToken::new(), activity: Mutex::new(activity) })
    }

    /// Returns the connection for requests, or `None` if it must not be used any more.
    pub(super) fn lease(self: &Arc<Self>) -> Option<Lease> {
        if !self.connection.is_open() {
            // Its keeper may not have seen that yet.
            self.end.cancel();
            return None;
        }
        let mut activity = lock(&self.activity);
        if activity.is_retired {
            return None;
        }
        activity.users += 1;
        activity.was_used = true;
        drop(activity);
        Some(Lease { opened: self.clone() })
    }

    /// Retires the connection if it has been unused for the given time. Otherwise returns the time until the next
    /// check.
    pub(super) fn retire_after(&self, idle: Duration) -> Result<(), Duration> {
        let mut activity = lock(&self.activity);
        let idle = if activity.was_used { idle } else { idle.max(TIME_FOR_FIRST_USE) };
        let left = if activity.users > 0 { idle } else { idle.saturating_sub(activity.since.elapsed()) };
        activity.is_retired = activity.users == 0 && left.is_zero();
        if activity.is_retired { Ok(()) } else { Err(left.max(Duration::from_millis(1))) }
    }
}

/// An open connection that is in use until this is dropped.
pub(crate) struct Lease {
    pub(super) opened: Arc<Opened>,
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.opened.connection
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut activity = lock(&self.opened.activity);
        activity.users = activity.users.saturating_sub(1);
        activity.since = Instant::now();
    }
}

/// The parts of a client that its connections use. They outlive the client while a connection is closing.
pub(super) struct Shared {
    pub(super) config: Arc<ServerConfig>,
    pub(super) options: ClientOptions,
    pub(super) progress: watch::Sender<Published>,
    pub(super) observer: Arc<Observer>,
    pub(super) tools: Changes,
    /// The subscribers to notifications.
    pub(super) notices: Arc<Notices>,
    pub(super) limits: SharedLimits,
    /// The drift of tools that was reported.
    pub(super) drift: Arc<Reported>,
}

impl Shared {
    #[cfg_attr(not(feature = "auth"), expect(unused_mut, reason = "nothing else is added to it"))]
    pub(super) fn new(config: ServerConfig, mut options: ClientOptions) -> Self {
        #[cfg(feature = "auth")]
        options.authorize_as_configured(&config);
        let limits = options.limits.clone().unwrap_or_default();
        limits.set(config.limit, options.max_concurrent_requests);
        let observer = Arc::new(Observer::new(&config, options.records_content));
        let config = Arc::new(config);
        Self {
            options,
            progress: watch::Sender::new(Published { progress: Progress::Closed, failures: 0, error: None }),
            tools: Changes::new(observer.clone()),
            notices: Arc::default(),
            limits,
            drift: Arc::new(Reported::new(config.clone(), observer.clone())),
            config,
            observer,
        }
    }

    /// Waits until another attempt fails after this number of them. A connection that closes because it is idle is none.
    pub(super) async fn failure(&self, failures: u64) -> ConnectError {
        let error = awaited(&mut self.progress.subscribe(), &mut |now| now.failures != failures).await.error;
        if let Some(error) = error { ConnectError::clone(&error) } else { pending().await }
    }

    /// Publishes the progress of a connection, unless its keeper was cancelled (`close`) or the client is shut down.
    /// Wakes receivers only if the [`ConnectionState`] changes with it.
    pub(super) fn publish(&self, close: Option<&CancellationToken>, mut progress: Progress) {
        self.progress.send_if_modified(|last| {
            if close.is_some_and(CancellationToken::is_cancelled) || matches!(last.progress, Progress::ShutDown) {
                return false;
            }
            let (before, state) = (last.progress.state(), progress.state());
            // The old one is dropped after the lock.
            std::mem::swap(&mut last.progress, &mut progress);
            let error = if let Progress::Failed(failed) = &last.progress { Some(&failed.error) } else { None };
            if error.is_some() {
                last.failures += 1;
                last.error = error.cloned().map(Arc::new);
            }
            if state == before {
                return false;
            }
            // Before the next change can be published.
            self.observer.state_changed(state, error);
            true
        });
    }
}
