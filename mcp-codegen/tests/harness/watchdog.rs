//! Ends the process if a case takes too long, and prints the case. A test run would wait for it for ever.

#![allow(dead_code)]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The processor time of an optimized build for each started 64 KiB of a case.
const AT_MOST: Duration = Duration::from_secs(2);
const BYTES: usize = 64 << 10;
/// Unoptimized builds take longer, and so do those that count the branches taken.
const SLACK: u32 = if cfg!(debug_assertions) { 10 } else { 2 };
/// A case that waits takes no processor time: the clock may show this many times as much.
const WAITING: u32 = 10;

/// Runs a case within the processor time for its size.
pub(crate) fn in_time<T>(case: &str, run: impl FnOnce() -> T) -> T {
    let parts = u32::try_from(case.len() / BYTES + 1).unwrap_or(u32::MAX);
    within(AT_MOST * SLACK * parts, case, run)
}

/// Runs a case within a processor time. If it takes longer, prints the case and aborts the process: nothing else stops a loop, or
/// frees the memory that it takes.
pub(crate) fn within<T>(limit: Duration, case: &str, run: impl FnOnce() -> T) -> T {
    let (ended, end) = channel::<()>();
    let case = case.to_owned();
    let clock = Clock::of_this_thread();
    let watchdog = thread::spawn(move || {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(clock.elapsed());
            if left.is_zero() || started.elapsed() > limit * WAITING {
                // Not `eprintln!`: the test harness would hold it back.
                let _ = writeln!(std::io::stderr(), "\nstill running after {limit:?}:\n{case}\n");
                std::process::abort();
            }
            if end.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    let value = run();
    drop(ended);
    assert!(watchdog.join().is_ok());
    value
}

/// The processor time of one thread, or where the system does not tell it, the time.
struct Clock {
    file: Option<PathBuf>,
    start: Duration,
    started: Instant,
}

impl Clock {
    fn of_this_thread() -> Self {
        let link = std::fs::read_link("/proc/thread-self").ok();
        let file = link.map(|link| PathBuf::from("/proc").join(link).join("schedstat"));
        let mut clock = Self { file, start: Duration::ZERO, started: Instant::now() };
        clock.start = clock.now();
        clock
    }

    fn now(&self) -> Duration {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let nanoseconds = text.and_then(|text| text.split(' ').next()?.parse().ok());
        nanoseconds.map_or_else(|| self.started.elapsed(), Duration::from_nanos)
    }

    fn elapsed(&self) -> Duration {
        self.now().saturating_sub(self.start)
    }
}
