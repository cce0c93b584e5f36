//! The servers that this process started and that may still run.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

/// The process groups of the servers; none once they were killed.
static GROUPS: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

fn groups() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a server and notes its group.
///
/// # Errors
/// Where it does not start, and after [`kill_all`].
pub(super) fn start<C>(spawn: impl FnOnce() -> io::Result<C>, group: impl Fn(&C) -> Option<u32>) -> io::Result<C> {
    let mut groups = groups();
    let Some(known) = groups.as_mut() else { return Err(io::Error::other("the program is ending")) };
    let child = spawn()?;
    known.extend(group(&child));
    Ok(child)
}

/// Forgets a group of which nothing is left.
pub(super) fn forget(group: Option<u32>) {
    if let (Some(known), Some(group)) = (groups().as_mut(), group) {
        known.remove(&group);
    }
}

/// Kills all groups. No server starts afterwards.
pub(super) fn kill_all() {
    let known = groups().take().unwrap_or_default();
    for group in known.into_iter().filter_map(|group| Pid::from_raw(i32::try_from(group).ok()?)) {
        // One that is gone is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
