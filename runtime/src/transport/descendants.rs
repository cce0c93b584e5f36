//! Finds the processes that come from one start of a server by a variable of their environment, also those that left its
//! process group, as browsers do.

use std::env;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

/// The variable that holds the mark of a start, behind the marks of the starts that this process comes from.
pub(super) const VARIABLE: &str = "MCP_BINDGEN_STARTS";
/// How often, a millisecond apart, to look for processes that others started before they were killed.
const MOST_SCANS: u32 = 50;

/// A random text that only the processes of one start have in their environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        let random = || RandomState::new().hash_one(0_u8);
        Self(format!("{:016x}{:016x}", random(), random()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value of [`VARIABLE`] for the child.
    pub(super) fn value(&self) -> OsString {
        let mut value = env::var_os(VARIABLE).unwrap_or_default();
        if !value.is_empty() {
            value.push(":");
        }
        value.push(&self.0);
        value
    }
}

/// Kills the processes with any of these marks, and those that they start meanwhile.
pub(super) fn kill(marks: &[Mark]) {
    let mut left = MOST_SCANS;
    while left > 0 && signal(marks, Signal::KILL) {
        left -= 1;
        sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to every process with any of these marks. Returns `true` if there was one.
#[cfg(target_os = "linux")]
pub(super) fn signal(marks: &[Mark], signal: Signal) -> bool {
    use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

    if marks.is_empty() {
        return false;
    }
    let mut environment = Vec::new();
    let mut is_marked = |pid: Pid| {
        environment.clear();
        let file = std::fs::File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        // Of a process that ends meanwhile nothing is read.
        let _ = file.and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut environment));
        marks.iter().any(|mark| memchr::memmem::find(&environment, mark.0.as_bytes()).is_some())
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    // Reading the environment of a process can wait for it; the start of another is no business of ours.
    let own_start = start(std::process::id());
    let pids = pids.filter(|pid| start(pid.as_raw_nonzero().get().unsigned_abs()) >= own_start);
    let mut found = false;
    for pid in pids {
        if !is_marked(pid) {
            continue;
        }
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // The number may have become another process's before there was a descriptor.
        found |= is_marked(pid) && pidfd_send_signal(&process, signal).is_ok();
    }
    found
}

/// Returns when a process was started, in ticks since the system was; `None` if it is gone.
#[cfg(target_os = "linux")]
fn start(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses, which may hold anything: proc_pid_stat(5), field 22.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn signal(_marks: &[Mark], _signal: Signal) -> bool {
    false
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper(mark: &Mark) -> Child {
        Command::new("setsid").args(["sleep", "1000"]).env(VARIABLE, mark.value()).spawn().unwrap()
    }

    #[test]
    fn only_processes_with_a_mark_are_killed() {
        let (mark, other) = (Mark::new(), Mark::new());
        assert_ne!(mark, other);
        let (mut marked, mut stranger) = (sleeper(&mark), sleeper(&other));
        assert!(!signal(&[], Signal::KILL));
        assert_eq!(marked.try_wait().unwrap(), None);
        assert!(signal(std::slice::from_ref(&mark), Signal::KILL), "it is found");
        assert_eq!(marked.wait().unwrap().signal(), Some(9));
        assert!(!signal(&[mark], Signal::KILL), "nothing is left");
        assert_eq!(stranger.try_wait().unwrap(), None, "it has another mark");
        kill(&[other]);
        assert_eq!(stranger.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn processes_that_multiply_are_killed() {
        let mark = Mark::new();
        let script = "trap '' TERM; while :; do setsid sleep 1000 & echo; sleep 0.005; done";
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", script]).env(VARIABLE, mark.value()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = [0];
        std::io::Read::read_exact(&mut shell.stdout.take().unwrap(), &mut line).unwrap();
        kill(std::slice::from_ref(&mark));
        shell.wait().unwrap();
        assert!(!signal(&[mark], Signal::KILL));
    }
}
