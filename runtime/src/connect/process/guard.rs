//! A process that ends a server if this program is killed.

use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::group::Mark;

/// The guard reads two lines: the group, and a confirmation that the group has ended. If its input ends first, the
/// parent is gone. Then it asks the group to end, kills the remaining processes, and kills every process with the mark
/// in its environment. A shell has no process descriptors, so it kills by number right after each scan. It stops after
/// three empty scans in a row, because a starting process briefly has no environment.
const SCRIPT: &str = "
read -r group
read -r over && exit 0
if [ -n \"$group\" ] && kill -s TERM -- \"-$group\"; then
  waited=0
  while kill -s 0 -- \"-$group\" && [ $waited -lt 10 ]; do
    sleep 0.1 || sleep 1
    waited=$((waited + 1))
  done
  kill -s KILL -- \"-$group\"
fi
scans=0
empty=0
while [ $scans -lt 20 ] && [ $empty -lt 3 ]; do
  marked=$(grep -ls -- \"$1\" /proc/[0-9]*/environ)
  [ -n \"$marked\" ] && empty=0 || empty=$((empty + 1))
  for file in $marked; do
    file=${file#/proc/}
    kill -s KILL -- \"${file%/environ}\"
  done
  scans=$((scans + 1))
  sleep 0.1 || sleep 1
done
";

/// A shell in its own process group, which signals to this program's group do not reach. The guarded group must end
/// before the guard is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
}

impl Guard {
    /// Starts a guard for processes with this mark; returns `None` on a machine without a shell.
    pub(super) fn start(mark: &Mark) -> Option<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "sh", &mark.0]).process_group(0).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        shell.env_clear().env("PATH", "/usr/bin:/bin:/run/current-system/sw/bin");
        let without = |error: &io::Error| tracing::debug!("the server will survive if this process is killed: {error}");
        let shell = shell.spawn().inspect_err(without).ok()?;
        Some(Self { shell })
    }

    /// Guards this group from now on.
    pub(super) fn watch(&mut self, group: impl Display) -> io::Result<()> {
        self.shell.stdin.as_mut().map_or(Ok(()), |stdin| writeln!(stdin, "{group}"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.shell.stdin.take() {
            let _ = stdin.write_all(b"\nover\n");
        }
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Returns a group of two that ignore SIGTERM.
    fn stubborn() -> Child {
        let script = "trap '' TERM; sleep 1000 & echo; wait";
        let mut group = Command::new("/bin/sh");
        group.args(["-c", script]).process_group(0).stdout(Stdio::piped());
        let mut group = group.spawn().unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(group.stdout.take().unwrap()), &mut line).unwrap();
        group
    }

    fn members(group: u32) -> usize {
        let output = Command::new("ps").args(["-eo", "pgid=,stat="]).output().unwrap().stdout;
        let output = String::from_utf8(output).unwrap();
        let is_member = |line: &&str| {
            let mut words = line.split_whitespace();
            words.next() == Some(&group.to_string()) && !words.next().unwrap().starts_with('Z')
        };
        output.lines().filter(is_member).count()
    }

    #[test]
    fn guard_kills_the_group_when_its_parent_dies() {
        let mut group = stubborn();
        let mut guard = Guard::start(&Mark::new()).unwrap();
        guard.watch(group.id()).unwrap();
        assert_eq!(members(group.id()), 2);
        // A killed process looks the same: the pipe ends without a confirmation.
        drop(guard.shell.stdin.take());
        let begun = Instant::now();
        while members(group.id()) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it lives on");
            std::thread::sleep(Duration::from_millis(20));
        }
        group.wait().unwrap();
        assert!(guard.shell.wait().unwrap().success(), "the guard is gone as well");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn guard_kills_processes_that_left_the_group() {
        use crate::connect::process::group::VARIABLE;
        use std::os::unix::process::ExitStatusExt;

        for watched in [true, false] {
            let mark = Mark::new();
            let mut group = stubborn();
            let left = |mark: &Mark| {
                Command::new("setsid").args(["sleep", "1000"]).env(VARIABLE, mark.value()).spawn().unwrap()
            };
            let (mut marked, mut stranger) = (left(&mark), left(&Mark::new()));
            let mut guard = Guard::start(&mark).unwrap();
            if watched {
                guard.watch(group.id()).unwrap();
            }
            drop(guard.shell.stdin.take());
            assert!(guard.shell.wait().unwrap().success(), "{watched}");
            assert_eq!(marked.wait().unwrap().signal(), Some(9), "{watched}");
            assert_eq!(stranger.try_wait().unwrap(), None, "it has another mark");
            stranger.kill().unwrap();
            stranger.wait().unwrap();
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", group.id())]).status();
            group.wait().unwrap();
        }
    }

    #[test]
    fn dropped_guard_exits_without_killing_the_group() {
        for watched in [true, false] {
            let mut group = stubborn();
            let mut guard = Guard::start(&Mark::new()).unwrap();
            if watched {
                guard.watch(group.id()).unwrap();
            }
            let shell = guard.shell.id();
            drop(guard);
            assert_eq!((members(shell), members(group.id())), (0, 2), "{watched}");
            let killed = Command::new("kill").args(["-KILL", "--", &format!("-{}", group.id())]).status().unwrap();
            assert!(killed.success());
            group.wait().unwrap();
        }
    }
}
