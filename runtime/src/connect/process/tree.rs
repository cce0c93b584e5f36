//! A child process with its descendants.

use std::convert::Infallible;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use tokio::process::Child;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::Program;
#[cfg(unix)]
use super::descendants::Mark;
use super::environment;
#[cfg(unix)]
use super::group::{self, Group, POLL};
#[cfg(unix)]
use super::guard::Guard;
use super::isolation::{Refusal, Sandbox};

const GRACE_AFTER_EOF: Duration = Duration::from_secs(2);
const GRACE_AFTER_TERM: Duration = Duration::from_secs(2);
/// The number of signals to descendants, [`POLL`] apart, before they are killed.
#[cfg(unix)]
const TERMS_FOR_DESCENDANTS: u32 = 15;
const PATIENCE_AFTER_KILL: Duration = Duration::from_millis(300);
/// The maximum number of checks, a millisecond apart, whether a killed process is gone.
const LOOKS_AFTER_KILL: u32 = 50;

#[cfg(not(unix))]
type Child = Box<dyn process_wrap::tokio::ChildWrapper>;

/// Kills every server that this process started, with all that those started.
///
/// For programs that end by [`std::process::exit`], which drops no [`Client`](crate::Client): a server that ignores the end
/// of its stdin would live on. Call it right before; no server can be started afterwards. Windows ends the servers of a
/// process with it.
///
/// ```no_run
/// mcp_bindgen_runtime::kill_servers();
/// std::process::exit(130);
/// ```
pub fn kill_servers() {
    #[cfg(unix)]
    group::kill_all();
}

/// The pipes of a started program.
pub(super) type Pipes = (ChildStdin, ChildStdout, ChildStderr);

/// A running process and its descendants; dropping it kills them all.
pub(super) struct ProcessTree {
    child: Child,
    #[cfg(unix)]
    group: Group,
    /// The sandbox of an isolated server. The child is then bubblewrap, which ends on a signal before its children do.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    is_killed: bool,
    /// The guard, dropped after the group was killed. Windows ends the processes of a job with its owner.
    #[cfg(unix)]
    guard: Option<Guard>,
}

impl ProcessTree {
    /// Starts a program, inside a sandbox if it is isolated.
    pub(super) fn start(program: &Program<'_>) -> Result<(Self, Pipes), Refusal> {
        let sandbox = program.isolation.map(|isolation| Sandbox::new(isolation, program)).transpose()?;
        Self::start_in(sandbox.map(Arc::new), program).map_err(|error| program.not_started(&error))
    }

    fn start_in(sandbox: Option<Arc<Sandbox>>, program: &Program<'_>) -> io::Result<(Self, Pipes)> {
        let mut command = match &sandbox {
            Some(sandbox) => sandbox.command(),
            None => {
                let mut command = Command::new(program.find()?);
                command.env_clear().envs(environment::of(program));
                command
            }
        };
        command.args(program.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
        let mut tree = Self::spawn(command, sandbox)?;
        let pipes = take_pipes(&mut tree.child);
        Ok((tree, pipes.ok_or_else(|| io::Error::other("the child process has no stdin or stdout"))?))
    }

    /// Starts a command in a process group, with a guard.
    #[cfg(unix)]
    fn spawn(command: Command, sandbox: Option<Arc<Sandbox>>) -> io::Result<Self> {
        let mark = Mark::new();
        let guard = Guard::start(&mark);
        let (child, group) = Group::start(command, mark)?;
        let mut tree = Self { child, group, sandbox, is_killed: false, guard };
        if let Some(guard) = &mut tree.guard {
            guard.watch(tree.group.id)?;
        }
        Ok(tree)
    }

    /// Starts a command in a job.
    #[cfg(not(unix))]
    fn spawn(command: Command, sandbox: Option<Arc<Sandbox>>) -> io::Result<Self> {
        let mut command = process_wrap::tokio::CommandWrap::from(command);
        command.wrap(process_wrap::tokio::KillOnDrop);
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        Ok(Self { child: command.spawn()?, sandbox, is_killed: false })
    }

    /// Waits for the end of the process.
    /// Cancel safe.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Returns the exit status of the process, if it ends in time. Cancel safe.
    pub(super) async fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        timeout(patience, self.child.wait()).await.ok()?.ok()
    }

    /// Ends the remaining processes when an isolated server ends, because bubblewrap holds the pipes while any of them
    /// runs. It never returns; await it together with the end of a pipe. Cancel safe.
    pub(super) async fn end_with_server(&mut self) -> Infallible {
        if self.sandbox.is_some() && self.child.wait().await.is_ok() {
            self.kill();
        }
        std::future::pending().await
    }

    /// Ends the process after its stdin was closed: waits, sends a signal, then kills; remaining descendants are killed
    /// too. If the future is dropped, dropping the tree kills the rest.
    pub(super) async fn shut_down(&mut self) {
        if self.ended_within(GRACE_AFTER_EOF).await.is_none() {
            #[cfg(unix)]
            self.group.terminate();
            let _ = self.ended_within(GRACE_AFTER_TERM).await;
            #[cfg(unix)]
            if self.sandbox.is_some() {
                let _ = timeout(GRACE_AFTER_TERM, self.group.emptied()).await;
            }
        }
        #[cfg(unix)]
        for _ in 0..TERMS_FOR_DESCENDANTS {
            self.reap();
            if !self.group.terminate_all() {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        self.kill();
        let _ = self.ended_within(PATIENCE_AFTER_KILL).await;
    }

    /// Reaps descendants, once the child itself has ended: before that it would be reaped too, and others wait for it.
    #[cfg(unix)]
    fn reap(&self) {
        if self.child.id().is_none() {
            self.group.reap();
        }
    }

    /// Kills the process and its descendants.
    fn kill(&mut self) {
        if !std::mem::replace(&mut self.is_killed, true) {
            #[cfg(unix)]
            self.group.kill();
            // A missing process is the desired state.
            #[cfg(not(unix))]
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
        #[cfg(unix)]
        self.group.forget();
        // The runtime may be gone, so this does not wait asynchronously. A killed process ends within a moment.
        for _ in 0..LOOKS_AFTER_KILL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                #[cfg(unix)]
                self.reap();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn take_pipes(child: &mut Child) -> Option<Pipes> {
    #[cfg(unix)]
    return Some((child.stdin.take()?, child.stdout.take()?, child.stderr.take()?));
    #[cfg(not(unix))]
    Some((child.stdin().take()?, child.stdout().take()?, child.stderr().take()?))
}
