//! A terminal of some size with a program at it, and what somebody sees there.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::Project;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Terminal {
    pty: File,
    child: Child,
    seen: vt100::Parser,
    /// All that was written to it.
    raw: Vec<u8>,
    is_open: bool,
}

/// The exit code and the output of a program that ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// The lines on the screen, without the empty ones at its end.
    pub(crate) lines: Vec<String>,
    /// All that was written to the terminal, one line below the other.
    pub(crate) written: String,
    pub(crate) is_cursor_hidden: bool,
}

impl Terminal {
    pub(crate) fn new(project: &Project, columns: u16, arguments: &[&str]) -> Self {
        let mut command = project.command();
        command.args(arguments).env("NO_COLOR", "1").env("TERM", "xterm");
        Self::of(command, columns, [true; 3])
    }

    /// A terminal that the program's session belongs to: Ctrl-C reaches it there, and that somebody closes the window.
    #[cfg(target_os = "linux")]
    pub(crate) fn with_session(project: &Project, arguments: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        // The parent process may ignore signals, as `nohup` does, so `env` resets them.
        command.args(["--ctty", "env", "--default-signal=HUP,INT,TERM"]);
        command.arg(env!("CARGO_BIN_EXE_mcp-bindgen")).args(arguments);
        command.current_dir(project.path("")).env_remove("MCP_SERVERS").env_remove("CI");
        command.env("NO_COLOR", "1").env("TERM", "xterm");
        Self::of(command, 80, [true; 3])
    }

    /// `streams`: which of stdin, stdout and stderr are the terminal; the others are nothing.
    pub(crate) fn of(mut command: Command, columns: u16, streams: [bool; 3]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        // A child that inherits this descriptor would keep the terminal open.
        fcntl_setfd(&ours, FdFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let theirs = OpenOptions::new().read(true).write(true).open(path).unwrap();
        tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let stream = |is_terminal: bool| match is_terminal {
            true => Stdio::from(OwnedFd::from(theirs.try_clone().unwrap())),
            false => Stdio::null(),
        };
        let [stdin, stdout, stderr] = streams.map(stream);
        command.stdin(stdin).stdout(stdout).stderr(stderr).env_remove("COLUMNS").env_remove("CI");
        let child = command.spawn().unwrap();
        Self { pty: File::from(ours), child, seen: vt100::Parser::new(24, columns, 0), raw: Vec::new(), is_open: true }
    }

    /// Reads until the screen shows the text.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> &mut Self {
        self.until(text, |lines| lines.iter().any(|line| line.contains(text)))
    }

    /// Reads until the screen is as it is to be.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_there: impl Fn(&[String]) -> bool) -> &mut Self {
        let start = Instant::now();
        while !is_there(&self.lines()) {
            let is_late = start.elapsed() > PATIENCE;
            assert!(self.is_open && !is_late, "never seen: {what}\n{}", self.lines().join("\n"));
            self.read();
        }
        self
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let screen = self.seen.screen();
        let (_, columns) = screen.size();
        let mut lines: Vec<String> = screen.rows(0, columns).map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    pub(crate) fn types(&mut self, text: &str) -> &mut Self {
        self.pty.write_all(text.as_bytes()).unwrap();
        self
    }

    pub(crate) fn kill(&mut self, signal: &str) -> &mut Self {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
        self
    }

    /// Closes the terminal. With which code, and by which signal, the program ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn closes(mut self) -> (Option<i32>, Option<i32>) {
        self.pty = File::open("/dev/null").unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), std::os::unix::process::ExitStatusExt::signal(&status))
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub(crate) fn ends(mut self) -> Ended {
        let start = Instant::now();
        while self.is_open {
            assert!(start.elapsed() < PATIENCE, "it does not end\n{}", self.lines().join("\n"));
            self.read();
        }
        let status = self.child.wait().unwrap();
        Ended {
            code: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
            lines: self.lines(),
            written: String::from_utf8(std::mem::take(&mut self.raw)).unwrap().replace("\r\n", "\n"),
            is_cursor_hidden: self.seen.screen().hide_cursor(),
        }
    }

    /// Reads what is there, and waits a little where nothing is.
    fn read(&mut self) {
        let wait = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        if poll(&mut [PollFd::new(&self.pty, PollFlags::IN)], Some(&wait)).unwrap() == 0 {
            return;
        }
        let mut part = [0; 4096];
        // The end of a terminal is an error on some systems.
        match self.pty.read(&mut part) {
            Ok(count @ 1..) => {
                self.seen.process(&part[..count]);
                self.raw.extend_from_slice(&part[..count]);
            }
            _ => self.is_open = false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nothing stays of a test that fails: told to end, it ends its servers as well.
        if let Ok(None) = self.child.try_wait() {
            self.kill("TERM");
            for _ in 0..100 {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = self.child.kill();
        }
    }
}
