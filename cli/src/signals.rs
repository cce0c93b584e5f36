//! Signals that end the program.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use std::{io, thread};

#[cfg(unix)]
use tokio::signal::unix::Signal;
#[cfg(windows)]
use tokio::signal::windows::CtrlC as Signal;
use tokio::sync::watch;

use crate::exit::Exit;

/// The time for a command to close its connections. Then, or at a second signal, the program exits.
pub(crate) const TIME_TO_CLOSE: Duration = Duration::from_millis(500);

/// The signals of a command. A thread of its own listens to them, so that a command that computes ends as well.
pub(crate) struct Signals(watch::Receiver<Option<Exit>>);

impl Signals {
    /// Begins to listen. For some commands SIGHUP has another meaning; `drain` is the time before connections are
    /// closed.
    ///
    /// # Errors
    /// Fails if the system refuses a handler or a thread.
    pub(crate) fn listen(hang_up: bool, drain: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut handlers = {
            let _entered = runtime.enter();
            handlers(hang_up)?
        };
        let (received, receiver) = watch::channel(None);
        let listen = async move {
            let exit = next(&mut handlers).await;
            // A command that has ended looks at nothing.
            let _ = received.send(Some(exit));
            let _ = tokio::time::timeout(drain + TIME_TO_CLOSE, next(&mut handlers)).await;
            mcp_bindgen_runtime::kill_servers();
            std::process::exit(exit as i32)
        };
        thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listen))?;
        Ok(Self(receiver))
    }

    /// Waits for the first signal, and returns the exit code that reports it.
    pub(crate) async fn received(&mut self) -> Exit {
        match self.0.wait_for(Option::is_some).await.ok().and_then(|exit| *exit) {
            Some(exit) => exit,
            // The thread lives as long as the process.
            None => std::future::pending().await,
        }
    }
}

/// Returns the streams of the signals, each with the exit code that reports it.
#[cfg(unix)]
fn handlers(hears_hang_up: bool) -> io::Result<Vec<(Signal, Exit)>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut handlers = vec![
        (signal(SignalKind::interrupt())?, Exit::Interrupted),
        (signal(SignalKind::terminate())?, Exit::Terminated),
    ];
    // A handler would end the program if SIGHUP has another meaning or is ignored (`nohup`).
    let hang_up = SignalKind::hangup();
    if hears_hang_up && !ignores(hang_up) {
        handlers.push((signal(hang_up)?, Exit::HungUp));
    }
    Ok(handlers)
}

#[cfg(windows)]
fn handlers(_: bool) -> io::Result<Vec<(Signal, Exit)>> {
    Ok(vec![(tokio::signal::windows::ctrl_c()?, Exit::Interrupted)])
}

/// Waits for a signal.
async fn next(handlers: &mut [(Signal, Exit)]) -> Exit {
    poll_fn(|context| {
        let exit = handlers.iter_mut().find_map(|(signal, exit)| signal.poll_recv(context).is_ready().then_some(*exit));
        exit.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Returns `true` if the parent process ignores the signal, as far as the system reports it.
#[cfg(unix)]
fn ignores(signal: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal.as_raw_value() - 1) & 1 == 1)
}
