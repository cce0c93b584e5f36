//! Owns a client's connection: one keeper at a time opens it, for all callers.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::keeper::{FIRST_PAUSE, Failed, Keeper, LONGEST_PAUSE, Order, Progress};
use super::lease::Lease;
use super::state::Status;
use crate::ConnectionState;
use crate::call::events::Observer;
use crate::connect::connection::Connection;
use crate::connect::options::ClientOptions;
use crate::ground::sync::lock;
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// Longer than a stubborn child process, or the goodbye to an HTTP server that does not answer, may take.
const PATIENCE_FOR_CLOSING: Duration = Duration::from_secs(10);

/// A server that ends each connection once it is open would be connected to without end.
const MOST_CONNECTIONS_THAT_END_AT_ONCE: u32 = 5;

/// The connection of one client and its clones. When the last of them goes, its keeper closes the connection.
pub(super) struct Supervisor {
    pub(super) config: Arc<ServerConfig>,
    pub(super) options: Arc<ClientOptions>,
    pub(super) status: Arc<Status>,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    keeper: Option<KeeperHandle>,
    /// Keepers of before that may still be closing a connection: who closes the client waits for them as well.
    before: Vec<KeeperHandle>,
    keepers: u64,
    is_shut_down: bool,
}

/// A keeper at work, or at the end of it.
#[derive(Clone)]
struct KeeperHandle {
    number: u64,
    progress: watch::Receiver<Progress>,
    orders: mpsc::UnboundedSender<Order>,
    is_closing: bool,
    task: AbortHandle,
}

impl KeeperHandle {
    /// Returns `true` if the keeper has a connection, or is opening one.
    fn is_usable(&self) -> bool {
        // The runtime that it ran in may be gone.
        let is_alive = self.progress.has_changed().is_ok();
        is_alive && !self.is_closing && matches!(*self.progress.borrow(), Progress::Opening | Progress::Open(_))
    }

    /// Returns the error, if the keeper failed to connect.
    fn failed(&self) -> Option<Failed> {
        match &*self.progress.borrow() {
            Progress::Failed(failed) if !self.is_closing => Some(failed.clone()),
            _ => None,
        }
    }
}

impl Supervisor {
    #[cfg_attr(not(feature = "auth"), expect(unused_mut, reason = "nothing else is added to it"))]
    pub(super) fn new(config: ServerConfig, mut options: ClientOptions) -> Self {
        #[cfg(feature = "auth")]
        options.authorize_as_configured(&config);
        let limits = options.limits.clone().unwrap_or_default();
        limits.set(config.limit, options.max_concurrent_requests);
        let observer = Observer::new(&config, options.records_content);
        Self {
            config: Arc::new(config),
            options: Arc::new(options),
            status: Arc::new(Status::new(observer, limits)),
            slot: Mutex::default(),
        }
    }

    /// Returns the open connection. Callers that arrive while it opens wait for the same attempt. After a failed
    /// attempt, the next one starts after a pause, or at once if the program asks for one.
    pub(super) async fn lease(&self, asks_for_attempt: bool) -> Result<Lease, ConnectError> {
        let mut has_begun_again = false;
        let mut ended_at_once = 0;
        loop {
            let mut keeper = self.keeper(asks_for_attempt)?;
            let settled = keeper.progress.wait_for(|progress| !matches!(progress, Progress::Opening)).await;
            match settled.map(|progress| progress.clone()) {
                Ok(Progress::Open(opened)) => {
                    if let Some(lease) = opened.lease() {
                        return Ok(lease);
                    }
                    ended_at_once += 1;
                    if ended_at_once == MOST_CONNECTIONS_THAT_END_AT_ONCE {
                        let message = format!("the server closed {ended_at_once} connections right after they opened");
                        return Err(self.error(Kind::Transport, &opened.connection.link.notes.explain(&message)));
                    }
                    // The connection is about to end, but its keeper may not have seen that yet.
                    if keeper.orders.send(Order::Look).is_ok() {
                        let _ = keeper.progress.wait_for(|progress| !progress.is(&opened)).await;
                    }
                }
                Ok(Progress::Failed(failed)) => return Err(failed.error),
                Ok(Progress::Opening | Progress::Ended) => {}
                // The connection was not closed, but ended with its runtime.
                Err(_) if !has_begun_again && self.is_current(keeper.number) => has_begun_again = true,
                Err(_) if lock(&self.slot).is_shut_down => return Err(self.shut_down_error()),
                Err(_) => return Err(self.error(Kind::Transport, "the client was closed while it was connecting")),
            }
        }
    }

    /// Returns `true` if the connection is open.
    pub(super) fn is_connected(&self) -> bool {
        self.open_connection().is_some()
    }

    /// Returns the connection, if it is open.
    pub(super) fn open_connection(&self) -> Option<Arc<Connection>> {
        let slot = lock(&self.slot);
        let keeper = slot.keeper.as_ref().filter(|keeper| keeper.is_usable())?;
        match &*keeper.progress.borrow() {
            Progress::Open(opened) if opened.connection.is_open() => Some(opened.connection.clone()),
            _ => None,
        }
    }

    /// Returns `true` if the last attempt to connect failed.
    pub(super) fn has_failed(&self) -> bool {
        lock(&self.slot).keeper.as_ref().and_then(KeeperHandle::failed).is_some()
    }

    /// Waits until a connection fails to open or reopen, and returns the error. A connection that closes because it is
    /// idle does not count.
    pub(super) async fn lost(&self) -> ConnectError {
        let mut states = self.status.watch();
        loop {
            let keeper = lock(&self.slot).keeper.clone();
            if let Some(mut keeper) = keeper {
                let is_over = |progress: &Progress| matches!(progress, Progress::Failed(_) | Progress::Ended);
                let over = keeper.progress.wait_for(is_over).await.map(|progress| progress.clone());
                if let Ok(Progress::Failed(failed)) = over {
                    return failed.error;
                }
            }
            // Somebody may open another one.
            if states.changed().await.is_none() {
                return pending().await;
            }
        }
    }

    pub(super) fn is_shut_down(&self) -> bool {
        lock(&self.slot).is_shut_down
    }

    /// Ends the connection, also one that is being opened, and waits for its end.
    pub(super) async fn close(&self) {
        self.close_within(PATIENCE_FOR_CLOSING).await;
    }

    async fn close_within(&self, patience: Duration) {
        let mut at_work = {
            let mut slot = lock(&self.slot);
            let mut at_work = slot.before.clone();
            if let Some(keeper) = &mut slot.keeper {
                keeper.is_closing = true;
                // One that has ended has nothing left to close.
                let _ = keeper.orders.send(Order::Close);
                at_work.push(keeper.clone());
            }
            at_work
        };
        let ended = async {
            for keeper in &mut at_work {
                while keeper.progress.changed().await.is_ok() {}
            }
        };
        // Without a runtime there is no clock; the keeper has its own limit.
        if Handle::try_current().is_err() {
            ended.await;
        } else if timeout(patience, ended).await.is_err() {
            at_work.iter().for_each(|keeper| keeper.task.abort());
        }
    }

    /// Ends the connection for good.
    pub(super) async fn shut_down(&self) {
        lock(&self.slot).is_shut_down = true;
        self.close().await;
        self.status.publish(u64::MAX, ConnectionState::ShutDown, None);
    }

    fn keeper(&self, asks_for_attempt: bool) -> Result<KeeperHandle, ConnectError> {
        let mut slot = lock(&self.slot);
        if slot.is_shut_down {
            return Err(self.shut_down_error());
        }
        if let Some(keeper) = slot.keeper.as_ref().filter(|keeper| keeper.is_usable()) {
            return Ok(keeper.clone());
        }
        // Nothing is started for streams that the program gave.
        let waits = !asks_for_attempt && !self.options.opens_one_transport();
        let failed = slot.keeper.as_ref().filter(|_| waits).and_then(KeeperHandle::failed);
        if let Some(error) = failed.as_ref().and_then(Failed::too_early) {
            return Err(error);
        }
        let pause = failed.map_or(FIRST_PAUSE, |failed| (failed.pause * 2).min(LONGEST_PAUSE));
        let runtime =
            Handle::try_current().map_err(|_| self.error(Kind::Unsupported, "connecting requires a tokio runtime"))?;
        let before = slot.keeper.take();
        slot.before.extend(before);
        slot.before.retain(|keeper| keeper.progress.has_changed().is_ok());
        slot.keepers += 1;
        let number = slot.keepers;
        let (orders, taken) = mpsc::unbounded_channel();
        let (progress, seen) = watch::channel(Progress::Opening);
        let settings = (self.config.clone(), self.options.clone());
        let task = task(Keeper::new(number, settings, self.status.clone(), progress, pause, taken).run());
        let keeper = KeeperHandle {
            number,
            progress: seen,
            orders,
            is_closing: false,
            task: runtime.spawn(task).abort_handle(),
        };
        Ok(slot.keeper.insert(keeper).clone())
    }

    fn is_current(&self, number: u64) -> bool {
        lock(&self.slot).keeper.as_ref().is_some_and(|keeper| keeper.number == number && !keeper.is_closing)
    }

    fn shut_down_error(&self) -> ConnectError {
        self.error(Kind::ShutDown, "the client was shut down")
    }

    fn error(&self, kind: Kind, message: &str) -> ConnectError {
        ConnectError::new(&self.config.name, kind, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a keeper that never ends.
    fn stuck(number: u64) -> KeeperHandle {
        let (orders, _) = mpsc::unbounded_channel();
        let (sender, progress) = watch::channel(Progress::Ended);
        let task = tokio::spawn(async move {
            pending::<()>().await;
            drop(sender);
        });
        KeeperHandle { number, progress, orders, is_closing: false, task: task.abort_handle() }
    }

    #[tokio::test]
    async fn close_ends_every_keeper_that_exceeds_the_timeout() {
        let supervisor = Supervisor::new(ServerConfig::stdio("s", "none"), ClientOptions::new());
        let keepers = [stuck(1), stuck(2), stuck(3)];
        {
            let mut slot = lock(&supervisor.slot);
            let [first, second, third] = keepers.clone();
            slot.before = vec![first, second];
            slot.keeper = Some(third);
        }
        supervisor.close_within(Duration::from_millis(20)).await;
        for mut keeper in keepers {
            let ended = timeout(Duration::from_secs(20), async { while keeper.progress.changed().await.is_ok() {} });
            assert!(ended.await.is_ok(), "keeper {} goes on", keeper.number);
        }
    }
}
