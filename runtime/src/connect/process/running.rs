//! The servers that this process started and that may still run.

use std::io;
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::descendants::{self, Mark, VARIABLE};
use crate::ground::sync::lock;

/// The process groups of the servers and the marks of their starts; `None` once they were killed.
static SERVERS: Mutex<Option<Vec<(Pid, Mark)>>> = Mutex::new(Some(Vec::new()));

/// Starts a server with a mark, as the leader of a process group, and notes both.
///
/// # Errors
/// If the server does not start, and after [`kill_all`].
pub(super) fn start(mut command: Command, mark: &Mark) -> io::Result<(Child, Option<Pid>)> {
    let mut servers = lock(&SERVERS);
    let Some(known) = servers.as_mut() else { return Err(io::Error::other("the program is ending")) };
    let child = command.env(VARIABLE, mark.value()).process_group(0).kill_on_drop(true).spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    known.extend(group.map(|group| (group, mark.clone())));
    Ok((child, group))
}

/// Forgets an empty process group.
pub(super) fn forget(group: Option<Pid>) {
    if let (Some(known), Some(group)) = (lock(&SERVERS).as_mut(), group) {
        known.retain(|(known, _)| *known != group);
    }
}

/// Kills all servers with their descendants. No server starts afterwards.
pub(super) fn kill_all() {
    let known = lock(&SERVERS).take().unwrap_or_default();
    for (group, _) in &known {
        // A missing group is the desired state.
        let _ = kill_process_group(*group, Signal::KILL);
    }
    let marks: Vec<Mark> = known.into_iter().map(|(_, mark)| mark).collect();
    descendants::kill(&marks);
}
