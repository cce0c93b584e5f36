//! A child process together with everything that it starts.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

const GRACE_AFTER_EOF: Duration = Duration::from_secs(2);
const GRACE_AFTER_TERM: Duration = Duration::from_secs(2);
const GRACE_FOR_DESCENDANTS: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(20);

/// The variables that a server inherits; everything else is passed by name.
const INHERITED: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    ]
} else {
    &["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"]
};

/// What to start.
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) inherit_env: &'a [String],
}

/// The pipes of a started program.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A running process and its descendants; dropping it kills them all.
pub(crate) struct ProcessTree {
    child: Box<dyn ChildWrapper>,
}

impl ProcessTree {
    pub(crate) fn start(program: &Program<'_>) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(program.command);
        command.args(program.args).env_clear();
        let by_name = INHERITED.iter().copied().chain(program.inherit_env.iter().map(String::as_str));
        command.envs(by_name.filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
        command.envs(program.env);
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut wrap = CommandWrap::from(command);
        wrap.wrap(KillOnDrop);
        #[cfg(unix)]
        wrap.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        wrap.wrap(process_wrap::tokio::JobObject);
        let mut tree = Self { child: wrap.spawn()? };
        let pipes = (tree.child.stdin().take(), tree.child.stdout().take(), tree.child.stderr().take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the process was started without its pipes"));
        };
        Ok((tree, Pipes { stdin, stdout, stderr }))
    }

    /// How the process ended, if it does so in time.
    pub(crate) async fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        timeout(patience, self.child.wait()).await.ok()?.ok()
    }

    /// Ends the process whose stdin was closed: waits, asks, then kills; descendants that stay are killed too.
    pub(crate) async fn shut_down(&mut self) {
        if self.ended_within(GRACE_AFTER_EOF).await.is_none() {
            self.ask_to_end();
            let _ = self.ended_within(GRACE_AFTER_TERM).await;
        }
        let mut left = GRACE_FOR_DESCENDANTS;
        while self.ask_to_end() && !left.is_zero() {
            tokio::time::sleep(POLL).await;
            left = left.saturating_sub(POLL);
        }
        self.kill();
        let _ = self.ended_within(GRACE_FOR_DESCENDANTS).await;
    }

    /// Sends SIGTERM to the whole group, and says whether anything of it was there.
    #[cfg(unix)]
    fn ask_to_end(&self) -> bool {
        const SIGTERM: i32 = 15;
        self.child.signal(SIGTERM).is_ok()
    }

    #[cfg(not(unix))]
    fn ask_to_end(&self) -> bool {
        false
    }

    fn kill(&mut self) {
        // Nothing left to kill is what is wanted.
        let _ = self.child.start_kill();
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
    }
}
