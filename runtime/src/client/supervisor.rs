//! Owns a client's connection: one keeper at a time opens it, for all callers.

use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_bindgen_model::ServerConfig;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::keeper::{FIRST_PAUSE, Keeper};
use super::state::{Lease, Opened, Progress, Shared};
use crate::connect::options::ClientOptions;
use crate::ground::sync::{awaited, lock};
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// How long calls do not try to connect at most, after many attempts failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Longer than a stubborn child process, or the goodbye to an HTTP server that does not answer, may take.
const PATIENCE_FOR_CLOSING: Duration = Duration::from_secs(10);
/// A server that ends each connection once it is open would be connected to without end.
const MOST_CONNECTIONS_THAT_END_AT_ONCE: usize = 5;

/// The connection of one client and its clones. When the last of them goes, its keeper closes the connection.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    /// The keepers that have not ended. Only the last one may have a connection; the others may still be closing theirs.
    keepers: Mutex<Vec<KeeperHandle>>,
    has_begun: AtomicBool,
}

/// A keeper at work, or at the end of it.
#[derive(Clone)]
struct KeeperHandle {
    /// Tells the keeper to close its connection.
    close: CancellationToken,
    /// Cancelled when the keeper and its connections have ended.
    ended: CancellationToken,
    task: AbortHandle,
}

impl Supervisor {
    pub(super) fn new(config: ServerConfig, options: ClientOptions) -> Self {
        let shared = Arc::new(Shared::new(config, options));
        Self { shared, keepers: Mutex::default(), has_begun: AtomicBool::new(false) }
    }

    /// Returns the open connection. Callers that arrive while it opens wait for the same attempt. After a failed
    /// attempt, the next one starts after a pause, or at once if the program asks for one.
    pub(super) async fn lease(&self, asks_for_attempt: bool) -> Result<Lease, ConnectError> {
        let mut progress = self.shared.progress.subscribe();
        let mut last = None;
        for _ in 0..MOST_CONNECTIONS_THAT_END_AT_ONCE {
            let close = self.keep(asks_for_attempt)?;
            let is_settled = |progress: &Progress| !matches!(progress, Progress::Opening | Progress::Reopening);
            match awaited(&mut progress, is_settled).await {
                Progress::Open(opened) => {
                    if let Some(lease) = opened.lease() {
                        return Ok(lease);
                    }
                    let is_open =
                        |progress: &Progress| matches!(progress, Progress::Open(open) if Arc::ptr_eq(open, &opened));
                    awaited(&mut progress, |progress| !is_open(progress)).await;
                    last = Some(opened);
                }
                Progress::Failed(failed) => return Err(failed.error),
                Progress::ShutDown => return Err(self.shut_down_error()),
                _ if close.is_cancelled() => {
                    return Err(self.error(Kind::Transport, "the client was closed while it was connecting"));
                }
                // It ended with its runtime, or because it was unused.
                _ => {}
            }
        }
        let message =
            format!("the server closed {MOST_CONNECTIONS_THAT_END_AT_ONCE} connections right after they opened");
        let explained = last.map(|opened| opened.connection.link.notes.explain(&message));
        Err(self.error(Kind::Transport, explained.unwrap_or(message)))
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
        matches!(*self.shared.progress.borrow(), Progress::ShutDown)
    }

    /// Waits until a connection fails to open or reopen, and returns the error. A connection that closes because it is
    /// idle does not count. Cancel safe.
    pub(super) async fn lost(&self) -> ConnectError {
        let mut progress = self.shared.progress.subscribe();
        match awaited(&mut progress, |progress| matches!(progress, Progress::Failed(_))).await {
            Progress::Failed(failed) => failed.error,
            _ => pending().await,
        }
    }

    /// Ends the connection, also one that is being opened, and waits for its end.
    pub(super) async fn close(&self) {
        self.close_within(PATIENCE_FOR_CLOSING, Progress::Closed).await;
    }

    /// Ends the connection for good.
    pub(super) async fn shut_down(&self) {
        self.close_within(PATIENCE_FOR_CLOSING, Progress::ShutDown).await;
    }

    async fn close_within(&self, patience: Duration, last: Progress) {
        let keepers = self.end(last);
        let ended = join_all(keepers.iter().map(|keeper| keeper.ended.cancelled()));
        // Without a runtime there is no clock.
        if Handle::try_current().is_err() {
            ended.await;
        } else if timeout(patience, ended).await.is_err() {
            keepers.iter().for_each(|keeper| keeper.task.abort());
        }
    }

    /// Tells all keepers to close their connections, and returns them.
    fn end(&self, last: Progress) -> Vec<KeeperHandle> {
        let keepers = lock(&self.keepers);
        keepers.iter().for_each(|keeper| keeper.close.cancel());
        self.shared.publish(None, last);
        keepers.clone()
    }

    /// Starts a keeper unless one is at work. Returns the token that is cancelled when the client is closed.
    fn keep(&self, asks_for_attempt: bool) -> Result<CancellationToken, ConnectError> {
        let mut keepers = lock(&self.keepers);
        // Nothing is started for streams that the program gave.
        let waits = !asks_for_attempt && !self.shared.options.opens_one_transport();
        let pause = match (&*self.shared.progress.borrow(), keepers.last()) {
            (Progress::ShutDown, _) => return Err(self.shut_down_error()),
            (Progress::Opening | Progress::Reopening | Progress::Open(_), Some(keeper)) => {
                return Ok(keeper.close.clone());
            }
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
        let guard = ended.clone().drop_guard();
        let running = runtime.spawn(task(async move {
            let _ended = guard;
            keeper.run().await;
        }));
        keepers.retain(|keeper| !keeper.task.is_finished());
        keepers.push(KeeperHandle { close: close.clone(), ended, task: running.abort_handle() });
        Ok(close)
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
        self.end(Progress::Closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a keeper that never ends.
    fn stuck() -> KeeperHandle {
        let (close, ended) = (CancellationToken::new(), CancellationToken::new());
        let guard = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            let _ended = guard;
            pending::<()>().await;
        });
        KeeperHandle { close, ended, task: task.abort_handle() }
    }

    #[tokio::test]
    async fn close_ends_every_keeper_that_exceeds_the_timeout() {
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new());
        let keepers = [stuck(), stuck(), stuck()];
        *lock(&supervisor.keepers) = keepers.to_vec();
        supervisor.close_within(Duration::from_millis(20), Progress::Closed).await;
        for (number, keeper) in keepers.iter().enumerate() {
            let ended = timeout(Duration::from_secs(20), keeper.ended.cancelled()).await;
            assert!(keeper.close.is_cancelled() && ended.is_ok(), "keeper {number} goes on");
        }
    }
}
