//! The task that opens a connection, watches it, reopens it if it is lost, and closes it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::lease::Opened;
use super::state::Status;
use crate::ConnectionState;
use crate::client::catalog::drift;
use crate::client::catalog::{changes, notifications, subscriptions};
use crate::connect::eras::establish;
use crate::connect::options::ClientOptions;
use crate::ground::backoff::with_jitter;
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// How long to wait before each try to open a lost connection again.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(250), Duration::from_secs(1)];
/// How long calls do not try to connect after an attempt failed; twice as long after each further one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(250);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The minimum lifetime of an unused connection; a shorter one reopens only on demand.
const SHORT_LIFE: Duration = Duration::from_secs(30);
/// A server that lasted so long did not end at its start.
const TIME_TO_WORK: Duration = Duration::from_secs(5);
/// Less than a caller of `close` waits.
const PATIENCE_FOR_CLOSING: Duration = Duration::from_secs(8);

/// How far a keeper is.
#[derive(Clone)]
pub(super) enum Progress {
    Opening,
    Open(Opened),
    Failed(Failed),
    Ended,
}

/// The reason for a missing connection, and the time of the next attempt.
#[derive(Clone)]
pub(super) struct Failed {
    pub(super) error: ConnectError,
    pub(super) pause: Duration,
    since: Instant,
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

impl Progress {
    pub(super) fn is(&self, opened: &Opened) -> bool {
        matches!(self, Self::Open(open) if open.is(opened))
    }
}

/// An order to a keeper.
pub(super) enum Order {
    /// The connection seems to be ending.
    Look,
    Close,
}

/// The reason why a connection must not be used any more.
#[derive(PartialEq, Eq)]
enum End {
    Lost,
    Closed,
}

pub(super) struct Keeper {
    number: u64,
    config: Arc<ServerConfig>,
    options: Arc<ClientOptions>,
    status: Arc<Status>,
    progress: watch::Sender<Progress>,
    /// How long calls do not try again if this fails.
    pause: Duration,
    /// Ends when the last client is dropped.
    orders: mpsc::UnboundedReceiver<Order>,
    /// The tasks that serve connections that are ending.
    leaving: Vec<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn new(
        number: u64,
        (config, options): (Arc<ServerConfig>, Arc<ClientOptions>),
        status: Arc<Status>,
        progress: watch::Sender<Progress>,
        pause: Duration,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> Self {
        status.publish(number, ConnectionState::Connecting, None);
        Self { number, config, options, status, progress, pause, orders, leaving: Vec::new() }
    }

    pub(super) async fn run(mut self) {
        self.keep().await;
        // Closing waits for earlier connections too.
        let leaving = std::mem::take(&mut self.leaving).into_iter().filter(|serving| !serving.is_finished());
        let _ = timeout(PATIENCE_FOR_CLOSING, async {
            for serving in leaving {
                let _ = serving.await;
            }
        })
        .await;
    }

    async fn keep(&mut self) {
        let mut attempt = self.open(self.patience()).await;
        // A keeper after another one opens a connection after another one.
        let mut is_another = self.number > 1;
        while let Some(outcome) = attempt {
            let opened = match outcome {
                Ok(opened) => opened,
                Err(error) => {
                    let failed = Failed { error, pause: self.pause, since: Instant::now() };
                    return self.report(ConnectionState::Disconnected, Progress::Failed(failed));
                }
            };
            self.pause = FIRST_PAUSE;
            let since = Instant::now();
            self.status.observer.redact_with(opened.connection.link.notes.redactor());
            let Some(receiving) = opened.connection.take_receiving() else { return };
            let hang_up = CancellationToken::new();
            let mut serving = tokio::spawn(task(receiving.run(hang_up.clone())));
            if is_another {
                // A restarted server may have other tools.
                self.status.tools.note();
            }
            self.report(ConnectionState::Connected, Progress::Open(opened.clone()));
            let end = self.attend(&opened, &mut serving, is_another).await;
            is_another = true;
            hang_up.cancel();
            if opened.connection.has_worked() || since.elapsed() >= TIME_TO_WORK {
                self.status.limits.starts().worked();
            } else if end == End::Lost {
                let message =
                    opened.connection.link.notes.explain("the server closed the connection right after it opened");
                self.status.limits.starts().failed(&ConnectError::new(&self.config.name, Kind::Transport, message));
            }
            self.status.observer.session_ended(since.elapsed(), end == End::Lost);
            self.leaving.retain(|serving| !serving.is_finished());
            self.leaving.push(serving);
            if end == End::Closed {
                return self.report(ConnectionState::Disconnected, Progress::Ended);
            }
            let is_the_only_one = self.options.opens_one_transport();
            if is_the_only_one || (!opened.was_used() && since.elapsed() < SHORT_LIFE) {
                return self.report(ConnectionState::Disconnected, Progress::Ended);
            }
            tracing::warn!(server = self.config.name, "connection lost; reconnecting");
            self.report(ConnectionState::Reconnecting, Progress::Opening);
            attempt = self.open_again().await;
        }
    }

    /// Waits until the connection is of no more use.
    async fn attend(&mut self, opened: &Opened, serving: &mut JoinHandle<()>, is_another: bool) -> End {
        let patience = self.options.call_timeout(self.config.timeout);
        tokio::select! {
            _ = serving => End::Lost,
            end = ordered(&mut self.orders, Some(opened)) => end,
            () = idle(opened, self.options.idle_timeout) => End::Closed,
            () = unresponsive(opened, self.options.health_check, patience) => {
                tracing::warn!(server = self.config.name, "the server stopped responding");
                End::Lost
            }
            never = Box::pin(changes::forward(&opened.connection, &self.status.tools)) => match never {},
            never = Box::pin(changes::subscribe(&opened.connection, &self.status.tools)) => match never {},
            never = Box::pin(subscriptions::keep(&opened.connection, &self.status.resources, patience)) => match never {},
            never = Box::pin(notifications::keep(&opened.connection, &self.status.notices, is_another)) => match never {},
            never = Box::pin(compare_tools(&self.config, &self.options, &self.status, opened)) => match never {},
        }
    }

    /// Opens a connection; returns `None` if it is no longer wanted.
    async fn open(&mut self, patience: Duration) -> Option<Result<Opened, ConnectError>> {
        tokio::select! {
            biased;
            _ = ordered(&mut self.orders, None) => None,
            // Large, and in two places of a task that otherwise only waits.
            outcome = Box::pin(establish((&self.config, &self.options), (&self.status.notices, self.status.limits.starts()), patience)) => {
                Some(outcome.map(|connection| Opened::new(connection, &self.config, &self.status.drift)))
            }
        }
    }

    /// Opens a connection in place of one that was lost, with several tries in the time that connecting may take.
    async fn open_again(&mut self) -> Option<Result<Opened, ConnectError>> {
        let patience = self.patience();
        let start = Instant::now();
        let mut last = None;
        for (number, pause) in (1..).zip(PAUSES) {
            tokio::select! {
                _ = ordered(&mut self.orders, None) => return None,
                () = sleep(with_jitter(pause)) => {}
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() && last.is_some() {
                break;
            }
            match self.open(left).await? {
                Ok(opened) => return Some(Ok(opened)),
                Err(error) => {
                    tracing::warn!(server = self.config.name, "reconnect attempt {number} failed: {error}");
                    let may_pass = matches!(error.kind, Kind::Spawn | Kind::Transport | Kind::Timeout);
                    last = Some(error);
                    if !may_pass {
                        break;
                    }
                }
            }
        }
        last.map(Err)
    }

    /// Publishes the state before the progress, so that callers that wait for the progress see it.
    fn report(&self, state: ConnectionState, progress: Progress) {
        let error = if let Progress::Failed(failed) = &progress { Some(&failed.error) } else { None };
        self.status.publish(self.number, state, error);
        self.progress.send_replace(progress);
    }

    fn patience(&self) -> Duration {
        self.options.connect_timeout_or(self.config.connect_timeout)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // This also happens if the runtime ends in between.
        self.status.publish(self.number, ConnectionState::Disconnected, None);
    }
}

/// Reports tools that differ from their bindings.
async fn compare_tools(config: &ServerConfig, options: &ClientOptions, status: &Status, opened: &Opened) -> Infallible {
    // A recorded session has no requests that no program makes.
    #[cfg(feature = "cassette")]
    if options.cassette.is_some() {
        return pending().await;
    }
    drift::watch(&opened.live_tools, &status.tools, || options.call_patience(config.timeout)).await
}

/// Waits for an order that ends something: the connection `opened`, or the attempt to open one.
async fn ordered(orders: &mut mpsc::UnboundedReceiver<Order>, opened: Option<&Opened>) -> End {
    loop {
        match orders.recv().await {
            Some(Order::Look) if opened.is_some_and(|opened| !opened.connection.is_open()) => return End::Lost,
            Some(Order::Look) => {}
            Some(Order::Close) | None => return End::Closed,
        }
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
    loop {
        sleep(every).await;
        if !opened.is_in_use() && !opened.connection.answers(patience).await && !opened.is_in_use() {
            return;
        }
    }
}
