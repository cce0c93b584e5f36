//! A server as a child process, with its descendants. It speaks JSON-RPC on its stdin and stdout.

use std::convert::Infallible;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
#[cfg(unix)]
use tokio::process::Child;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

#[cfg(unix)]
use super::group::{self, Group, Mark, POLL};
#[cfg(unix)]
use super::guard::Guard;
use super::isolation::{Refusal, Sandbox};
use super::{Program, environment};
use crate::connect::connection::Link;
use crate::ground::task::task;
use crate::rpc::messages::MAX_MESSAGE;
use crate::rpc::notes::Notes;
use crate::rpc::transports::Sides;
use crate::rpc::transports::lines::{self, FarEnd};
use crate::rpc::transports::writer::Sink;

const MAX_STDERR_LINE: u64 = 64 * 1024;
const PATIENCE_FOR_EXIT_STATUS: Duration = Duration::from_millis(500);
const PATIENCE_FOR_LAST_STDERR: Duration = Duration::from_millis(200);
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
/// The stdin, the stdout and the stderr of a process.
type Pipes = (ChildStdin, ChildStdout, ChildStderr);

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

/// Starts the program of a server, and returns both sides of a transport to it.
pub(in crate::connect) fn connect(program: &Program<'_>, link: &Link) -> Result<Sides, Refusal> {
    let (mut process, (stdin, stdout, stderr)) = ProcessTree::start(program)?;
    process.stderr = Some(tokio::spawn(task(note_stderr(stderr, link.notes.clone()))));
    if let Some(sandbox) = &process.sandbox {
        link.sandbox.get_or_init(|| Arc::downgrade(sandbox));
    }
    let (ledger, notes) = (link.ledger.clone(), Some(link.notes.clone()));
    let (process, stdout) = (Box::new(process), Box::new(stdout));
    let sides = Sink::child(stdin).and_then(|sink| lines::connect(process, (stdout, sink), ledger, notes, MAX_MESSAGE));
    sides.map_err(|error| program.not_started(&error))
}

/// A running process and its descendants; dropping it kills them all.
pub(super) struct ProcessTree {
    pub(super) child: Child,
    #[cfg(unix)]
    group: Group,
    /// The sandbox of an isolated server. The child is then bubblewrap, which ends on a signal before its children do.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    is_killed: bool,
    /// Records the lines of a server's stderr, until it ends.
    stderr: Option<JoinHandle<()>>,
    /// The guard, dropped after the group was killed. Windows ends the processes of a job with its owner.
    #[cfg(unix)]
    guard: Option<Guard>,
}

impl ProcessTree {
    /// Starts a program, inside a sandbox if it is isolated.
    pub(super) fn start(program: &Program<'_>) -> Result<(Self, Pipes), Refusal> {
        let sandbox = program.isolation.map(|isolation| Sandbox::new(isolation, program)).transpose()?.map(Arc::new);
        Self::spawn(program, sandbox).map_err(|error| program.not_started(&error))
    }

    /// Starts a program with its pipes: on unix in a process group with a guard, on Windows in a job.
    fn spawn(program: &Program<'_>, sandbox: Option<Arc<Sandbox>>) -> io::Result<(Self, Pipes)> {
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
        #[cfg(unix)]
        let (tree, pipes) = {
            let mark = Mark::new();
            let guard = Guard::start(&mark);
            let (mut child, group) = Group::start(command, mark)?;
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let mut tree = Self { child, group, sandbox, is_killed: false, stderr: None, guard };
            tree.guard.as_mut().map_or(Ok(()), |guard| guard.watch(tree.group.id))?;
            (tree, pipes)
        };
        #[cfg(not(unix))]
        let (tree, pipes) = {
            let mut command = process_wrap::tokio::CommandWrap::from(command);
            command.wrap(process_wrap::tokio::KillOnDrop);
            #[cfg(windows)]
            command.wrap(process_wrap::tokio::JobObject);
            let mut child = command.spawn()?;
            let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
            (Self { child, sandbox, is_killed: false, stderr: None }, pipes)
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the child process has no stdin or stdout"));
        };
        Ok((tree, (stdin, stdout, stderr)))
    }

    /// Returns the exit status of the process, if it ends in time. Cancel safe.
    async fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        timeout(patience, self.child.wait()).await.ok()?.ok()
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

impl FarEnd for ProcessTree {
    /// Ends the remaining processes when an isolated server ends, because bubblewrap holds the pipes while any of them
    /// runs.
    fn end_with_server(&mut self) -> BoxFuture<'_, Infallible> {
        Box::pin(async move {
            if self.sandbox.is_some() && self.child.wait().await.is_ok() {
                self.kill();
            }
            std::future::pending().await
        })
    }

    fn note_end<'a>(&'a mut self, notes: &'a Notes) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if !notes.has_exited() {
                match self.ended_within(PATIENCE_FOR_EXIT_STATUS).await {
                    Some(status) => notes.exited(status.to_string()),
                    None => notes.problem("the server closed its stdout but is still running".to_owned()),
                }
            }
            if let Some(stderr) = &mut self.stderr {
                // A grandchild may hold stderr open forever. Later lines are still noted.
                let _ = timeout(PATIENCE_FOR_LAST_STDERR, stderr).await;
                self.stderr = None;
            }
        })
    }

    /// Waits for the end of the process, sends a signal, then kills; remaining descendants are killed too.
    fn shut_down(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
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
        })
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

/// Records each line of stderr, until it ends. Dropping the future loses a line that was read in part.
pub(super) async fn note_stderr(stderr: ChildStderr, notes: Notes) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        match (&mut stderr).take(MAX_STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            // The rest of a cut line may contain half a secret.
            Ok(_) if is_rest => {}
            Ok(_) => notes.stderr_line(&String::from_utf8_lossy(&line)),
        }
        is_rest = !line.ends_with(b"\n");
    }
}
