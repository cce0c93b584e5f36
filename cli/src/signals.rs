//! Signals that end the program.

use std::io;
use std::thread;
use std::time::Duration;

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
            Handlers::new(hang_up)?
        };
        let (received, receiver) = watch::channel(None);
        let listen = async move {
            let exit = handlers.next().await;
            // A command that has ended looks at nothing.
            let _ = received.send(Some(exit));
            let _ = tokio::time::timeout(drain + TIME_TO_CLOSE, handlers.next()).await;
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

#[cfg(unix)]
struct Handlers {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// The SIGHUP stream. It is `None` if SIGHUP has another meaning or is ignored (`nohup`), because a handler would
    /// end the program.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Handlers {
    fn new(hears_hang_up: bool) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let hang_up = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if !hears_hang_up || ignores(hang_up) { None } else { Some(signal(hang_up)?) },
        })
    }

    async fn next(&mut self) -> Exit {
        let hung_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = hung_up => Exit::HungUp,
        }
    }
}

#[cfg(windows)]
struct Handlers(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Handlers {
    fn new(_: bool) -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Exit {
        self.0.recv().await;
        Exit::Interrupted
    }
}

/// Returns `true` if the parent process ignores the signal, as far as the system reports it.
#[cfg(unix)]
fn ignores(signal: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal.as_raw_value() - 1) & 1 == 1)
}
