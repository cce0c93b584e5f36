//! Owns a client's connection: one keeper at a time opens it for all callers, watches it, reopens it if it is lost, and
//! closes it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, select_all};
use mcp_bindgen_model::ServerConfig;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::catalog::{changes, drift};
use super::state::{Failed, Lease, Opened, Progress, Published, Shared};
use crate::connect::open::establish;
use crate::connect::options::ClientOptions;
use crate::ground::backoff::with_jitter;
use crate::ground::on_drop::OnDrop;
use crate::ground::sync::{awaited, lock};
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// The pauses between the attempts to reopen a lost connection.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// The time after a failed attempt during which calls do not connect; it doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The minimum lifetime of an unused connection; a shorter one reopens only on demand.
const SHORT_LIFE: Duration = Duration::from_secs(30);
/// A server that lasted this long did not end at its start.
const TIME_TO_WORK: Duration = Duration::from_secs(5);
/// The longest time during which calls do not connect after failed attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time for keepers to end: longer than a child process that ignores signals, or a silent HTTP server, may take.
const PATIENCE_FOR_CLOSING: Duration = Duration::from_secs(10);
/// A server that ends each connection once it is open would be connected to without end.
const MOST_ENDED_CONNECTIONS: usize = 5;

/// The connection of one client and its clones. When the last of them goes, its keeper closes the connection.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    /// The digest of what clients must have in common, besides an equal configuration, to share the connection; `None`
    /// if it is not shared. It contains no values of placeholders.
    pub(super) key: Option<String>,
    /// The keepers that have not ended, and the last one. Only that may have a connection; the others may still be closing
    /// theirs.
    keepers: Mutex<Vec<KeeperHandle>>,
    /// `true` once calls are refused; the end of the connection is published later.
    is_shut_down: AtomicBool,
}

/// A keeper at work, or at the end of it.
#[derive(Clone)]
struct KeeperHandle {
    /// Tells the keeper to close its connection.
    close: CancellationToken,
    /// Cancelled when the keeper and its connections have ended.
    ended: CancellationToken,
    /// How many attempts had failed before: another number means that the keeper failed, whatever the next one does.
    failures: u64,
    task: AbortHandle,
}

impl Supervisor {
    pub(super) fn new(config: ServerConfig, options: ClientOptions, key: Option<String>) -> Self {
        let (keepers, is_shut_down) = (Mutex::default(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared::new(config, options)), key, keepers, is_shut_down }
    }

    /// Returns the open connection. Callers that arrive while it opens wait for the same attempt. After a failed
    /// attempt, the next one starts after a pause, or at once if the program asks for one.
    pub(super) async fn lease(&self, asks_for_attempt: bool) -> Result<Lease, ConnectError> {
        let mut published = self.shared.progress.subscribe();
        let mut ended = 0;
        loop {
            let mut was_opening = !matches!(published.borrow().progress, Progress::Open(_));
            let keeper = self.keep(asks_for_attempt)?;
            let mut is_settled = |now: &Published| {
                let is_opening = matches!(now.progress, Progress::Opening | Progress::Reopening);
                was_opening |= is_opening && !keeper.close.is_cancelled();
                now.failures != keeper.failures || !is_opening || keeper.close.is_cancelled()
            };
            let settled = awaited(&mut published, &mut is_settled).await;
            if settled.failures != keeper.failures
                && let Some(error) = settled.error
            {
                return Err(ConnectError::clone(&error));
            }
            let problem = match settled.progress {
                Progress::Open(opened) => {
                    if let Some(lease) = opened.lease() {
                        return Ok(lease);
                    }
                    let is_open =
                        |now: &Published| matches!(&now.progress, Progress::Open(open) if Arc::ptr_eq(open, &opened));
                    awaited(&mut published, &mut |now| !is_open(now)).await;
                    let problem =
                        format!("the server closed {MOST_ENDED_CONNECTIONS} connections right after they opened");
                    opened.connection.link.notes.explain(&problem)
                }
                _ if self.is_shut_down() => return Err(self.shut_down_error()),
                // It was open, and was closed or unused.
                _ if !was_opening => continue,
                _ if keeper.close.is_cancelled() => {
                    return Err(self.error(Kind::Transport, "the client was closed while it was connecting"));
                }
                // It ended with its runtime, by a panic, or right after it opened.
                _ => format!("{MOST_ENDED_CONNECTIONS} connections ended while they were opening"),
            };
            ended += 1;
            if ended == MOST_ENDED_CONNECTIONS {
                return Err(self.error(Kind::Transport, problem));
            }
        }
    }

    /// Returns the connection, if it is open.
    pub(super) fn open_connection(&self) -> Option<Arc<Opened>> {
        match &self.shared.progress.borrow().progress {
            Progress::Open(opened) if opened.connection.is_open() => Some(opened.clone()),
            _ => None,
        }
    }

    /// Returns `true` if the last attempt to connect failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.shared.progress.borrow().progress, Progress::Failed(_))
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::Relaxed)
    }

    /// Ends the connection, also one that is being opened, and waits for its end.
    pub(super) async fn close(&self) {
        self.close_within(PATIENCE_FOR_CLOSING).await;
    }

    /// Ends the connection for good.
    pub(super) async fn shut_down(&self) {
        self.is_shut_down.store(true, Ordering::Relaxed);
        self.close().await;
        self.shared.publish(None, Progress::ShutDown);
    }

    async fn close_within(&self, patience: Duration) {
        let keepers = self.end();
        let ended = async {
            for keeper in &keepers {
                keeper.ended.cancelled().await;
            }
        };
        // Without a runtime there is no clock.
        if Handle::try_current().is_err() {
            ended.await;
        } else if timeout(patience, ended).await.is_err() {
            keepers.iter().for_each(|keeper| keeper.task.abort());
        }
    }

    /// Tells all keepers to close their connections, and returns them.
    fn end(&self) -> Vec<KeeperHandle> {
        let keepers = lock(&self.keepers);
        keepers.iter().for_each(|keeper| keeper.close.cancel());
        self.shared.publish(None, Progress::Closed);
        keepers.clone()
    }

    /// Starts a keeper unless one is at work, and returns it.
    fn keep(&self, asks_for_attempt: bool) -> Result<KeeperHandle, ConnectError> {
        let mut keepers = lock(&self.keepers);
        if self.is_shut_down() {
            return Err(self.shut_down_error());
        }
        // Nothing is started for streams that the program gave.
        let waits = !asks_for_attempt && !self.shared.options.opens_one_transport();
        let pause = match (&self.shared.progress.borrow().progress, keepers.last()) {
            (Progress::Opening | Progress::Reopening | Progress::Open(_), Some(keeper)) => return Ok(keeper.clone()),
            (Progress::Failed(failed), _) if waits => match failed.too_early() {
                Some(error) => return Err(error),
                None => (failed.pause * 2).min(LONGEST_PAUSE),
            },
            _ => FIRST_PAUSE,
        };
        let runtime =
            Handle::try_current().map_err(|_| self.error(Kind::Unsupported, "connecting requires a tokio runtime"))?;
        let (close, ended) = (CancellationToken::new(), CancellationToken::new());
        self.shared.publish(None, Progress::Opening);
        let (shared, closing) = (self.shared.clone(), close.clone());
        // The runtime may end in between, and a connector may panic.
        let unfinished = OnDrop::new(move || shared.publish(Some(&closing), Progress::Closed));
        let (shared, is_another, serving) = (self.shared.clone(), !keepers.is_empty(), JoinSet::new());
        let _ended = ended.clone().drop_guard();
        let keeper = Keeper { shared, close: close.clone(), pause, is_another, serving, _ended };
        let failures = self.shared.progress.borrow().failures;
        let running = runtime.spawn(task(keeper.run(unfinished)));
        let keeper = KeeperHandle { close, ended, failures, task: running.abort_handle() };
        keepers.retain(|keeper| !keeper.task.is_finished());
        keepers.push(keeper.clone());
        Ok(keeper)
    }

    fn shut_down_error(&self) -> ConnectError {
        self.error(Kind::ShutDown, "the client was shut down")
    }

    fn error(&self, kind: Kind, message: impl Into<String>) -> ConnectError {
        ConnectError::new(&self.shared.config.name, kind, message)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end();
    }
}

/// The task that opens a connection, watches it, reopens it if it is lost, and closes it.
struct Keeper {
    shared: Arc<Shared>,
    /// Cancelled when the connection is no longer wanted.
    close: CancellationToken,
    /// The time during which calls do not connect if this keeper fails.
    pause: Duration,
    /// `true` if the client has had a connection, or tried to open one.
    is_another: bool,
    /// The tasks that serve the connection, and those that are ending.
    serving: JoinSet<()>,
    /// Dropped last.
    _ended: DropGuard,
}

impl Keeper {
    /// Keeps a connection until it is closed or lost for good. A keeper that ends earlier drops `unfinished`.
    async fn run(mut self, unfinished: OnDrop<impl FnOnce()>) {
        let close = self.close.clone();
        let mut was_lost = false;
        let last = loop {
            let opened = match close.run_until_cancelled(self.open(was_lost)).await {
                Some(Ok(opened)) => opened,
                Some(Err(error)) => break Progress::Failed(Failed { error, pause: self.pause, since: Instant::now() }),
                None => break Progress::Closed,
            };
            self.pause = FIRST_PAUSE;
            if !self.attend(opened).await {
                break Progress::Closed;
            }
            tracing::warn!(server = self.shared.config.name, "connection lost; reconnecting");
            self.publish(Progress::Reopening);
            was_lost = true;
        };
        self.publish(last);
        unfinished.disarm();
        while self.serving.join_next().await.is_some() {}
    }

    /// Serves a connection until it ends. Returns `true` if another one must take its place.
    async fn attend(&mut self, opened: Arc<Opened>) -> bool {
        let (connection, since) = (&opened.connection, Instant::now());
        let Some(receiving) = connection.take_receiving() else { return false };
        let (end, guard) = (opened.end.clone(), opened.end.clone().drop_guard());
        while self.serving.try_join_next().is_some() {}
        self.serving.spawn(task(async move {
            let _ended = guard;
            receiving.run(end).await;
        }));
        let is_another = std::mem::replace(&mut self.is_another, true);
        let Shared { config, options, observer, tools, notices, limits, .. } = &*self.shared;
        observer.redact_with(connection.link.notes.redactor());
        if is_another {
            // A restarted server may have other tools.
            tools.note();
        }
        self.publish(Progress::Open(opened.clone()));
        let patience = options.call_timeout(config.timeout);
        let background: Vec<BoxFuture<'_, Infallible>> = vec![
            Box::pin(changes::forward(connection, tools)),
            Box::pin(changes::subscribe_to_tools(connection, tools)),
            Box::pin(changes::subscribe_to_lists(connection, notices, is_another)),
            Box::pin(changes::subscribe_to_resources(connection, &notices.resources, patience)),
            Box::pin(drift::watch(&opened.live_tools, tools, options)),
        ];
        let was_lost = tokio::select! {
            () = opened.end.cancelled() => true,
            () = self.close.cancelled() => false,
            () = idle(&opened, options.idle_timeout) => false,
            () = unresponsive(&opened, options.health_check, patience) => {
                tracing::warn!(server = config.name, "the server stopped responding");
                true
            }
            (never, ..) = select_all(background) => match never {},
        };
        opened.end.cancel();
        let lasted = since.elapsed();
        if connection.has_worked() || lasted >= TIME_TO_WORK {
            limits.worked();
        } else if was_lost {
            let message = connection.link.notes.explain("the server closed the connection right after it opened");
            limits.start_failed(&ConnectError::new(&config.name, Kind::Transport, message));
        }
        observer.session_ended(lasted, was_lost);
        was_lost && !options.opens_one_transport() && (lock(&opened.activity).was_used || lasted >= SHORT_LIFE)
    }

    /// Opens a connection. In place of one that was lost, it tries several times in the time that connecting may take.
    async fn open(&self, was_lost: bool) -> Result<Arc<Opened>, ConnectError> {
        let Shared { config, options, notices, limits, drift, .. } = &*self.shared;
        let (start, patience) = (Instant::now(), options.connect_timeout_or(config.connect_timeout));
        let (mut left, mut pauses) = (patience, PAUSES.iter());
        loop {
            // Large, in a task that otherwise only waits.
            let opening = Box::pin(establish((config, options), (notices, limits), left));
            let error = match opening.await {
                Ok(connection) => return Ok(Opened::new(connection, drift)),
                Err(error) if was_lost => error,
                Err(error) => return Err(error),
            };
            let number = PAUSES.len() + 1 - pauses.len();
            tracing::warn!(server = config.name, "reconnect attempt {number} failed: {error}");
            let may_pass = matches!(error.kind, Kind::Spawn | Kind::Transport | Kind::Timeout);
            let Some(pause) = pauses.next().filter(|_| may_pass) else { return Err(error) };
            sleep(with_jitter(*pause)).await;
            left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(error);
            }
        }
    }

    fn publish(&self, progress: Progress) {
        self.shared.publish(Some(&self.close), progress);
    }
}

/// Waits until the connection has been unused for the given time.
async fn idle(opened: &Opened, after: Option<Duration>) {
    let Some(after) = after else { return pending().await };
    while let Err(left) = opened.retire_after(after) {
        sleep(left).await;
    }
}

/// Pings the server periodically, until it does not answer. Calls have their own limits, and during a call a busy
/// server need not answer.
async fn unresponsive(opened: &Opened, every: Option<Duration>, patience: Duration) {
    let Some(every) = every else { return pending().await };
    let is_in_use = || lock(&opened.activity).users > 0;
    loop {
        sleep(every).await;
        if !is_in_use() && !opened.connection.answers(patience).await && !is_in_use() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a keeper that never ends.
    fn stuck(supervisor: &Supervisor) -> KeeperHandle {
        let (close, ended) = (CancellationToken::new(), CancellationToken::new());
        let guard = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            let _ended = guard;
            pending::<()>().await;
        });
        let failures = supervisor.shared.progress.borrow().failures;
        KeeperHandle { close, ended, failures, task: task.abort_handle() }
    }

    #[tokio::test]
    async fn close_ends_every_keeper_that_exceeds_the_timeout() {
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new(), None);
        let keepers = [(); 3].map(|()| stuck(&supervisor));
        *lock(&supervisor.keepers) = keepers.to_vec();
        supervisor.close_within(Duration::from_millis(20)).await;
        for (number, keeper) in keepers.iter().enumerate() {
            let ended = timeout(Duration::from_secs(20), keeper.ended.cancelled()).await;
            assert!(keeper.close.is_cancelled() && ended.is_ok(), "keeper {number} goes on");
        }
    }

    #[tokio::test]
    async fn failure_is_seen_even_if_another_attempt_begins_at_once() {
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new(), None);
        let shared = &supervisor.shared;
        *lock(&supervisor.keepers) = vec![stuck(&supervisor)];
        shared.publish(None, Progress::Opening);
        let fail = async {
            let error = supervisor.error(Kind::Transport, "the first attempt failed");
            shared.publish(None, Progress::Failed(Failed { error, pause: FIRST_PAUSE, since: Instant::now() }));
            shared.publish(None, Progress::Opening);
        };
        let seen = async { tokio::join!(supervisor.lease(false), shared.failure(0), fail) };
        let (lease, lost, ()) = timeout(Duration::from_secs(20), seen).await.expect("both see it");
        assert_eq!(lease.err().expect("it failed").message, "the first attempt failed");
        assert_eq!(lost.message, "the first attempt failed");
    }
}
