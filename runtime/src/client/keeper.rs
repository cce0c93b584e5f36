//! The task that opens a connection, watches it, reopens it if it is lost, and closes it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::state::{Failed, Opened, Progress, Shared};
use crate::client::catalog::{changes, drift, subscriptions};
use crate::connect::open::establish;
use crate::ground::backoff::with_jitter;
use crate::ground::task::task;
use crate::{ConnectError, ConnectErrorKind as Kind};

/// The pauses before the attempts to reopen a lost connection.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(250), Duration::from_secs(1)];
/// The time after a failed attempt during which calls do not connect; it doubles with each further failure.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The minimum lifetime of an unused connection; a shorter one reopens only on demand.
const SHORT_LIFE: Duration = Duration::from_secs(30);
/// A server that lasted this long did not end at its start.
const TIME_TO_WORK: Duration = Duration::from_secs(5);

pub(super) struct Keeper {
    shared: Arc<Shared>,
    /// Cancelled when the connection is no longer wanted.
    close: CancellationToken,
    /// The time during which calls do not connect if this keeper fails.
    pause: Duration,
    /// `true` if the client has had a connection, or tried to open one.
    is_another: bool,
    /// The tasks that serve the connection, and those that are ending.
    serving: JoinSet<()>,
    has_ended: bool,
}

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>, close: CancellationToken, pause: Duration, is_another: bool) -> Self {
        Self { shared, close, pause, is_another, serving: JoinSet::new(), has_ended: false }
    }

    pub(super) async fn run(mut self) {
        let close = self.close.clone();
        let mut attempt = close.run_until_cancelled(self.open(self.patience())).await;
        let last = loop {
            let opened = match attempt {
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
            attempt = close.run_until_cancelled(self.open_again()).await.flatten();
        };
        self.publish(last);
        self.has_ended = true;
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
        let Shared { config, options, observer, tools, resources, notices, limits, .. } = &*self.shared;
        observer.redact_with(connection.link.notes.redactor());
        if is_another {
            // A restarted server may have other tools.
            tools.note();
        }
        self.publish(Progress::Open(opened.clone()));
        let patience = options.call_timeout(config.timeout);
        let was_lost = tokio::select! {
            () = opened.end.cancelled() => true,
            () = self.close.cancelled() => false,
            () = idle(&opened, options.idle_timeout) => false,
            () = unresponsive(&opened, options.health_check, patience) => {
                tracing::warn!(server = config.name, "the server stopped responding");
                true
            }
            never = Box::pin(changes::forward(connection, tools)) => match never {},
            never = Box::pin(changes::subscribe_to_tools(connection, tools)) => match never {},
            never = Box::pin(subscriptions::keep(connection, resources, patience)) => match never {},
            never = Box::pin(changes::subscribe_to_lists(connection, notices, is_another)) => match never {},
            never = Box::pin(compare_tools(&self.shared, &opened)) => match never {},
        };
        opened.end.cancel();
        let lasted = since.elapsed();
        if connection.has_worked() || lasted >= TIME_TO_WORK {
            limits.starts().worked();
        } else if was_lost {
            let message = connection.link.notes.explain("the server closed the connection right after it opened");
            limits.starts().failed(&ConnectError::new(&config.name, Kind::Transport, message));
        }
        observer.session_ended(lasted, was_lost);
        was_lost && !options.opens_one_transport() && (opened.activity().was_used || lasted >= SHORT_LIFE)
    }

    async fn open(&self, patience: Duration) -> Result<Arc<Opened>, ConnectError> {
        let Shared { config, options, notices, limits, drift, .. } = &*self.shared;
        // Large, and in two places of a task that otherwise only waits.
        let opening = Box::pin(establish((config, options), (notices, limits.starts()), patience));
        Ok(Opened::new(opening.await?, config, drift))
    }

    /// Opens a connection in place of one that was lost, with several tries in the time that connecting may take.
    async fn open_again(&self) -> Option<Result<Arc<Opened>, ConnectError>> {
        let start = Instant::now();
        let mut last = None;
        for (number, pause) in (1..).zip(PAUSES) {
            sleep(with_jitter(pause)).await;
            let left = self.patience().saturating_sub(start.elapsed());
            if left.is_zero() && last.is_some() {
                break;
            }
            let Err(error) = last.insert(self.open(left).await) else { break };
            tracing::warn!(server = self.shared.config.name, "reconnect attempt {number} failed: {error}");
            if !matches!(error.kind, Kind::Spawn | Kind::Transport | Kind::Timeout) {
                break;
            }
        }
        last
    }

    fn publish(&self, progress: Progress) {
        self.shared.publish(Some(&self.close), progress);
    }

    fn patience(&self) -> Duration {
        self.shared.options.connect_timeout_or(self.shared.config.connect_timeout)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The runtime ends in between, or a connector panics.
        if !self.has_ended {
            self.publish(Progress::Closed);
        }
    }
}

/// Reports tools that differ from their bindings.
async fn compare_tools(Shared { config, options, tools, .. }: &Shared, opened: &Opened) -> Infallible {
    // A recorded session has no requests that no program makes.
    #[cfg(feature = "cassette")]
    if options.cassette.is_some() {
        return pending().await;
    }
    drift::watch(&opened.live_tools, tools, || options.call_patience(config.timeout)).await
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
    let is_in_use = || opened.activity().users > 0;
    loop {
        sleep(every).await;
        if !is_in_use() && !opened.connection.answers(patience).await && !is_in_use() {
            return;
        }
    }
}
