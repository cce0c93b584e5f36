//! The servers that this process started and that may still run.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// The process groups of the servers; none once they were killed.
static GROUPS: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

fn groups() -> MutexGuard<'static, Option<Vec<Pid>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a server as the leader of a process group, and notes the group.
///
/// # Errors
/// If the server does not start, and after [`kill_all`].
pub(super) fn start(mut command: Command) -> io::Result<(Child, Option<Pid>)> {
    let mut groups = groups();
    let Some(known) = groups.as_mut() else { return Err(io::Error::other("the program is ending")) };
    let child = command.process_group(0).kill_on_drop(true).spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    known.extend(group);
    Ok((child, group))
}

/// Forgets a group of which nothing is left.
pub(super) fn forget(group: Option<Pid>) {
    if let (Some(known), Some(group)) = (groups().as_mut(), group) {
        known.retain(|known| *known != group);
    }
}

/// Kills all groups. No server starts afterwards.
pub(super) fn kill_all() {
    let known = groups().take().unwrap_or_default();
    for group in known {
        // One that is gone is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
