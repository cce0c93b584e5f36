//! Owns a client's connection: one keeper at a time opens it, for all callers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_model::ServerConfig;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::keeper::{FIRST_PAUSE, Keeper};
use super::state::{Lease, Opened, Progress, Shared};
use crate::connect::options::ClientOptions;
use crate::ground::sync::{awaited, lock, next};
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// The longest time during which calls do not connect after failed attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time for keepers to end: longer than a child process that ignores signals, or a silent HTTP server, may take.
const PATIENCE_FOR_CLOSING: Duration = Duration::from_secs(10);
/// A server that ends each connection once it is open would be connected to without end.
const MOST_ENDED_CONNECTIONS: usize = 5;

/// The connection of one client and its clones. When the last of them goes, its keeper closes the connection.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    /// The keepers that have not ended. Only the last one may have a connection; the others may still be closing theirs.
    keepers: Mutex<Vec<KeeperHandle>>,
    has_begun: AtomicBool,
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
    /// Changes if the keeper fails, whatever the next one does.
    failed: watch::Receiver<Option<ConnectError>>,
    task: AbortHandle,
}

impl Supervisor {
    pub(super) fn new(config: ServerConfig, options: ClientOptions) -> Self {
        let shared = Arc::new(Shared::new(config, options));
        Self {
            shared,
            keepers: Mutex::default(),
            has_begun: AtomicBool::default(),
            is_shut_down: AtomicBool::default(),
        }
    }

    /// Returns the open connection. Callers that arrive while it opens wait for the same attempt. After a failed
    /// attempt, the next one starts after a pause, or at once if the program asks for one.
    pub(super) async fn lease(&self, asks_for_attempt: bool) -> Result<Lease, ConnectError> {
        let mut progress = self.shared.progress.subscribe();
        let mut ended = 0;
        loop {
            let mut was_opening = !matches!(*progress.borrow(), Progress::Open(_));
            let mut keeper = self.keep(asks_for_attempt)?;
            let is_settled = |progress: &Progress| {
                let is_opening = matches!(progress, Progress::Opening | Progress::Reopening);
                was_opening |= is_opening && !keeper.close.is_cancelled();
                !is_opening || keeper.close.is_cancelled()
            };
            let settled = tokio::select! {
                biased;
                error = next(&mut keeper.failed) => return Err(error),
                settled = awaited(&mut progress, is_settled) => settled,
            };
            match settled {
                Progress::Open(opened) => {
                    if let Some(lease) = opened.lease() {
                        return Ok(lease);
                    }
                    ended += 1;
                    if ended == MOST_ENDED_CONNECTIONS {
                        let message = format!("the server closed {ended} connections right after they opened");
                        return Err(self.error(Kind::Transport, opened.connection.link.notes.explain(&message)));
                    }
                    let is_open =
                        |progress: &Progress| matches!(progress, Progress::Open(open) if Arc::ptr_eq(open, &opened));
                    awaited(&mut progress, |progress| !is_open(progress)).await;
                }
                Progress::Failed(failed) => return Err(failed.error),
                _ if self.is_shut_down() => return Err(self.shut_down_error()),
                // It was open, and was closed or unused.
                _ if !was_opening => {}
                _ if keeper.close.is_cancelled() => {
                    return Err(self.error(Kind::Transport, "the client was closed while it was connecting"));
                }
                // It ended with its runtime, by a panic, or right after it opened.
                _ => {
                    ended += 1;
                    if ended == MOST_ENDED_CONNECTIONS {
                        let message = format!("{ended} connections ended while they were opening");
                        return Err(self.error(Kind::Transport, message));
                    }
                }
            }
        }
    }

    /// Returns the connection, if it is open.
    pub(super) fn open_connection(&self) -> Option<Arc<Opened>> {
        match &*self.shared.progress.borrow() {
            Progress::Open(opened) if opened.connection.is_open() => Some(opened.clone()),
            _ => None,
        }
    }

    /// Returns `true` if the last attempt to connect failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(*self.shared.progress.borrow(), Progress::Failed(_))
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
        let ended = join_all(keepers.iter().map(|keeper| keeper.ended.cancelled()));
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
        let pause = match (&*self.shared.progress.borrow(), keepers.last()) {
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
        let is_another = self.has_begun.swap(true, Ordering::Relaxed);
        self.shared.publish(None, Progress::Opening);
        let keeper = Keeper::new(self.shared.clone(), close.clone(), pause, is_another);
        let (failed, guard) = (self.shared.failed.subscribe(), ended.clone().drop_guard());
        let running = runtime.spawn(task(async move {
            let _ended = guard;
            keeper.run().await;
        }));
        let keeper = KeeperHandle { close, ended, failed, task: running.abort_handle() };
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;
    use crate::client::state::Failed;

    /// Returns a keeper that never ends.
    fn stuck(supervisor: &Supervisor) -> KeeperHandle {
        let (close, ended) = (CancellationToken::new(), CancellationToken::new());
        let guard = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            let _ended = guard;
            pending::<()>().await;
        });
        KeeperHandle { close, ended, failed: supervisor.shared.failed.subscribe(), task: task.abort_handle() }
    }

    #[tokio::test]
    async fn close_ends_every_keeper_that_exceeds_the_timeout() {
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new());
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
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new());
        let shared = &supervisor.shared;
        *lock(&supervisor.keepers) = vec![stuck(&supervisor)];
        shared.publish(None, Progress::Opening);
        let mut failed = shared.failed.subscribe();
        let fail = async {
            let error = supervisor.error(Kind::Transport, "the first attempt failed");
            shared.publish(None, Progress::Failed(Failed { error, pause: FIRST_PAUSE, since: Instant::now() }));
            shared.publish(None, Progress::Opening);
        };
        let seen = async { tokio::join!(supervisor.lease(false), next(&mut failed), fail) };
        let (lease, lost, ()) = timeout(Duration::from_secs(20), seen).await.expect("both see it");
        assert_eq!(lease.err().expect("it failed").message, "the first attempt failed");
        assert_eq!(lost.message, "the first attempt failed");
    }
}
