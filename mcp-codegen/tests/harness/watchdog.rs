//! A case that does not end fails, and says which it is; a test run would wait for it for ever.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Runs a case. If it takes longer than `limit`, prints `case` and aborts the process: nothing else stops a loop, or
/// saves the memory that it eats.
pub(crate) fn within<T>(limit: Duration, case: &str, run: impl FnOnce() -> T) -> T {
    let (ended, end) = channel::<()>();
    let case = case.to_owned();
    let watchdog = thread::spawn(move || {
        if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln!`: what a test prints is held back until it ends.
            let _ = writeln!(std::io::stderr(), "\nstill running after {limit:?}:\n{case}\n");
            std::process::abort();
        }
    });
    let value = run();
    drop(ended);
    assert!(watchdog.join().is_ok());
    value
}
