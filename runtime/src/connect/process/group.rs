//! The process groups of servers, and the processes that left them.

use std::io;
use std::slice;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use tokio::process::{Child, Command};

use super::descendants::{self, Mark, VARIABLE};
use crate::ground::sync::lock;

pub(super) const POLL: Duration = Duration::from_millis(20);

/// The groups of the servers that may still run; `None` once they were killed.
static RUNNING: Mutex<Option<Vec<Group>>> = Mutex::new(Some(Vec::new()));

/// The process group of a server. Its processes have a mark, which they keep if they leave it.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) id: Pid,
    mark: Mark,
}

impl Group {
    /// Starts a server with a mark, as the leader of a process group.
    ///
    /// # Errors
    /// Fails if the server does not start, and after [`kill_all`].
    pub(super) fn start(mut command: Command, mark: Mark) -> io::Result<(Child, Self)> {
        let mut running = lock(&RUNNING);
        let Some(running) = running.as_mut() else { return Err(io::Error::other("the program is ending")) };
        let child = command.env(VARIABLE, mark.value()).process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let id = id.ok_or_else(|| io::Error::other("the child process has no id"))?;
        let group = Self { id, mark };
        running.push(group.clone());
        Ok((child, group))
    }

    /// Sends SIGTERM to the group. Returns `true` if it had processes.
    pub(super) fn terminate(&self) -> bool {
        kill_process_group(self.id, Signal::TERM).is_ok()
    }

    /// Sends SIGTERM to the group and to processes that left it. Returns `true` if there were any.
    pub(super) fn terminate_all(&self) -> bool {
        self.terminate() | descendants::signal(slice::from_ref(&self.mark), Signal::TERM)
    }

    /// Waits until the group is empty. Cancel safe.
    pub(super) async fn emptied(&self) {
        while test_kill_process_group(self.id).is_ok() {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Reaps members that are children of this process: as the first process of a container it inherits them. The
    /// leader is one of them until it was waited for.
    pub(super) fn reap(&self) {
        while let Ok(Some(_)) = waitpgid(self.id, WaitOptions::NOHANG) {}
    }

    /// Kills the group, and the processes that left it.
    pub(super) fn kill(&self) {
        kill(slice::from_ref(self));
    }

    /// Forgets the group, because it is empty.
    pub(super) fn forget(&self) {
        if let Some(running) = lock(&RUNNING).as_mut() {
            running.retain(|group| group.id != self.id);
        }
    }
}

/// Kills all servers with their descendants. No server starts afterwards.
pub(super) fn kill_all() {
    let running = lock(&RUNNING).take();
    kill(&running.unwrap_or_default());
}

fn kill(groups: &[Group]) {
    for group in groups {
        // A missing group is the desired state.
        let _ = kill_process_group(group.id, Signal::KILL);
    }
    let marks: Vec<Mark> = groups.iter().map(|group| group.mark.clone()).collect();
    descendants::kill(&marks);
}
