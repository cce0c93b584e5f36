//! The process groups of servers. A server's processes also have a mark in their environment, by which those are found
//! that left the group, such as browsers.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;
use std::{env, io, slice};

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid};
use tokio::process::{Child, Command};

use crate::ground::sync::lock;

pub(super) const POLL: Duration = Duration::from_millis(20);
/// The variable that holds the mark of a start, behind the marks of the starts that this process comes from.
pub(super) const VARIABLE: &str = "MCP_BINDGEN_STARTS";
/// The maximum number of scans, a millisecond apart, for processes that killed processes had started.
const MOST_SCANS: u32 = 50;
/// The maximum number of scans if a process may not have its environment yet.
const MOST_UNCLEAR_SCANS: u32 = 5;

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
        self.terminate() | (scan(slice::from_ref(&self.mark), Signal::TERM) == Found::Marked)
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
    // They may start others meanwhile.
    repeat_scan(|| scan(&marks, Signal::KILL));
}

/// A random text that only the processes of one start have in their environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) String);

impl Mark {
    pub(super) fn new() -> Self {
        let random = || RandomState::new().hash_one(0_u8);
        Self(format!("{:016x}{:016x}", random(), random()))
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

/// The result of one scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Nothing,
    /// A process without an environment: it is being started, or has cleared it.
    Unclear,
    Marked,
}

/// Scans until nothing is found, or as often as is allowed.
fn repeat_scan(mut scan: impl FnMut() -> Found) {
    let (mut left, mut unclear) = (MOST_SCANS, MOST_UNCLEAR_SCANS);
    while left > 0 && unclear > 0 {
        match scan() {
            Found::Nothing => return,
            Found::Unclear => unclear -= 1,
            Found::Marked => left -= 1,
        }
        sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to every process with any of these marks.
#[cfg(target_os = "linux")]
fn scan(marks: &[Mark], signal: Signal) -> Found {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

    let mut worst = Found::Nothing;
    let Ok(entries) = std::fs::read_dir("/proc") else { return worst };
    if marks.is_empty() {
        return worst;
    }
    // Reading a process's environment may block. Processes that started before this one are not scanned.
    let own_start = start(std::process::id());
    for entry in entries {
        let Ok(entry) = entry else { continue };
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Some(pid) = Pid::from_raw(number.cast_signed()).filter(|_| start(number) >= own_start) else { continue };
        let mut found = look_at(pid, marks);
        if found == Found::Marked {
            // The number may have become another process's before there was a descriptor.
            let process = pidfd_open(pid, PidfdFlags::empty()).ok().filter(|_| look_at(pid, marks) == Found::Marked);
            if process.is_none_or(|process| pidfd_send_signal(&process, signal).is_err()) {
                found = Found::Nothing;
            }
        }
        worst = worst.max(found);
    }
    worst
}

/// Looks for a mark in the environment of a process.
#[cfg(target_os = "linux")]
fn look_at(pid: Pid, marks: &[Mark]) -> Found {
    // The process may have ended, or belong to another user.
    let Ok(environment) = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
        return Found::Nothing;
    };
    let text = String::from_utf8_lossy(&environment);
    match marks.iter().any(|mark| text.contains(&mark.0)) {
        true => Found::Marked,
        false if text.is_empty() => Found::Unclear,
        false => Found::Nothing,
    }
}

/// Returns the start time of a process in ticks since boot, or `None` for a process that has ended or belongs to the
/// kernel.
#[cfg(target_os = "linux")]
fn start(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses, which may hold anything: proc_pid_stat(5), fields 22 and 23.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(19);
    let start = fields.next()?.parse().ok()?;
    // The kernel's own, and those that have ended, have no memory.
    (fields.next()? != "0").then_some(start)
}

#[cfg(not(target_os = "linux"))]
fn scan(_marks: &[Mark], _signal: Signal) -> Found {
    Found::Nothing
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    use tokio::io::AsyncReadExt;
    use tokio::time::timeout;

    use super::*;

    fn sleeper(mark: &Mark) -> Child {
        Command::new("setsid").args(["sleep", "1000"]).env(VARIABLE, mark.value()).spawn().unwrap()
    }

    #[test]
    fn only_processes_with_a_mark_are_killed() {
        let (mark, other) = (Mark::new(), Mark::new());
        assert_ne!(mark, other);
        let (mut marked, mut stranger) = (sleeper(&mark), sleeper(&other));
        assert!(scan(&[], Signal::KILL) == Found::Nothing);
        assert_eq!(marked.try_wait().unwrap(), None);
        // Its environment may not be there yet.
        let is_found = (0..1000).any(|_| {
            sleep(Duration::from_millis(1));
            scan(slice::from_ref(&mark), Signal::KILL) == Found::Marked
        });
        assert!(is_found);
        assert_eq!(marked.wait().unwrap().signal(), Some(9));
        assert!(scan(&[mark], Signal::KILL) != Found::Marked, "nothing is left");
        assert_eq!(stranger.try_wait().unwrap(), None, "it has another mark");
        repeat_scan(|| scan(slice::from_ref(&other), Signal::KILL));
        assert_eq!(stranger.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn mark_follows_those_of_outer_starts() {
        let mark = Mark::new();
        let outer = env::var(VARIABLE).ok().filter(|outer| !outer.is_empty());
        let expected = outer.map_or(mark.0.clone(), |outer| format!("{outer}:{}", mark.0));
        assert_eq!(mark.value(), *expected);
    }

    #[test]
    fn scans_end_when_nothing_is_found_and_after_a_bound() {
        let count = |found: &[Found]| {
            let mut count = 0;
            repeat_scan(|| {
                count += 1;
                assert!(count < 1000, "it does not end");
                found[count % found.len()]
            });
            count
        };
        assert_eq!(count(&[Found::Nothing]), 1);
        assert_eq!(count(&[Found::Nothing, Found::Marked, Found::Unclear]), 3);
        assert_eq!(count(&[Found::Marked]), MOST_SCANS as usize);
        assert_eq!(count(&[Found::Unclear]), MOST_UNCLEAR_SCANS as usize);
    }

    /// Starts a shell as the leader of a group.
    fn leader(script: &str) -> (tokio::process::Child, Group) {
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        Group::start(shell, Mark::new()).unwrap()
    }

    #[tokio::test]
    async fn signals_reach_the_group_and_the_processes_that_left_it() {
        let (mut child, group) = leader("setsid sh -c 'trap \"\" TERM; echo; sleep 20; :' & wait");
        child.stdout.take().unwrap().read_exact(&mut [0]).await.unwrap();
        assert!(group.terminate_all(), "the leader, and the one that left and ignores it");
        assert_eq!(child.wait().await.unwrap().signal(), Some(15));
        assert!(!group.terminate(), "the group is empty");
        assert!(group.terminate_all(), "one left it");
        group.kill();
        assert!(!group.terminate_all(), "nothing is left");
        group.forget();
    }

    #[tokio::test]
    async fn group_is_empty_once_its_last_process_is_reaped() {
        let (mut child, group) = leader("exec sleep 1000");
        // It is a child of this process, like a process that this process inherits in a container.
        let leader = group.id.as_raw_nonzero().get();
        let mut member = Command::new("sleep").arg("1000").process_group(leader).spawn().unwrap();
        assert!(timeout(Duration::ZERO, group.emptied()).await.is_err());
        assert!(group.terminate());
        child.wait().await.unwrap();
        let is_reaped = (0..1000).any(|_| {
            sleep(Duration::from_millis(1));
            group.reap();
            test_kill_process_group(group.id).is_err()
        });
        assert!(is_reaped && member.wait().is_err(), "nothing is left to wait for");
        timeout(Duration::from_secs(20), group.emptied()).await.expect("it is empty");
        group.forget();
    }

    #[tokio::test]
    async fn forgotten_group_is_not_killed_at_the_end_of_the_program() {
        let is_known = |group: &Group| lock(&RUNNING).iter().flatten().any(|running| running.id == group.id);
        let ((first, one), (second, other)) = (leader("exit"), leader("exit"));
        assert!(is_known(&one) && is_known(&other));
        one.forget();
        assert!(!is_known(&one) && is_known(&other));
        other.forget();
        drop((first, second));
    }

    #[test]
    fn start_of_a_process_is_known_until_it_ends() {
        let own = start(std::process::id()).expect("this process runs");
        let mut child = sleeper(&Mark::new());
        assert!(start(child.id()).is_some_and(|start| start >= own));
        child.kill().unwrap();
        let has_ended = (0..1000).any(|_| {
            sleep(Duration::from_millis(1));
            start(child.id()).is_none()
        });
        assert!(has_ended, "nobody has waited for it, but it has no memory");
        child.wait().unwrap();
    }

    #[test]
    fn forking_processes_are_killed() {
        let mark = Mark::new();
        let script = "trap '' TERM; while :; do setsid sleep 1000 & echo; sleep 0.005; done";
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", script]).env(VARIABLE, mark.value()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = [0];
        std::io::Read::read_exact(&mut shell.stdout.take().unwrap(), &mut line).unwrap();
        repeat_scan(|| scan(slice::from_ref(&mark), Signal::KILL));
        shell.wait().unwrap();
        assert!(scan(&[mark], Signal::KILL) != Found::Marked);
    }
}
