//! A child process with its descendants.

use std::convert::Infallible;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
#[cfg(unix)]
use tokio::process::Child;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::Program;
#[cfg(unix)]
use super::descendants::{self, Mark};
use super::environment;
use super::isolation::{Refusal, Sandbox};

const GRACE_AFTER_EOF: Duration = Duration::from_secs(2);
const GRACE_AFTER_TERM: Duration = Duration::from_secs(2);
const GRACE_FOR_DESCENDANTS: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(20);
/// The maximum number of checks, a millisecond apart, whether a killed process is gone.
const LOOKS_AFTER_KILL: u32 = 50;

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
    super::running::kill_all();
}

/// The pipes of a started program.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A running process and its descendants; dropping it kills them all.
pub(crate) struct ProcessTree {
    #[cfg(unix)]
    child: Child,
    #[cfg(not(unix))]
    child: Box<dyn process_wrap::tokio::ChildWrapper>,
    #[cfg(unix)]
    group: Option<Pid>,
    /// The mark of descendants that left the group; `None` once they were killed.
    #[cfg(unix)]
    mark: Option<Mark>,
    /// The sandbox of an isolated server. The child is then bubblewrap, which ends on a signal before its children do.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    is_over: bool,
    /// The guard, dropped after the group was killed. Windows ends the processes of a job with its owner.
    #[cfg(unix)]
    guard: Option<super::guard::Guard>,
}

impl ProcessTree {
    /// Starts a program, inside a sandbox if it is isolated.
    pub(crate) fn start(program: &Program<'_>) -> Result<(Self, Pipes), Refusal> {
        let sandbox = program.isolation.map(|isolation| Sandbox::new(isolation, program)).transpose()?;
        Self::start_in(sandbox.map(Arc::new), program).map_err(|error| program.not_started(&error))
    }

    fn start_in(sandbox: Option<Arc<Sandbox>>, program: &Program<'_>) -> io::Result<(Self, Pipes)> {
        let mut command = match &sandbox {
            Some(sandbox) => sandbox.command(),
            None => Command::new(program.find()?),
        };
        command.args(program.args).env_clear().envs(environment::inherited(program)).envs(program.env);
        if let Some(sandbox) = &sandbox {
            sandbox.change_env(&mut command);
        }
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut tree = Self::spawn(command, sandbox)?;
        let pipes = tree.take_pipes().ok_or_else(|| io::Error::other("the child process has no stdin or stdout"))?;
        Ok((tree, pipes))
    }

    /// Starts a command in a process group, with a guard.
    #[cfg(unix)]
    fn spawn(command: Command, sandbox: Option<Arc<Sandbox>>) -> io::Result<Self> {
        let mark = Mark::new();
        let guard = super::guard::Guard::start(&mark);
        let (child, group) = super::running::start(command, &mark)?;
        let mut tree = Self { child, group, mark: Some(mark), sandbox, is_over: false, guard };
        if let (Some(guard), Some(group)) = (&mut tree.guard, tree.child.id()) {
            guard.watch(group)?;
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
        Ok(Self { child: command.spawn()?, sandbox, is_over: false })
    }

    /// Waits for the end of the process.
    /// Cancel safe.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    #[cfg(unix)]
    fn take_pipes(&mut self) -> Option<Pipes> {
        let child = &mut self.child;
        Some(Pipes { stdin: child.stdin.take()?, stdout: child.stdout.take()?, stderr: child.stderr.take()? })
    }

    #[cfg(not(unix))]
    fn take_pipes(&mut self) -> Option<Pipes> {
        let child = &mut self.child;
        Some(Pipes { stdin: child.stdin().take()?, stdout: child.stdout().take()?, stderr: child.stderr().take()? })
    }

    /// Returns the exit status of the process, if it ends in time. Cancel safe.
    pub(crate) async fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        timeout(patience, self.child.wait()).await.ok()?.ok()
    }

    /// Ends the remaining processes when an isolated server ends, because bubblewrap holds the pipes while any of them
    /// runs. It never returns; await it together with the end of a pipe. Cancel safe.
    pub(crate) async fn end_with_server(&mut self) -> Infallible {
        if self.sandbox.is_some() && !self.is_over && self.child.wait().await.is_ok() {
            self.is_over = true;
            self.kill();
        }
        std::future::pending().await
    }

    /// Ends the process after its stdin was closed: waits, sends a signal, then kills; remaining descendants are killed
    /// too. If the future is dropped, dropping the tree kills the rest.
    pub(crate) async fn shut_down(&mut self) {
        if self.ended_within(GRACE_AFTER_EOF).await.is_none() {
            self.ask_to_end();
            let _ = self.ended_within(GRACE_AFTER_TERM).await;
            if self.sandbox.is_some() {
                let _ = timeout(GRACE_AFTER_TERM, self.group_is_gone()).await;
            }
        }
        let mut left = GRACE_FOR_DESCENDANTS;
        while self.ask_descendants_to_end() && !left.is_zero() {
            tokio::time::sleep(POLL).await;
            left = left.saturating_sub(POLL);
        }
        self.kill();
        let _ = self.ended_within(GRACE_FOR_DESCENDANTS).await;
    }

    /// Sends SIGTERM to the whole group. Returns `true` if the group had processes.
    #[cfg(unix)]
    fn ask_to_end(&self) -> bool {
        self.reap();
        self.group.is_some_and(|group| kill_process_group(group, Signal::TERM).is_ok())
    }

    /// Sends SIGTERM to the group and to processes that left it. Returns `true` if there were any.
    #[cfg(unix)]
    fn ask_descendants_to_end(&self) -> bool {
        self.ask_to_end() | descendants::signal(self.mark.as_slice(), Signal::TERM)
    }

    #[cfg(not(unix))]
    fn ask_to_end(&self) {}

    #[cfg(not(unix))]
    fn ask_descendants_to_end(&self) -> bool {
        false
    }

    /// Waits until the group is empty. Cancel safe.
    #[cfg(unix)]
    async fn group_is_gone(&self) {
        while self.group.is_some_and(|group| test_kill_process_group(group).is_ok()) {
            tokio::time::sleep(POLL).await;
        }
    }

    #[cfg(not(unix))]
    async fn group_is_gone(&self) {}

    /// Reaps descendants that are children of this process: as the first process of a container it inherits them.
    #[cfg(unix)]
    fn reap(&self) {
        // Before that the child itself would be reaped, for whose status others wait.
        if self.child.id().is_none()
            && let Some(group) = self.group
        {
            while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
        }
    }

    /// Kills the whole group, and those that left it.
    #[cfg(unix)]
    fn kill(&mut self) {
        // A missing process is the desired state.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        descendants::kill(self.mark.take().as_slice());
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {
        // A missing process is the desired state.
        let _ = self.child.start_kill();
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
        #[cfg(unix)]
        super::running::forget(self.group);
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
